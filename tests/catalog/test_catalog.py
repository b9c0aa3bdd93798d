"""The catalog: order of sources, names, changes, and failing sources."""

import asyncio
from collections import Counter
from collections.abc import Collection
from typing import Any

import pytest

from onetool.catalog.catalog import MAX_CACHED, Catalog
from onetool.catalog.source_chain import RETRY_AFTER, SourceChain
from onetool.domain import Caller, Reason, Registry, Tool, ToolSpec
from onetool.domain.errors import ToolNotFound, WorkspaceUnavailable
from onetool.domain.page import Page
from onetool.ports import SourceStatus
from onetool.sources.snapshot import SnapshotSource

CALLER = Caller(interface="python")


def make_tool(name: str, description: str = "x", **fields: Any) -> Tool:
    spec = ToolSpec(
        **{"name": name, "description": description, "input_schema": {"type": "object"}, **fields}
    )
    return Tool(spec)


class FakeReader:
    """A reader whose tools a test adds and removes."""

    def __init__(self, name: str, *tools: Tool) -> None:
        self.name, self.tools = name, list(tools)
        self.changes = self.reads = 0
        self.fault: Exception | None = None
        self.generation_fault: Exception | None = None

    def generation(self) -> int:
        if self.generation_fault:
            raise self.generation_fault
        return self.changes

    async def read(self) -> Registry:
        self.reads += 1
        if self.fault:
            raise self.fault
        registry = Registry()
        for tool in self.tools:
            registry.register(tool)
        return registry


def make_catalog(*readers: FakeReader, aliases: dict[str, str] | None = None) -> Catalog:
    return Catalog([SnapshotSource(reader) for reader in readers], aliases)


async def names(catalog: Catalog, caller: Caller | None = None) -> list[str]:
    return [tool.spec.name async for tool in catalog.tools(caller)]


async def test_last_page_of_a_source_has_no_cursor():
    source = SnapshotSource(FakeReader("t", make_tool("a.x"), make_tool("a.y")))
    await source.refresh()
    first = await source.page(None, 1)
    last = await source.page(first.next, 1)
    assert ([tool.spec.name for tool in last.items], last.next) == (["a.y"], None)


async def test_first_source_with_a_name_wins():
    first, second = (
        FakeReader("first", make_tool("a.x", "1"), make_tool("a.y", "1")),
        FakeReader("second", make_tool("a.x", "2"), make_tool("b.z")),
    )
    catalog = make_catalog(first, second)
    assert (await catalog.find("a.x")).spec.description == "1"
    assert await names(catalog) == ["a.x", "a.y", "b.z"]
    assert await names(catalog) == ["a.x", "a.y", "b.z"]


async def test_skipped_tools_are_listed_until_their_source_changes():
    """Both those that a source rejects and those whose name an earlier source has."""

    class RejectingReader(FakeReader):
        async def read(self) -> Registry:
            registry = await super().read()
            registry.skipped_tools.append("settings:3: skipped tool 'bad'")
            return registry

    second = RejectingReader("second", make_tool("a.x"), make_tool("a.y"))
    catalog = make_catalog(FakeReader("first", make_tool("a.x")), second)
    await names(catalog)
    rejected, duplicate = "settings:3: skipped tool 'bad'", "skipped duplicate tool 'a.x' from source second"
    assert catalog.skipped_tools == [rejected, duplicate]
    del second.tools[0]
    second.changes += 1
    await names(catalog)
    assert catalog.skipped_tools == [rejected]


async def test_only_changed_sources_are_read_again():
    """A change is visible to the next call."""
    first, second = FakeReader("first", make_tool("a.x")), FakeReader("second", make_tool("b.y"))
    catalog = make_catalog(first, second)
    for _ in range(3):
        await catalog.resolve("b.y", CALLER)
    second.tools.append(make_tool("b.new"))
    second.changes += 1
    await catalog.resolve("b.new", CALLER)
    second.tools.pop(0)
    second.changes += 1
    with pytest.raises(ToolNotFound):
        await catalog.resolve("b.y", CALLER)
    assert (first.reads, second.reads) == (1, 3)


async def test_failing_source_is_logged_and_counts_as_empty(caplog):
    """It is used again when it changes."""
    good, bad = FakeReader("good", make_tool("a.x")), FakeReader("bad", make_tool("b.y"))
    bad.fault = OSError("disk gone")
    catalog = make_catalog(bad, good)
    assert await names(catalog) == ["a.x"]
    assert await catalog.count() == 1
    assert catalog.failures == {"bad": "OSError: disk gone"}
    assert caplog.text.count("disk gone") == 1
    bad.fault, bad.changes = None, 1
    assert await names(catalog) == ["b.y", "a.x"]
    assert not catalog.failures


async def test_source_whose_generation_fails_counts_as_empty():
    bad, good = FakeReader("bad", make_tool("b.y")), FakeReader("good", make_tool("a.x"))
    catalog = make_catalog(bad, good)
    assert await names(catalog) == ["b.y", "a.x"]
    bad.generation_fault = OSError("gone")
    with pytest.raises(ToolNotFound):
        await catalog.resolve("b.y", CALLER)
    assert await names(catalog) == ["a.x"]
    bad.generation_fault = None
    assert await names(catalog) == ["b.y", "a.x"]


async def test_failed_source_is_retried_after_a_delay():
    now, bad = [0.0], FakeReader("bad", make_tool("b.y"))
    bad.fault = OSError("transient")
    sources = SourceChain(
        [SnapshotSource(bad), SnapshotSource(FakeReader("good", make_tool("a.x")))], clock=lambda: now[0]
    )
    await sources.refresh()
    assert await sources.find("b.y") is None
    bad.fault = None
    await sources.refresh()
    assert await sources.find("b.y") is None
    now[0] = RETRY_AFTER + 0.1
    await sources.refresh()
    assert (await sources.find("b.y")).spec.name == "b.y"


async def test_alias_refers_to_a_tool():
    """The name of a tool takes precedence over an alias."""
    catalog = make_catalog(
        FakeReader("s", make_tool("a.x"), make_tool("hello")),
        aliases={"x": "a.x", "hello": "a.x", "lost": "no.such"},
    )
    assert (await catalog.resolve("x", CALLER)).tool.spec.name == "a.x"
    assert (await catalog.resolve("hello", CALLER)).tool.spec.name == "hello"
    assert await catalog.find("lost") is None


async def test_tool_without_versions_has_the_version_current():
    catalog = make_catalog(FakeReader("s", make_tool("a.x")))
    assert await catalog.find("a.x@current")
    assert await catalog.find("a.x@2") is None
    assert await catalog.find("@current") is None


async def test_not_found_says_why():
    """Unknown names come with a similar name that this caller may call, other tools with the reason."""
    disabled = make_tool("a.off", enabled=False)
    catalog = make_catalog(FakeReader("s", make_tool("fs.read_file"), make_tool("fs.reed_file"), disabled))
    caller = Caller(interface="ask", allowed=frozenset({"fs.read_file", "a.off"}))
    for name, reason, message in [
        ("fs.raed_file", Reason.UNKNOWN, "Did you mean fs.read_file?"),
        ("fs.reed_file", Reason.NOT_ALLOWED, "not among the allowed"),
        ("a.off", Reason.DISABLED, "is disabled."),
    ]:
        with pytest.raises(ToolNotFound) as caught:
            await catalog.resolve(name, caller)
        assert caught.value.reason is reason
        assert message in str(caught.value)
    assert await names(catalog, caller) == ["fs.read_file"]


async def test_allow_list_accepts_plain_and_qualified_names():
    catalog = make_catalog(FakeReader("s", make_tool("hello")))
    for name in ("hello", "config.hello"):
        assert await catalog.resolve("hello", Caller(interface="ask", allowed=frozenset({name})))


async def test_pages_contain_each_tool_once():
    """Across sources, empty ones included."""
    readers = [
        FakeReader("many", *(make_tool(f"a.t{n}") for n in range(7))),
        FakeReader("none"),
        FakeReader("same", make_tool("a.t1")),
        FakeReader("last", make_tool("b.x"), make_tool("b.y")),
    ]
    catalog, listed, cursor = make_catalog(*readers), [], None
    while True:
        page = await catalog.page(cursor, 3)
        assert len(page.items) <= 3
        listed += [tool.spec.name for tool in page.items]
        cursor = page.next
        if cursor is None:
            break
    assert listed == [*(f"a.t{n}" for n in range(7)), "b.x", "b.y"]
    assert await make_catalog().page() == Page(())
    assert await make_catalog(FakeReader("none")).page() == Page(())


class CountingSource(SnapshotSource):
    """A source that counts the questions of the catalog."""

    def __init__(self, reader: FakeReader, counts: Counter[str]) -> None:
        super().__init__(reader)
        self.counts = counts

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        self.counts["find"] += 1
        return await super().find(name, version)

    async def packs(self) -> Collection[str]:
        self.counts["packs"] += 1
        return await super().packs()


async def test_listing_asks_each_source_once_for_its_packs_and_never_for_the_tools_of_others():
    """Neither the first resolve nor a listing grows with the square of the number of sources."""
    counts = Counter[str]()
    readers = [FakeReader(f"s{n}", make_tool(f"p{n}.x"), make_tool(f"p{n}.y")) for n in range(50)]
    catalog = Catalog([CountingSource(reader, counts) for reader in readers])
    assert len(await names(catalog)) == 100
    assert len(await catalog.packs()) == 50
    assert counts == {"packs": 50}
    assert (await catalog.resolve("p49.y", CALLER)).tool.spec.name == "p49.y"
    assert counts == {"packs": 50, "find": 50}


async def test_page_is_filled_from_several_sources():
    catalog = make_catalog(*(FakeReader(f"s{n}", make_tool(f"p{n}.x")) for n in range(5)))
    sizes, cursor = [], None
    while not sizes or cursor:
        page = await catalog.page(cursor, 2)
        sizes.append(len(page.items))
        cursor = page.next
    assert sizes == [2, 2, 1]


async def test_pack_exists_if_it_has_a_tool():
    catalog = make_catalog(FakeReader("s", make_tool("a.x"), make_tool("hello")))
    assert [await catalog.has_pack(pack) for pack in ("a", "config", "b")] == [True, True, False]


async def test_cache_of_resolved_names_is_bounded(monkeypatch):
    monkeypatch.setattr("onetool.catalog.catalog.MAX_CACHED", 10)
    catalog = make_catalog(FakeReader("s", *(make_tool(f"a.t{n}") for n in range(30))))
    for n in range(30):
        await catalog.resolve(f"a.t{n}", CALLER)
    assert len(catalog._resolved) <= 10 < MAX_CACHED


async def test_suggestions_compare_a_bounded_number_of_names(monkeypatch):
    monkeypatch.setattr("onetool.catalog.catalog.MAX_SUGGESTION_NAMES", 5)
    catalog = make_catalog(FakeReader("s", *(make_tool(f"a.t{n}") for n in range(30)), make_tool("z.unique")))
    with pytest.raises(ToolNotFound) as caught:
        await catalog.resolve("z.uniqe", CALLER)
    assert "z.unique" not in str(caught.value)


async def test_concurrent_calls_share_one_refresh():
    reader = FakeReader("s", make_tool("a.x"))
    catalog = make_catalog(reader)
    await asyncio.gather(*(catalog.resolve("a.x", CALLER) for _ in range(20)))
    assert reader.reads == 1


class RestlessSource(SnapshotSource):
    """A source that changes during every lookup."""

    catalog: Catalog

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        self.catalog._sources.generation += 1
        return await super().find(name, version)


async def test_tool_is_not_cached_if_its_source_changed_during_the_lookup():
    source = RestlessSource(FakeReader("s", make_tool("a.x")))
    source.catalog = catalog = Catalog([source])
    assert (await catalog.resolve("a.x", CALLER)).tool.spec.name == "a.x"
    assert not catalog._resolved


class StoppableSource(SnapshotSource):
    """A source that may have to start before its tools are known."""

    needs_start = False

    def status(self) -> SourceStatus:
        return SourceStatus(needs_start=self.needs_start)


async def test_paging_skips_a_source_that_stopped_and_reads_the_next_one_from_its_start():
    stopped = StoppableSource(FakeReader("s", make_tool("a.x"), make_tool("a.y")))
    catalog = Catalog([stopped, SnapshotSource(FakeReader("t", make_tool("b.x"), make_tool("b.y")))])
    first = await catalog.page(None, 1, start_servers=False)
    stopped.needs_start = True
    second = await catalog.page(first.next, 1, start_servers=False)
    assert [tool.spec.name for tool in (*first.items, *second.items)] == ["a.x", "b.x"]


class RemoteSource(SnapshotSource):
    """A source whose tools are looked up one by one."""

    fault: Exception | None = None

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        if self.fault:
            raise self.fault
        return await super().find(name, version)


async def test_database_that_is_away_hides_nothing_that_is_known():
    """A name that must be looked up is neither known nor unknown."""
    source = RemoteSource(FakeReader("s", make_tool("a.x"), make_tool("a.y")))
    catalog = Catalog([source])
    await catalog.resolve("a.x", CALLER)
    source.fault = WorkspaceUnavailable("away")
    with pytest.raises(WorkspaceUnavailable):
        await catalog.resolve("a.y", CALLER)
    assert (await catalog.resolve("a.x", CALLER)).tool.spec.name == "a.x"
    source.fault = None
    assert (await catalog.resolve("a.y", CALLER)).tool.spec.name == "a.y"


async def test_tool_that_appears_while_its_error_is_written_is_found():
    """The error must not say that it is unknown, because the suggestions already see it."""
    reader = FakeReader("late")

    class LateSource(SnapshotSource):
        async def find(self, name: str, version: str | None = None) -> Tool | None:
            found = await super().find(name, version)
            if not reader.tools:
                reader.tools.append(make_tool("late.f"))
                reader.changes += 1
            return found

    resolved = await Catalog([LateSource(reader)]).resolve("late.f", CALLER)
    assert resolved.tool.spec.name == "late.f"
