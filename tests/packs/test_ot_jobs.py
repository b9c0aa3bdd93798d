"""ot.start, ot.wait, ot.cancel and ot.tasks, in `run` and by name; and time that waiting does not cost."""

import asyncio
import time
from dataclasses import replace

import pytest

from onetool.domain import Registry, Tool, ToolSpec
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.calls.pauses import Pauses
from onetool.domain.calls.question import Answer, Asker, Question
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.identity.principal import LOCAL, Principal
from onetool.pipeline.deadline import TICK
from onetool.sdk import Context, tool
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import FakeMcpTool, fake_mcp_server, memory_runtime
from support.virtual_clock import advance_running_loop, virtual_time
from support.waiting import HANG_S, until

OBJECT = {"type": "object"}
FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
ANSWER = Answer("accept", {"name": "Ann"})


async def ask_name(args, invocation):
    return (await invocation.caller.ask(Question(kind="form", message="Name?", schema=FORM))).fields["name"]


def asking_source(run=ask_name) -> SnapshotSource:
    registry = Registry()
    registry.register(Tool(ToolSpec(name="asks.name", description="x", input_schema=OBJECT), run))
    return SnapshotSource(StaticReader("asks", registry))


def client(ask=None) -> Caller:
    asker = Asker(ask, {"elicitation": {}}) if ask else Asker(capabilities={"elicitation": {}})
    return Caller(interface="mcp", asker=asker, default_effect=Effect.ALLOW, pauses=Pauses(virtual_time))


@pytest.mark.spec("MCP-47")
@pytest.mark.parametrize("is_run", [False, True], ids=["call", "run"])
async def test_answer_after_the_time_limit_is_in_time(is_run):
    """The answer takes 90 seconds and the time limit is 60; afterwards the tool works on."""

    async def ask(question: Question) -> Answer:
        advance_running_loop(90)
        return ANSWER

    async def run(args, invocation):
        name = await ask_name(args, invocation)
        for _ in range(3):
            await asyncio.sleep(TICK)  # the time limit is checked
        return name

    settings = {"execution": {"timeout_s": 60, "run_timeout_s": 60}}
    async with memory_runtime(sources=[asking_source(run)], settings=settings) as ot:
        if is_run:
            result = await ot.runtime.run("asks.name()", client(ask))
        else:
            result = await ot.runtime.call_tool("asks.name", {}, client(ask), "mcp")
    assert result.data == "Ann"


@pytest.mark.spec("MCP-47")
@pytest.mark.parametrize("is_run", [False, True], ids=["call", "run"])
async def test_calls_that_wait_for_answers_occupy_no_slot(is_run):
    settings = {"execution": {"max_concurrent": 1, "max_concurrent_runs": 1}}
    async with memory_runtime(sources=[asking_source()], settings=settings) as ot:
        runtime = ot.runtime

        async def work(own: Caller):
            if is_run:
                return await runtime.run("asks.name()", own)
            return await runtime.call_tool("asks.name", {}, own, "mcp")

        waiting = [await runtime.jobs.run(work, client(), "x", "d") for _ in range(20)]
        assert {job.status for job in waiting} == {"input_required"}
        async with asyncio.timeout(HANG_S):
            assert (await ot.call("ot.version")).ok
            assert (await ot.run("1 + 1")).data == 2
            for job in waiting:
                await runtime.jobs.answer(job.id, LOCAL, job.questions[0].id, ANSWER)
            ended = [await runtime.jobs.wait(job.id, LOCAL, HANG_S, [job.questions[0].id]) for job in waiting]
        assert {outcome.data for outcome in ended} == {"Ann"}


def slow(ctx: Context) -> str:
    """Report progress and wait until the call is cancelled or the test goes on."""
    ctx.progress(1, 4, "first")
    while not ctx.cancelled and not released:
        time.sleep(0.005)
    stopped.append(ctx.cancelled)
    return "done"


released: list[bool] = []
stopped: list[bool] = []


@pytest.fixture(autouse=True)
def _forget():
    released.clear()
    stopped.clear()


async def in_run(ot, name: str, **args):
    arguments = ", ".join(f"{key}={value!r}" for key, value in args.items())
    result = await ot.run(f"{name}({arguments})")
    assert result.ok, result
    return result.data


async def by_name(ot, name: str, **args):
    result = await ot.call(name, **args)
    assert result.ok, result
    return result.data


@pytest.fixture(params=[in_run, by_name])
def use(request):
    return request.param


@pytest.mark.spec("MCP-56")
async def test_started_tool_reports_progress_and_then_its_result(use):
    async with memory_runtime({"demo": [slow]}, settings={"execution": {"timeout_s": 10}}) as ot:
        id = (await use(ot, "ot.start", tool="demo.slow"))["id"]
        await until(lambda: ot.runtime.jobs._active[id].job.progress)
        advance_running_loop(30)  # longer than execution.timeout_s
        running = await use(ot, "ot.wait", id=id, seconds=0)
        assert (running["status"], running["tool"]) == ("running", "demo.slow")
        assert running["progress"] == {"done": 1, "total": 4, "message": "first"}
        assert [job["id"] for job in await use(ot, "ot.tasks")] == [id]
        released.append(True)
        ended = await by_name(ot, "ot.wait", id=id, seconds=HANG_S)
        assert ended == {"id": id, "status": "succeeded", "result": "done"}
        assert await use(ot, "ot.wait", id=id) == ended
    assert stopped == [False]


@pytest.mark.spec("MCP-56")
async def test_cancel_reaches_the_tool(use):
    async with memory_runtime({"demo": [slow]}) as ot:
        id = (await use(ot, "ot.start", tool="demo.slow"))["id"]
        await until(lambda: ot.runtime.jobs._active[id].job.progress)
        await use(ot, "ot.cancel", id=id)
        assert (await by_name(ot, "ot.wait", id=id, seconds=HANG_S))["status"] == "cancelled"
        await until(lambda: stopped)
    assert stopped == [True]


@pytest.mark.spec("MCP-56")
async def test_tool_of_a_server_can_be_started(use):
    server = fake_mcp_server("gh", [FakeMcpTool("double", "x", OBJECT, lambda args: args["n"] * 2)])
    async with memory_runtime(servers=[server]) as ot:
        id = (await use(ot, "ot.start", tool="gh.double", args={"n": 4}))["id"]
        assert (await by_name(ot, "ot.wait", id=id, seconds=HANG_S))["result"] == 8


@pytest.mark.spec("MCP-56")
async def test_question_of_a_started_tool_is_asked_by_wait():
    async def ask(question: Question) -> Answer:
        return ANSWER

    async with memory_runtime(sources=[asking_source()], caller=client(ask)) as ot:
        id = (await by_name(ot, "ot.start", tool="asks.name"))["id"]
        assert (await by_name(ot, "ot.wait", id=id, seconds=HANG_S))["result"] == "Ann"


@pytest.mark.spec("MCP-59")
async def test_job_of_another_principal_cannot_be_used():
    async with memory_runtime({"demo": [slow]}) as ot:
        id = (await by_name(ot, "ot.start", tool="demo.slow"))["id"]
        other = replace(ot.caller, principal=Principal("other"))
        for name in ("ot.wait", "ot.cancel"):
            result = await ot.runtime.call_tool(name, {"id": id}, other, "python")
            assert "not found" in result.error.message
        assert (await ot.runtime.call_tool("ot.tasks", {}, other, "python")).data == []
        assert stopped == []


@pytest.mark.spec("MCP-52")
async def test_approval_that_cannot_wait_is_refused_as_busy():
    async def approve(request) -> bool:
        raise ExecutionError(Reason.BUSY, "Too many calls wait for answers.")

    @tool(read_only=False)
    def write() -> None: ...

    caller = Caller(interface="mcp", approve=approve)
    async with memory_runtime({"demo": [write]}, caller=caller) as ot:
        result = await ot.call("demo.write")
    assert result.meta.reason is Reason.BUSY
