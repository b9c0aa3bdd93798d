"""Definitions of MCP servers: every field is listed, pinned and masked, with a real server process."""

import json
from copy import deepcopy

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from onetool.domain.calls.caller import Caller
from onetool.domain.secrets.redaction import MASK
from onetool.interfaces.mcp.server import create_server
from onetool.interfaces.mcp.transports import http_app
from support.listed_server import ListedServer
from support.raw_mcp import MODERN, RawMcpClient
from support.rest_in_process import serve_rest

SECRET = "s3cret-in-a-definition"
RICH = {
    "name": "read",
    "title": "Read it",
    "description": "Reads.",
    "inputSchema": {"type": "object", "properties": {"id": {"type": "string", "x-new": 1}}},
    "outputSchema": {"type": "object", "$defs": {"a": {"type": "null"}}},
    "annotations": {"title": "Reader", "readOnlyHint": True, "idempotentHint": False, "newHint": 1},
    "icons": [{"src": "https://example.com/a.png", "sizes": ["48x48"], "theme": "dark", "future": 1}],
    "_meta": {"ui": {"resourceUri": "ui://a"}, "com.example/x": [1, None]},
    "execution": {"taskSupport": "optional", "future": True},
    "x-unknown": {"deep": [1, None, {"a": "b"}]},
    "another": "field",
}
PLAIN = {"name": "plain", "inputSchema": {"type": "object"}}
MANIFEST_1 = {
    "schemaVersion": 1,
    "listedAt": 1794834374.7258904,
    "tools": [
        {
            "name": "read",
            "description": "Reads.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
            "outputSchema": {"type": "object"},
            "annotations": {"title": "Reader", "readOnlyHint": True},
        },
        {
            "name": "plain",
            "description": "",
            "inputSchema": {"type": "object"},
            "outputSchema": None,
            "annotations": {},
        },
    ],
    "pins": {
        "read": "2092fae83d2ef04982f6657c0e148710cac675e1fa97ce5eb9c38ab55b45ae59",
        "plain": "577f734ae043d47d9b2017ed1321df03d8e4364a3ce30f70adf40bf6f7303b91",
    },
    "previous": [],
    "approved": ["2092fae83d2ef04982f6657c0e148710cac675e1fa97ce5eb9c38ab55b45ae59"],
}
"""What version 0.1 stored for `LISTED_1`, after the user approved `read`."""
LISTED_1 = RICH | {
    "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
    "outputSchema": {"type": "object"},
    "annotations": {"title": "Reader", "readOnlyHint": True, "destructiveHint": None, "newHint": 1},
}


LISTED_RICH = RICH | {"_meta": {"ui": {"resourceUri": "ui://ot.s+a"}, "com.example/x": [1, None]}}
"""The URI names the server, so that a client can read it."""


@pytest.fixture
def server(home):
    return ListedServer(home)


def list_through_onetool(home, version=MODERN):
    """Return the tools of the server `s` as `onetool mcp` lists them, by name."""
    client = RawMcpClient(version, home.env, home.cwd)
    try:
        client.initialize()
        tools = client.request("tools/list")["result"]["tools"]
        client.close()
    finally:
        client.kill()
    return {tool["name"]: tool for tool in tools if tool["name"].startswith("s__")}


async def quarantine(server):
    """Let OneTool list the tools again; return the quarantined ones with their differences."""
    async with server.open() as runtime:
        await runtime.state.servers.probe("s")
        return {tool.name: tool.difference() for tool in await runtime.state.servers["s"].quarantined()}


@pytest.mark.spec("MCP-15")
@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
async def test_all_lists_the_definition_of_the_server_under_another_name(server, version):
    """Every field arrives, also those that the SDK does not know."""
    server.list(RICH, PLAIN)
    server.configure({"expose": "all"})
    await quarantine(server)
    expected = {"s__read": LISTED_RICH | {"name": "s__read"}, "s__plain": PLAIN | {"name": "s__plain"}}
    assert list_through_onetool(server.home, version) == expected


@pytest.mark.spec("MCP-15")
async def test_clients_of_all_can_call_a_tool_that_has_an_output_schema(server):
    """The SDK's client rejects a result that does not match what the definition promises."""
    server.list(RICH)
    server.configure({"expose": "all", "approval": {"mcp": "allow"}})
    async with (
        server.open() as runtime,
        http_app(create_server(runtime, "all")) as app,
        serve_rest(runtime, mounts={"/mcp": app}) as rest,
        Client(streamable_http_client(f"{str(rest.base_url).rstrip('/')}/mcp", http_client=rest)) as client,
    ):
        await client.list_tools()
        result = await client.call_tool("s__read", {"id": "7"})
    assert not result.is_error


@pytest.mark.spec("MCP-15")
async def test_only_overridden_fields_differ(server):
    server.list(RICH)
    server.configure({"expose": "all"}, tools={"read": {"title": "New", "fixed": {"id": "7"}}})
    await quarantine(server)
    expected = deepcopy(LISTED_RICH) | {"name": "s__read", "title": "New"}
    del expected["inputSchema"]["properties"]["id"]
    assert list_through_onetool(server.home) == {"s__read": expected}


@pytest.mark.spec("MCP-15")
async def test_secrets_are_masked_in_every_field(server):
    fields = {"_meta": {SECRET: SECRET}, "icons": [{"src": f"https://a/{SECRET}"}], "x-unknown": SECRET}
    server.home.write("secrets.yaml", f"KEY: {SECRET}\n")
    server.list(PLAIN | fields)
    server.configure({"expose": "all"})
    await quarantine(server)
    listed = list_through_onetool(server.home)
    assert SECRET not in json.dumps(listed)
    assert listed["s__plain"]["x-unknown"] == MASK
    stored = (server.home.state / "servers" / "s.json").read_text()
    assert SECRET not in stored


@pytest.mark.spec("MCP-16")
async def test_change_of_any_field_is_quarantined(server):
    """Until the server lists again what it listed before."""
    changes = [
        {"icons": [{"src": "https://example.com/b.png"}]},
        {"annotations": RICH["annotations"] | {"destructiveHint": True}},
        {"annotations": RICH["annotations"] | {"newHint": 2}},
        {"_meta": {"ui": {"resourceUri": "ui://b"}}},
        {"title": "Read it all"},
        {"execution": {"taskSupport": "required"}},
        {"another": "value"},
    ]
    tools = [RICH | {"name": f"read{number}"} for number in range(len(changes))]
    server.list(*tools, PLAIN)
    server.configure()
    assert await quarantine(server) == {}
    server.list(*(tool | change for tool, change in zip(tools, changes, strict=True)), PLAIN)
    assert list(await quarantine(server)) == [tool["name"] for tool in tools]
    server.list(*tools, PLAIN)
    assert await quarantine(server) == {}


@pytest.mark.spec("MCP-16")
async def test_upgrade_quarantines_nothing_and_keeps_approvals(server):
    """A manifest of an earlier version covers five fields: the others are pinned at the next listing."""
    store_manifest_1(server)
    server.list(LISTED_1, PLAIN)
    async with server.open() as runtime:
        assert [spec.enabled for spec in await runtime.state.catalog.pack("s")] == [True, True]
        assert [access.read_only for access in await runtime.state.servers["s"].access()] == [True, False]
    assert await quarantine(server) == {}
    async with server.open() as runtime:
        assert [access.read_only for access in await runtime.state.servers["s"].access()] == [True, False]
    server.list(LISTED_1 | {"icons": []}, PLAIN)
    assert list(await quarantine(server)) == ["read"]


@pytest.mark.spec("MCP-16")
async def test_upgrade_carries_no_pin_over_to_a_changed_definition(server):
    store_manifest_1(server)
    server.list(LISTED_1 | {"description": "Reads and sends."}, PLAIN)
    differences = await quarantine(server)
    assert list(differences) == ["read"]
    assert '-  "description": "Reads."' in differences["read"]


def store_manifest_1(server):
    server.configure()
    file = server.home.state / "servers" / "s.json"
    file.parent.mkdir(mode=0o700)
    file.write_text(json.dumps(MANIFEST_1))
    file.chmod(0o600)


@pytest.mark.spec("MCP-60")
async def test_a_tool_for_apps_is_hidden_from_models_and_listed_by_all(server):
    app = {"ui": {"resourceUri": "ui://a", "visibility": ["app"], "csp": {"connectDomains": ["https://a"]}}}
    server.list(PLAIN, PLAIN | {"name": "save", "description": "Save the form.", "_meta": app})
    server.configure({"expose": "all"})
    await quarantine(server)
    async with server.open() as runtime:
        caller = Caller(interface="test")
        for code in ("ot.find(query='save the form')", "ot.tools(pattern='s.')", "ot.help(query='s')"):
            assert "s.save" not in repr(await runtime.run(code, caller)), code
    listed = list_through_onetool(server.home)["s__save"]
    assert listed["_meta"] == {"ui": app["ui"] | {"resourceUri": "ui://ot.s+a"}}
