"""Whatever a tool does and whatever it is given, the call ends in a ToolResult."""

import asyncio
import threading
import time
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_schemas import json_schemas, json_values
from onetool.domain import Caller, ErrorText, Reason, Registry, Tool, ToolResult, ToolSpec
from onetool.domain.caller import grant, refuse
from onetool.domain.errors import ExecutionError
from onetool.domain.json_text import check_size, encode
from onetool.pipeline.host import CodeHost
from onetool.pipeline.places import Places
from onetool.sdk import Context, call_tool, call_tool_async, tool
from onetool.sources.snapshot import Fixed, Snapshot
from onetool.storage.memory import MemoryUsage
from onetool.testing import memory_runtime

OBJECT = {"type": "object"}


def source(*tools: Tool, name: str = "test") -> Snapshot:
    registry = Registry()
    for one in tools:
        registry.register(one)
    return Snapshot(Fixed(name, registry))


def make(name: str, run: Any = None, **spec: Any) -> Tool:
    return Tool(ToolSpec(**{"name": name, "description": "x", "input_schema": OBJECT, **spec}), run)


def reason(result: ToolResult) -> Reason | None:
    return result.meta.reason


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "message", "builtin"),
    [
        (ValueError("x"), "ValueError: x", "ValueError"),
        (ValueError(), "ValueError", "ValueError"),
        (SystemExit(3), "SystemExit: 3", "SystemExit"),
        (KeyboardInterrupt(), "KeyboardInterrupt", "KeyboardInterrupt"),
        (Odd(), "Odd", "Exception"),
        (TimeoutError("upstream"), "TimeoutError: upstream", "TimeoutError"),
        (GeneratorExit(), "GeneratorExit", "GeneratorExit"),
        (StopIteration("x"), "StopIteration: x", "StopIteration"),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_whatever_a_tool_raises_is_an_answer(error, message, builtin, is_async):
    """Not even SystemExit of a tool ends more than its own call."""

    async def later() -> None:
        raise error

    def now() -> None:
        raise error

    later.__name__ = now.__name__ = "boom"
    async with memory_runtime({"demo": [later if is_async else now]}) as ot:
        result = await ot.call("demo.boom")
    assert not result.ok
    assert reason(result) is Reason.RAISED
    assert (result.error.message, result.meta.exception) == (message, builtin)
    assert result.raised is error


async def test_a_tool_that_cancels_itself_fails_alone():
    """CancelledError that the caller did not ask for is an answer as well."""

    async def boom() -> None:
        raise asyncio.CancelledError

    async with memory_runtime({"demo": [boom]}) as ot:
        assert reason(await ot.call("demo.boom")) is Reason.CANCELLED


async def test_a_refusal_of_the_tool_keeps_its_reason():
    """A tool that names its reason itself is believed."""

    async def boom() -> None:
        raise ExecutionError(Reason.UPSTREAM, "the other side is down")

    async with memory_runtime({"demo": [boom]}) as ot:
        result = await ot.call("demo.boom")
    assert (reason(result), result.error.message) == (Reason.UPSTREAM, "the other side is down")


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_timeout_answers_on_time_even_if_the_tool_goes_on(is_async):
    """A tool that hangs, or swallows its cancellation, costs its caller the timeout and little more."""
    release = threading.Event()

    async def later() -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    def now() -> None:
        release.wait()

    later.__name__ = now.__name__ = "hang"
    started = time.monotonic()
    async with memory_runtime(
        {"demo": [later if is_async else now]}, settings={"execution": {"timeout_s": 0.2}}
    ) as ot:
        result = await ot.call("demo.hang")
        took = time.monotonic() - started
        health = await ot.runtime.health()
        release.set()
    assert reason(result) is Reason.TIMEOUT
    assert took < 1.2
    assert health.abandoned == (0 if is_async else 1)


async def test_an_async_tool_that_blocks_is_named(capsys):
    """Such a tool holds everybody up; the log says which one it was."""

    async def block() -> int:
        time.sleep(0.3)
        return 1

    async with memory_runtime({"demo": [block]}, settings={"execution": {"timeout_s": 0.1}}) as ot:
        assert (await ot.call("demo.block")).data == 1
    assert "demo.block held the event loop past its deadline" in capsys.readouterr().err


async def test_cancelling_the_caller_cancels_the_tool():
    """A caller that leaves takes its tool along, and the call is remembered as cancelled."""
    usage, left = MemoryUsage(), asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    async with memory_runtime({"demo": [wait]}, usage=usage) as ot:
        task = asyncio.create_task(ot.call("demo.wait"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert left.is_set()
        await ot.runtime.flush()
    assert [event.reason for event in usage.events] == [Reason.CANCELLED]


async def test_a_tool_sees_that_nobody_waits_any_more():
    """A long loop on a thread can look at ctx.cancelled and stop."""
    stopped = threading.Event()

    def loop(ctx: Context) -> None:
        while not ctx.cancelled:
            time.sleep(0.005)
        stopped.set()

    async with memory_runtime({"demo": [loop]}, settings={"execution": {"timeout_s": 0.1}}) as ot:
        assert reason(await ot.call("demo.loop")) is Reason.TIMEOUT
        assert await asyncio.to_thread(stopped.wait, 5)


async def test_context_tells_about_the_call():
    """ctx knows the id, the raw arguments and the time left, and passes progress on; no schema shows it."""
    told = []

    def work(path: str, ctx: Context) -> list[Any]:
        """Work."""
        ctx.progress(1, 2, "half")
        return [ctx.call_id, dict(ctx.args), ctx.deadline - time.monotonic()]

    caller = Caller(door="python", progress=lambda *news: told.append(news))
    async with memory_runtime({"demo": [work]}, caller=caller) as ot:
        result = await ot.call("demo.work", path="x")
        spec = (await ot.runtime.catalog.find("demo.work")).spec
    call_id, args, left = result.data
    assert (call_id, args, told) == (result.meta.call_id, {"path": "x"}, [(1, 2, "half")])
    assert 0 < left <= 8
    assert list(spec.input_schema["properties"]) == ["path"]


async def test_two_hundred_tools_that_call_tools_all_finish(size):
    """Blocking tools that each wait for another tool never use up what they wait for."""

    def outer(n: int) -> int:
        return call_tool("demo.inner", n=n)

    def inner(n: int) -> int:
        time.sleep(0.01)
        return n

    async with memory_runtime({"demo": [outer, inner]}) as ot:
        results = await asyncio.gather(*(ot.call("demo.outer", n=n) for n in range(size(200, 2000))))
    assert [result.data for result in results] == list(range(size(200, 2000)))


async def test_a_circle_of_tools_ends():
    """Tools that call each other without end are refused, and nothing hangs."""

    async def ping() -> Any:
        return await call_tool_async("demo.ping")

    async with memory_runtime({"demo": [ping]}) as ot:
        result = await ot.call("demo.ping")
    assert not result.ok
    assert "more than 8 levels deep" in result.error.message


async def test_inner_calls_keep_the_callers_rights_and_time():
    """No tool reaches what its caller may not reach, nor gets more time."""

    @tool(timeout=60)
    async def long() -> None:
        await asyncio.Event().wait()

    @tool(timeout=0.2)
    async def short() -> None:
        await call_tool_async("demo.long")

    async def peek() -> Any:
        return await call_tool_async("shell.pwd")

    @tool(changes=True)
    async def wipe() -> str:
        return "wiped"

    async def sly() -> Any:
        return await call_tool_async("demo.wipe")

    allowed = frozenset({"demo.short", "demo.long", "demo.peek", "demo.sly", "demo.wipe"})
    caller = Caller(door="ask", allowed=allowed, approve=refuse)
    async with memory_runtime({"demo": [long, short, peek, wipe, sly]}, caller=caller) as ot:
        assert reason(await ot.call("demo.short")) in (Reason.TIMEOUT, Reason.RAISED)
        assert "not found" in (await ot.call("demo.peek")).error.message.lower()
        assert "approval.allow" in (await ot.call("demo.sly")).error.message


async def test_a_tool_that_changes_things_needs_approval():
    """Nothing fails open: refused, not asked, and an asker that breaks all mean no."""
    ran = []

    @tool(changes=True)
    async def wipe() -> str:
        ran.append(1)
        return "wiped"

    async def broken(name: str, args: Any) -> bool:
        raise OSError("terminal gone")

    async def vague(name: str, args: Any) -> Any:
        return "perhaps"

    async with memory_runtime({"demo": [wipe]}) as ot:
        for approve in (refuse, broken, vague):
            caller = Caller(door="ask", approve=approve)
            result = await ot.runtime.call(ot.runtime.new_call("demo.wipe", {}, "ask"), caller)
            assert reason(result) is Reason.NEEDS_APPROVAL
            assert "approval.allow" in result.error.message
        assert not ran
        assert (await ot.call("demo.wipe")).data == "wiped"


async def test_patterns_decide_before_the_caller_is_asked():
    """approval.allow needs no question; approval.deny has the last word."""

    @tool(changes=True)
    async def wipe() -> str:
        return "wiped"

    async def look() -> str:
        return "seen"

    settings = {"approval": {"allow": ["demo.*"]}}
    async with memory_runtime({"demo": [wipe]}, settings=settings, caller=Caller(door="ask")) as ot:
        assert (await ot.call("demo.wipe")).ok
    settings = {"approval": {"allow": ["demo.*"], "deny": ["demo.l*"]}}
    async with memory_runtime({"demo": [look]}, settings=settings) as ot:
        assert reason(await ot.call("demo.look")) is Reason.NEEDS_APPROVAL


async def test_only_so_many_calls_run_at_once():
    """Calls from outside wait for a place; one that gets none in its time is told so."""
    running, most, release = 0, 0, asyncio.Event()

    async def hold() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await release.wait()
        running -= 1

    @tool(timeout=0.2)
    async def hurry() -> None: ...

    async with memory_runtime({"demo": [hold, hurry]}, settings={"execution": {"max_concurrent": 3}}) as ot:
        tasks = [asyncio.create_task(ot.call("demo.hold")) for _ in range(5)]
        await asyncio.sleep(0.1)
        late = await ot.call("demo.hurry")
        release.set()
        results = await asyncio.gather(*tasks)
    assert most == 3
    assert all(result.ok for result in results)
    assert reason(late) is Reason.BUSY


async def test_a_caller_that_leaves_the_line_takes_no_place():
    """Who is cancelled while waiting, even as its turn comes, leaves the place to the next."""
    release = asyncio.Event()

    async def work() -> int:
        await release.wait()
        return 1

    async with memory_runtime({"demo": [work]}, settings={"execution": {"max_concurrent": 1}}) as ot:
        first = asyncio.create_task(ot.call("demo.work"))
        await asyncio.sleep(0.05)
        waiting = [asyncio.create_task(ot.call("demo.work")) for _ in range(3)]
        await asyncio.sleep(0.05)
        waiting[0].cancel()
        release.set()
        await asyncio.sleep(0)
        results = await asyncio.gather(first, *waiting, return_exceptions=True)
    assert isinstance(results[1], asyncio.CancelledError)
    assert [result.data for result in (results[0], *results[2:])] == [1, 1, 1]


async def test_a_place_that_comes_too_late_goes_to_the_next():
    """A place given in the very moment in which its receiver leaves is not lost."""
    places = Places(1)
    assert places.take()
    waiting = asyncio.create_task(places.wait(time.monotonic() + 5))
    await asyncio.sleep(0)
    places.give()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert places.take()
    assert not places.take()


async def test_compiled_schemas_are_kept_in_bounds(monkeypatch):
    """Many tools with many schemas do not fill the memory."""
    monkeypatch.setattr("onetool.pipeline.checks.KEPT", 3)

    async def run(args: Any, invocation: Any) -> int:
        return 1

    async with memory_runtime(sources=[source(*(make(f"a.t{n}", run) for n in range(10)))]) as ot:
        for n in range(10):
            assert (await ot.call(f"a.t{n}")).ok
        assert len(ot.runtime._state.pipeline._checks._inputs) <= 3


async def test_a_tool_may_limit_itself():
    """@tool(max_concurrent=1) lets one call run at a time, whoever calls, and the others in turn."""
    running, most = 0, 0

    @tool(max_concurrent=1)
    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1

    async with memory_runtime({"demo": [work]}) as ot:
        results = await asyncio.gather(*(ot.call("demo.work") for _ in range(5)))
    assert most == 1
    assert all(result.ok for result in results)


async def test_no_time_left_means_not_called():
    """A call whose caller has no time left does not start."""
    ran = []

    async def work() -> None:
        ran.append(1)

    caller = Caller(door="python", deadline=time.monotonic() - 1)
    async with memory_runtime({"demo": [work]}, caller=caller) as ot:
        result = await ot.call("demo.work")
    assert reason(result) is Reason.TIMEOUT
    assert not ran


async def test_sizes_are_limited_both_ways():
    """Arguments and results over their limits are refused, with the setting's name."""

    async def echo(text: str) -> str:
        return text * 3

    settings = {"execution": {"max_args_bytes": 100}, "output": {"max_bytes": 150}}
    async with memory_runtime({"demo": [echo]}, settings=settings) as ot:
        too_much = await ot.call("demo.echo", text="x" * 200)
        too_long = await ot.call("demo.echo", text="x" * 60)
    assert (reason(too_much), reason(too_long)) == (Reason.TOO_LARGE_IN, Reason.TOO_LARGE_OUT)
    assert "execution.max_args_bytes" in too_much.error.message
    assert "output.max_bytes" in too_long.error.message


async def test_a_large_result_is_looked_at_beside_the_event_loop():
    """Others are served meanwhile; a small one needs no thread."""
    seen = []

    class Odd:
        def __str__(self):
            seen.append(threading.current_thread() is threading.main_thread())
            return "odd"

    async def many(number: int) -> list:
        return [Odd(), *range(number)]

    async with memory_runtime({"demo": [many]}) as ot:
        assert (await ot.call("demo.many", number=3)).ok
        is_small_here = seen.copy()
        assert (await ot.call("demo.many", number=5_000)).ok
    assert all(is_small_here)
    assert not any(seen[len(is_small_here) :])


async def test_what_has_no_end_on_paper_is_too_large():
    """It is refused before anybody writes it; so is what code hands to a tool."""

    def endless() -> list:
        value = ["x"]
        for _ in range(60):
            value = [value, value]
        return value

    async with memory_runtime({"demo": [endless]}) as ot:
        assert reason(await ot.call("demo.endless")) is Reason.TOO_LARGE_OUT
        host = CodeHost(ot.runtime.call, asyncio.get_running_loop(), 100)
        answer = await asyncio.wrap_future(host.call("demo.endless", {"value": endless()}))
    assert (answer.exception, "cannot be taken: larger than 200 bytes" in answer.message) == (
        "ValueError",
        True,
    )


async def test_millions_of_numbers_take_little_longer_than_to_write_them():
    """What is looked at one by one would take a hundred times as long."""
    value = [list(range(200_000)) for _ in range(5)]
    started = time.process_time()
    encode(value)
    written = time.process_time() - started
    started = time.process_time()
    check_size(value, 10**9)
    assert time.process_time() - started < 10 * written + 0.05


async def test_a_returned_error_text_stays_a_value():
    """An error text is a failure for doors, and still the data that was returned."""

    async def complain() -> str:
        return ErrorText("Error: no")

    async def plain() -> str:
        return "Error: no"

    async with memory_runtime({"demo": [complain, plain]}) as ot:
        failed, fine = await ot.call("demo.complain"), await ot.call("demo.plain")
    assert (failed.ok, failed.data, reason(failed)) == (False, "Error: no", Reason.RETURNED_ERROR)
    assert (fine.ok, fine.data) == (True, "Error: no")


async def test_output_that_breaks_its_promise_is_an_error():
    """An output schema is checked; where there is none anything goes."""
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}

    @dataclass
    class Found:
        n: Any

    async def give(args: Any, invocation: Any) -> Any:
        return Found(args["n"])

    good = make("demo.give", give, output_schema=schema)
    async with memory_runtime(sources=[source(good)]) as ot:
        assert (await ot.call("demo.give", n=1)).data == Found(1)
        result = await ot.call("demo.give", n="one")
    assert reason(result) is Reason.BAD_OUTPUT
    assert 'n: "one" is not of type "integer"' in result.error.message

    async def odd(args: Any, invocation: Any) -> Any:
        return Unprintable()

    async with memory_runtime(sources=[source(make("demo.odd", odd, output_schema=schema))]) as ot:
        assert reason(await ot.call("demo.odd")) is Reason.BAD_OUTPUT


async def test_a_broken_schema_makes_the_tool_unusable_and_nothing_else():
    """A schema that is none, or that points outside, is refused by name."""

    async def run(args: Any, invocation: Any) -> int:
        return 1

    tools = [
        make("bad.kind", run, input_schema={"type": 12}),
        make("bad.ref", run, input_schema={"$ref": "http://127.0.0.1:9/x"}),
        make("bad.out", run, output_schema={"$ref": "file:///etc/passwd"}),
        make("good.one", run),
    ]
    async with memory_runtime(sources=[source(*tools)]) as ot:
        for name in ("bad.kind", "bad.ref", "bad.out"):
            assert reason(await ot.call(name)) is Reason.NOT_REGISTERED
        assert (await ot.call("good.one")).data == 1


async def test_what_json_cannot_hold_is_an_error_not_a_crash():
    """A result that refers to itself, or has no text, is refused; odd but finite ones pass."""
    circle: list[Any] = []
    circle.append(circle)

    async def give_circle() -> Any:
        return circle

    async def give_unprintable() -> Any:
        return Unprintable()

    async def give_odd() -> Any:
        return {1: {2}, "big": 2**100, "lone": "\ud800", "nan": float("nan"), "bytes": b"x"}

    async with memory_runtime({"demo": [give_circle, give_unprintable, give_odd]}) as ot:
        assert reason(await ot.call("demo.give_circle")) is Reason.BAD_OUTPUT
        assert reason(await ot.call("demo.give_unprintable")) is Reason.BAD_OUTPUT
        assert (await ot.call("demo.give_odd")).ok


async def test_a_handler_is_followed_once():
    """A tool may stand for another, whose own schema and approval hold too; a chain of two is refused."""

    async def run(args: Any, invocation: Any) -> Any:
        return dict(args)

    needs_n = {"type": "object", "required": ["n"]}
    tools = [
        make("real.work", run, input_schema=needs_n),
        make("off.work", run, enabled=False, disabled_reason="maintenance"),
        make("real.wipe", run, changes=True),
        make("to.work", handler="real.work"),
        make("to.wipe", handler="real.wipe"),
        make("to.nothing", handler="no.such"),
        make("to.other", handler="to.work"),
        make("to.off", handler="off.work"),
        make("empty.tool"),
    ]
    async with memory_runtime(sources=[source(*tools)], caller=Caller(door="ask")) as ot:
        assert (await ot.call("to.work", n=1)).data == {"n": 1}
        assert reason(await ot.call("to.work")) is Reason.BAD_ARGS
        assert reason(await ot.call("to.wipe")) is Reason.NEEDS_APPROVAL
        assert reason(await ot.call("to.nothing")) is Reason.NOT_REGISTERED
        assert reason(await ot.call("to.other")) is Reason.NOT_REGISTERED
        assert reason(await ot.call("to.off")) is Reason.DISABLED
        assert "maintenance" in (await ot.call("off.work")).error.message
        assert reason(await ot.call("empty.tool")) is Reason.NOT_REGISTERED


async def test_arguments_must_be_a_map():
    """A door that hands over something else gets an answer too."""
    async with memory_runtime() as ot:
        for args in ([1], "x", None, {"message": {"deep": "x"}, 5: 1}):
            result = await ot.runtime.call(ot.runtime.new_call("tools.echo", args, "rest"), ot.caller)
            assert reason(result) is Reason.BAD_ARGS
        circle: dict[str, Any] = {}
        circle["message"] = circle
        assert reason(await ot.call("tools.echo", **circle)) is Reason.BAD_ARGS


async def test_every_call_is_remembered_once_with_what_happened():
    """One event per call, inner ones included, with sizes, source and outcome."""
    usage = MemoryUsage()

    async def outer() -> Any:
        return await call_tool_async("tools.echo", message="hi")

    async with memory_runtime({"demo": [outer]}, usage=usage) as ot:
        await ot.call("demo.outer")
        await ot.call("no.such")
        await ot.runtime.flush()
    seen = [(event.tool, event.source, event.ok, event.reason) for event in usage.events]
    assert seen == [
        ("tools.echo", "sdk", True, None),
        ("demo.outer", "python", True, None),
        ("no.such", "python", False, Reason.UNKNOWN),
    ]
    inner = usage.events[0]
    assert (inner.bytes_in, inner.version, inner.code) == (len('{"message":"hi"}'), "current", None)
    assert usage.events[1].bytes_out == len('"hi"')


async def test_a_store_that_cannot_keep_events_harms_no_call():
    """Calls go on; flushing says that nothing was kept, and once the store works again nothing is missing."""

    class Full(MemoryUsage):
        is_full = True

        def add(self, events: Any) -> None:
            if self.is_full:
                raise OSError("disk full")
            super().add(events)

    usage = Full()
    async with memory_runtime(usage=usage) as ot:
        assert (await ot.call("tools.echo", message=1)).ok
        with pytest.raises(OSError, match="disk full"):
            await ot.runtime.flush()
        assert (await ot.call("tools.echo", message=2)).ok
        usage.is_full = False
        await ot.runtime.flush()
        assert [event.tool for event in usage.events] == ["tools.echo"] * 2
        usage.is_full = True
        assert (await ot.call("tools.echo", message=3)).ok  # closing logs what it could not keep


ANYTHING = st.one_of(
    json_values(),
    st.just(object()),
    st.binary(),
    st.sets(st.integers()),
    st.just(Unprintable()),
    st.dictionaries(st.integers(), st.text()),
)
OUTCOMES = st.one_of(
    ANYTHING.map(lambda value: lambda: value),
    st.sampled_from([ValueError("x"), Odd(), SystemExit(1), StopIteration(1), asyncio.CancelledError()]).map(
        lambda error: lambda: (_ for _ in ()).throw(error)
    ),
)


@given(schema=json_schemas(), output=st.none() | json_schemas(), args=json_values(), outcome=OUTCOMES)
async def test_any_tool_with_any_schema_and_any_arguments_ends_in_a_result(schema, output, args, outcome):
    """Never an exception, whatever the tool, its schemas and its arguments are."""

    async def run(given: Any, invocation: Any) -> Any:
        return outcome()

    odd = make("demo.odd", run, input_schema=schema, output_schema=output)
    async with memory_runtime(sources=[source(odd)]) as ot:
        result = await ot.runtime.call(ot.runtime.new_call("demo.odd", args, "rest"), ot.caller)
    assert isinstance(result, ToolResult)
    assert result.ok is (result.error is None) is (result.meta.reason is None)


def test_approval_is_granted_by_the_persons_own_act():
    """The two constant answers say what their names say."""
    assert asyncio.run(grant("x.y", {})) is True
    assert asyncio.run(refuse("x.y", {})) is False
