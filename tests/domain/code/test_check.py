"""Mistakes that are found before a program runs, and programs in which nothing is certainly wrong."""

import pytest

from onetool.domain.code.check import BUILTINS, MAX_PROBLEMS, check_program
from onetool.domain.code.program import parse_program
from onetool.domain.code.sandbox import CallOutcome, SandboxJob, ToolFunction

TOOLS = {
    "docs.read": ToolFunction(["path"], ["limit"], False, lambda: "docs.read(path: str, limit: int = 1)"),
    "docs.any": ToolFunction([], [], True, lambda: "docs.any()"),
    "docs.ping": ToolFunction([], [], False, lambda: "docs.ping()"),
}
READ = "Signature: docs.read(path: str, limit: int = 1)"


class Host:
    """A host that is never called, because nothing runs."""

    def call(self, name, args):
        raise AssertionError(name)

    def sleep(self, seconds):
        raise AssertionError(CallOutcome())

    def restore(self, value):
        return value


def check(code: str) -> str:
    job = SandboxJob(
        program=parse_program(code, {"docs", "other"}),
        modules={"docs": ["read", "any", "ping"]},
        tools=TOOLS,
        aliases={"get": "docs.read"},
        known_names={"docs": "", "other": "it is disabled", "get": ""},
        host=Host(),
    )
    return check_program(job)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("dcos.read()", "line 1: 'dcos' is not defined. Did you mean docs?\n    dcos.read()"),
        ("other.x()", "line 1: 'other' is unavailable: it is disabled\n    other.x()"),
        ("x = [x for y in z]", "line 1: 'z' is not defined.\n    x = [x for y in z]"),
        ("zebra", "line 1: 'zebra' is not defined.\n    zebra"),
        ("re.sub", "line 1: 're' is not defined. Add the line: import re\n    re.sub"),
        ("x = true", "line 1: 'true' is not defined. Did you mean True?\n    x = true"),
        ("docs.raed", "line 1: there is no tool docs.raed. Did you mean docs.read?\n    docs.raed"),
        ("import docs as d\nd.raed()", "line 2: there is no tool docs.raed. Did you mean docs.read?\n"
         "    d.raed()"),
        ("docs.read('a')", "line 1: docs.read takes keyword arguments only, such as docs.read(path=...). "
         f"It got 1 positional argument. {READ}\n    docs.read('a')"),
        ("docs.ping(1, 2)", "line 1: docs.ping takes keyword arguments only. It got 2 positional arguments. "
         "Signature: docs.ping()\n    docs.ping(1, 2)"),
        ("docs.read(limit=1)", "line 1: No argument provided for required parameter `path` of function "
         f"`read`. {READ}\n    docs.read(limit=1)"),
        ("docs.read(path=1, limt=1)", "line 1: Argument `limt` does not match any known parameter of "
         f"function `read`. Did you mean limit? {READ}\n    docs.read(path=1, limt=1)"),
        ("docs.read(**x, q=1)\nx = {}", "line 1: Argument `q` does not match any known parameter of function "
         f"`read`. {READ}\n    docs.read(**x, q=1)"),
        ("async def f(): pass\nf()", "line 2: f() is not awaited, so it does nothing. Write: await f(...)\n"
         "    f()"),
        ("import asyncio\nasyncio.sleep(1)", "line 2: asyncio.sleep() is not awaited, so it does nothing. "
         "Write: await asyncio.sleep(...)\n    asyncio.sleep(1)"),
    ],
)  # fmt: skip
def test_problem_has_its_line_and_a_suggestion(code, problem):
    assert check(code) == problem


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("def f(a, *b, c=1, **d):\n    return [a, b, c, d, e]", "e"),
        ("def f(a=g): pass", "g"),
        ("def f(*, a, b=g): pass", "g"),
        ("@g\ndef f(): pass", "g"),
        ("f = lambda a: a + b", "b"),
        ("def f():\n    a = 1\na", "a"),
        ("class A(b): pass", "b"),
        ("class A:\n    def f(self): return b", "b"),
        ("[a for a in a]", "a"),
        ("[a for b in [] for c in a]", "a"),
        ("[1 for a in [] if b]", "b"),
        ("{a: b for a in []}", "b"),
        ("{a for b in []}", "a"),
        ("(a for b in [])", "a"),
        ("[a for a in []]\na", "a"),
        ("x: int = a", "a"),
        ("match 1:\n    case [*a, 2]: b", "b"),
        ("try:\n    pass\nexcept a as b: b", "a"),
        ("f'{a}'", "a"),
        ("f'{1:{a}}'", "a"),
        ("from docs import read\nreed", "reed"),
        ("open('x')", "open"),
        ("input()", "input"),
    ],
)
def test_undefined_name_is_found_in_every_scope(code, name):
    assert f": {name!r} is not defined" in check(code)


@pytest.mark.parametrize(
    "code",
    [
        "docs = [1]\ndocs.append(docs.raed)",
        "def f(docs):\n    return docs.raed()",
        "[docs.raed for docs in []]",
        "import json as docs\ndocs.raed()",
        "for docs in []:\n    docs.raed()",
        "with docs.any() as docs:\n    docs.raed()",
        "try:\n    pass\nexcept ValueError as docs:\n    docs.raed()",
        "class docs:\n    raed = 1\ndocs.raed",
        "def docs(): pass\ndocs.raed",
        "match 1:\n    case docs: docs.raed",
        "match {}:\n    case {**docs}: docs.raed",
        "match []:\n    case [*docs]: docs.raed",
        "(docs := {}).raed\ndocs.raed",
        "[docs := 1 for _ in []]\ndocs.raed",
        "def f():\n    global docs\n    docs = 1\nf()\ndocs.raed",
        "def f():\n    docs = 1\n    def g():\n        nonlocal docs\n        docs.raed\n    g()",
        "lambda docs: docs.raed",
        "lambda *docs: docs.raed",
        "d = docs\nd = {}\nd.raed",
        "d = docs\ndef f(d): return d.raed",
        "a = b\nb = a\na.raed()",
        "get = print\nget(1)",
        "read = docs.read\nread = print\nread(1)",
        "async def f(): pass\nf = print\nf()",
        "docs.raed = 1",
        "docs.__name__",
        "docs.read.raed",
        "docs.read(**{'path': 1})",
        "docs.read(*[])",
        "docs.any(a=1, b=2)",
        "get(path=1)",
        "docs.ping().raed",
        "eval('x')\nx",
        "exec('docs = 1')\ndocs.raed",
        "from json import *\nloads('1')",
        "def f(a: Missing) -> Missing: return a",
        "x: Missing = 1",
        "x: Missing",
        "__name__",
        "def f():\n    return later\nlater = 1",
        "class A:\n    x = 1\n    y = x",
        "import os.path\nos.sep",
        "f'{1}' + str(1)",
        "async def f(): pass\nawait f()",
        "async def f(): pass\nx = f()",
        "import asyncio\nawait asyncio.gather()",
        "docs.any()()",
        "def f(asyncio):\n    asyncio.sleep(1)",
        "import asyncio\nasyncio.run(1)",
        "import time\ntime.sleep(1)",
        "x = 1\nx" + ".y" * 2_000 + "()",
        "\n".join(
            sorted(BUILTINS - {"eval", "exec", "globals", "locals", "vars"} - {"None", "True", "False"})
        ),
    ],
)
def test_nothing_is_reported_about_a_name_that_may_mean_something_else(code):
    assert check(code) == ""


@pytest.mark.parametrize("code", ["get(x=1)", "read = docs.read\nread(x=1)", "a = docs\nb = a.read\nb(x=1)"])
def test_calls_through_other_names_are_checked(code):
    """An alias of the settings, or a name that the code binds once."""
    assert READ in check(code)


def test_chain_of_names_is_followed_up_to_a_limit():
    """Code may have a chain of any length."""
    names = [f"n{number}" for number in range(2_000)]
    chain = "".join(f"{new} = {old}\n" for old, new in zip(["docs", *names], names, strict=False))
    assert check(f"{chain}{names[-1]}.raed()") == ""


def test_first_problems_are_reported_once_each():
    code = "\n".join(f"x{number}; x{number}" for number in range(20, 40))
    lines = check(code).split("\n")[::2]
    assert [line.partition(" is ")[0] for line in lines] == [
        f"line {number + 1}: 'x{number + 20}'" for number in range(MAX_PROBLEMS)
    ]


def test_deeply_nested_expressions_are_checked():
    """Without recursion, which Python limits."""
    assert "'y' is not defined" in check("x = 1\n" + "x + " * 700 + "y")
