"""Other MCP servers over REST: how they are, what they hold back, what their log says."""

import json
import sys
import time
from pathlib import Path

import httpx2
import pytest

from onetool.testing import ProxyTool, memory_runtime, proxy_server
from rest_app import served
from rest_server import TOKEN, Server

SCRIPT = Path(__file__).parents[1] / "mcp_servers" / "by_hand.py"
ECHO = {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}}
KEY = "s3cret-of-the-upstream"


def start(folder):
    """A server that knows three others: one that answers, one that cannot be started, one that is off."""
    listing = folder / "tools.json"
    listing.write_text(json.dumps([ECHO]))
    known = {
        "good": {"command": sys.executable, "args": ["-I", str(SCRIPT), "from-file", str(listing)]},
        "dead": {"command": "no-such-program", "args": [KEY]},
        "off": {"command": "x", "enabled": False},
    }
    return Server(folder / "server", settings=json.dumps({"servers": known}), probes=False), listing


@pytest.fixture(scope="module", name="server")
def shared_server(tmp_path_factory):
    with start(tmp_path_factory.mktemp("servers"))[0] as found:
        yield found


def state(server):
    return {it["name"]: it for it in server.client.get("/servers").json()["servers"]}


def logged(client, name):
    """The last line of a server's log; lines are written on a thread of their own."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if lines := client.get(f"/servers/{name}/log?limit=1").json()["lines"]:
            return lines[0]
    pytest.fail("nothing was logged")


def test_servers_are_seen_and_tried(server):
    """Before they are started, while they run, and why they do not; no secret is shown."""
    client = server.client
    seen = state(server)
    assert [it["state"] for it in seen.values()] == ["configured", "configured", "off"]
    assert (seen["good"]["tools"], seen["good"]["heldBack"], seen["good"]["reason"]) == (None, 0, "")
    assert KEY not in json.dumps(seen)
    tried = client.post("/servers/good/probe").json()
    assert (tried["ok"], tried["tools"], tried["reason"]) == (True, 1, "")
    assert tried["seconds"] > 0
    assert (state(server)["good"]["state"], state(server)["good"]["tools"]) == ("started", 1)
    failed = client.post("/servers/dead/probe").json()
    assert (failed["ok"], failed["tools"], "no-such-program" in failed["reason"]) == (False, None, True)
    assert state(server)["dead"]["state"] == "failed"
    assert client.get("/servers/off/log").json() == {"lines": []}


def test_a_changed_tool_waits_until_somebody_has_looked(tmp_path):
    """What it was and what it is; only what waits can be approved."""
    server, listing = start(tmp_path)
    with server:
        assert server.client.post("/servers/good/probe").json()["ok"]
    listing.write_text(json.dumps([ECHO | {"description": "Says it <b>louder</b>."}]))
    with server:
        client = server.client
        tried = client.post("/servers/good/probe").json()
        assert (tried["ok"], "held back" in tried["reason"]) == (True, True)
        assert state(server)["good"]["heldBack"] == 1
        line = logged(client, "good")
        assert (line.keys(), line["level"]) == ({"at", "level", "message"}, "warning")
        assert "holds back 1 tool: echo" in line["message"]
        (held,) = client.get("/servers/good/held-back").json()["tools"]
        assert (held["name"], "changed" in held["reason"]) == ("echo", True)
        assert "Says it again." in held["difference"]
        assert "Says it <b>louder</b>." in held["difference"]
        missing = client.post("/servers/good/approve", json={"names": ["echo", "ecoh"]})
        assert (missing.status_code, "'ecoh'" in missing.json()["detail"]) == (404, True)
        assert client.post("/servers/good/approve", json={"names": []}).status_code == 204
        assert state(server)["good"]["heldBack"] == 1
        stale = client.post("/servers/good/approve", json={"seen": {"echo": "0" * 64}})
        assert (stale.status_code, state(server)["good"]["heldBack"]) == (409, 1)
        assert client.post("/servers/good/approve", json={"seen": {"echo": held["pin"]}}).status_code == 204
        assert client.post("/servers/good/approve").status_code == 204
        assert client.get("/servers/good/held-back").json() == {"tools": []}
        assert client.post("/run", json={"command": "good.echo()"}).json()["ok"]


def test_what_is_printed_at_the_start_says_where_but_not_what(server):
    """The address of the screens and where the token is kept; the token itself is not shown."""
    said = server.process.stdout.readline()
    assert said.startswith(f"Screens: {server.url}/ ")
    assert "ONETOOL_TOKEN" in said
    assert TOKEN not in said + server.errors.read_text()
    page = httpx2.get(server.url, headers={"Accept": "text/html"}, trust_env=False)
    assert (page.status_code in (200, 503), "OneTool" in page.text) == (True, True)


async def test_a_name_that_is_no_server_leads_nowhere():
    """Unknown, switched off, or a path: told as what it is."""
    settings = {"servers": {"off": {"command": "x", "enabled": False}}}
    tools = [ProxyTool("say", "Say.", {"type": "object"}, lambda args: "hi")]
    runtime = memory_runtime(settings=settings, servers=[proxy_server("near", tools)])
    async with runtime as ot, served(ot.runtime) as client:
        for name in ("naer", "..", "..%2f..%2fetc", "%00", "a" * 400):
            for method, path in [
                ("GET", "log"),
                ("GET", "held-back"),
                ("POST", "probe"),
                ("POST", "approve"),
            ]:
                answer = await client.request(method, f"/servers/{name}/{path}")
                assert answer.status_code in (400, 404, 405), (name, path)
        assert "Did you mean near" in (await client.post("/servers/naer/probe")).json()["detail"]
        off = await client.post("/servers/off/probe")
        assert (off.status_code, "switched off" in off.json()["detail"]) == (409, True)
        assert (await client.get("/servers/near/log?limit=0")).status_code == 400
        listed = (await client.get("/servers")).json()["servers"]
        assert [(it["name"], it["state"], it["tools"]) for it in listed] == [
            ("off", "off", None),
            ("near", "started", 1),
        ]
