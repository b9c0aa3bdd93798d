"""Queries that a source answers itself: listings, packs, suggestions and search."""

import logging

import pytest
from uuid_utils.compat import uuid7

from onetool.catalog.catalog import Catalog
from onetool.catalog.tool_search import CatalogSearch
from onetool.domain.bundles.bundle import Bundle, ToolVersion, rfc3339
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import ToolNotFound
from onetool.domain.identity.principal import LOCAL
from onetool.domain.policy.policy import Policy
from onetool.domain.policy.profile import Profile
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import Tool, ToolSpec
from onetool.sources.bundle_tools import BundleToolSource
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.storage.memory.bundles import MemoryBundles
from onetool.threads import Threads

USER = Caller(interface="python", default_effect=Effect.ALLOW)


class CountedSource(BundleToolSource):
    """Counts the pages that are read tool by tool."""

    pages = 0

    async def page(self, cursor, limit):
        self.pages += 1
        return await super().page(cursor, limit)


def memory_source(*rows):
    registry = Registry()
    for name, description in rows:
        registry.add(Tool(ToolSpec(name=name, description=description, input_schema={}), None))
    return SnapshotSource(StaticReader("memory", registry))


async def stored_source(*rows, store=None):
    store, bundles = store or MemoryBundles(), {}
    for name, description in rows:
        pack, _, slug = name.partition(".")
        if pack not in bundles:
            bundle = bundles[pack] = Bundle(id=str(uuid7()), slug=pack, created_at=rfc3339(1))
            await store.change_bundle(bundle.id, lambda _, bundle=bundle: bundle)
        tool = ToolVersion(
            id=str(uuid7()),
            bundle_id=bundles[pack].id,
            slug=slug,
            version="v1",
            type="python",
            arg_schema={"type": "object"},
            description=description,
            created_at=rfc3339(2),
        )
        await store.add_tool(tool, lambda _: None)
    return CountedSource(store, lambda tool: None)


IN_MEMORY = [("mail.send", "Send a letter to a person."), ("shared.read", "Read a page from memory.")]
STORED = [
    ("weather.rain", "Measure how much it rains in a city."),
    ("weather.snow", "Measure how much snow there is in a city."),
    ("shared.read", "Read a page that is stored."),
    ("shared.write", "Write a page."),
]


async def make_catalog(policy=None):
    stored = await stored_source(*STORED)
    return Catalog([memory_source(*IN_MEMORY), stored], policy=policy), stored


async def names(catalog, query, caller=USER, limit=5):
    found = await CatalogSearch(catalog, Threads()).find(query, caller, limit)
    return [spec.name for spec in found.specs]


async def test_search_ranks_tools_of_all_sources_together():
    """No stored tool is read but those that are found."""
    catalog, stored = await make_catalog()
    assert await names(catalog, "send a letter about rain in a city") == ["mail.send", "weather.rain"]
    assert (await names(catalog, "how much does it snow"))[0] == "weather.snow"
    assert (await names(catalog, "waether rian"))[0] == "weather.rain"
    assert await names(catalog, "zzzz qqqq") == []
    assert stored.pages == 0


async def test_ranking_is_that_of_one_index_over_all_tools():
    stored = [row for row in STORED if row[0] != "shared.read"]
    mixed = Catalog([memory_source(*IN_MEMORY), await stored_source(*stored)])
    whole = Catalog([memory_source(*IN_MEMORY, *stored)])
    for query in (
        "rain in a city",
        "read a page",
        "write a letter",
        "measure snow",
        "stored page of a person",
    ):
        assert set(await names(mixed, query)) == set(await names(whole, query)), query
        assert (await names(mixed, query))[0] == (await names(whole, query))[0], query


async def test_name_that_an_earlier_source_has_is_found_there_only():
    catalog, _ = await make_catalog()
    found = await CatalogSearch(catalog, Threads()).find("read a page", USER, 5)
    assert [spec.description for spec in found.specs if spec.name == "shared.read"] == [
        "Read a page from memory."
    ]
    assert {tool.spec.name for tool in await catalog.searchable.named(["shared.read", "shared.write"])} == {
        "shared.write"
    }


async def test_search_respects_profile_and_allow_list():
    policy = Policy(profiles={"post": Profile("post", packs=["mail", "shared"], exclude=["shared.write"])})
    catalog, _ = await make_catalog(policy)
    query = "write a letter about rain in a city on a page"
    assert set(
        await names(catalog, query, Caller(interface="mcp", principal=LOCAL.with_profile("post")))
    ) == {
        "mail.send",
        "shared.read",
    }
    allowed = Caller(interface="mcp", allowed=frozenset({"weather.rain"}))
    assert await names(catalog, query, allowed) == ["weather.rain"]


async def test_change_of_stored_tools_is_seen_at_once_and_does_not_index_the_others_again():
    store = MemoryBundles()
    memory, stored = memory_source(*IN_MEMORY), await stored_source(*STORED, store=store)
    catalog = Catalog([memory, stored])
    before = await catalog.memory_generation()
    assert await names(catalog, "sunshine") == []
    await stored_source(("sun.shine", "Measure the sunshine."), store=store)
    assert await names(catalog, "sunshine") == ["sun.shine"]
    assert await catalog.memory_generation() == before


async def test_listing_by_pattern_reads_only_matching_stored_tools():
    catalog, stored = await make_catalog()
    listed = [spec.name for spec in await catalog.specs(USER, pattern=".RE")]
    assert listed == ["shared.read"]
    assert [spec.name for spec in await catalog.specs(USER, pattern="ther.")] == [
        "weather.rain",
        "weather.snow",
    ]
    assert stored.pages == 0
    assert {spec.name for spec in await catalog.specs(USER, in_memory=True)} == {"mail.send", "shared.read"}


async def test_packs_are_summarized_without_reading_stored_tools():
    """Except those of packs that other sources have too."""
    catalog, stored = await make_catalog()
    summaries = await catalog.pack_summaries(USER)
    assert [(pack.name, pack.source, pack.tool_count) for pack in summaries] == [
        ("mail", "local", 1),
        ("shared", "local", 2),
        ("weather", "local", 2),
    ]
    restricted = Caller(interface="mcp", allowed=frozenset({"weather.snow"}))
    assert [tuple(pack) for pack in await catalog.pack_summaries(restricted)] == [("weather", "local", 1)]
    assert stored.pages == 0


@pytest.mark.parametrize(("name", "nearest"), [("weather.rian", "weather.rain"), ("mial.send", "mail.send")])
async def test_unknown_name_gets_a_suggestion_from_any_source(name, nearest):
    catalog, stored = await make_catalog()
    with pytest.raises(ToolNotFound, match=f"Did you mean {nearest}"):
        await catalog.resolve(name, USER)
    assert stored.pages == 0


async def test_tools_of_apps_are_not_counted():
    registry = Registry()
    spec = ToolSpec(name="app.show", description="Show.", input_schema={}, app_only=True)
    registry.add(Tool(spec, None))
    catalog = Catalog([SnapshotSource(StaticReader("app", registry)), memory_source(*IN_MEMORY)])
    assert [pack.name for pack in await catalog.pack_summaries(USER)] == ["mail", "shared"]


async def test_tool_that_one_caller_has_called_is_still_hidden_from_others():
    policy = Policy(profiles={"post": Profile("post", packs=["mail"])})
    catalog, _ = await make_catalog(policy)
    hidden = "shared.read"  # resolved once, it is in the cache
    assert (await catalog.resolve(hidden, USER)).tool.spec.name == hidden
    with pytest.raises(ToolNotFound) as error:
        await catalog.resolve(hidden, Caller(interface="mcp", principal=LOCAL.with_profile("post")))
    assert str(error.value) == f"Tool not found: '{hidden}'."


async def test_suggestion_names_no_hidden_tool():
    policy = Policy(profiles={"post": Profile("post", packs=["mail"])})
    catalog, _ = await make_catalog(policy)
    with pytest.raises(ToolNotFound) as error:
        await catalog.resolve("weather.rian", Caller(interface="mcp", principal=LOCAL.with_profile("post")))
    assert "weather.rain" not in str(error.value)


class BrokenStore(MemoryBundles):
    async def term_statistics(self, terms):
        raise OSError("disk gone")


async def test_failing_source_does_not_affect_search_in_the_others(caplog):
    caplog.set_level(logging.ERROR)
    stored = await stored_source(*STORED, store=BrokenStore())
    catalog = Catalog([memory_source(*IN_MEMORY), stored])
    assert await names(catalog, "send a letter") == ["mail.send"]
    assert "disk gone" in catalog.failures["bundles"]
