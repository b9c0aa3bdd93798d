"""Every call ends in a ToolResult, whatever the tool does and whatever its arguments are."""

import asyncio
import contextlib
import threading
import time
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain import Caller, ErrorText, Reason, Registry, Tool, ToolResult, ToolSpec
from onetool.domain.calls.caller import never_approve
from onetool.domain.errors import ExecutionError
from onetool.domain.text.json_text import check_size, encode
from onetool.pipeline.sandbox_callbacks import SandboxCallbacks
from onetool.pipeline.slots import Slots
from onetool.runtime.health import check_health
from onetool.sdk import Context, call_tool, call_tool_async, tool
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.storage.memory.activity import MemoryActivity
from onetool.testing import memory_runtime
from support.cpu_time import measure
from support.hypothesis_schemas import json_schemas, json_values
from support.virtual_clock import advance_running_loop
from support.waiting import HANG_S, until

OBJECT = {"type": "object"}


def source(*tools: Tool, name: str = "test") -> SnapshotSource:
    registry = Registry()
    for registered in tools:
        registry.add(registered)
    return SnapshotSource(StaticReader(name, registry))


def make_tool(name: str, run: Any = None, **spec: Any) -> Tool:
    return Tool(ToolSpec(**{"name": name, "description": "x", "input_schema": OBJECT, **spec}), run)


def reason(result: ToolResult) -> Reason | None:
    return result.meta.reason


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.guards("tool-behavior")
@pytest.mark.spec("RUN-16", "RUN-19")
@pytest.mark.parametrize(
    ("error", "message", "builtin"),
    [
        (ValueError("x"), "ValueError: x", "ValueError"),
        (ValueError(), "ValueError", "ValueError"),
        (KeyError("x"), "KeyError: 'x'", "KeyError"),
        (OSError("x"), "OSError: x", "OSError"),
        (SystemExit(3), "SystemExit: 3", "SystemExit"),
        (KeyboardInterrupt(), "KeyboardInterrupt", "KeyboardInterrupt"),
        (UnprintableError(), "UnprintableError", "Exception"),
        (TimeoutError("upstream"), "TimeoutError: upstream", "TimeoutError"),
        (GeneratorExit(), "GeneratorExit", "GeneratorExit"),
        (StopIteration("x"), "StopIteration: x", "StopIteration"),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_any_exception_of_a_tool_becomes_a_result(error, message, builtin, is_async):
    """Even SystemExit ends only the call that raised it."""

    async def async_tool() -> None:
        raise error

    def sync_tool() -> None:
        raise error

    async_tool.__name__ = sync_tool.__name__ = "boom"
    async with memory_runtime({"demo": [async_tool if is_async else sync_tool]}) as ot:
        result = await ot.call("demo.boom")
        assert (await ot.call("time.now")).ok
    assert not result.ok
    assert (reason(result), result.error.code) == (Reason.RAISED, "execution_error")
    assert (result.error.message, result.meta.exception) == (message, builtin)
    assert result.raised is error


async def test_tool_that_cancels_itself_does_not_cancel_its_caller():

    async def boom() -> None:
        raise asyncio.CancelledError

    async with memory_runtime({"demo": [boom]}) as ot:
        assert reason(await ot.call("demo.boom")) is Reason.CANCELLED


async def test_reason_that_a_tool_raises_is_preserved():

    async def boom() -> None:
        raise ExecutionError(Reason.UPSTREAM, "the upstream is down")

    async with memory_runtime({"demo": [boom]}) as ot:
        result = await ot.call("demo.boom")
    assert (reason(result), result.error.message) == (Reason.UPSTREAM, "the upstream is down")


@pytest.mark.guards("tool-behavior")
@pytest.mark.spec("RUN-36")
@pytest.mark.parametrize(
    ("func", "configured", "limit_s"),
    [("block", None, 8), ("own", None, 1800)] + [(func, 3600, 3600) for func in ("block", "wait", "stay")],
)
async def test_caller_gets_a_timeout_even_if_the_tool_continues(func, configured, limit_s):
    """The limit is 8 s or as configured, for blocking and async handlers, also if they ignore cancellation.

    The handler sees a deadline that is exactly the limit after the start of the call and hangs longer than
    that; the call ends at the deadline, and a blocked thread is abandoned.
    """
    gate, seen = threading.Event(), []

    def observe(ctx: Context) -> None:
        seen.append((ctx.deadline, time.monotonic()))

    def block(ctx: Context) -> None:
        observe(ctx)
        gate.wait()

    @tool(timeout=1800)
    def own(ctx: Context) -> None:
        block(ctx)

    async def wait(ctx: Context) -> None:
        observe(ctx)
        await asyncio.Event().wait()

    async def stay(ctx: Context) -> None:
        observe(ctx)
        while not gate.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    settings = {"execution": {"timeout_s": configured}} if configured else {}
    async with memory_runtime({"demo": [block, own, wait, stay]}, settings=settings) as ot:
        started = time.monotonic()
        call = asyncio.create_task(ot.call(f"demo.{func}"))
        await until(lambda: seen)
        ((deadline, running),) = seen
        assert not call.done() or time.monotonic() >= deadline
        advance_running_loop(limit_s)
        returned, _ = await asyncio.wait({call}, timeout=HANG_S)
        health = await check_health(ot.runtime.state, ot.runtime.threads)
        gate.set()
        call.cancel()  # ends a call that hangs
    assert returned
    assert (reason(call.result()), call.result().error.code) == (Reason.TIMEOUT, "execution_error")
    assert started <= deadline - limit_s + 1e-6
    assert deadline - limit_s - 1e-6 <= running
    assert health.abandoned == (func in ("block", "own"))


async def test_async_tool_that_blocks_the_event_loop_is_logged(capsys):

    async def block(ctx: Context) -> int:
        while time.monotonic() <= ctx.deadline:
            time.sleep(0.01)
        return 1

    async with memory_runtime({"demo": [block]}, settings={"execution": {"timeout_s": 0.5}}) as ot:
        assert (await ot.call("demo.block")).data == 1
    assert "demo.block blocked the event loop past its deadline" in capsys.readouterr().err


async def test_ctx_cancelled_is_set_after_a_timeout():
    """A loop on a thread can check it and stop."""
    started, stopped = threading.Event(), threading.Event()

    def loop(ctx: Context) -> None:
        started.set()
        while not ctx.cancelled:
            time.sleep(0.005)
        stopped.set()

    async with memory_runtime({"demo": [loop]}, settings={"execution": {"timeout_s": 3600}}) as ot:
        call = asyncio.create_task(ot.call("demo.loop"))
        await until(started.is_set)
        assert not stopped.is_set()
        advance_running_loop(3600)
        assert reason(await call) is Reason.TIMEOUT
        assert await asyncio.to_thread(stopped.wait, HANG_S)


async def test_progress_contains_no_part_of_a_secret():
    """Neither a whole one, nor one that is split over messages, also of nested calls."""
    progress: list[str] = []

    def inner(ctx: Context) -> None:
        """Report the end of the secret."""
        ctx.progress(2, 3, "er2-of-the-house")

    def outer(ctx: Context) -> None:
        """Report the beginning of the secret."""
        ctx.progress(1, 3, "It is hunt")
        call_tool("demo.inner")
        ctx.progress(3, 3, "again: hunter2-of-the-house")
        ctx.progress(3, 3, 7)

    caller = Caller(interface="python", on_progress=lambda done, total, message: progress.append(message))
    secrets = {"KEY": "hunter2-of-the-house"}
    async with memory_runtime({"demo": [inner, outer]}, caller=caller, secrets=secrets) as ot:
        result = await ot.call("demo.outer")
    assert result.ok, result.error
    assert progress == ["It is [secret]", "[secret]", "again: [secret]", "7"]


async def test_many_blocking_tools_that_call_tools_do_not_deadlock(size):
    """Forty nested calls at a time wait for each other, each on a thread of its own."""
    together = threading.Barrier(40)

    def outer(n: int) -> int:
        return call_tool("demo.inner", n=n)

    def inner(n: int) -> int:
        together.wait(HANG_S)
        return n

    settings = {"execution": {"timeout_s": 2 * HANG_S}}
    async with memory_runtime({"demo": [outer, inner]}, settings=settings) as ot:
        results = await asyncio.gather(*(ot.call("demo.outer", n=n) for n in range(size(200, 2000))))
    assert [result.data for result in results] == list(range(size(200, 2000)))


@pytest.mark.guards("tool-behavior")
async def test_endless_recursion_of_tools_is_rejected():

    async def ping() -> Any:
        return await call_tool_async("demo.ping")

    async with memory_runtime({"demo": [ping]}) as ot:
        result = await ot.call("demo.ping")
    assert not result.ok
    assert "more than 8 levels deep" in result.error.message


@pytest.mark.guards("model-tools")
async def test_nested_calls_have_the_permissions_and_deadline_of_the_caller():

    @tool(timeout=60)
    async def long() -> None:
        await asyncio.Event().wait()

    @tool(timeout=0.2)
    async def short() -> None:
        await call_tool_async("demo.long")

    async def peek() -> Any:
        return await call_tool_async("shell.pwd")

    @tool(read_only=False)
    async def wipe() -> str:
        return "wiped"

    async def sly() -> Any:
        return await call_tool_async("demo.wipe")

    allowed = frozenset({"demo.short", "demo.long", "demo.peek", "demo.sly", "demo.wipe"})
    caller = Caller(interface="ask", allowed=allowed, approve=never_approve)
    async with memory_runtime({"demo": [long, short, peek, wipe, sly]}, caller=caller) as ot:
        assert reason(await ot.call("demo.short")) in (Reason.TIMEOUT, Reason.RAISED)
        assert "not found" in (await ot.call("demo.peek")).error.message.lower()
        assert "approval.allow" in (await ot.call("demo.sly")).error.message


async def test_tool_that_is_not_read_only_requires_approval():
    """Only True approves: a handler that denies, fails or returns something else does not."""
    ran = []

    @tool(read_only=False)
    async def wipe() -> str:
        ran.append(1)
        return "wiped"

    async def broken(request: Any) -> bool:
        raise OSError("terminal gone")

    async def vague(request: Any) -> Any:
        return "perhaps"

    async with memory_runtime({"demo": [wipe]}) as ot:
        for approve in (never_approve, broken, vague):
            caller = Caller(interface="ask", approve=approve)
            result = await ot.runtime.call_tool("demo.wipe", {}, caller, "ask")
            assert reason(result) is Reason.NEEDS_APPROVAL
            assert "approval.allow" in result.error.message
        assert not ran
        assert (await ot.call("demo.wipe")).data == "wiped"


async def test_approval_patterns_take_precedence_over_the_caller():
    """`approval.allow` approves without asking, and `approval.deny` overrides it."""

    @tool(read_only=False)
    async def wipe() -> str:
        return "wiped"

    async def look() -> str:
        return "seen"

    settings = {"approval": {"allow": ["demo.*"]}}
    async with memory_runtime({"demo": [wipe]}, settings=settings, caller=Caller(interface="ask")) as ot:
        assert (await ot.call("demo.wipe")).ok
    settings = {"approval": {"allow": ["demo.*"], "deny": ["demo.l*"]}}
    async with memory_runtime({"demo": [look]}, settings=settings) as ot:
        assert reason(await ot.call("demo.look")) is Reason.NEEDS_APPROVAL


async def test_number_of_concurrent_calls_is_limited():
    """Other calls wait for a slot; a call that gets none before its deadline fails."""
    running, peak, release = 0, 0, asyncio.Event()

    async def hold() -> None:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await release.wait()
        running -= 1

    @tool(timeout=0.2)
    async def hurry() -> None: ...

    settings = {"execution": {"max_concurrent": 3, "timeout_s": 2 * HANG_S}}
    async with memory_runtime({"demo": [hold, hurry]}, settings=settings) as ot:
        tasks = [asyncio.create_task(ot.call("demo.hold")) for _ in range(5)]
        await until(lambda: running >= 3)
        late = await ot.call("demo.hurry")
        release.set()
        results = await asyncio.gather(*tasks)
    assert peak == 3
    assert all(result.ok for result in results)
    assert reason(late) is Reason.BUSY


async def test_caller_that_is_cancelled_while_waiting_takes_no_slot():
    running, release = asyncio.Event(), asyncio.Event()

    async def work() -> int:
        running.set()
        await release.wait()
        return 1

    async with memory_runtime({"demo": [work]}, settings={"execution": {"max_concurrent": 1}}) as ot:
        queue = ot.runtime.state.pipeline._admission._global_slots._waiters
        first = asyncio.create_task(ot.call("demo.work"))
        await running.wait()
        waiting = [asyncio.create_task(ot.call("demo.work")) for _ in range(3)]
        await until(lambda: len(queue) == 3)
        waiting[0].cancel()
        release.set()
        await asyncio.sleep(0)
        results = await asyncio.gather(first, *waiting, return_exceptions=True)
    assert isinstance(results[1], asyncio.CancelledError)
    assert [result.data for result in (results[0], *results[2:])] == [1, 1, 1]


async def test_slot_assigned_to_a_cancelled_waiter_is_released():
    slots = Slots(1)
    assert slots.try_acquire()
    waiting = asyncio.create_task(slots.wait(time.monotonic() + HANG_S))
    await asyncio.sleep(0)
    slots.release()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert slots.try_acquire()
    assert not slots.try_acquire()


async def test_resized_slots_admit_waiters_and_wait_for_slots_in_use():
    slots = Slots(1)
    assert slots.try_acquire()
    waiting = [asyncio.create_task(slots.wait(None)) for _ in range(3)]
    await asyncio.sleep(0)
    slots.resize(3)
    await asyncio.gather(*waiting[:2])
    assert not waiting[2].done()
    slots.resize(1)
    for _ in range(2):
        slots.release()
        assert not slots.try_acquire()
    slots.release()
    await waiting[2]
    slots.release()
    assert slots.try_acquire()
    assert not slots.try_acquire()


async def test_cache_of_compiled_schemas_is_bounded(monkeypatch):
    monkeypatch.setattr("onetool.pipeline.validation.MAX_CACHED", 3)

    async def run(args: Any, invocation: Any) -> int:
        return 1

    async with memory_runtime(sources=[source(*(make_tool(f"a.t{n}", run) for n in range(10)))]) as ot:
        for n in range(10):
            assert (await ot.call(f"a.t{n}")).ok
        assert len(ot.runtime.state.pipeline._validator._input_validators) <= 3


async def test_tool_can_limit_its_own_concurrency():
    """With `@tool(max_concurrent=1)` one call runs at a time and the others wait."""
    running, peak = 0, 0

    @tool(max_concurrent=1)
    async def work() -> None:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        for _ in range(20):
            await asyncio.sleep(0)  # calls that do not wait would start now
        running -= 1

    async with memory_runtime({"demo": [work]}) as ot:
        results = await asyncio.gather(*(ot.call("demo.work") for _ in range(5)))
    assert peak == 1
    assert all(result.ok for result in results)


async def test_tool_is_not_called_after_the_deadline():
    ran = []

    async def work() -> None:
        ran.append(1)

    caller = Caller(interface="python", deadline=time.monotonic() - 1)
    async with memory_runtime({"demo": [work]}, caller=caller) as ot:
        result = await ot.call("demo.work")
    assert reason(result) is Reason.TIMEOUT
    assert not ran


@pytest.mark.guards("model-arguments", "tool-results")
async def test_arguments_and_output_over_their_limits_are_rejected():
    """The message names the setting."""

    async def echo(text: str) -> str:
        return text * 3

    settings = {"execution": {"max_args_bytes": 100}, "output": {"max_bytes": 150}}
    async with memory_runtime({"demo": [echo]}, settings=settings) as ot:
        large_args = await ot.call("demo.echo", text="x" * 200)
        large_output = await ot.call("demo.echo", text="x" * 60)
    assert (reason(large_args), reason(large_output)) == (Reason.TOO_LARGE_IN, Reason.TOO_LARGE_OUT)
    assert "execution.max_args_bytes" in large_args.error.message
    assert "output.max_bytes" in large_output.error.message


async def test_large_results_are_checked_on_a_thread():
    """Small ones are checked on the event loop."""
    on_main_thread = []

    class Recording:
        def __str__(self):
            on_main_thread.append(threading.current_thread() is threading.main_thread())
            return "text"

    async def many(number: int) -> list:
        return [Recording(), *range(number)]

    async with memory_runtime({"demo": [many]}) as ot:
        assert (await ot.call("demo.many", number=3)).ok
        small = on_main_thread.copy()
        assert (await ot.call("demo.many", number=5_000)).ok
    assert all(small)
    assert not any(on_main_thread[len(small) :])


async def test_value_that_grows_exponentially_as_json_is_rejected():
    """It is rejected before it is serialized, as output and as an argument from code."""

    def exponential() -> list:
        value = ["x"]
        for _ in range(60):
            value = [value, value]
        return value

    async with memory_runtime({"demo": [exponential]}) as ot:
        assert reason(await ot.call("demo.exponential")) is Reason.TOO_LARGE_OUT
        callbacks = SandboxCallbacks(ot.runtime.call, asyncio.get_running_loop(), 100)
        outcome = await asyncio.wrap_future(callbacks.call("demo.exponential", {"value": exponential()}))
    assert outcome.exception == "ValueError"
    assert "Invalid arguments for demo.exponential: larger than 200 bytes" in outcome.message


async def test_checking_the_size_of_many_numbers_costs_little_more_than_encoding_them():
    """Checking them one by one would take a hundred times as long."""
    value = [list(range(200_000)) for _ in range(5)]
    encoding = min(measure(lambda: encode(value)) for _ in range(3))
    checking = min(measure(lambda: check_size(value, 10**9)) for _ in range(3))
    assert checking < 10 * encoding


async def test_returned_error_text_is_a_failure_with_data():

    async def complain() -> str:
        return ErrorText("Error: no")

    async def plain() -> str:
        return "Error: no"

    async with memory_runtime({"demo": [complain, plain]}) as ot:
        failed, fine = await ot.call("demo.complain"), await ot.call("demo.plain")
    assert (failed.ok, failed.data, reason(failed)) == (False, "Error: no", Reason.RETURNED_ERROR)
    assert (fine.ok, fine.data) == (True, "Error: no")


async def test_output_that_does_not_match_its_schema_is_an_error():
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}

    @dataclass
    class Output:
        n: Any

    async def give(args: Any, invocation: Any) -> Any:
        return Output(args["n"])

    with_schema = make_tool("demo.give", give, output_schema=schema)
    async with memory_runtime(sources=[source(with_schema)]) as ot:
        assert (await ot.call("demo.give", n=1)).data == Output(1)
        result = await ot.call("demo.give", n="one")
    assert reason(result) is Reason.BAD_OUTPUT
    assert 'n: "one" is not of type "integer"' in result.error.message

    async def odd(args: Any, invocation: Any) -> Any:
        return Unprintable()

    async with memory_runtime(sources=[source(make_tool("demo.odd", odd, output_schema=schema))]) as ot:
        assert reason(await ot.call("demo.odd")) is Reason.BAD_OUTPUT


async def test_invalid_schema_disables_only_its_tool():
    """A schema is also invalid if it refers to something outside of it."""

    async def run(args: Any, invocation: Any) -> int:
        return 1

    tools = [
        make_tool("bad.kind", run, input_schema={"type": 12}),
        make_tool("bad.ref", run, input_schema={"$ref": "http://127.0.0.1:9/x"}),
        make_tool("bad.out", run, output_schema={"$ref": "file:///etc/passwd"}),
        make_tool("good.one", run),
    ]
    async with memory_runtime(sources=[source(*tools)]) as ot:
        for name in ("bad.kind", "bad.ref", "bad.out"):
            assert reason(await ot.call(name)) is Reason.NOT_REGISTERED
        assert (await ot.call("good.one")).data == 1


@pytest.mark.guards("tool-results")
async def test_output_that_cannot_be_serialized_is_an_error():
    """Unusual values that have a JSON form are accepted."""
    cycle: list[Any] = []
    cycle.append(cycle)

    async def give_cycle() -> Any:
        return cycle

    async def give_unprintable() -> Any:
        return Unprintable()

    async def give_odd() -> Any:
        return {1: {2}, "big": 2**100, "lone": "\ud800", "nan": float("nan"), "bytes": b"x"}

    async with memory_runtime({"demo": [give_cycle, give_unprintable, give_odd]}) as ot:
        assert reason(await ot.call("demo.give_cycle")) is Reason.BAD_OUTPUT
        assert reason(await ot.call("demo.give_unprintable")) is Reason.BAD_OUTPUT
        assert (await ot.call("demo.give_odd")).ok


async def test_handler_delegates_once():
    """The schema and the approval of the other tool apply too. A chain of two handlers is rejected."""

    async def run(args: Any, invocation: Any) -> Any:
        return dict(args)

    needs_n = {"type": "object", "required": ["n"]}
    tools = [
        make_tool("real.work", run, input_schema=needs_n),
        make_tool("off.work", run, enabled=False, disabled_reason="maintenance"),
        make_tool("real.wipe", run, read_only=False),
        make_tool("to.work", handler="real.work"),
        make_tool("to.wipe", handler="real.wipe"),
        make_tool("to.nothing", handler="no.such"),
        make_tool("to.other", handler="to.work"),
        make_tool("to.off", handler="off.work"),
        make_tool("empty.tool"),
    ]
    async with memory_runtime(sources=[source(*tools)], caller=Caller(interface="ask")) as ot:
        assert (await ot.call("to.work", n=1)).data == {"n": 1}
        assert reason(await ot.call("to.work")) is Reason.BAD_ARGS
        assert reason(await ot.call("to.wipe")) is Reason.NEEDS_APPROVAL
        assert reason(await ot.call("to.nothing")) is Reason.NOT_REGISTERED
        assert reason(await ot.call("to.other")) is Reason.NOT_REGISTERED
        assert reason(await ot.call("to.off")) is Reason.DISABLED
        assert "maintenance" in (await ot.call("off.work")).error.message
        assert reason(await ot.call("empty.tool")) is Reason.NOT_REGISTERED


async def test_arguments_must_be_an_object():
    async with memory_runtime() as ot:
        for args in ([1], "x", None, {"message": {"deep": "x"}, 5: 1}):
            result = await ot.runtime.call_tool("tools.echo", args, ot.caller, "rest")
            assert reason(result) is Reason.BAD_ARGS
        cycle: dict[str, Any] = {}
        cycle["message"] = cycle
        assert reason(await ot.call("tools.echo", **cycle)) is Reason.BAD_ARGS


async def test_every_call_is_recorded_once():
    """Nested calls too, with sizes, source and outcome."""
    activity = MemoryActivity()

    async def outer() -> Any:
        return await call_tool_async("tools.echo", message="hi")

    async with memory_runtime({"demo": [outer]}, activity=activity) as ot:
        await ot.call("demo.outer")
        await ot.call("no.such")
        await ot.runtime.recorder.flush()
    recorded = [(event.tool, event.source, event.ok, event.reason) for event in activity.records]
    assert recorded == [
        ("tools.echo", "sdk", True, None),
        ("demo.outer", "python", True, None),
        ("no.such", "python", False, Reason.UNKNOWN),
    ]
    nested, outer_record, _ = activity.records
    assert (nested.parent, outer_record.parent) == (outer_record.id, "")
    assert (nested.bytes_in, nested.version, nested.code) == (len('{"message":"hi"}'), "current", None)
    assert activity.records[1].bytes_out == len('"hi"')


async def test_long_name_of_an_unknown_tool_is_truncated_in_records():
    activity = MemoryActivity()
    async with memory_runtime(activity=activity) as ot:
        result = await ot.call("p." + "x" * 1_000_000)
        await ot.runtime.recorder.flush()
    assert len(result.meta.tool) == len(activity.records[0].tool) < 400


async def test_failing_activity_store_does_not_affect_calls(capsys):
    """`flush` raises, and statistics are incomplete. The events are stored once the store works again."""

    class FullActivity(MemoryActivity):
        is_full = True

        async def add(self, records: Any, figures: Any) -> None:
            if self.is_full:
                raise OSError("disk full")
            await super().add(records, figures)

    activity = FullActivity()
    async with memory_runtime(activity=activity) as ot:
        assert (await ot.call("tools.echo", message=1)).ok
        with pytest.raises(OSError, match="disk full"):
            await ot.runtime.recorder.flush()
        assert (await ot.runtime.recorder.summary()).tools == {}
        assert (await ot.call("tools.echo", message=2)).ok
        activity.is_full = False
        await ot.runtime.recorder.flush()
        assert [event.tool for event in activity.records] == ["tools.echo"] * 2
        activity.is_full = True
        assert (await ot.call("tools.echo", message=3)).ok  # closing logs the failure
    log = capsys.readouterr().err
    assert "cannot write the latest calls; statistics are incomplete: disk full" in log
    assert "cannot store 1 events, which are lost: OSError: disk full" in log


OUTPUTS = st.one_of(
    json_values(),
    st.just(object()),
    st.binary(),
    st.sets(st.integers()),
    st.just(Unprintable()),
    st.dictionaries(st.integers(), st.text()),
)
OUTCOMES = st.one_of(
    OUTPUTS.map(lambda value: lambda: value),
    st.sampled_from(
        [ValueError("x"), UnprintableError(), SystemExit(1), StopIteration(1), asyncio.CancelledError()]
    ).map(lambda error: lambda: (_ for _ in ()).throw(error)),
)


@given(schema=json_schemas(), output=st.none() | json_schemas(), args=json_values(), outcome=OUTCOMES)
async def test_any_tool_with_any_schema_and_any_arguments_ends_in_a_result(schema, output, args, outcome):

    async def run(given: Any, invocation: Any) -> Any:
        return outcome()

    odd = make_tool("demo.odd", run, input_schema=schema, output_schema=output)
    async with memory_runtime(sources=[source(odd)]) as ot:
        result = await ot.runtime.call_tool("demo.odd", args, ot.caller, "rest")
    assert isinstance(result, ToolResult)
    assert result.ok is (result.error is None) is (result.meta.reason is None)
