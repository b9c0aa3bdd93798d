"""What was approved is what runs, and steps are reported before they are made."""

from dataclasses import replace

import pytest

from onetool.domain.calls.caller import Caller, ask_user
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import Reason, StoreUnavailable
from onetool.domain.tools.registry import Registry
from onetool.sdk import tool
from onetool.sources.snapshot import SnapshotSource
from onetool.testing import memory_runtime
from onetool.testing.runtime import function_source

RUNS = []


@tool(read_only=False)
def change(text: str = "") -> str:
    RUNS.append(text)
    return text


def look() -> str:
    return "seen"


class ChangingReader:
    """Tools of one source that change while the process runs."""

    name = "changing"

    def __init__(self, registry):
        self.registry, self.number = registry, 0

    def generation(self):
        return self.number

    async def read(self):
        return self.registry

    def replace(self, *tools):
        self.number += 1
        self.registry = Registry()
        for changed in tools:
            self.registry.add(changed)


async def registry_of(*functions):
    source = function_source("demo", functions)
    registry = Registry()
    await source.refresh()
    for found in await source.pack("demo"):
        registry.add(found)
    return registry


@pytest.mark.spec("MCP-49")
@pytest.mark.parametrize("is_removed", [False, True])
async def test_a_tool_that_changes_while_the_user_is_asked_does_not_run(is_removed):
    RUNS.clear()
    reader = ChangingReader(await registry_of(change))

    async def approve(request):
        found = reader.registry.get("demo.change")
        changed = replace(found, spec=replace(found.spec, description="Changed."))
        reader.replace(*([] if is_removed else [changed]))
        return True

    async with memory_runtime(sources=[SnapshotSource(reader)]) as ot:
        caller = Caller(interface="mcp", approve=approve)
        result = await ot.runtime.call_tool("demo.change", {"text": "x"}, caller, "mcp")
        assert not result.ok
        if not is_removed:
            assert result.meta.reason is Reason.NEEDS_APPROVAL
            assert "has changed since the user was asked" in result.error.message
        assert RUNS == []


@pytest.mark.spec("MCP-51")
async def test_steps_that_change_something_are_reported_before_and_after():
    RUNS.clear()
    steps = []

    async def on_step(name, is_ended):
        steps.append((name, is_ended, list(RUNS)))

    async with memory_runtime({"demo": [change, look]}) as ot:
        caller = Caller(interface="mcp", default_effect=Effect.ALLOW, on_step=on_step)
        await ot.runtime.call_tool("demo.look", {}, caller, "mcp")
        await ot.runtime.call_tool("demo.change", {"text": "x"}, caller, "mcp")
    assert steps == [("demo.change", False, []), ("demo.change", True, ["x"])]


async def test_call_whose_step_cannot_be_stored_is_not_made_and_says_so():
    RUNS.clear()

    async def on_step(name, is_ended):
        raise StoreUnavailable("The database is away.")

    async with memory_runtime({"demo": [change]}) as ot:
        caller = Caller(interface="mcp", default_effect=Effect.ALLOW, on_step=on_step)
        result = await ot.runtime.call_tool("demo.change", {"text": "x"}, caller, "mcp")
    assert (result.meta.reason, RUNS) == (Reason.UNAVAILABLE, [])
    assert "demo.change was not called: The database is away." in result.error.message


async def test_a_call_without_a_job_cannot_ask_its_user():
    RUNS.clear()
    async with memory_runtime({"demo": [change]}) as ot:
        caller = Caller(interface="mcp", approve=ask_user)
        result = await ot.runtime.call_tool("demo.change", {"text": "x"}, caller, "mcp")
    assert (result.meta.reason, RUNS) == (Reason.NEEDS_APPROVAL, [])
