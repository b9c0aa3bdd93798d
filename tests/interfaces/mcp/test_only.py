"""`onetool mcp --only NAME` presents one server as it is, and the rules of OneTool still apply."""

import json
import sys

import httpx2
import pytest

from onetool.testing.http_stub import HttpStub, StubResponse
from support.contents_world import SCRIPT, World
from support.mcp_servers import contents_server, rich_server
from support.onetool_process import onetool
from support.paths import MCP_SERVERS
from support.raw_mcp import LEGACY, META_PREFIX, MODERN, RawMcpClient
from support.waiting import HANG_S

ONLY = ("--only", "one")
STAMP = f"{META_PREFIX}/serverInfo"


def without_stamp(result):
    """Return a result without the name of its sender."""
    meta = {key: value for key, value in result.get("_meta", {}).items() if key != STAMP}
    rest = {key: value for key, value in result.items() if key != "_meta"}
    return rest | ({"_meta": meta} if meta else {})


def ask_direct(script, *args, version=LEGACY):
    """Return a client of the server itself."""
    arguments = [str(script), *args, *(["modern"] if version == MODERN else [])]
    return RawMcpClient(version, {}, command=[sys.executable, "-I", *arguments])


@pytest.fixture(scope="module", params=[LEGACY, MODERN])
def clients(request, tmp_path_factory):
    """The same server, directly and through OneTool."""
    root = tmp_path_factory.mktemp("only")
    direct = ask_direct(SCRIPT, str(root / "one"), version=request.param)
    try:
        direct.handshake = direct.initialize()
        is_modern = request.param == MODERN
        with World(root, request.param, names=("one", "two"), arguments=ONLY, modern=is_modern) as through:
            yield direct, through
    finally:
        direct.kill()


REQUESTS = {
    "resources": ("resources/list", {}),
    "templates": ("resources/templates/list", {}),
    "prompts": ("prompts/list", {}),
    "tools": ("tools/list", {}),
    "read": ("resources/read", {"uri": "memo:x"}),
    "read media": ("resources/read", {"uri": "img://logo"}),
    "read from a template": ("resources/read", {"uri": "file:///a b"}),
    "prompt": ("prompts/get", {"name": "greet", "arguments": {"who": "Ada"}}),
    "prompt with media": ("prompts/get", {"name": "show-logo"}),
    "call": ("tools/call", {"name": "echo", "arguments": {"a": [1]}}),
    "skills": ("skills/list", {"cursor": "x"}),
    "link": ("tools/call", {"name": "link", "arguments": {}}),
    "complete a prompt": (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "A"}},
    ),
    "complete a template": (
        "completion/complete",
        {
            "ref": {"type": "ref/resource", "uri": "file:///{+path}"},
            "argument": {"name": "path", "value": "A"},
            "context": {"arguments": {"x": "y"}},
        },
    ),
}


@pytest.mark.spec("MCP-22", "MCP-33")
@pytest.mark.parametrize("name", REQUESTS)
def test_results_are_those_of_the_server(clients, name):
    direct, through = clients
    method, params = REQUESTS[name]
    expected = without_stamp(direct.request(method, **params)["result"])
    for skill in expected.get("skills", ()):  # the server repeats what it received
        skill["later"].pop("_meta", None)
    received = without_stamp(through.request(method, **params))
    for skill in received.get("skills", ()):
        skill["later"].pop("_meta", None)
    if method in ("resources/list", "prompts/list"):  # pages may differ, the items may not
        field = method.partition("/")[0]
        expected, received = contents_server.OFFER[field], received[field]
    ignored = ("ttlMs", "cacheScope")
    if isinstance(expected, dict):
        expected, received = (
            {key: value for key, value in result.items() if key not in ignored}
            for result in (expected, received)
        )
    assert received == expected


@pytest.mark.spec("MCP-19")
def test_content_says_how_long_it_may_be_cached(tmp_path):
    """Also that of servers whose protocol does not know it."""
    with World(tmp_path, MODERN, names=("one",), arguments=ONLY) as world:
        result = world.request("resources/read", uri="memo:x")
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


@pytest.mark.spec("MCP-22")
def test_instructions_and_capabilities_are_those_of_the_server(clients):
    direct, through = clients
    assert through.handshake["instructions"] == direct.handshake["instructions"] == "Read memo:x first."
    capabilities = dict(through.handshake["capabilities"])
    assert capabilities.pop("extensions", {}).keys() <= {"io.modelcontextprotocol/tasks"}  # OneTool's own
    assert capabilities == direct.handshake["capabilities"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "unknown", "arguments": {}}),
        ("tools/call", {"name": "two__echo", "arguments": {}}),
        ("tools/call", {"name": "tools__echo", "arguments": {}}),
        ("prompts/get", {"name": "one__greet"}),
        ("resources/read", {"uri": "ot.two+memo:x"}),
        ("resources/read", {"uri": "memo:unknown"}),
    ],
)
def test_nothing_else_can_be_reached(clients, method, params):
    _, through = clients
    assert through.error(method, **params)["code"] in (-32602, -32002)
    assert "resources/read" not in [request["method"] for request in through.requests("two")]


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """A server with every kind of content, directly and through OneTool."""
    script = str(MCP_SERVERS / "rich_server.py")
    root, arguments, output = tmp_path_factory.mktemp("rich"), ("--only", "rich"), {"max_inline_size": 100}
    servers = {"rich": {"command": sys.executable, "args": ["-I", script], "sandbox": False}}
    direct = ask_direct(script)
    try:
        direct.initialize()
        with World(root, names=(), arguments=arguments, servers=servers, output=output) as through:
            yield direct, through
    finally:
        direct.kill()


@pytest.mark.spec("MCP-06", "MCP-22")
@pytest.mark.parametrize("tool", [*rich_server.RESULTS, "large"])
def test_content_is_that_of_the_server_however_large(rich, tool):
    direct, through = rich
    call = {"name": tool, "arguments": {"size": 9_000_000} if tool == "large" else {}}
    expected = direct.request("tools/call", **call)["result"]
    assert without_stamp(through.request("tools/call", **call)) == expected


@pytest.mark.spec("MCP-22")
def test_quarantine_approval_and_the_record_apply(tmp_path):
    world = World(tmp_path, names=("one",), arguments=ONLY)
    with world:
        world.request("tools/call", name="echo", arguments={"word": "recorded"})
        world.client.close()
    world.offer("one", tools=["added"])
    with world:
        world.request("tools/call", name="echo", arguments={})
        assert "added" not in [tool["name"] for tool in world.list("tools/list", "tools")]
        assert world.error("tools/call", name="added", arguments={})["code"] == -32602
    (record, *_) = [record for record in world.home.log() if record.get("tool") == "one.echo"]
    assert record["inputs"] == {"word": "recorded"}


@pytest.mark.spec("MCP-22")
def test_a_tool_that_may_change_something_needs_approval(tmp_path):
    with World(tmp_path, names=("one",), arguments=ONLY, approval={"mcp": "deny"}) as world:
        result = world.request("tools/call", name="echo", arguments={})
    assert result["isError"]
    assert "approval" in result["content"][0]["text"]


@pytest.mark.spec("MCP-22", "MCP-67")
def test_overrides_apply(tmp_path):
    world = World(tmp_path, names=("one",), arguments=ONLY)
    config = world.settings()
    config["servers"]["one"]["tools"] = {"echo": {"name": "say", "description": "Says it."}}
    world.home.write("onetool.yaml", json.dumps(config))
    with world:
        tools = {tool["name"]: tool["description"] for tool in world.list("tools/list", "tools")}
        assert (tools["say"], "echo" in tools) == ("Says it.", False)
        assert world.request("tools/call", name="say", arguments={"a": 1})["content"][0]["text"] == '{"a": 1}'


@pytest.mark.spec("MCP-22")
def test_a_refusal_of_the_server_arrives_as_it_is(clients):
    direct, through = clients
    params = {"uri": "memo:unknown"}
    assert through.error("resources/read", **params) == direct.request("resources/read", **params)["error"]


@pytest.mark.spec("MCP-22")
def test_a_server_that_cannot_start_is_an_error_of_the_handshake(tmp_path):
    server = {"command": sys.executable, "args": ["-c", "raise SystemExit('no key')"], "sandbox": False}
    world = World(tmp_path, names=(), servers={"one": server})
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    command = ["onetool", "mcp", *ONLY]
    client = RawMcpClient(LEGACY, world.home.env, world.home.cwd, command)
    try:
        message = client.request("initialize", **params)["error"]["message"]
    finally:
        client.kill()
    assert "Server 'one' is unavailable" in message
    assert "no key" in message


@pytest.mark.spec("MCP-22")
def test_an_unknown_server_is_an_error_that_lists_the_names(tmp_path):
    world = World(tmp_path)
    done = onetool("mcp", "--only", "too", env=world.home.env, cwd=world.home.cwd)
    assert done.returncode == 1
    assert "Server 'too' not found. Did you mean two? Servers: one, two, my_notes." in done.stderr


def introduce(request):
    """Respond as a server over HTTP that has only instructions."""
    message = json.loads(request.body or "{}")
    if "id" not in message:
        return StubResponse(status=202 if message else 405)
    result = {"capabilities": {"tools": {}}, "instructions": "Read memo:x first.", "tools": []}
    result |= {"protocolVersion": LEGACY, "serverInfo": {"name": "one", "version": "1"}}
    return StubResponse({"jsonrpc": "2.0", "id": message["id"], "result": result})


@pytest.fixture
def one_server(server_kind, tmp_path):
    """The settings of a server: workspaces start no programs."""
    if server_kind == "local":
        yield {"command": sys.executable, "args": ["-I", SCRIPT, str(tmp_path / "one")], "sandbox": False}
    else:
        with HttpStub({"/mcp": introduce}) as stub:
            yield {"url": f"{stub.url}/mcp"}


@pytest.mark.spec("MCP-22")
def test_over_http_with_the_token_and_404_for_an_unknown_server(new_server, one_server, tmp_path):
    settings = json.dumps({"servers": {"one": one_server}, "approval": {"mcp": "allow"}})
    with new_server(tmp_path, settings=settings) as rest:
        headers = {"Accept": "application/json, text/event-stream"}
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        with httpx2.Client(
            base_url=rest.url, trust_env=False, verify=False, headers=headers, timeout=HANG_S
        ) as client:
            assert client.post("/mcp/only/one", json=message).status_code == 401
            client.headers["Authorization"] = f"Bearer {rest.token}"
            assert "Read memo:x first." in client.post("/mcp/only/one", json=message).text
            for path in ("/mcp/only/on", "/mcp/only/", "/mcp/only/one/x"):
                missing = client.post(path, json=message)
                assert (missing.status_code, "Servers: one." in missing.json()["detail"]) == (404, True)
