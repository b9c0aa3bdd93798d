"""Tools made of code run with the rights of their callers, within limits, in every place."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest

from onetool.domain import Caller, Reason
from onetool.domain.calls.effect import Effect
from onetool.sdk import get_secret, tool
from onetool.testing import memory_runtime
from support.activity import recorded
from support.rest_process import code_tool
from support.stored_tools import store_programs, store_tools
from support.waiting import HANG_S, until

CANARY = "canary-value-123"
changed: list[str] = []
running: set[object] = set()
peak: list[int] = []
gate: list[asyncio.Event] = []


@tool(read_only=False)
def change(what: str = "") -> str:
    """Change something."""
    changed.append(what)
    return f"changed {what}"


def reveal() -> str:
    """Return a secret."""
    return get_secret("CANARY")


async def hold() -> int:
    """Wait until the gate is open, and count the calls that wait."""
    me = object()
    running.add(me)
    peak.append(len(running))
    try:
        await gate[0].wait()
    finally:
        running.discard(me)
    return 1


@pytest.fixture(autouse=True)
def _forget():
    for seen in (changed, running, peak, gate):
        seen.clear()
    gate.append(asyncio.Event())


def open_ot(**execution):
    settings = {"execution": {"run_timeout_s": HANG_S} | execution}
    return memory_runtime({"demo": [change, reveal, hold]}, settings=settings, secrets={"CANARY": CANARY})


async def test_omitted_arguments_have_their_defaults_and_the_last_line_is_the_result():
    schema = {"type": "object", "properties": {"a": {"default": [1]}, "b": {}, "c": {}}}
    async with open_ot() as ot:
        await store_tools(ot.runtime, "flows", {"show": code_tool("x = [a, b, c]\nx", argSchema=schema)})
        assert (await ot.call("flows.show", c={"k": "v"})).data == [[1], None, {"k": "v"}]
        assert (await ot.run("flows.show(b=True, a=0)")).data == [0, True, None]
        assert (await ot.call("flows.show", d=1)).meta.reason is Reason.BAD_ARGS


async def test_error_names_the_tool_the_line_and_the_nearest_name():
    async with open_ot() as ot:
        await store_programs(ot.runtime, "flows", wrong="x = 1\ndemo.chnage()", fails="x = []\nx[0]")
        result = await ot.call("flows.wrong")
        assert (result.meta.reason, result.error.code) == (Reason.RAISED, "execution_error")
        assert "flows.wrong failed: line 2: there is no tool demo.chnage. Did you mean demo.change" in (
            result.error.message
        )
        assert "line 2: IndexError" in (await ot.call("flows.fails")).error.message
        inside = await ot.run("try:\n    flows.fails()\nexcept Exception as e:\n    r = str(e)\nr")
        assert "flows.fails failed: line 2" in inside.data


@pytest.mark.guards("model-stored-code")
async def test_program_calls_only_what_its_caller_may_call():
    """The list of allowed tools, and denied approval, also hold inside of a stored program."""
    async with open_ot() as ot:
        await store_programs(
            ot.runtime, "flows", change="demo.change(what='a')", outer="flows.change()", read="time.now()"
        )
        only = replace(ot, caller=replace(ot.caller, allowed=frozenset({"flows.change", "flows.outer"})))
        for name in ("flows.change", "flows.outer"):
            assert not (await only.call(name)).ok
        asked = replace(ot, caller=Caller(interface="python", default_effect=Effect.ASK))
        for name in ("flows.change", "flows.outer"):
            result = await asked.call(name)
            assert "demo.change is not read-only and was not approved" in result.error.message
        denied = replace(ot, caller=Caller(interface="python", default_effect=Effect.DENY))
        assert not (await denied.call("flows.change")).ok
        assert changed == []
        assert (await asked.call("flows.read")).ok
        assert (await ot.call("flows.outer")).data == "changed a"


@pytest.mark.guards("model-stored-code")
async def test_person_approves_the_calls_of_the_program_with_their_arguments():
    asked = []

    async def approve(request):
        asked.append((request.tool, dict(request.args)))
        return True

    async with open_ot() as ot:
        await store_tools(ot.runtime, "flows", {"change": code_tool("demo.change(what=x)", "x")})
        caller = Caller(interface="python", default_effect=Effect.ASK, approve=approve)
        assert (await replace(ot, caller=caller).call("flows.change", x="b")).data == "changed b"
    assert asked == [("demo.change", {"what": "b"})]


@pytest.mark.guards("model-stored-code")
async def test_tool_made_of_code_does_not_claim_to_be_read_only():
    async with open_ot() as ot:
        await store_programs(ot.runtime, "flows", one="1")
        spec = (await ot.runtime.state.catalog.find("flows.one")).spec
        assert (spec.read_only, spec.impl) == (False, "code")


async def test_recursion_ends_with_an_error():
    """Of a tool that calls itself, and of two that call each other; also in jobs that they start."""
    job = "id = ot.start(tool='flows.job')['id']\not.wait(id=id)"
    async with open_ot(max_concurrent_runs=1) as ot:
        await store_programs(ot.runtime, "flows", me="flows.me()", a="flows.b()", b="[flows.a()]", job=job)
        for name in ("flows.me", "flows.a"):
            result = await asyncio.wait_for(ot.call(name), HANG_S)
            assert "levels deep" in result.error.message
        assert not (await asyncio.wait_for(ot.run("flows.a()"), HANG_S)).ok
        await asyncio.wait_for(ot.call("flows.job"), HANG_S)
        assert 1 < len(await ot.runtime.jobs.list(ot.caller.principal)) <= 9


async def test_programs_do_not_wait_for_slots_of_the_programs_around_them():
    """With one slot, and with more runs at once than slots."""
    async with open_ot(max_concurrent_runs=1) as ot:
        await store_programs(
            ot.runtime, "flows", one="1", two="flows.one() + 1", three="flows.two() + flows.one()"
        )
        async with asyncio.timeout(HANG_S):
            assert (await ot.run("flows.three()")).data == 3
            results = await asyncio.gather(
                *(ot.run("flows.three()") for _ in range(4)), *(ot.call("flows.three") for _ in range(4))
            )
        assert [result.data for result in results] == [3] * 8


async def test_programs_that_one_program_gathers_are_bounded():
    """Not more than the slots of one level run at a time; the others wait for them."""
    code = "import asyncio\nsum(await asyncio.gather(*[flows.one() for _ in range(12)]))"
    async with open_ot(max_concurrent_runs=3) as ot:
        await store_programs(ot.runtime, "flows", one="demo.hold()")
        run = asyncio.ensure_future(ot.run(code))
        await until(lambda: len(running) == 3)
        gate[0].set()
        assert (await asyncio.wait_for(run, HANG_S)).data == 12
    assert max(peak) <= 3


async def test_cancelling_a_call_ends_its_program_and_frees_the_slot():
    async with open_ot(max_concurrent_runs=1) as ot:
        await store_programs(ot.runtime, "flows", hold="demo.hold()")
        call = asyncio.ensure_future(ot.call("flows.hold"))
        await until(lambda: running)
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        await until(lambda: not running)
        gate[0].set()
        assert (await asyncio.wait_for(ot.call("flows.hold"), HANG_S)).data == 1


async def test_time_limit_of_the_tool_ends_its_program():
    async with open_ot() as ot:
        body = code_tool("while True: pass", limits={"timeoutMS": 300})
        await store_tools(ot.runtime, "flows", {"spin": body})
        result = await ot.call("flows.spin")
        assert (result.meta.reason, result.ok) == (Reason.TIMEOUT, False)


async def test_calls_of_the_program_are_recorded_below_the_tool_without_secrets():
    async with open_ot() as ot:
        await store_programs(ot.runtime, "flows", show="[demo.reveal(), 1]")
        result = await ot.call("flows.show")
        assert CANARY not in str(result.data)
        found = await recorded(ot.runtime)
        records = {record.tool: record for record in found}
        assert records["demo.reveal"].parent == records["flows.show"].id
        assert (records["flows.show"].version, records["flows.show"].parent) == ("1", "")
        assert CANARY not in str(found)


async def test_printed_text_is_logged_to_the_caller():
    entries = []
    async with open_ot() as ot:
        await store_programs(ot.runtime, "flows", say="print('hi', demo.reveal())\n7")
        caller = replace(ot.caller, on_log=entries.append)
        assert (await replace(ot, caller=caller).call("flows.say")).data == 7
    [entry] = entries
    assert (entry.level, entry.logger, entry.data.startswith("hi ")) == ("info", "flows.say", True)
    assert CANARY not in entry.data


async def test_parameter_hides_a_pack_and_an_alias_of_its_name():
    settings = {"aliases": {"now": "time.now"}}
    async with memory_runtime(settings=settings) as ot:
        program = "[time.upper(), now]"
        await store_tools(ot.runtime, "flows", {"show": code_tool(program, "time", "now")})
        assert (await ot.call("flows.show", time="x", now=5)).data == ["X", 5]
