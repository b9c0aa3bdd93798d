"""The `ot` pack with tools of real MCP servers, over stdio and HTTP, seen by a real client."""

import json
import socket
import subprocess
import sys
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, NamedTuple

import pytest
import yaml

from support.mcp_client import McpSession, child_env, create_home, open_session, stdio_mcp_client
from support.paths import MCP_SERVERS
from support.user_home import Home

SCRIPT = MCP_SERVERS / "github.py"
COMMAND = [sys.executable, "-I", str(SCRIPT)]
LOCAL = '''
pack = "nearby"

def find(place: str) -> str:
    """Find a place."""
    return place
'''
TOOLS = ["search", "ordered", "defaults", "mixed", "nothing"]


@contextmanager
def working_server(transport):
    """Yield the settings of a working server; over HTTP it runs until the block ends."""
    if transport == "stdio":
        yield {"command": COMMAND[0], "args": [*COMMAND[1:], "stdio"], "sandbox": False}
        return
    with subprocess.Popen([*COMMAND, "http"], env=child_env(), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield {"url": process.stdout.readline().strip()}
        finally:
            process.kill()


@contextmanager
def unreachable_server(transport):
    """Yield the settings of a server whose process exits or whose port is closed."""
    if transport == "stdio":
        yield {"command": sys.executable, "args": ["-c", "raise SystemExit(1)"], "sandbox": False}
        return
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        yield {"url": f"http://127.0.0.1:{closed.getsockname()[1]}/mcp"}


class ProxyRuntime(NamedTuple):
    """An `onetool mcp` process with a local pack and the server `github`, and its first health report."""

    session: McpSession
    home: Home
    server: dict[str, Any]
    transport: str
    health: str

    def run(self, command: str) -> str:
        return self.session.run(command)


def write_servers(home, **servers):
    home.write("onetool.yaml", json.dumps({"servers": servers}))


def read_health(runtime):
    """Return the health report, with retries because servers start slowly on a busy machine."""
    for _ in range(4):
        if "github: connected" in (text := runtime.run("ot.health()")):
            break
    return text


@pytest.fixture(scope="module", params=["stdio", "http"])
def github(request, tmp_path_factory):
    home = create_home(tmp_path_factory.mktemp("proxied"))
    home.write("tools/nearby.py", LOCAL)
    with working_server(request.param) as server:
        write_servers(home, github=server)
        with open_session(stdio_mcp_client(env=child_env(**home.env), cwd=home.cwd)) as session:
            yield ProxyRuntime(session, home, server, request.param, read_health(session))


def full_entries(github):
    """Return full entries of all tools by name."""
    return {entry["name"]: entry for entry in yaml.safe_load(github.run("ot.tools(info='full')"))}


@pytest.mark.spec("OT-12", "OT-13", "OT-14", "OT-15", "OT-16", "OT-17", "OT-56", "OT-61", "OT-66", "OT-67")
def test_tools_of_a_real_server_are_described_as_it_lists_them(github):
    entries = full_entries(github)
    sources = {name: entry["source"] for name, entry in entries.items()}
    proxied = {name for name, source in sources.items() if source == "proxy:github"}
    assert proxied == {f"github.{tool}" for tool in TOOLS}
    assert {source for name, source in sources.items() if name not in proxied} == {"local"}
    assert entries["github.ordered"]["signature"] == (
        "github.ordered(query: str, zeta: str = '...', alpha: str = '...')"
    )
    assert entries["github.defaults"]["signature"] == (
        "github.defaults(must: int, n: int = 5, zero: int = 0, off: bool = False, empty: str = '', "
        "branch: str = 'main', nothing: str = None, bare: int = '...')"
    )
    assert entries["github.mixed"]["args"] == ["query: Search text", "repo: Repository"]
    packs = {pack["name"]: pack for pack in yaml.safe_load(github.run("ot.packs()"))}
    assert packs["github"] == {"name": "github", "source": "proxy", "tool_count": len(TOOLS)}
    assert packs["nearby"] == {"name": "nearby", "source": "local", "tool_count": 1}
    text = github.run('ot.packs(pattern="github", info="full")')
    assert [tool for tool in TOOLS if f"Does {tool}." not in text] == []
    assert "source: proxy" in text.casefold()


def test_proxied_tool_receives_exactly_the_given_arguments(github):
    received = json.loads(github.run('github.search(query="x")'))
    assert received == {"tool": "search", "args": {"query": "x"}}
    received = json.loads(github.run('github.defaults(must=1, nothing="y")'))
    assert received == {"tool": "defaults", "args": {"must": 1, "nothing": "y"}}
    failed, text = github.session.call("run", command="github.search()")
    assert failed
    assert "query" in text


@pytest.mark.spec("OT-22")
def test_health_connects_to_servers_without_an_earlier_call(github):
    """Only local tools are counted."""
    sources = [entry["source"] for entry in full_entries(github).values()]
    assert "proxy:github" in sources
    assert github.health.splitlines() == [
        f'version: "{version("onetool-gateway")}"',
        f'python: "{".".join(map(str, sys.version_info[:3]))}"',
        f"cwd: {github.home.cwd}",
        f"registry: {{status: ok, tool_count: {sources.count('local')}}}",
        "proxy: {status: ok, server_count: 1, servers: {github: connected}}",
    ]


@pytest.mark.spec("OT-23", "OT-24")
def test_unreachable_server_degrades_health_and_nothing_else(github):
    with unreachable_server(github.transport) as broken:
        write_servers(github.home, github=github.server, broken=broken)
        assert github.run("ot.reload()") == "OK: Configuration reloaded"
        health = yaml.safe_load(read_health(github))
        received = json.loads(github.run('github.search(query="x")'))
        write_servers(github.home, github=github.server)
        github.run("ot.reload()")
    assert received["args"] == {"query": "x"}
    assert health["registry"]["status"] == "ok"
    assert health["proxy"] == {
        "status": "degraded",
        "server_count": 2,
        "servers": {"github": "connected", "broken": "disconnected"},
    }
    assert read_health(github) == github.health
