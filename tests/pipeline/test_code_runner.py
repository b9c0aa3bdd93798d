"""Code that a model wrote: results and exceptions of tools, messages, and limits."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from onetool.domain import ErrorText, Reason
from onetool.domain.code.program import InvalidProgram, parse_program
from onetool.domain.tools.signature import tool_function
from onetool.domain.tools.tool import ToolSpec
from onetool.pipeline.sandbox_callbacks import MAX_KEPT_BYTES
from onetool.runtime.finished_calls import finished_calls_text
from onetool.sdk import tool
from onetool.storage.memory.activity import MemoryActivity
from onetool.testing import memory_runtime
from support.waiting import HANG_S, until


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
        ("import asyncio\nawait asyncio.sleep(0.001)\n'awake'", "awake"),
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
        ("import requests", "modules other than asyncio, base64, "),
        ("x =", "line 1: invalid syntax"),
        ("def f():\n    return 1 / 0\n\nf()", "line 2: ZeroDivisionError: division by zero"),
        ("x = 1\ndemo.fail(text='boom')", "line 2: KeyError: 'boom'"),
        ("x = 1\ny = demo.ad(a=1)", "Did you mean demo.add?\n    y = demo.ad(a=1)"),
        ("x = 1\ny = = 2", "line 2: invalid syntax\n    y = = 2"),
        ("x = 1\n" + "1 / 0 #" + "x" * 300, "division by zero\n    1 / 0 #" + "x" * 153 + "..."),
        ("\0", "line 1:"),
        ("(" * 5000, "line 1:"),
        ("-" * 200_000 + "1", "line 1:"),
    ],
)
async def test_errors_name_the_line_in_the_code(code, message):
    """They also show the signature or a similar name, and are found before any tool runs."""
    activity = MemoryActivity()
    async with memory_runtime(PACKS, activity=activity) as ot:
        result = await ot.run(code)
        await ot.runtime.recorder.flush()
    assert not result.ok
    assert message in result.error.message
    if "fail" not in code:
        assert [record.kind for record in activity.records] == ["run"]


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


def page(name: str) -> dict[str, str]:
    return {"content": f"text of {name}"}


def rows() -> list[dict[str, int]]:
    return [{"path": n, "size": n} for n in range(3)]


@pytest.mark.parametrize(
    ("code", "shape"),
    [
        ("r = web.page(name='a')\nr['title']", "r: dict with keys content"),
        ("r = web.page(name='a')\nf\"é {r['title']}\"", "r: dict with keys content"),
        ("r = web.page(name='a')\nx = r['content']['text']", "r['content']: str of 9 characters"),
        ("r = web.page(name='a')\nr.title", "r: dict with keys content"),
        ("q = web.rows()\n[r['name'] for r in q]", "q: list of 3 dicts with keys path, size"),
        ("r = web.rows()\nq = r[5]", "r: list of 3 dicts with keys path, size"),
        ("q = web.rows()\nfor r in q:\n    r['name']", "r: dict with keys path, size"),
        ("a = {'r': web.rows()}\na['r'][0]['name']", "a['r'][0]: dict with keys path, size"),
    ],
)
async def test_error_describes_the_value_that_has_another_shape(code, shape):
    async with memory_runtime({"web": [page, rows]}) as ot:
        error = (await ot.run(code)).error
    assert error.message.split("\n")[2:] == [shape]


@pytest.mark.parametrize(
    "code",
    [
        "web.page(name='a')['title']",
        "def f(r):\n    return r['title']\nr = 1\nf(web.page(name='a'))",
        "[r['name'] for r in web.rows()]",
        "r = 1\n[r['name'] for r in web.rows()]",
        "r = web.page(name='a')\nr[\n  'title']",
        "r = web.page(name='a')\n1 / len(r['content'][9:])",
        "raise KeyError('x')",
    ],
)
async def test_error_describes_no_other_value(code):
    """Neither a local variable nor a call can be evaluated again."""
    async with memory_runtime({"web": [page, rows]}) as ot:
        error = (await ot.run(code)).error
    assert error.message.count("\n") == 1, error.message


async def test_results_of_finished_calls_can_be_read_after_an_error():
    """The error lists the successful calls with the shapes of their results."""
    async with memory_runtime({"web": [page, rows], "demo": [fail]}) as ot:
        caught = "try:\n    demo.fail(text='no')\nexcept KeyError:\n    pass"
        code = f"a = web.page(name='x')\nb = web.rows()\n{caught}\n1 / 0"
        result = await ot.run(code)
        text, handle = await ot.runtime.state.model_output.render_run(result)
        first = (await ot.call("ot.result", handle=handle, path="0.result.content")).data
        second = (await ot.call("ot.result", handle=handle, path="1.result", limit=1000)).data
    assert text.split("\n") == [
        "Error: line 7: ZeroDivisionError: division by zero",
        "    1 / 0",
        "Calls that had finished:",
        "  0. web.page(name='x') -> dict with keys content",
        "  1. web.rows() -> list of 3 dicts with keys path, size",
        f"Read result N with ot.result(handle={handle!r}, path='N.result').",
    ]
    assert first["lines"] == ["text of x"]
    assert json.loads("\n".join(second["lines"])) == rows()


async def test_calls_that_had_finished_are_listed_after_a_timeout():
    settings = {"execution": {"run_timeout_s": 2.0}}
    finished = asyncio.Event()

    async def note() -> str:
        finished.set()
        return "noted"

    async def block() -> None:
        await asyncio.Event().wait()

    async with memory_runtime({"demo": [note, block]}, settings=settings) as ot:
        for _ in range(20):  # a busy machine may need longer than the limit to start
            result = await asyncio.wait_for(ot.run("demo.note()\ndemo.block()"), HANG_S)
            if finished.is_set():
                break
        text = (await ot.runtime.state.model_output.render_run(result)).text
    assert result.error.reason is Reason.TIMEOUT
    assert "  0. demo.note() -> str of 5 characters" in text


async def test_many_finished_calls_are_counted_and_large_results_dropped():
    """The last results are available, up to a total size."""

    def big(n: int) -> str:
        return str(n) * (MAX_KEPT_BYTES // 4)

    async with memory_runtime({"demo": [add, big]}) as ot:
        many = (await ot.run("for n in range(15):\n    demo.add(a=n)\n1 / 0")).finished_calls
        large = (await ot.run("for n in range(6):\n    demo.big(n=n)\n1 / 0")).finished_calls
        fine = await ot.run("demo.add(a=1)")
    listed = finished_calls_text(many, "h")
    assert "  9. demo.add(a=9) -> int\n  and 5 more\n" in listed
    assert "10." not in listed
    assert [call.args["n"] for call in large] == [3, 4, 5]
    assert fine.finished_calls == ()


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("print({'a': 'b c'}, [1, 'x'], (1, 'y'), sep='|')", "{a: \"b c\"}|[1, x]|(1, 'y')\n"),
        ("print(['a\\nb'], end='')", "- |-\n  a\n  b"),
        ("print({1: 'a'}, [(1, 2)])", "{1: 'a'} [(1, 2)]\n"),
        ("print('plain', 1, None)", "plain 1 None\n"),
        ("print()", "\n"),
        ("for n in range(1500):\n    print([n])", "".join(f"[{n}]\n" for n in range(1500))),
    ],
)
async def test_print_shows_what_the_result_would_show(code, printed):
    """Printing is not limited as calls are. Values that are not JSON are printed as in Python."""
    assert (await run(code)).printed == printed


async def test_str_of_a_value_of_the_code_is_that_of_python():
    """Only what a tool returned with a text of its own has another one; a changed value has not."""
    code = """
own = {'a': 'b', 'n': [1]}
config = ot.config()
before = str(config)
config['servers'].append('x')
[str(own), f'{own}', '%s' % own, before == str(config), str(config) == repr(config)]
"""
    python = "{'a': 'b', 'n': [1]}"
    assert (await run(code)).data == [python, python, python, False, True]


async def test_secrets_are_masked_in_prints_and_in_the_result():
    result = await run("print('key hunter22')\n'hunter22'", secrets={"K": "hunter22"})
    assert (result.printed, result.data) == ("key [secret]\n", "[secret]")
    assert result.to_json() == {"ok": True, "data": "[secret]", "printed": "key [secret]\n"}


@pytest.mark.guards("model-code")
@pytest.mark.parametrize(
    ("cpu_s", "total_s", "code", "message"),
    [
        (1.0, 600, "while True: pass", "limit exceeded"),
        (600, 1.0, "while True: pass", "The code timed out."),
        (600, 600, SLEEPS, "sleep limit exceeded"),
        (600, 600, "import asyncio\nawait asyncio.sleep(700)", "line 2: TimeoutError: sleep limit exceeded"),
        (600, 600, "import asyncio\nx = asyncio.sleep(601)\nawait x", "sleep limit exceeded"),
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


def test_parameters_of_a_tool_in_code():
    """Names that Python cannot write get one that it can."""
    schema = {
        "properties": {
            "z": {"type": "integer"},
            "a": {"type": ["string", "null"]},
            "with-dash": {},
            "class": {},
            "odd": True,
        },
        "required": ["a", "class"],
        "additionalProperties": False,
    }
    spec = ToolSpec(name="hello", description="x", input_schema=schema)
    function = tool_function(spec)
    assert (function.required, function.optional) == (["a", "class_"], ["z", "odd", "with_dash"])
    assert function.accepts_more
    closed = tool_function(replace(spec, input_schema={"additionalProperties": False}))
    assert (closed.required, closed.optional, closed.accepts_more) == ([], [], False)
    assert closed.signature() == "config.hello()"


async def test_pack_names_can_be_variables():
    """Also after a call of the pack. A later call of it is an error that names the reason."""

    def double(number: int) -> int:
        return 2 * number

    async with memory_runtime({"items": [double], "demo": [double]}) as ot:
        code = "items = [1, 2]\nitems.append(3)\nsum(item for item in items) + demo.double(number=4)"
        assert (await ot.run(code)).data == 14
        rebound = "items = [items.double(number=1)]\nitems.append(2)\n"
        assert (await ot.run(f"{rebound}items")).data == [2, 2]
        both = await ot.run(f"{rebound}items.double(number=1)")
    assert both.error.message.startswith("line 3: AttributeError")
    assert "'items' is the name of a pack. Choose another name for the variable." in both.error.message


async def test_values_that_may_be_none_are_accepted():
    """Code that works runs, other code fails at its line, and other mistakes are still found first."""
    search = "import re\nre.search('b', {!r}).group()"
    async with memory_runtime() as ot:
        assert (await ot.run(search.format("abc"))).data == "b"
        missing = await ot.run(search.format("xyz"))
        mistake = await ot.run(search.format("abc") + "\nnonsense()")
    assert "line 2" in missing.error.message
    assert "NoneType" in missing.error.message
    assert "line 3: 'nonsense' is not defined" in mistake.error.message


def mix(a: int, b: str = "x", c: list[int] | None = None) -> list[Any]:
    return [a, b, c]


@pytest.mark.parametrize(
    ("code", "data"),
    [
        ("demo.mix(**{'a': 1, 'b': 'y'})", [1, "y", None]),
        ("args = {'a': 1, 'b': 'y'}\ndemo.mix(**args)", [1, "y", None]),
        ("t = '\x0cé'; demo.mix(c=[1],\n    **dict(a=1, b='é'))", [1, "é", [1]]),
    ],
)
async def test_unpacked_arguments_may_have_values_of_several_types(code, data):
    """Values are validated at the call."""
    async with memory_runtime({"demo": [mix]}) as ot:
        result = await ot.run(code)
    assert (result.data, result.error) == (data, None)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("demo.mix(**{'a': 'no', 'b': 'y'})", 'Invalid arguments for demo.mix: a: "no" is not of type'),
        ("demo.mix(**{'a': 1, 'q': 'y'})", "unknown parameter 'q'"),
        ("demo.mix(a='no', **{'b': 'y'})", 'Invalid arguments for demo.mix: a: "no" is not of type'),
        ("demo.mix(**{'a': 1, 'b': 'y'})\nmissing", "'missing' is not defined"),
    ],
)
async def test_unpacked_arguments_hide_no_other_error(code, message):
    async with memory_runtime({"demo": [mix]}) as ot:
        error = (await ot.run(code)).error.message
    assert message in error


async def test_runs_are_recorded_with_their_code_and_calls():
    """A run that is cancelled too."""
    activity, waiting = MemoryActivity(), asyncio.Event()

    async def wait() -> None:
        waiting.set()
        await asyncio.Event().wait()

    async with memory_runtime({"demo": [wait]}, activity=activity) as ot:
        assert (await ot.run("print('seen')\ntools.echo(message=1)")).ok
        task = asyncio.create_task(ot.run("demo.wait()"))
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: len(activity.records) == 4)  # the call in the run ends a little later
    call, run, *cancelled = activity.records
    assert (call.tool, call.parent, run.tool, run.kind) == ("tools.echo", run.id, "run", "run")
    assert (run.arguments, run.result) == (
        "print('seen')\ntools.echo(message=1)",
        '{"printed":"seen\\n","value":1}',
    )
    assert (run.bytes_in, run.bytes_out) == (35, 6)
    by_tool = {record.tool: record for record in cancelled}
    assert (by_tool["run"].reason, by_tool["run"].arguments) == (Reason.CANCELLED, "demo.wait()")
    nested = by_tool["demo.wait"]
    assert (nested.reason, nested.parent) == (Reason.CANCELLED, by_tool["run"].id)
