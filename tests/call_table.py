"""Calls with one expected result each, one or more for every reason, and the home that they need."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from homes import Home
from onetool.bootstrap import open_runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places
from rest_app import served
from rest_server import http_tool, new_id, python_tool

PACK = '''
import os, threading
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

def circle() -> list:
    """Return what JSON lacks."""
    found = []
    found.append(found)
    return found

@tool(timeout=5)
def hold(gate: str) -> str:
    """Stay until the gate opens."""
    open(gate + ".begun", "w").close()
    while not os.path.exists(gate):
        threading.Event().wait(0.01)
    return "held"

@tool(timeout=0.3)
def hurry() -> str:
    """Have no time to wait."""
    return "hurried"

@tool(changes=True)
def wipe() -> str:
    """Change something."""
    return "wiped"
'''
BY_HAND = Path(__file__).parent / "mcp_servers" / "by_hand.py"
SETTINGS = f"""
output: {{max_bytes: 1000}}
execution: {{max_args_bytes: 1000, max_concurrent: 1}}
approval: {{deny: [probe.wipe], allow: [far.refuse]}}
servers: {{far: {{command: {sys.executable}, args: [-I, {BY_HAND}, good]}}}}
"""
LISTED = 'allowedHosts: ["elsewhere.test"]\n'
"""What makes a tool valid when it is stored; at the time of the call the list is empty."""
FLEETING = 'pack = "fleeting"\n\ndef gone() -> None:\n    """Be there for a while."""\n'


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
    version: str = "current"

    def expected(self) -> dict[str, Any]:
        found = self.code != "tool_not_found"
        meta = {"tool": self.tool} | ({"version": self.version} if found else {})
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
MORE = {
    "disabled tool": Case(
        "kept.off",
        code="tool_not_found",
        message="Tool not found: 'kept.off' is disabled (switched off).",
        reason="disabled",
    ),
    "function that is gone": Case(
        "kept.gone",
        code="tool_not_found",
        message="Tool not found: 'kept.gone', its handler 'fleeting.gone' is no function that can run.",
        reason="not_registered",
    ),
    "host that is listed no more": Case(
        "kept.elsewhere",
        code="execution_error",
        message="Host 'elsewhere.test' is not in allowedHosts. Add it there to reach it.",
        reason="host_not_allowed",
        version="v1",
    ),
    "other output than promised": Case(
        "kept.odd",
        {"a": 1},
        code="execution_error",
        message='kept.odd returned something else than its output schema says: 2 is not of type "string"',
        reason="bad_output",
        version="v1",
    ),
    "output that is no JSON": Case(
        "probe.circle",
        code="execution_error",
        message="probe.circle returned something that cannot be written as JSON: "
        "ValueError: nested more than 200 levels deep, or refers to itself",
        reason="bad_output",
    ),
    "oversized arguments": Case(
        "probe.fail",
        {"text": "x" * 1200},
        code="invalid_args",
        message="The arguments for probe.fail are 1211 bytes long, over execution.max_args_bytes (1000).",
        reason="too_large_in",
    ),
    "error of another server": Case("far.refuse", code="execution_error", message="No.", reason="upstream"),
}
ALL = CASES | MORE
"""What needs a home with a bundle and a server; a door that starts a process for each call is spared it."""
KEPT = {
    "off": python_tool("probe.add", isEnabled=False),
    "gone": python_tool("fleeting.gone"),
    "elsewhere": http_tool("http://elsewhere.test/"),
    "odd": python_tool("probe.add", outputSchema={"type": "string"}),
    "rare": python_tool("probe.hurry", limits={"maxCallsPerMinute": 1}),
}
"""The tools of the stored bundle."""


async def furnish(home: Home) -> None:
    """Write the pack, the settings and the bundle that the table speaks of."""
    home.write("tools/probe.py", PACK)
    home.write("onetool.yaml", LISTED)
    fleeting = home.write("tools/fleeting.py", FLEETING)
    places = find_places(home.env, home.cwd)
    async with open_runtime(lambda: load_configuration(places, {})) as runtime, served(runtime) as client:
        bundle = f"/tools/bundles/{new_id()}"
        body = {"slug": "kept", "displayName": "Kept", "description": "", "isEnabled": True}
        assert (await client.put(bundle, json=body)).status_code == 201
        for slug, tool in KEPT.items():
            stored = await client.put(f"{bundle}/tools/{slug}/version/v1", json=tool)
            assert stored.status_code == 201, stored.text
    fleeting.unlink()
    home.write("onetool.yaml", SETTINGS)
