"""What an error about a time limit says: the limit, and what sets it."""

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from onetool.domain.calls.call import ToolCall
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import Tool, ToolSpec
from onetool.sdk import tool
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import memory_runtime
from support.virtual_clock import advance_running_loop
from support.waiting import until

started: list[str] = []


async def hang() -> None:
    started.append("hang")
    await asyncio.Event().wait()


@tool(timeout=90)
async def own() -> None:
    await hang()


async def run_foreign(args: Any, invocation: Any) -> None:
    await hang()


def foreign(origin: Any, **limits: Any) -> Any:
    """Return a source of one tool with this origin."""
    registry = Registry()
    spec = ToolSpec(
        name="far.away", description="Far.", input_schema={"type": "object"}, origin=origin, **limits
    )
    registry.register(Tool(spec, run_foreign))
    return SnapshotSource(StaticReader("far", registry))


SETTING = "execution.timeout_s, or @tool(timeout=...)"


@pytest.mark.parametrize(
    ("name", "limits", "caller", "limit"),
    [
        ("demo.hang", None, {}, f"60 s ({SETTING})"),
        ("demo.own", None, {}, "90 s (@tool(timeout=...))"),
        ("demo.hang", None, {"min_timeout": 300.0}, "300 s (execution.job_timeout_s)"),
        ("far.away", ("config", {}), {}, "60 s (execution.timeout_s)"),
        ("far.away", ("config", {"timeout": 9.5}), {}, "9.5 s (the tool's own limit)"),
        ("far.away", ("proxy", {"default_timeout": 80}), {}, "80 s (timeout_s of its server)"),
        ("far.away", ("proxy", {"timeout": 20}), {}, "20 s (timeout_s of its server)"),
        ("far.away", ("bundle", {"timeout": 5}), {}, "5 s (limits.timeoutMS of the tool)"),
    ],
)
async def test_a_call_that_times_out_names_its_limit(name, limits, caller, limit):
    sources = [foreign(limits[0], **limits[1])] if limits else []
    settings = {"execution": {"timeout_s": 60}}
    async with memory_runtime({"demo": [hang, own]}, settings=settings, sources=sources) as ot:
        started.clear()
        call = ToolCall("1", name, {}, "python")
        running = asyncio.create_task(ot.runtime.call(call, replace(ot.caller, **caller)))
        await until(lambda: started)
        advance_running_loop(400)
        assert (await running).error.message == f"{name} timed out after {limit}."


async def test_a_call_that_ends_with_its_caller_says_so():
    async with memory_runtime({"demo": [hang]}, settings={"execution": {"timeout_s": 60}}) as ot:
        started.clear()
        limited = replace(ot.caller, deadline=time.monotonic() + 30)
        running = asyncio.create_task(ot.runtime.call_tool("demo.hang", {}, limited, "python"))
        await until(lambda: started)
        advance_running_loop(40)
        message = (await running).error.message
    assert message.startswith("demo.hang timed out after ")
    assert message.endswith("s, the time that its caller had left.")
