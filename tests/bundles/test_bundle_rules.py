"""The rules of bundles, asked as every door asks them."""

import pytest
from uuid_utils.compat import uuid7

from onetool.domain.bundle import Filter, InvalidBundle, NoSuchBundle, ReadOnly, Refused, Taken
from onetool.domain.page_tokens import LONGEST, read_token, write_token
from onetool.testing import memory_runtime
from openapi_documents import PETSTORE

PYTHON = {"type": "python", "pythonImpl": {"func": "time.now"}}
EVERYTHING = Filter(include_disabled=True)


async def new_bundle(bundles, slug="mine", **fields):
    bundle, _ = await bundles.put_bundle(str(uuid7()), {"slug": slug, **fields})
    return bundle


async def test_a_pack_is_a_bundle_that_can_only_be_switched():
    """Looked at like any other; replaced, filled or deleted never."""
    async with memory_runtime() as ot:
        bundles = ot.runtime.bundles
        page = await bundles.list_bundles(EVERYTHING, None, 100)
        time = next(bundle for bundle in page.items if bundle.slug == "time")
        now = (time.id, "now", "current")
        assert (await bundles.bundle(time.id)).is_built_in
        for attempt in (
            bundles.put_bundle(time.id, {"slug": "x"}),
            bundles.delete_bundle(time.id),
            bundles.put_tool((time.id, "new", "v1"), PYTHON),
            bundles.delete_tool(now),
            ot.runtime.exchange.export(time.id),
        ):
            with pytest.raises(ReadOnly, match="only its switch"):
                await attempt
        with pytest.raises(NoSuchBundle):
            await bundles.tool((time.id, "nwo", "current"))
        assert (await bundles.switch_tool(now, False)).tool.is_enabled is False
        assert (await ot.call("time.now")).meta.reason == "disabled"
        assert (await bundles.switch_tool(now, True)).tool.is_enabled
        await bundles.switch_bundle(time.id, False)
        assert "switched off" in (await ot.call("time.now")).error.message
        with pytest.raises(Refused, match="switched off"):
            await bundles.switch_tool(now, True)
        assert (await ot.run("ot.tools(info='list', pattern='time.')")).data == []
        await bundles.switch_bundle(time.id, True)
        assert (await ot.call("time.now")).ok


async def test_pages_go_from_what_is_shipped_to_what_is_stored():
    """Whatever the size of a page, everything comes once."""
    async with memory_runtime() as ot:
        bundles = ot.runtime.bundles
        mine = await new_bundle(bundles)
        for number in range(5):
            await bundles.put_tool((mine.id, f"t{number}", "v1"), PYTHON)

        async def visit(listing, size):
            found, after = [], None
            while True:
                page = await listing(EVERYTHING, after, size)
                found += page.items
                after = page.next
                if after is None:
                    return found

        whole = await visit(bundles.list_tools, 1000)
        assert len({one.tool.id for one in whole}) == len(whole) > 20
        for size in (1, 2, 3, len(whole) - 5, len(whole) - 1, len(whole)):
            assert await visit(bundles.list_tools, size) == whole
        everything = await visit(bundles.list_bundles, 1000)
        for size in (1, len(everything) - 1, len(everything)):
            assert await visit(bundles.list_bundles, size) == everything


async def test_limits_conflicts_and_numbers():
    """Too many tools, the same version again, numbers that no other reader could take."""
    async with memory_runtime(settings={"execution": {"max_tools": 1}}) as ot:
        bundles = ot.runtime.bundles
        mine = await new_bundle(bundles)
        odd = {**PYTHON, "argSchema": {"type": "object", "default": 2**70}}
        with pytest.raises(InvalidBundle, match="64 bits"):
            await bundles.put_tool((mine.id, "odd", "v1"), odd)
        with pytest.raises(InvalidBundle, match="NaN"):
            await bundles.put_tool(
                (mine.id, "odd", "v1"), {**PYTHON, "argSchema": {"type": "object", "x": float("inf")}}
            )
        await bundles.put_tool((mine.id, "a", "v1"), PYTHON)
        with pytest.raises(Refused, match=r"execution\.max_tools"):
            await bundles.put_tool((mine.id, "b", "v1"), PYTHON)
        with pytest.raises(NoSuchBundle):
            await bundles.delete_tool((mine.id, "b", "v1"))
        with pytest.raises(NoSuchBundle):
            await bundles.switch_tool((mine.id, "b", "v1"), True)
        await bundles.delete_bundle(mine.id)
        with pytest.raises(NoSuchBundle):
            await bundles.tool((mine.id, "a", "v1"))
        assert await bundles.reap() == []


async def test_a_name_is_remembered_until_something_changes():
    """The name of a version for calls; a deleted one is gone at once."""
    async with memory_runtime() as ot:
        bundles = ot.runtime.bundles
        mine = await new_bundle(bundles)
        pair = (mine.id, "a", "v1")
        await bundles.put_tool(pair, PYTHON)
        assert await bundles.name_of(pair) == await bundles.name_of(pair) == "mine.a@v1"
        await bundles.delete_tool(pair)
        with pytest.raises(NoSuchBundle):
            await bundles.name_of(pair)


async def test_a_calls_rate_is_kept():
    """As many a minute as the tool says; the next is told when to come again."""
    async with memory_runtime() as ot:
        mine = await new_bundle(ot.runtime.bundles)
        await ot.runtime.bundles.put_tool(
            (mine.id, "a", "v1"), {**PYTHON, "limits": {"maxCallsPerMinute": 2}}
        )
        results = [await ot.call("mine.a") for _ in range(3)]
        assert [result.ok for result in results] == [True, True, False]
        assert results[2].meta.reason == "rate_limited"
        assert "Try again in 30 s" in results[2].error.message


async def test_a_description_of_an_api_becomes_a_bundle():
    """Switched off, with what is still to do; a secret of that name is warned of."""
    async with memory_runtime(secrets={"PETSTORE_TOKEN": "hunter2hunter2"}) as ot:
        exchange, bundles = ot.runtime.exchange, ot.runtime.bundles
        imported = await exchange.import_openapi(PETSTORE)
        assert imported["tools"] >= 2
        assert imported["bundle"].is_enabled is False
        tools = (await bundles.list_tools(EVERYTHING, None, 200)).items
        mine = [one for one in tools if one.bundle.id == imported["bundle"].id]
        assert len(mine) == imported["tools"]
        assert (await ot.call(mine[0].name)).meta.reason == "disabled"
        assert [
            text for text in imported["warnings"] if "already" in text
        ] or "PETSTORE_TOKEN" not in imported["secrets"]


async def test_what_was_exported_comes_back():
    """Into another OneTool, and over a bundle that was deleted; never over one that is there."""
    async with memory_runtime() as ot, memory_runtime() as other:
        bundles = ot.runtime.bundles
        mine = await new_bundle(bundles)
        for number in range(3):
            await bundles.put_tool((mine.id, f"t{number}", "v1"), PYTHON)
        content = await ot.runtime.exchange.export(mine.id)
        bundle, number = await other.runtime.exchange.import_archive(content)
        assert (bundle.id, bundle.is_enabled, number) == (mine.id, False, 3)
        assert (await other.runtime.bundles.tool((mine.id, "t1", "v1"))).tool.python_impl == {
            "func": "time.now"
        }
        with pytest.raises(Refused, match="there already"):
            await ot.runtime.exchange.import_archive(content)
        await bundles.delete_bundle(mine.id)
        await ot.runtime.exchange.import_archive(content)
        await bundles.delete_tool((mine.id, "t0", "v1"))
        await bundles.delete_bundle(mine.id)
        await bundles.put_bundle(mine.id, {"slug": "mine"})
        await bundles.put_tool((mine.id, "t0", "v1"), PYTHON)
        await bundles.delete_bundle(mine.id)
        with pytest.raises(Taken):
            await ot.runtime.exchange.import_archive(content)


async def test_a_function_that_comes_back_brings_its_tool_back():
    """Disabled is computed: what is stored stays as it is."""
    async with memory_runtime() as ot:
        bundles = ot.runtime.bundles
        mine = await new_bundle(bundles)
        await bundles.put_tool((mine.id, "a", "v1"), PYTHON)
        listed = await bundles.tool((mine.id, "a", "v1"))
        assert await bundles.disabled_reason(listed) == ""
        assert [one.name for one in await bundles.search("a", Filter())][:1] == ["mine.a"]
        assert await bundles.search("...", Filter()) == []


@pytest.mark.parametrize(
    "token",
    [
        "nonsense",
        "\x00",
        "x" * (LONGEST + 1),
        write_token({"kind": "tools"}),
        write_token({"kind": "tools", "off": 1}),
        write_token({"kind": "bundles", "off": True}),
    ],
)
def test_a_token_of_another_listing_is_refused(token):
    """Whatever it holds, it is an error of the caller and not of ours."""
    with pytest.raises(InvalidBundle, match="pageToken"):
        read_token(token, {"kind": "tools", "off": True})
    assert (
        read_token(write_token({"kind": "tools", "off": False}), {"kind": "tools", "off": True})["off"]
        is False
    )
