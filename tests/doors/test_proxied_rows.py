"""What the `ot` pack says of another server's tools: a real program, a real HTTP server, a real client."""

import json
import socket
import subprocess
import sys
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from homes import Home
from mcp_door import Door, door, new_home, over_stdio, own_env

SCRIPT = Path(__file__).parents[1] / "mcp_servers" / "github.py"
WORDS = [sys.executable, "-I", str(SCRIPT)]
LOCAL = '''
pack = "nearby"

def look(place: str) -> str:
    """Look around."""
    return place
'''
TOOLS = ["search", "ordered", "defaults", "mixed", "nothing"]


@contextmanager
def good_server(transport):
    """The settings of a server that works; over HTTP it runs as long as the block lasts."""
    if transport == "stdio":
        yield {"command": WORDS[0], "args": [*WORDS[1:], "stdio"]}
        return
    with subprocess.Popen([*WORDS, "http"], env=own_env(), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield {"url": process.stdout.readline().strip()}
        finally:
            process.kill()


@contextmanager
def bad_server(transport):
    """The settings of a server that cannot be reached: its program ends, or nobody listens."""
    if transport == "stdio":
        yield {"command": sys.executable, "args": ["-c", "raise SystemExit(1)"]}
        return
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        yield {"url": f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"}


class Asked(NamedTuple):
    """A OneTool with one local pack and the server `github`, and what its health was at first."""

    door: Door
    home: Home
    server: dict[str, Any]
    transport: str
    health: str

    def run(self, command: str) -> str:
        return self.door.run(command)


def write_servers(home, **servers):
    home.write("onetool.yaml", json.dumps({"servers": servers}))


def healthy(opened):
    """Ask for health alone; once more on a machine so busy that a server takes seconds to start."""
    for _ in range(4):
        if "github: connected" in (text := opened.run("ot.health()")):
            break
    return text


@pytest.fixture(scope="module", params=["stdio", "http"])
def github(request, tmp_path_factory):
    home = new_home(tmp_path_factory.mktemp("proxied"))
    home.write("tools/nearby.py", LOCAL)
    with good_server(request.param) as server:
        write_servers(home, github=server)
        with door(over_stdio(env=own_env(**home.env), cwd=home.cwd)) as opened:
            yield Asked(opened, home, server, request.param, healthy(opened))


def full(github, pattern=""):
    entries = yaml.safe_load(github.run(f"ot.tools(pattern={pattern!r}, info='full')"))
    return {entry["name"]: entry for entry in entries}


@pytest.mark.spec("OT-12")
def test_a_tool_names_its_server_as_the_source(github):
    """`proxy:github` for every tool of the server `github`, `local` for everything else."""
    sources = {name: entry["source"] for name, entry in full(github).items()}
    assert {name for name, source in sources.items() if source == "proxy:github"} == {
        f"github.{tool}" for tool in TOOLS
    }
    assert sources["nearby.look"] == sources["ot.tools"] == "local"
    assert set(sources.values()) == {"local", "proxy:github"}


@pytest.mark.spec("OT-13", "OT-14", "OT-15")
@pytest.mark.parametrize(
    ("tool", "signature"),
    [
        ("search", "github.search(query: str, repo: str = '...')"),
        ("ordered", "github.ordered(query: str, zeta: str = '...', alpha: str = '...')"),
        (
            "defaults",
            "github.defaults(must: int, n: int = 5, zero: int = 0, off: bool = False, empty: str = '', "
            "branch: str = 'main', nothing: str = None, bare: int = '...')",
        ),
        ("mixed", "github.mixed(query: str, repo: str = '...', plain: str = '...')"),
        ("nothing", "github.nothing()"),
    ],
)
def test_a_signature_comes_from_the_servers_schema(github, tool, signature):
    """Required ones first and bare, even with a default; the others with theirs, or '...'."""
    assert full(github, f"github.{tool}")[f"github.{tool}"]["signature"] == signature


@pytest.mark.spec("OT-16", "OT-17")
def test_arguments_are_described_in_the_servers_words(github):
    """In the order of the signature; what is not described is left out, and so is an empty list."""
    (entry,) = yaml.safe_load(github.run('ot.tools(pattern="github.search", info="full")'))
    assert entry["args"] == ["query: Search text", "repo: Repository"]
    entries = full(github, "github.")
    assert entries["github.mixed"]["args"] == ["query: Search text", "repo: Repository"]
    assert [name for name, entry in entries.items() if "args" in entry] == ["github.search", "github.mixed"]


@pytest.mark.spec("OT-56", "OT-61")
def test_packs_are_listed_with_their_source(github):
    """Local packs and the server's, each once, with as many tools as it has."""
    packs = yaml.safe_load(github.run("ot.packs()"))
    assert isinstance(packs, list)
    by_name = {pack["name"]: (pack["source"], pack["tool_count"]) for pack in packs}
    assert len(by_name) == len(packs)
    assert by_name.pop("github") == ("proxy", len(TOOLS))
    assert by_name["nearby"] == ("local", 1)
    assert {source for source, _ in by_name.values()} == {"local"}
    assert {"github", "nearby", "ot"} <= set(yaml.safe_load(github.run('ot.packs(info="list")')))


@pytest.mark.spec("OT-66", "OT-67")
def test_a_servers_pack_lists_its_tools(github):
    """By their full names with descriptions, and with `proxy` as the source."""
    text = github.run('ot.packs(pattern="github", info="full")')
    for tool in TOOLS:
        assert f"github.{tool}" in text
        assert f"Does {tool}." in text
    assert "source: proxy" in text.casefold()
    assert "proxy" not in github.run('ot.packs(pattern="nearby", info="full")').casefold()


def test_a_listed_tool_can_be_called_as_it_is_listed(github):
    """Arguments arrive at the server as they were given, without those that were not."""
    said = json.loads(github.run('github.search(query="x")'))
    assert said == {"tool": "search", "args": {"query": "x"}}
    said = json.loads(github.run('github.defaults(must=1, nothing="y")'))
    assert said == {"tool": "defaults", "args": {"must": 1, "nothing": "y"}}
    failed, text = github.door.said("run", command="github.search()")
    assert failed
    assert "query" in text


@pytest.mark.spec("OT-22")
def test_health_connects_to_the_servers_itself(github):
    """Asked before anything else: five lines, the server is connected, only local tools are counted."""
    sources = [entry["source"] for entry in full(github).values()]
    assert "proxy:github" in sources
    assert github.health.splitlines() == [
        f'version: "{version("onetool")}"',
        f'python: "{".".join(map(str, sys.version_info[:3]))}"',
        f"cwd: {github.home.cwd}",
        f"registry: {{status: ok, tool_count: {sources.count('local')}}}",
        "proxy: {status: ok, server_count: 1, servers: {github: connected}}",
    ]


@pytest.mark.spec("OT-23", "OT-24")
def test_a_server_that_cannot_be_reached_is_disconnected(github):
    """It degrades the proxy and nothing else; the server beside it is connected and works."""
    with bad_server(github.transport) as bad:
        write_servers(github.home, github=github.server, broken=bad)
        assert github.run("ot.reload()") == "OK: Configuration reloaded"
        health = yaml.safe_load(healthy(github))
        said = json.loads(github.run('github.search(query="x")'))
        write_servers(github.home, github=github.server)
        github.run("ot.reload()")
    assert said["args"] == {"query": "x"}
    assert health["registry"]["status"] == "ok"
    assert health["proxy"] == {
        "status": "degraded",
        "server_count": 2,
        "servers": {"github": "connected", "broken": "disconnected"},
    }
    assert healthy(github) == github.health
