"""Code that a model wrote: what tools return and raise comes through, and every limit holds."""

import asyncio
import time
from typing import Any

import pytest

from onetool.domain import Caller, ErrorText, Reason
from onetool.domain.caller import grant, refuse
from onetool.domain.program import InvalidProgram, parse_program
from onetool.domain.signature import annotation, pack_stubs, stub
from onetool.domain.tool import ToolSpec
from onetool.domain.usage import CallEvent
from onetool.sdk import tool
from onetool.storage.memory import MemoryUsage
from onetool.testing import memory_runtime


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def fail(text: str) -> None:
    raise KeyError(text)


class Own(LookupError):
    pass


def fail_oddly() -> None:
    raise Own("odd")


def complain() -> str:
    return ErrorText("Error: no")


async def slow(n: int) -> int:
    await asyncio.sleep(0.2)
    return n


@tool(changes=True)
def wipe() -> str:
    return "wiped"


@tool(timeout=0.1)
async def hang() -> None:
    await asyncio.Event().wait()


PACKS = {"demo": [add, fail, fail_oddly, complain, slow, wipe, hang]}


async def run(code: str, **more: Any) -> Any:
    async with memory_runtime(PACKS, **more) as ot:
        return await ot.run(code)


@pytest.mark.parametrize(
    ("code", "data"),
    [
        ("1 + 1", 2),
        ("demo.add(a=1)", 2),
        ("```python\ndemo.add(a=1)\n```", 2),
        ("x = demo.add(a=1)\nreturn x * 2", 4),
        ("return", None),
        ("x = 1", None),
        ("[demo.add(a=n) for n in range(3)]", [1, 2, 3]),
        ("demo.complain()", "Error: no"),
        ("try:\n    demo.fail(text='x')\nexcept KeyError as e:\n    r = str(e)\nr", "'x'"),
        ("try:\n    demo.fail_oddly()\nexcept LookupError as e:\n    r = str(e)\nr", "odd"),
        ("try:\n    demo.hang()\nexcept TimeoutError:\n    r = 'late'\nr", "late"),
        ("import demo as d\nd.add(a=1)", 2),
        ("import demo, json\njson.loads('2')", 2),
        ("from demo import add as plus\nplus(a=1)", 2),
        ("plus(a=1)", 2),
        ("config.hello()", "hi"),
        ("await demo.slow(n=3)", 3),
    ],
)
async def test_the_last_line_is_the_result(code, data):
    """What a tool returned is returned, what it raised is raised with its type."""
    hello = {
        "name": "hello",
        "description": "x",
        "type": "function",
        "handler": "x",
        "parameters": {"type": "object"},
        "implementation": {"type": "mock", "mock_response": "hi"},
    }
    result = await run(code, settings={"aliases": {"plus": "demo.add"}, "tools": [hello]})
    assert (result.ok, result.data) == (True, data), result


async def test_a_complaint_names_the_signature_of_the_tool_that_was_called():
    """Though another pack has a function of the same name."""

    def find(name: str) -> str:
        """By name."""
        return name

    async with memory_runtime({"aa": [find], "bb": [find], "cc": [find]}) as ot:
        for pack in ("aa", "bb", "cc"):
            code = f"aa.find(name='x')\nbb.find(name='x')\ncc.find(name='x')\n{pack}.find(nam='x')"
            said = (await ot.run(code)).error.message
            assert f"Did you mean name? Signature: {pack}.find(*, name: str)" in said


@pytest.mark.parametrize("code", ["time.now()['iso']", "import time\ntime.now()['iso']"])
async def test_our_time_pack_wins_over_the_interpreters_own(code):
    """A pack is itself, whatever module has the same name."""
    assert (await run(code)).data.endswith("Z")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\ndemo.ad(a=1)", "line 2: there is no tool demo.ad. Did you mean demo.add?"),
        ("demo.add(c=1)", "Signature: demo.add(*, a: int, b: int = ...)"),
        ("demo.add(a=1, bb=2)", "parameter of function `add`. Did you mean b? Signature: demo.add("),
        ("demo.add", "The result is the tool itself. Call it: demo.add(*, a: int, b: int = ...)"),
        ("import requests", "line 1: 'requests' cannot be imported here. Not available: "),
        ("nope.x()", "line 1: 'nope' is not defined."),
        ("dmo.add(a=1)", "line 1: 'dmo' is not defined. Did you mean demo?"),
        ("x =", "line 1: invalid syntax"),
        ("x = 1\n\nif x:\n    return 2\n", "line 4: return ends the code only as its last line"),
        ("def f():\n    return 1 / 0\n\nf()", "line 2: ZeroDivisionError: division by zero"),
        ("x = 1\ndemo.fail(text='boom')", "line 2: KeyError: 'boom'"),
        ("class A(int):\n    pass\nA()", "Not available: class inheritance"),
        ("\0", "line 1:"),
        ("(" * 5000, "line 1:"),
        ("-" * 200_000 + "1", "line 1:"),
    ],
)
async def test_errors_name_the_authors_line(code, said):
    """What is wrong, on which line, with the signature or the nearest name, before anything has run."""
    usage = MemoryUsage()
    async with memory_runtime(PACKS, usage=usage) as ot:
        result = await ot.run(code)
        await ot.runtime.flush()
    assert not result.ok
    assert said in result.error.message
    if "fail" not in code:
        assert not usage.events


async def test_awaited_calls_run_beside_each_other():
    """Five calls of 0.2 s each, gathered, take little more than one."""
    async with memory_runtime(PACKS) as ot:
        await ot.run("1")
        for code in (
            "import asyncio\nawait asyncio.gather(*[demo.slow(n=i) for i in range(5)])",
            "import asyncio\ncalls = [demo.slow(n=i) for i in range(5)]\nawait asyncio.gather(*calls)",
        ):
            started = time.monotonic()
            assert (await ot.run(code)).data == [0, 1, 2, 3, 4]
            assert time.monotonic() - started < 0.7


async def test_prints_come_along_and_secrets_do_not():
    """What is printed is kept, with every secret masked, as in the result."""
    result = await run("print('key hunter22')\n'hunter22'", secrets={"K": "hunter22"})
    assert (result.printed, result.data) == ("key [secret]\n", "[secret]")
    assert result.to_json() == {"ok": True, "data": "[secret]", "printed": "key [secret]\n"}


async def test_every_call_inside_is_a_call_of_the_caller():
    """Allow-list, approval and statistics hold for code exactly as for a single call."""
    usage = MemoryUsage()
    async with memory_runtime(PACKS, usage=usage) as ot:
        narrow = Caller(door="ask", allowed=frozenset({"demo.add"}), approve=grant)
        assert (await ot.runtime.run("demo.add(a=1)", narrow)).data == 2
        assert "there is no tool demo.wipe" in (await ot.runtime.run("demo.wipe()", narrow)).error.message
        asked = Caller(door="ask", approve=refuse)
        caught = "try:\n    demo.wipe()\nexcept Exception as e:\n    r = str(e)\nr"
        assert "approval.allow" in (await ot.runtime.run(caught, asked)).data
        await ot.runtime.flush()
    calls = [event for event in usage.events if isinstance(event, CallEvent)]
    assert [(event.tool, event.source) for event in calls] == [
        ("demo.add", "run"),
        ("demo.wipe", "run"),
    ]


async def test_a_run_ends_in_time():
    """Computing and waiting have their limits, and the result says so."""
    settings = {"execution": {"run_cpu_s": 0.3, "run_timeout_s": 1.0, "timeout_s": 30}}
    async with memory_runtime(PACKS, settings=settings) as ot:
        assert (await ot.run("while True: pass")).error.reason is Reason.TIMEOUT
        waiting = await ot.run("import asyncio\nawait asyncio.sleep(9)")
        assert waiting.error.reason is Reason.TIMEOUT
        assert (await ot.run("1 + 1")).data == 2
    settings = {"execution": {"run_cpu_s": 30, "run_timeout_s": 0.5}}
    async with memory_runtime(PACKS, settings=settings) as ot:
        assert (await ot.run("while True: pass")).error.message == "The code took too long and was ended."


async def test_what_is_too_large_or_no_json_is_an_error():
    """A run's result has the same limits as a tool's."""
    result = await run("'x' * 5000", settings={"output": {"max_bytes": 1000}})
    assert result.error.reason is Reason.TOO_LARGE_OUT
    assert result.to_json()["error"]["tool"] == "run"


async def test_twenty_runs_at_once():
    """Each with five calls, all finish, more than there are workers."""
    code = "sum([demo.add(a=n) for n in range(5)])"
    async with memory_runtime(PACKS, settings={"execution": {"max_runs": 3}}) as ot:
        results = await asyncio.gather(*(ot.run(code) for _ in range(20)))
    assert {result.data for result in results} == {15}


def test_a_call_in_the_argument_of_an_awaited_one_is_needed_at_once():
    """Only the awaited value may come later, not what it is made of."""
    source = "await a.f(x=b.g())\ny = c.h()\nawait a.f(x=y)"
    program = parse_program(source, {"a", "b", "c"})
    text = program.source.encode()
    assert {text[start:end].decode() for start, end in program.waits} == {"a.f(x=b.g())", "a.f(x=y)"}


def test_line_numbers_stay():
    """Whatever is rewritten, the lines after it keep their numbers."""
    program = parse_program("from demo import (\n    add,\n    fail,\n)\nadd()\nreturn (\n  1)", {"demo"})
    assert program.source.splitlines()[4] == "add()"
    assert program.names >= {"demo", "add"}
    with pytest.raises(InvalidProgram, match="line 3"):
        parse_program("import demo, json\n\nx = (", {"demo"})


def test_stubs_say_what_a_tool_takes():
    """Required first, then the others; names that Python cannot say are left to the check at the call."""
    schema = {
        "properties": {
            "z": {"type": "integer"},
            "a": {"type": ["string", "null"]},
            "with-dash": {},
            "class": {},
            "odd": True,
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert stub(schema) == "*, a: str | None, z: int = ..., odd: Any = ..., **more: Any"
    assert stub({"additionalProperties": False}) == ""
    assert annotation({"type": []}) == "Any"
    spec = ToolSpec(name="hello", description="x", input_schema={"additionalProperties": False})
    assert pack_stubs([spec]) == "from typing import Any\ndef hello() -> Any: ...\n"
