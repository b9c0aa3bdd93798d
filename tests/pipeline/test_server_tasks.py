"""Waiting for the task of an earlier call: nothing is called, and only the tool of the same server waits."""

import pytest

from onetool.domain import Caller, Reason, Registry, Tool, ToolSpec
from onetool.domain.calls.call import ToolCall
from onetool.domain.calls.server_task import ServerTask
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import memory_runtime

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TASK = ServerTask("far", "t1", "endpoint")


async def call(tool_endpoint, task, output_schema=None):
    """Return the result of a call with a task, and the tasks that the runner received."""
    received = []

    async def run(args, invocation):
        received.append((dict(args), invocation.task))
        return "done"

    spec = ToolSpec(
        name="far.job", description="x", input_schema=SCHEMA, output_schema=output_schema, read_only=False
    )
    registry = Registry()
    registry.register(Tool(spec, run, endpoint=tool_endpoint))
    async with memory_runtime(sources=[SnapshotSource(StaticReader("far", registry))]) as ot:
        request = ToolCall("1", "far.job", {}, "mcp", task)
        return await ot.runtime.call(request, Caller(interface="job")), received


@pytest.mark.spec("MCP-58")
async def test_tool_waits_without_arguments_and_without_another_approval():
    result, received = await call("endpoint", TASK)
    assert (result.ok, result.data, received) == (True, "done", [({}, TASK)])


@pytest.mark.spec("MCP-58")
async def test_output_of_a_task_is_checked():
    result, _ = await call("endpoint", TASK, {"type": "object"})
    assert not result.ok


@pytest.mark.spec("MCP-58")
@pytest.mark.parametrize(
    ("tool_endpoint", "task_endpoint"), [("", ""), ("", "endpoint"), ("other", "endpoint")]
)
async def test_tool_of_another_server_is_not_run(tool_endpoint, task_endpoint):
    result, received = await call(tool_endpoint, TASK._replace(endpoint=task_endpoint))
    assert (result.meta.reason, received) == (Reason.NOT_REGISTERED, [])


async def test_call_without_a_task_needs_arguments_and_approval():
    result, received = await call("endpoint", None)
    assert (result.ok, received) == (False, [])
