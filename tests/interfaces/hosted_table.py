"""A hosted server whose workspaces have what the table of calls needs."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from interfaces.call_table import ALLOWED_HOSTS, LIMITS, PACK, REMOVED_PACK, STORED_TOOLS
from onetool.testing.http_stub import HttpStub, RecordedRequest, StubResponse
from support.hosted_process import HostedProcess, Installation, TestedWorkspace, WorkspaceView
from support.processes import wait_until
from support.rest_process import write_private

EXPOSURES = {"rest": "search", "search": "search", "run": "run"}
"""How `/mcp` of each workspace offers its tools."""


class HostedTable:
    """One process with a workspace for each interface. The server of the table is one over HTTP."""

    def __init__(self, root: Path, installation: Installation) -> None:
        self._stack = ExitStack()
        self.workspaces = {name: installation.create_workspace(ALLOWED_HOSTS) for name in EXPOSURES}
        first = self.workspaces["rest"]
        self.process = HostedProcess(
            root, settings=ALLOWED_HOSTS, probes=False, installation=installation, workspace=first
        )
        write_private(self.process.config / "tools" / "probe.py", PACK)
        self._removed = self.process.config / "tools" / "fleeting.py"
        write_private(self._removed, REMOVED_PACK)

    def __enter__(self) -> "HostedTable":
        far = self._stack.enter_context(HttpStub({"/mcp": refuse}))
        self._stack.enter_context(self.process)
        with ExitStack() as stack:
            views = {
                name: stack.enter_context(WorkspaceView(self.process, workspace))
                for name, workspace in self.workspaces.items()
            }
            gone = {name: store_tools(view) for name, view in views.items()}
            self._removed.unlink()
            for name, view in views.items():
                servers = f"servers: {{far: {{url: '{far.url}/mcp'}}}}\n"
                view.write_settings(f"{LIMITS}{servers}expose: {EXPOSURES[name]}\n")
                assert wait_until(lambda view=view: '"far"' in view.client.get("/servers").text)
                assert wait_until(lambda view=view, name=name: not view.get_tool(gone[name])["isEnabled"])
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def url(self, workspace: TestedWorkspace) -> str:
        """Return the URL of a workspace."""
        return f"{self.process.origin}{workspace.path}"


def store_tools(server: HostedProcess) -> Any:
    """Store the bundle of the table; return the tool whose handler will be removed."""
    bundle = server.create_bundle(slug="saved", displayName="Saved")
    tools = {slug: server.create_tool(bundle, slug, **body) for slug, body in STORED_TOOLS.items()}
    return tools["gone"]


def refuse(request: RecordedRequest) -> StubResponse:
    """Respond as the MCP server of the table: it has one tool, whose calls fail."""
    if request.method != "POST":
        return StubResponse(status=405)
    message = json.loads(request.body)
    if "id" not in message:
        return StubResponse(status=202)
    method, info = message["method"], {"name": "far", "version": "1"}
    reply: dict[str, Any] = {"error": {"code": -32000, "message": "No."}}
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        reply = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    elif method == "tools/list":
        tool = {"name": "refuse", "description": "Refuses.", "inputSchema": {"type": "object"}}
        reply = {"result": {"tools": [tool]}}
    return StubResponse({"jsonrpc": "2.0", "id": message["id"], **reply})
