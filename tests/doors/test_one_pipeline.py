"""One table of calls, one expected result each, through every door: the corridor is the same."""

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from onetool import onetool_runtime
from onetool.bootstrap import open_runtime
from onetool.domain import Caller, Reason
from onetool.domain.yaml_text import to_yaml
from onetool.doors.cli.tools import EXIT
from onetool.doors.rest.problems import STATUS_OF_REASON
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places
from rest_app import served

PACK = '''
import threading
from onetool.sdk import ErrorText, tool

pack = "probe"

def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b

def fail(text: str) -> str:
    """Raise."""
    raise KeyError(text)

def complain(text: str) -> str:
    """Return an error text."""
    return ErrorText(f"Error: {text}")

@tool(timeout=0.2)
def sleep() -> None:
    """Never answer."""
    threading.Event().wait()

def flood() -> str:
    """Return more than is allowed."""
    return "x" * 5000

@tool(changes=True)
def wipe() -> str:
    """Change something."""
    return "wiped"
'''
SETTINGS = """
output: {max_bytes: 1000}
approval: {deny: [probe.wipe]}
"""


@dataclass(frozen=True)
class Case:
    tool: str
    args: dict[str, Any] = field(default_factory=dict)
    allowed: frozenset[str] | None = None
    data: Any = None
    code: str = ""
    message: str = ""
    reason: str = ""
    exception: str = ""

    def expected(self) -> dict[str, Any]:
        known = self.reason not in ("unknown", "not_allowed")
        meta = {"tool": self.tool} | ({"version": "current"} if known else {})
        meta |= {key: value for key in ("reason", "exception") if (value := getattr(self, key))}
        if not self.code:
            return {"ok": True, "data": self.data, "meta": meta}
        error = {"tool": self.tool, "code": self.code, "message": self.message}
        return {"ok": False} | ({"data": self.data} if self.data else {}) | {"error": error, "meta": meta}


CASES = {
    "ok": Case("probe.add", {"a": 2}, data=3),
    "unknown tool": Case(
        "probe.ad",
        code="tool_not_found",
        message="Tool not found: 'probe.ad'. Did you mean probe.add?",
        reason="unknown",
    ),
    "not allowed": Case(
        "probe.add",
        {"a": 2},
        allowed=frozenset({"time.now"}),
        code="tool_not_found",
        message="Tool not found: 'probe.add' is not among the allowed tools.",
        reason="not_allowed",
    ),
    "bad args": Case(
        "probe.add",
        {"a": "2"},
        code="invalid_args",
        message='Invalid arguments for probe.add: a: "2" is not of type "integer"',
        reason="bad_args",
    ),
    "raising tool": Case(
        "probe.fail",
        {"text": "no"},
        code="execution_error",
        message="KeyError: 'no'",
        reason="raised",
        exception="KeyError",
    ),
    "returned error text": Case(
        "probe.complain",
        {"text": "no"},
        data="Error: no",
        code="execution_error",
        message="Error: no",
        reason="returned_error",
    ),
    "slow tool": Case(
        "probe.sleep",
        code="execution_error",
        message="probe.sleep took too long and was given up.",
        reason="timeout",
    ),
    "oversized output": Case(
        "probe.flood",
        code="execution_error",
        message="probe.flood returned 5002 bytes, over output.max_bytes (1000).",
        reason="too_large_out",
    ),
    "needs approval": Case(
        "probe.wipe",
        code="execution_error",
        message="probe.wipe is refused by approval.deny in the settings.",
        reason="needs_approval",
    ),
}


async def through_python(case: Case) -> dict[str, Any]:
    async with onetool_runtime(allowed=case.allowed) as ot:
        return (await ot.call(case.tool, **case.args)).to_json()


async def through_python_without_a_loop(case: Case) -> dict[str, Any]:
    with onetool_runtime(allowed=case.allowed) as ot:
        return ot.call(case.tool, **case.args).to_json()


async def through_cli(case: Case) -> dict[str, Any]:
    command = [sys.executable, "-m", "onetool", "tools", "invoke", case.tool, "--args", json.dumps(case.args)]
    if case.allowed is not None:
        command += ["--tool-allow", ",".join(case.allowed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ)
    assert done.returncode == (1 if case.code else 0), done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


async def through_rest(case: Case) -> dict[str, Any]:
    """Over a socket; what others call data is a value here, and an error stands for itself."""
    places = find_places(os.environ, Path.cwd())
    async with (
        open_runtime(lambda: load_configuration(places, os.environ)) as runtime,
        served(runtime) as client,
    ):
        answer = await client.post("/tools/call", json={"name": case.tool, "args": case.args})
    status = STATUS_OF_REASON[Reason(case.reason)] if case.reason else 200
    assert answer.status_code == status
    body: dict[str, Any] = answer.json()
    body |= {"data": body.pop("value")} if "value" in body else {}
    return body | ({"data": case.data} if case.reason == "returned_error" else {})


DOORS = [through_python, through_python_without_a_loop, through_cli, through_rest]


@pytest.mark.parametrize("door", DOORS)
async def test_every_door_answers_alike(home, door: Callable[[Case], Awaitable[dict[str, Any]]]):
    """The same call has the same result, whichever door it comes through."""
    home.write("tools/probe.py", PACK)
    home.write("onetool.yaml", SETTINGS)
    cases = {name: case for name, case in CASES.items() if door is not through_rest or case.allowed is None}
    answers = {}
    for name, case in cases.items():
        answer = await door(case)
        assert answer["meta"].pop("callId")
        assert answer["meta"].pop("durationMs") >= 0
        answers[name] = answer
    assert answers == {name: case.expected() for name, case in cases.items()}


RUN_CODE = """
try:
    seen = ["returned", {tool}(**{args!r})]
except Exception as error:
    seen = [type(error).__name__, str(error)]
seen
"""


def inside_code(case: Case) -> Any:
    """What code in `run` sees of a call: a value, an exception by its type, or a check before the run."""
    if case.reason == "unknown":
        return f"line 3: there is no tool {case.tool}. Did you mean probe.add?"
    if case.reason == "bad_args":
        wrong = "Argument to function `add` is incorrect: Expected `int`, found `str`"
        return f"line 3: {wrong}. Signature: probe.add(*, a: int, b: int = ...)"
    if case.reason == "not_allowed":
        return "line 3: 'probe' is not defined."
    if not case.code or case.reason == "returned_error":
        return ["returned", case.data]
    kinds = {"raised": case.exception, "timeout": "TimeoutError", "needs_approval": "PermissionError"}
    return [kinds.get(case.reason, "ValueError"), case.message.removeprefix("KeyError: ")]


async def test_code_sees_what_happened(home):
    """Inside `run` what a tool returned is returned, and what it raised is raised with its type."""
    home.write("tools/probe.py", PACK)
    home.write("onetool.yaml", SETTINGS)
    places = find_places(home.env, home.cwd)
    async with open_runtime(lambda: load_configuration(places, {})) as runtime:
        for name, case in CASES.items():
            caller = Caller(door="mcp", allowed=case.allowed)
            result = await runtime.run(RUN_CODE.format(tool=case.tool, args=case.args), caller)
            seen = result.data if result.ok else result.error.message
            assert seen == inside_code(case), name


async def test_mcp_clients_see_what_happened(home):
    """The same table through the official client: by name, and inside code."""
    home.write("tools/probe.py", PACK)
    home.write("onetool.yaml", SETTINGS)
    cases = {name: case for name, case in CASES.items() if case.allowed is None}
    env = {name: value for name, value in os.environ.items() if name.startswith(("ONETOOL", "PATH"))}
    for expose in ("search", "run"):
        args = ["-m", "onetool", "mcp", "--expose", expose]
        server = StdioServerParameters(command=sys.executable, args=args, env=env)
        async with Client(stdio_client(server)) as client:
            for name, case in cases.items():
                if expose == "search":
                    answer = await client.call_tool("call_tool", {"name": case.tool, "args": case.args})
                    failed = f"Error: {case.message.removeprefix('Error: ')}"
                    expected = (bool(case.code), failed if case.code else to_yaml(case.data))
                else:
                    code = RUN_CODE.format(tool=case.tool, args=case.args)
                    answer = await client.call_tool("run", {"command": code})
                    seen = inside_code(case)
                    expected = (
                        isinstance(seen, str),
                        f"Error: {seen}" if isinstance(seen, str) else to_yaml(seen),
                    )
                assert (answer.is_error, answer.content[0].text) == expected, (expose, name)


def test_every_reason_has_an_answer():
    """The tables from reasons to exit codes and to statuses are total."""
    assert set(EXIT) == set(STATUS_OF_REASON) == set(Reason)
