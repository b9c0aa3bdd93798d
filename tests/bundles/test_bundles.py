"""Operations on bundles, as every interface uses them."""

import asyncio
from dataclasses import replace

import pytest
from uuid_utils.compat import uuid7

from bundles.openapi_documents import PETSTORE
from onetool.domain.bundles.bundle import (
    AlreadyExists,
    BundleConflict,
    BundleFilter,
    BundleNotFound,
    InvalidBundle,
    ReadOnlyBundle,
    StoredTool,
)
from onetool.domain.bundles.page_tokens import MAX_LENGTH, read_token, write_token
from onetool.testing import memory_runtime

PYTHON = {"type": "python", "pythonImpl": {"func": "time.now"}}
EVERYTHING = BundleFilter(include_disabled=True)


async def new_bundle(bundles, slug="mine", **fields):
    bundle, _ = await bundles.put_bundle(str(uuid7()), {"slug": slug, **fields})
    return bundle


async def test_pack_is_a_read_only_bundle():
    """It and its tools can be enabled and disabled, but not replaced, deleted or exported."""
    async with memory_runtime() as ot:
        bundles = ot.runtime.state.bundles
        page = await bundles.list_bundles(EVERYTHING, None, 100)
        time = next(bundle for bundle in page.items if bundle.slug == "time")
        now = (time.id, "now", "current")
        assert (await bundles.bundle(time.id)).is_built_in
        for attempt in (
            bundles.put_bundle(time.id, {"slug": "x"}),
            bundles.delete_bundle(time.id),
            bundles.put_tool((time.id, "new", "v1"), PYTHON),
            bundles.delete_tool(now),
            ot.runtime.state.transfer.export(time.id),
        ):
            with pytest.raises(ReadOnlyBundle, match="is read-only"):
                await attempt
        with pytest.raises(BundleNotFound):
            await bundles.tool((time.id, "nwo", "current"))
        assert (await bundles.set_tool_enabled(now, False)).tool.is_enabled is False
        assert (await ot.call("time.now")).meta.reason == "disabled"
        assert (await bundles.set_tool_enabled(now, True)).tool.is_enabled
        await bundles.set_bundle_enabled(time.id, False)
        assert "its bundle is disabled" in (await ot.call("time.now")).error.message
        with pytest.raises(BundleConflict, match="is disabled"):
            await bundles.set_tool_enabled(now, True)
        assert (await ot.run("ot.tools(info='list', pattern='time.')")).data == []
        await bundles.set_bundle_enabled(time.id, True)
        assert (await ot.call("time.now")).ok


async def test_pages_contain_virtual_and_stored_tools_once():
    """Regardless of the page size."""
    async with memory_runtime() as ot:
        bundles = ot.runtime.state.bundles
        mine = await new_bundle(bundles)
        for number in range(5):
            await bundles.put_tool((mine.id, f"t{number}", "v1"), PYTHON)

        async def read_all(list_page, size):
            items, after = [], None
            while True:
                page = await list_page(EVERYTHING, after, size)
                items += page.items
                after = page.next
                if after is None:
                    return items

        all_tools = await read_all(bundles.list_tools, 1000)
        assert len({tool.tool.id for tool in all_tools}) == len(all_tools) > 20
        for size in (1, 2, 3, len(all_tools) - 5, len(all_tools) - 1, len(all_tools)):
            assert await read_all(bundles.list_tools, size) == all_tools
        all_bundles = await read_all(bundles.list_bundles, 1000)
        for size in (1, len(all_bundles) - 1, len(all_bundles)):
            assert await read_all(bundles.list_bundles, size) == all_bundles


async def test_limits_and_invalid_numbers():
    async with memory_runtime(settings={"execution": {"max_tools": 1}}) as ot:
        bundles = ot.runtime.state.bundles
        mine = await new_bundle(bundles)
        odd = {**PYTHON, "argSchema": {"type": "object", "default": 2**70}}
        with pytest.raises(InvalidBundle, match="64 bits"):
            await bundles.put_tool((mine.id, "odd", "v1"), odd)
        with pytest.raises(InvalidBundle, match="NaN"):
            await bundles.put_tool(
                (mine.id, "odd", "v1"), {**PYTHON, "argSchema": {"type": "object", "x": float("inf")}}
            )
        await bundles.put_tool((mine.id, "a", "v1"), PYTHON)
        with pytest.raises(BundleConflict, match=r"execution\.max_tools"):
            await bundles.put_tool((mine.id, "b", "v1"), PYTHON)
        with pytest.raises(BundleNotFound):
            await bundles.delete_tool((mine.id, "b", "v1"))
        with pytest.raises(BundleNotFound):
            await bundles.set_tool_enabled((mine.id, "b", "v1"), True)
        await bundles.delete_bundle(mine.id)
        with pytest.raises(BundleNotFound):
            await bundles.tool((mine.id, "a", "v1"))
        assert await bundles.reap() == []


async def test_event_loop_continues_while_a_program_is_parsed():
    turns = 0

    async def count_turns():
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with memory_runtime() as ot:
        bundles = ot.runtime.state.bundles
        bundle = await new_bundle(bundles)
        body = {"type": "code", "codeImpl": {"program": "f(1)\n" * 9_000}, "argSchema": {"type": "object"}}
        await bundles.put_tool((bundle.id, "first", "v1"), PYTHON)  # loads modules
        counter = asyncio.create_task(count_turns())
        await bundles.put_tool((bundle.id, "long", "v1"), body)
        counter.cancel()
    assert turns > 50


async def test_cached_tool_name_is_invalidated_by_a_change():
    async with memory_runtime() as ot:
        bundles = ot.runtime.state.bundles
        mine = await new_bundle(bundles)
        key = (mine.id, "a", "v1")
        await bundles.put_tool(key, PYTHON)
        assert await bundles.tool_name(key) == await bundles.tool_name(key) == "mine.a@v1"
        await bundles.delete_tool(key)
        with pytest.raises(BundleNotFound):
            await bundles.tool_name(key)


@pytest.mark.guards("imported-archive")
async def test_openapi_document_becomes_a_disabled_bundle():
    """The import warns if a secret that the tools use already exists."""
    async with memory_runtime(secrets={"PETSTORE_TOKEN": "hunter2hunter2"}) as ot:
        transfer, bundles = ot.runtime.state.transfer, ot.runtime.state.bundles
        imported = await transfer.import_openapi(PETSTORE)
        assert imported["tools"] >= 2
        assert imported["bundle"].is_enabled is False
        tools = (await bundles.list_tools(EVERYTHING, None, 200)).items
        mine = [tool for tool in tools if tool.bundle.id == imported["bundle"].id]
        assert len(mine) == imported["tools"]
        assert (await ot.call(mine[0].name)).meta.reason == "disabled"
        assert [
            text for text in imported["warnings"] if "already" in text
        ] or "PETSTORE_TOKEN" not in imported["secrets"]


async def test_exported_bundle_can_be_imported_after_its_deletion():
    """Unless another tool has one of its slugs and versions by then."""
    async with memory_runtime() as ot:
        bundles, transfer = ot.runtime.state.bundles, ot.runtime.state.transfer
        mine = await new_bundle(bundles)
        for number in range(3):
            await bundles.put_tool((mine.id, f"t{number}", "v1"), PYTHON)
        content = await transfer.export(mine.id)
        with pytest.raises(BundleConflict, match="already exists"):
            await transfer.import_archive(content)
        await bundles.delete_bundle(mine.id)
        bundle, number = await transfer.import_archive(content)
        assert (bundle.id, bundle.is_enabled, number) == (mine.id, False, 3)
        await bundles.delete_tool((mine.id, "t0", "v1"))
        await bundles.delete_bundle(mine.id)
        await bundles.put_bundle(mine.id, {"slug": "mine"})
        await bundles.put_tool((mine.id, "t0", "v1"), PYTHON)
        await bundles.delete_bundle(mine.id)
        with pytest.raises(AlreadyExists):
            await transfer.import_archive(content)


async def search(bundles, query: str, page_size: int = 256) -> list[StoredTool]:
    """Return all matches, read page by page."""
    page = await bundles.search(query, BundleFilter(), None, page_size)
    found = list(page.items)
    while page.next:
        assert len(page.items) == page_size
        page = await bundles.search(query, BundleFilter(), page.next, page_size)
        assert page.items
        found += page.items
    return found


def quokka_count() -> int:
    """Count the animals."""
    return 1


def seen() -> int:
    """Count marsupials such as a quokka."""
    return 1


@pytest.mark.parametrize("page_size", [1, 3, 7, 256])
async def test_pages_of_a_search_merge_packs_and_stored_tools(page_size):
    """Tools whose function is missing count as disabled and leave no gap."""
    async with memory_runtime({"zoo": [quokka_count, seen]}) as ot:
        bundles = ot.runtime.state.bundles
        mine = await new_bundle(bundles)
        for number in range(12):
            await bundles.put_tool((mine.id, f"quokka-{number}", "v1"), PYTHON)
            tool = (await bundles.tool((mine.id, f"quokka-{number}", "v1"))).tool
            missing = {"id": str(uuid7()), "version": "missing", "python_impl": {"func": "gone.away"}}
            await bundles.add_tool(replace(tool, **missing), lambda bundle: None)
        names = [tool.name for tool in await search(bundles, "quokka", page_size)]
    assert names == [
        *(f"mine.quokka_{number}" for number in range(11, -1, -1)),
        "zoo.quokka_count",
        "zoo.seen",
    ]


@pytest.mark.parametrize("page_size", [1, 2, 256])
async def test_matches_by_meaning_follow_few_matches_by_words(page_size):
    """On any page. None is repeated."""
    async with memory_runtime({"zoo": [quokka_count, seen]}) as ot:
        bundles = ot.runtime.state.bundles
        names = [tool.name for tool in await search(bundles, "counting quokkas", page_size)]
        one_page = [tool.name for tool in await search(bundles, "counting quokkas")]
    assert names == one_page
    assert {"zoo.quokka_count", "zoo.seen"} <= set(names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "token",
    [
        "nonsense",
        "\x00",
        "x" * (MAX_LENGTH + 1),
        write_token({"kind": "tools"}),
        write_token({"kind": "tools", "off": 1}),
        write_token({"kind": "bundles", "off": True}),
    ],
)
def test_invalid_page_token_is_rejected(token):
    with pytest.raises(InvalidBundle, match="pageToken"):
        read_token(token, {"kind": "tools", "off": True})
    assert (
        read_token(write_token({"kind": "tools", "off": False}), {"kind": "tools", "off": True})["off"]
        is False
    )
