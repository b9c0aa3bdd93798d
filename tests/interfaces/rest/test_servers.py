"""MCP servers over REST: state, quarantine and log."""

import json
import sys

import httpx2
import pytest

from onetool.testing import FakeMcpTool, fake_mcp_server, memory_runtime
from support.paths import MCP_SERVERS
from support.processes import wait_until
from support.rest_in_process import serve_rest
from support.rest_process import TOKEN, RestProcess

SCRIPT = MCP_SERVERS / "faulty_server.py"
ECHO = {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}}
KEY = "s3cret-of-the-upstream"


def start(directory):
    """Start OneTool with a broken and a disabled server, and two whose tools are listed in files."""
    listings = {"good": [ECHO], "claiming": [ECHO | {"annotations": {"readOnlyHint": True}}]}
    servers = {
        "dead": {"command": "no-such-program", "args": [KEY]},
        "off": {"command": "x", "enabled": False},
    }
    for name, tools in listings.items():
        (directory / name).write_text(json.dumps(tools))
        args = ["-I", str(SCRIPT), "from-file", str(directory / name)]
        servers[name] = {"command": sys.executable, "args": args, "sandbox": False}
    return RestProcess(directory / "server", settings=json.dumps({"servers": servers}), probes=False)


@pytest.fixture(scope="module", name="server")
def shared_server(tmp_path_factory):
    with start(tmp_path_factory.mktemp("servers")) as server:
        yield server


def server_states(server):
    return {entry["name"]: entry for entry in server.client.get("/servers").json()["servers"]}


def last_log_line(client, name):
    """Wait for the last line of a server's log, which is written on another thread."""
    lines = []
    assert wait_until(
        lambda: lines.extend(client.get(f"/servers/{name}/log?limit=1").json()["lines"]) or lines
    ), "nothing was logged"
    return lines[0]


def test_servers_are_listed_and_probed(server):
    """No response contains a secret."""
    client = server.client
    states = server_states(server)
    found = [states[name]["state"] for name in ("good", "dead", "off")]
    assert found == ["configured", "configured", "disabled"]
    assert (states["good"]["tools"], states["good"]["quarantined"], states["good"]["reason"]) == (None, 0, "")
    assert KEY not in json.dumps(states)
    probe = client.post("/servers/good/probe").json()
    assert (probe["ok"], probe["tools"], probe["reason"]) == (True, 1, "")
    assert probe["seconds"] > 0
    assert (server_states(server)["good"]["state"], server_states(server)["good"]["tools"]) == (
        "connected",
        1,
    )
    failed = client.post("/servers/dead/probe").json()
    assert (failed["ok"], failed["tools"], "no-such-program" in failed["reason"]) == (False, None, True)
    assert server_states(server)["dead"]["state"] == "failed"
    assert client.get("/servers/off/log").json() == {"lines": []}


def test_a_read_only_claim_counts_once_it_is_approved(server):
    client = server.client
    assert client.post("/servers/claiming/probe").json()["ok"]
    (tool,) = client.get("/servers/claiming/tools").json()["tools"]
    assert (tool["name"], tool["readOnly"], tool["canApprove"]) == ("echo", False, True)
    assert json.loads(tool["definition"])["annotations"] == {"readOnlyHint": True}
    approved = client.post("/servers/claiming/approve", json={"seen": {"echo": tool["pin"]}})
    assert approved.status_code == 204
    (tool,) = client.get("/servers/claiming/tools").json()["tools"]
    assert (tool["readOnly"], tool["canApprove"]) == (True, False)
    assert tool["reason"] == "you approved this definition"


def test_a_changed_tool_is_quarantined_until_it_is_approved(tmp_path):
    """Only quarantined tools with the reviewed definition can be approved."""
    server = start(tmp_path)
    with server:
        assert server.client.post("/servers/good/probe").json()["ok"]
    (tmp_path / "good").write_text(json.dumps([ECHO | {"description": "Says it <b>louder</b>."}]))
    with server:
        client = server.client
        probe = client.post("/servers/good/probe").json()
        assert (probe["ok"], "quarantined" in probe["reason"]) == (True, True)
        assert server_states(server)["good"]["quarantined"] == 1
        line = last_log_line(client, "good")
        assert (line.keys(), line["level"]) == ({"at", "level", "message"}, "warning")
        assert "1 quarantined tool: echo" in line["message"]
        (tool,) = client.get("/servers/good/quarantine").json()["tools"]
        assert (tool["name"], "changed" in tool["reason"]) == ("echo", True)
        assert "Says it again." in tool["difference"]
        assert "Says it <b>louder</b>." in tool["difference"]
        missing = client.post("/servers/good/approve", json={"names": ["echo", "ecoh"]})
        assert (missing.status_code, "'ecoh'" in missing.json()["detail"]) == (404, True)
        assert client.post("/servers/good/approve", json={"names": []}).status_code == 204
        assert server_states(server)["good"]["quarantined"] == 1
        stale = client.post("/servers/good/approve", json={"seen": {"echo": "0" * 64}})
        assert (stale.status_code, server_states(server)["good"]["quarantined"]) == (409, 1)
        assert client.post("/servers/good/approve", json={"seen": {"echo": tool["pin"]}}).status_code == 204
        assert client.post("/servers/good/approve").status_code == 204
        assert client.get("/servers/good/quarantine").json() == {"tools": []}
        assert client.post("/run", json={"command": "good.echo()"}).json()["ok"]


def test_startup_prints_the_location_of_the_token_but_not_the_token(server):
    line = server.process.stdout.readline()
    assert line.startswith(f"Web UI: {server.url}/ ")
    assert "ONETOOL_TOKEN" in line
    assert TOKEN not in line + server.errors.read_text()
    page = httpx2.get(server.url, headers={"Accept": "text/html"}, trust_env=False, verify=False)
    assert (page.status_code in (200, 503), "OneTool" in page.text) == (True, True)


async def test_unknown_and_disabled_servers_are_rejected():
    """Names that look like paths are unknown servers."""
    settings = {"servers": {"off": {"command": "x", "enabled": False}}}
    tools = [FakeMcpTool("say", "Say.", {"type": "object"}, lambda args: "hi")]
    runtime = memory_runtime(settings=settings, servers=[fake_mcp_server("near", tools)])
    async with runtime as ot, serve_rest(ot.runtime) as client:
        for name in ("naer", "..", "..%2f..%2fetc", "%00", "a" * 400):
            for method, path in [
                ("GET", "log"),
                ("GET", "quarantine"),
                ("POST", "probe"),
                ("POST", "approve"),
            ]:
                response = await client.request(method, f"/servers/{name}/{path}")
                assert response.status_code in (400, 404, 405), (name, path)
        assert "Did you mean near" in (await client.post("/servers/naer/probe")).json()["detail"]
        off = await client.post("/servers/off/probe")
        assert (off.status_code, "is disabled" in off.json()["detail"]) == (409, True)
        assert (await client.get("/servers/near/log?limit=0")).status_code == 400
        listed = (await client.get("/servers")).json()["servers"]
        assert [(entry["name"], entry["state"], entry["tools"]) for entry in listed] == [
            ("off", "disabled", None),
            ("near", "connected", 1),
        ]
