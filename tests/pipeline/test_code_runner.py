"""Code that a model wrote: results and exceptions of tools, messages, and limits."""

import asyncio
from typing import Any

import pytest

from onetool.domain import Caller, ErrorText, Reason
from onetool.domain.calls.caller import always_approve, never_approve
from onetool.domain.code.program import InvalidProgram, parse_program
from onetool.domain.tools.signature import pack_stubs, stub_parameters
from onetool.domain.tools.tool import ToolSpec
from onetool.domain.usage.events import CallEvent
from onetool.sdk import tool
from onetool.storage.memory.usage import MemoryUsage
from onetool.testing import memory_runtime
from support.waiting import HANG_S


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def fail(text: str) -> None:
    raise KeyError(text)


class CustomError(LookupError):
    pass


def fail_with_custom_error() -> None:
    raise CustomError("custom")


def complain() -> str:
    return ErrorText("Error: no")


async def later(n: int) -> int:
    await asyncio.sleep(0)
    return n


@tool(read_only=False)
def wipe() -> str:
    return "wiped"


@tool(timeout=0.1)
async def hang() -> None:
    await asyncio.Event().wait()


SLEEPS = "import asyncio\nawait asyncio.gather(*[asyncio.sleep(10) for _ in range(61)])"
PACKS = {"demo": [add, fail, fail_with_custom_error, complain, later, wipe, hang]}


async def run(code: str, **options: Any) -> Any:
    async with memory_runtime(PACKS, **options) as ot:
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
        ("try:\n    demo.fail_with_custom_error()\nexcept LookupError as e:\n    r = str(e)\nr", "custom"),
        ("try:\n    demo.hang()\nexcept TimeoutError:\n    r = 'late'\nr", "late"),
        ("import demo as d\nd.add(a=1)", 2),
        ("import demo, json\njson.loads('2')", 2),
        ("from demo import add as plus\nplus(a=1)", 2),
        ("plus(a=1)", 2),
        ("config.hello()", "hi"),
        ("await demo.later(n=3)", 3),
    ],
)
async def test_last_line_is_the_result(code, data):
    """Tools return their values, and raise their exceptions with the original type."""
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


async def test_error_shows_the_signature_of_the_tool_that_was_called():
    """Even if other packs have a function of the same name."""

    def find(name: str) -> str:
        """By name."""
        return name

    async with memory_runtime({"aa": [find], "bb": [find], "cc": [find]}) as ot:
        for pack in ("aa", "bb", "cc"):
            code = f"aa.find(name='x')\nbb.find(name='x')\ncc.find(name='x')\n{pack}.find(nam='x')"
            message = (await ot.run(code)).error.message
            assert f"Did you mean name? Signature: {pack}.find(name: str)" in message


@pytest.mark.parametrize("code", ["time.now()['iso']", "import time\ntime.now()['iso']"])
async def test_pack_takes_precedence_over_a_module_of_the_same_name(code):
    assert (await run(code)).data.endswith("Z")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1\ndemo.ad(a=1)", "line 2: there is no tool demo.ad. Did you mean demo.add?"),
        ("demo.add(c=1)", "Signature: demo.add(a: int, b: int = 1) -> int"),
        ("demo.add(a=1, bb=2)", "parameter of function `add`. Did you mean b? Signature: demo.add("),
        ("demo.add", "The result is the tool itself. Call it: demo.add(a: int, b: int = 1) -> int"),
        ("import requests", "line 1: 'requests' cannot be imported here. Not available: "),
        ("nope.x()", "line 1: 'nope' is not defined."),
        ("dmo.add(a=1)", "line 1: 'dmo' is not defined. Did you mean demo?"),
        ("x =", "line 1: invalid syntax"),
        ("x = 1\n\nif x:\n    return 2\n", "line 4: return is allowed only as the last statement"),
        ("def f():\n    return 1 / 0\n\nf()", "line 2: ZeroDivisionError: division by zero"),
        ("x = 1\ndemo.fail(text='boom')", "line 2: KeyError: 'boom'"),
        ("class A(int):\n    pass\nA()", "Not available: class inheritance"),
        ("\0", "line 1:"),
        ("(" * 5000, "line 1:"),
        ("-" * 200_000 + "1", "line 1:"),
    ],
)
async def test_errors_name_the_line_in_the_code(code, message):
    """They also show the signature or a similar name, and are found before any tool runs."""
    usage = MemoryUsage()
    async with memory_runtime(PACKS, usage=usage) as ot:
        result = await ot.run(code)
        await ot.runtime.recorder.flush()
    assert not result.ok
    assert message in result.error.message
    if "fail" not in code:
        assert not usage.events


async def test_awaited_calls_run_concurrently():
    """Five calls wait until all five have started. If they ran one by one, the first would time out."""
    together = asyncio.Barrier(5)

    async def meet(n: int) -> int:
        await together.wait()
        return n

    settings = {"execution": {"timeout_s": 30, "run_timeout_s": 60}}
    async with memory_runtime({"demo": [meet]}, settings=settings) as ot:
        for code in (
            "import asyncio\nawait asyncio.gather(*[demo.meet(n=i) for i in range(5)])",
            "import asyncio\ncalls = [demo.meet(n=i) for i in range(5)]\nawait asyncio.gather(*calls)",
        ):
            assert (await ot.run(code)).data == [0, 1, 2, 3, 4]


async def test_secrets_are_masked_in_prints_and_in_the_result():
    result = await run("print('key hunter22')\n'hunter22'", secrets={"K": "hunter22"})
    assert (result.printed, result.data) == ("key [secret]\n", "[secret]")
    assert result.to_json() == {"ok": True, "data": "[secret]", "printed": "key [secret]\n"}


async def test_calls_in_code_have_the_permissions_of_the_caller():
    """Allow-list, approval and statistics apply as for a single call."""
    usage = MemoryUsage()
    async with memory_runtime(PACKS, usage=usage) as ot:
        restricted = Caller(interface="ask", allowed=frozenset({"demo.add"}), approve=always_approve)
        assert (await ot.runtime.run("demo.add(a=1)", restricted)).data == 2
        assert "there is no tool demo.wipe" in (await ot.runtime.run("demo.wipe()", restricted)).error.message
        denied = Caller(interface="ask", approve=never_approve)
        caught = "try:\n    demo.wipe()\nexcept Exception as e:\n    r = str(e)\nr"
        assert "approval.allow" in (await ot.runtime.run(caught, denied)).data
        await ot.runtime.recorder.flush()
    calls = [event for event in usage.events if isinstance(event, CallEvent)]
    assert [(event.tool, event.source) for event in calls] == [
        ("demo.add", "run"),
        ("demo.wipe", "run"),
    ]


@pytest.mark.parametrize(
    ("cpu_s", "total_s", "code", "message"),
    [
        (1.0, 600, "while True: pass", "limit exceeded"),
        (600, 1.0, "while True: pass", "The code timed out."),
        (600, 600, SLEEPS, "sleep limit exceeded"),
    ],
)
async def test_run_times_out(cpu_s, total_s, code, message):
    """CPU time, total time and the sum of all sleeps are limited. The next run works."""
    settings = {"execution": {"run_cpu_s": cpu_s, "run_timeout_s": total_s}}
    async with memory_runtime(PACKS, settings=settings) as ot:
        error = (await asyncio.wait_for(ot.run(code), HANG_S)).error
        assert (error.reason, message in error.message) == (Reason.TIMEOUT, True), error
        for _ in range(20):  # a busy machine may need longer than the limit
            after = await ot.run("1 + 1")
            if after.ok:
                break
        assert after.data == 2, after


async def test_result_of_a_run_has_the_limits_of_a_tool_output():
    result = await run("'x' * 5000", settings={"output": {"max_bytes": 1000}})
    assert result.error.reason is Reason.TOO_LARGE_OUT
    assert result.to_json()["error"]["tool"] == "run"


async def test_more_concurrent_runs_than_workers_all_finish():
    code = "sum([demo.add(a=n) for n in range(5)])"
    async with memory_runtime(PACKS, settings={"execution": {"max_concurrent_runs": 3}}) as ot:
        results = await asyncio.gather(*(ot.run(code) for _ in range(20)))
    assert {result.data for result in results} == {15}


def test_call_in_an_argument_of_an_awaited_call_is_not_deferred():
    """Only the awaited call itself may run concurrently."""
    source = "await a.f(x=b.g())\ny = c.h()\nawait a.f(x=y)"
    program = parse_program(source, {"a", "b", "c"})
    text = program.source.encode()
    assert {text[start:end].decode() for start, end in program.awaited_calls} == {"a.f(x=b.g())", "a.f(x=y)"}


def test_rewriting_preserves_line_numbers():
    program = parse_program("from demo import (\n    add,\n    fail,\n)\nadd()\nreturn (\n  1)", {"demo"})
    assert program.source.splitlines()[4] == "add()"
    assert program.names >= {"demo", "add"}
    with pytest.raises(InvalidProgram, match="line 3"):
        parse_program("import demo, json\n\nx = (", {"demo"})


def test_stub_parameters():
    """Required ones come first. Names that are not valid in Python are checked only at the call."""
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
    assert stub_parameters(schema) == "*, a: str | None, z: int | None = None, odd: Any = None, **more: Any"
    assert stub_parameters({"additionalProperties": False}) == ""
    spec = ToolSpec(name="hello", description="x", input_schema={"additionalProperties": False})
    assert pack_stubs([spec]) == "from typing import Any\ndef hello() -> Any: ...  # ()\n"
