"""A table of calls and their expected results, at least one for each `Reason`, and the home they need."""

import sys
from dataclasses import dataclass, field
from typing import Any

from onetool.bootstrap import open_runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from support.paths import MCP_SERVERS
from support.rest_in_process import serve_rest
from support.rest_process import http_tool, new_id, python_tool
from support.user_home import Home

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
    """Never return."""
    threading.Event().wait()

def flood() -> str:
    """Return more than output.max_bytes allows."""
    return "x" * 5000

def circle() -> list:
    """Return a value that JSON cannot represent."""
    value = []
    value.append(value)
    return value

@tool(timeout=3600)
def hold(gate: str) -> str:
    """Run until the gate file exists."""
    open(gate + ".started", "w").close()
    while not os.path.exists(gate):
        threading.Event().wait(0.01)
    return "held"

@tool(timeout=2)
def hurry() -> str:
    """Time out if it has to wait for a slot."""
    return "hurried"

@tool(read_only=False)
def wipe() -> str:
    """Change something."""
    return "wiped"
'''
SERVER_SCRIPT = MCP_SERVERS / "faulty_server.py"
LIMITS = """
output: {max_bytes: 1000}
execution: {max_args_bytes: 1000, max_concurrent: 1}
approval: {deny: [probe.wipe], allow: [far.refuse]}
"""
SETTINGS = f"""{LIMITS}
servers: {{far: {{command: {sys.executable}, args: [-I, {SERVER_SCRIPT}, good], sandbox: false}}}}
"""
ALLOWED_HOSTS = 'allowedHosts: ["elsewhere.test"]\n'
"""Makes the HTTP tool valid when it is stored; at the time of the call the list is empty."""
REMOVED_PACK = 'pack = "fleeting"\n\ndef gone() -> None:\n    """Exist until the pack is removed."""\n'


@dataclass(frozen=True)
class CallCase:
    """A call and the result that every interface must return for it."""

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
        """Return the result as JSON, without call id and duration."""
        found = self.code != "tool_not_found"
        meta = {"tool": self.tool} | ({"version": self.version} if found else {})
        meta |= {key: value for key in ("reason", "exception") if (value := getattr(self, key))}
        if not self.code:
            return {"ok": True, "data": self.data, "meta": meta}
        error = {"tool": self.tool, "code": self.code, "message": self.message}
        return {"ok": False} | ({"data": self.data} if self.data else {}) | {"error": error, "meta": meta}


SIMPLE_CASES = {
    "ok": CallCase("probe.add", {"a": 2}, data=3),
    "unknown tool": CallCase(
        "probe.ad",
        code="tool_not_found",
        message="Tool not found: 'probe.ad'. Did you mean probe.add?",
        reason="unknown",
    ),
    "not allowed": CallCase(
        "probe.add",
        {"a": 2},
        allowed=frozenset({"time.now"}),
        code="tool_not_found",
        message="Tool not found: 'probe.add' is not among the allowed tools.",
        reason="not_allowed",
    ),
    "bad args": CallCase(
        "probe.add",
        {"a": "2"},
        code="invalid_args",
        message='Invalid arguments for probe.add: a: "2" is not of type "integer"',
        reason="bad_args",
    ),
    "raising tool": CallCase(
        "probe.fail",
        {"text": "no"},
        code="execution_error",
        message="KeyError: 'no' (in probe.py, line 13)",
        reason="raised",
        exception="KeyError",
    ),
    "returned error text": CallCase(
        "probe.complain",
        {"text": "no"},
        data="Error: no",
        code="execution_error",
        message="Error: no",
        reason="returned_error",
    ),
    "slow tool": CallCase(
        "probe.sleep",
        code="execution_error",
        message="probe.sleep timed out after 0.2 s (@tool(timeout=...)).",
        reason="timeout",
    ),
    "oversized output": CallCase(
        "probe.flood",
        code="execution_error",
        message="probe.flood returned 5002 bytes, over output.max_bytes (1000).",
        reason="too_large_out",
    ),
    "needs approval": CallCase(
        "probe.wipe",
        code="execution_error",
        message="probe.wipe is denied by approval.deny: probe.wipe in the settings.",
        reason="needs_approval",
    ),
}
STORED_CASES = {
    "disabled tool": CallCase(
        "saved.off",
        code="tool_not_found",
        message="Tool not found: 'saved.off' is disabled (turned off).",
        reason="disabled",
    ),
    "handler that is gone": CallCase(
        "saved.gone",
        code="tool_not_found",
        message="Tool not found: 'saved.gone' has handler 'fleeting.gone', which is not registered.",
        reason="not_registered",
    ),
    "host that is no longer allowed": CallCase(
        "saved.elsewhere",
        code="execution_error",
        message="Host 'elsewhere.test' is not in allowedHosts. "
        "Add it with: onetool config set allowedHosts elsewhere.test",
        reason="host_not_allowed",
        version="v1",
    ),
    "output that violates the schema": CallCase(
        "saved.odd",
        {"a": 1},
        code="execution_error",
        message='saved.odd returned a value that does not match its output schema: 2 is not of type "string"',
        reason="bad_output",
        version="v1",
    ),
    "output that is not JSON": CallCase(
        "probe.circle",
        code="execution_error",
        message="probe.circle returned a value that cannot be serialized as JSON: "
        "ValueError: nested more than 200 levels deep, or refers to itself",
        reason="bad_output",
    ),
    "oversized arguments": CallCase(
        "probe.fail",
        {"text": "x" * 1200},
        code="invalid_args",
        message="The arguments for probe.fail are 1211 bytes long, over execution.max_args_bytes (1000).",
        reason="too_large_in",
    ),
    "error of an MCP server": CallCase(
        "far.refuse", code="execution_error", message="No.", reason="upstream"
    ),
}
"""Cases that need a bundle and an MCP server; too slow for interfaces that start a process for each call."""
ALL_CASES = SIMPLE_CASES | STORED_CASES
STORED_TOOLS = {
    "off": python_tool("probe.add", isEnabled=False),
    "gone": python_tool("fleeting.gone"),
    "elsewhere": http_tool("http://elsewhere.test/"),
    "odd": python_tool("probe.add", outputSchema={"type": "string"}),
    "rare": python_tool("probe.hurry", limits={"maxCallsPerMinute": 1}),
}
"""The tools of the stored bundle."""


async def set_up_home(home: Home) -> None:
    """Write the pack, the settings and the bundle that the cases use."""
    home.write("tools/probe.py", PACK)
    home.write("onetool.yaml", ALLOWED_HOSTS)
    removed = home.write("tools/fleeting.py", REMOVED_PACK)
    paths = find_paths(home.env, home.cwd)
    async with open_runtime(lambda: load_configuration(paths, {})) as runtime, serve_rest(runtime) as client:
        bundle = f"/tools/bundles/{new_id()}"
        body = {"slug": "saved", "displayName": "Saved", "description": "", "isEnabled": True}
        assert (await client.put(bundle, json=body)).status_code == 201
        for slug, tool in STORED_TOOLS.items():
            response = await client.put(f"{bundle}/tools/{slug}/version/v1", json=tool)
            assert response.status_code == 201, response.text
    removed.unlink()
    home.write("onetool.yaml", SETTINGS)
