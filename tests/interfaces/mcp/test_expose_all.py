"""`expose: all`: calls by wire name do not list the tools each time."""

from onetool.domain import Caller, Registry, Tool, ToolSpec
from onetool.domain.calls.effect import Effect
from onetool.domain.page import Page
from onetool.interfaces.mcp.exposure import PAGE_SIZE, ExposeAll
from onetool.interfaces.mcp.replies import CallReply
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import memory_runtime

CALLER = Caller(interface="mcp", default_effect=Effect.ALLOW)


class CountingSource(SnapshotSource):
    """Counts how often its tools are listed."""

    listings = 0

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        self.listings += 1
        return await super().page(cursor, limit)


async def reply_to(tools, name, args, caller):
    prepared = await tools.prepare(name, args, caller)
    if isinstance(prepared, CallReply):
        return prepared
    return await tools.render(prepared.tool, await prepared.work(caller))


async def test_tools_are_listed_once_for_many_calls_and_again_for_an_unknown_name():
    """Wire names are cached. An unknown name refreshes the cache."""
    source = CountingSource(StaticReader("none", Registry()))
    async with memory_runtime(sources=[source]) as ot:
        tools = ExposeAll(ot.runtime)
        for _ in range(3):
            assert (await reply_to(tools, "tools__echo", {"message": "hi"}, CALLER)).text == "hi"
        assert source.listings == 1
        assert "Did you mean tools__echo?" in (await reply_to(tools, "tools__ecko", {}, CALLER)).text
        assert source.listings == 2


async def test_the_cache_depends_on_the_catalog_and_the_allowed_tools():
    """Removed tools, and tools that the caller may not call, are not found."""
    reader = MutableReader(["bench.old"])
    async with memory_runtime(sources=[SnapshotSource(reader)]) as ot:
        tools = ExposeAll(ot.runtime)
        assert not (await reply_to(tools, "bench__old", {}, CALLER)).is_error
        restricted = CALLER.restricted(frozenset({"time.now"}))
        assert "Tool not found" in (await reply_to(tools, "bench__old", {}, restricted)).text
        assert not (await reply_to(tools, "bench__old", {}, CALLER)).is_error
        reader.names.clear()
        assert "Tool not found" in (await reply_to(tools, "bench__old", {}, CALLER)).text


class MutableReader:
    """A reader whose list of tools can change."""

    name = "mutable"

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def generation(self) -> int:
        return len(self.names)

    async def read(self) -> Registry:
        registry = Registry()
        for name in self.names:
            spec = ToolSpec(name=name, description="x", input_schema={"type": "object"}, handler="time.now")
            registry.register(Tool(spec))
        return registry


async def test_pages_are_limited_and_contain_every_tool_once():
    names = [f"bench.t{number:03}" for number in range(2 * PAGE_SIZE)]
    async with memory_runtime(sources=[SnapshotSource(MutableReader(names))]) as ot:
        tools, cursor, sizes, found = ExposeAll(ot.runtime), None, [], []
        while not sizes or cursor is not None:
            page, cursor = await tools.page(cursor, CALLER)
            sizes.append(len(page))
            found += [tool.name for tool in page]
    assert max(sizes) < 2 * PAGE_SIZE
    assert len(found) == len(set(found))
    assert {name.replace(".", "__") for name in names} <= set(found)
