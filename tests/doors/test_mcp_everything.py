"""`expose: all`: a call by a name on the wire costs no listing."""

from onetool.domain import Caller, Registry, Tool, ToolSpec
from onetool.domain.caller import grant
from onetool.domain.paging import Page
from onetool.doors.mcp.presents import Everything
from onetool.sources.snapshot import Fixed, Snapshot
from onetool.testing import memory_runtime

CALLER = Caller(door="mcp", approve=grant)


class Counted(Snapshot):
    """A source that knows how often it was listed."""

    listings = 0

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        self.listings += 1
        return await super().page(cursor, limit)


async def test_tools_are_listed_once_for_many_calls_and_again_for_an_unknown_name():
    """Names on the wire are remembered; an unknown one is looked for again before it is refused."""
    source = Counted(Fixed("none", Registry()))
    async with memory_runtime(sources=[source]) as ot:
        tools = Everything(ot.runtime)
        for _ in range(3):
            assert (await tools.call("tools__echo", {"message": "hi"}, CALLER)).text == "hi"
        assert source.listings == 1
        assert "Did you mean tools__echo?" in (await tools.call("tools__ecko", {}, CALLER)).text
        assert source.listings == 2


async def test_what_is_remembered_holds_for_one_state_and_one_list_of_tools():
    """A tool that is gone, or that this caller may not call, is no longer found by its name on the wire."""
    moving = Moving(["bench.old"])
    async with memory_runtime(sources=[Snapshot(moving)]) as ot:
        tools = Everything(ot.runtime)
        assert not (await tools.call("bench__old", {}, CALLER)).is_error
        narrowed = CALLER.narrowed(frozenset({"time.now"}))
        assert "there is no tool" in (await tools.call("bench__old", {}, narrowed)).text
        assert not (await tools.call("bench__old", {}, CALLER)).is_error
        moving.names.clear()
        assert "there is no tool" in (await tools.call("bench__old", {}, CALLER)).text


class Moving:
    """Tools that come and go, and say so."""

    name = "moving"

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
