"""Arguments in HTTP headers: `x-mcp-header` in the schema of a tool of a server over HTTP."""

import asyncio
import json

import pytest

from onetool.settings.server_schema import ServerSettings
from onetool.testing.http_stub import HttpStub, StubResponse
from onetool.testing.runtime import memory_runtime
from support.opened_server import opened_server
from support.waiting import HANG_S

HEADER_MISMATCH = -32020
PROPERTIES = {
    "region": {"type": "string", "x-mcp-header": "Region"},
    "count": {"type": "integer", "x-mcp-header": "Count"},
    "text": {"type": "string"},
}
COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
DISCOVERED = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}


def tool(name, properties):
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


class ModernServer:
    """Rejects calls whose headers differ from the arguments, and lists its tools on two pages."""

    def __init__(self):
        self.headers = {}

    def __call__(self, request):
        if request.method != "POST":
            return StubResponse("", 405)
        message = json.loads(request.body)
        method, params = message["method"], message.get("params") or {}
        results = {"server/discover": DISCOVERED, "tools/list": self._page(params.get("cursor"))}
        if method == "tools/call":
            self.headers = {name.lower(): value for name, value in request.headers.items()}
            return self._call(message["id"], params.get("arguments") or {})
        if method not in results:
            return error(message["id"], -32601, 404)
        return respond(message["id"], results[method])

    def _page(self, cursor):
        if cursor is None:
            return {"tools": [tool("first", PROPERTIES)], "nextCursor": "2"}
        invalid = {"region": {"type": "array", "x-mcp-header": "Region"}}
        return {"tools": [tool("second", PROPERTIES), tool("invalid", invalid)]}

    def _call(self, id_, args):
        for name in ("region", "count"):
            value = self.headers.get(f"mcp-param-{name}")
            if value != (None if args.get(name) is None else str(args[name])):
                return error(id_, HEADER_MISMATCH, 400)
        return respond(id_, {"content": [{"type": "text", "text": "called"}]})


def respond(id_, result):
    return StubResponse({"jsonrpc": "2.0", "id": id_, "result": COMPLETE | result})


def error(id_, code, status):
    body = {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": "Rejected."}}
    return StubResponse(body, status)


@pytest.fixture
async def opened(tmp_path):
    """A client of a runtime whose server `s` is the modern one, and that server."""
    modern = ModernServer()
    with HttpStub({"/mcp": modern}) as stub:
        async with (
            opened_server(ServerSettings(url=f"{stub.url}/mcp"), tmp_path) as source,
            memory_runtime(servers=[source]) as ot,
        ):
            async with asyncio.timeout(HANG_S):
                while not await source.probe(HANG_S):  # a busy machine may exceed the time limit of a listing
                    pass
            yield ot, modern


@pytest.mark.parametrize("name", ["first", "second"])
async def test_annotated_arguments_are_sent_as_headers(opened, name):
    """For tools of every page, and only for arguments that are given."""
    ot, modern = opened
    result = await ot.call(f"s.{name}", region="eu-west", count=3, text="private")
    assert (result.data, modern.headers["mcp-param-region"]) == ("called", "eu-west")
    assert modern.headers["mcp-param-count"] == "3"
    assert not [header for header in modern.headers if header == "mcp-param-text"]
    assert (await ot.call(f"s.{name}", text="x")).data == "called"
    assert not [header for header in modern.headers if header.startswith("mcp-param-")]


async def test_line_breaks_do_not_reach_the_headers(opened):
    """They are encoded, so an argument cannot add a header."""
    ot, modern = opened
    await ot.call("s.first", region="a\r\nX-Other: b")
    assert "x-other" not in modern.headers
    assert modern.headers["mcp-param-region"].startswith("=?base64?")


async def test_tool_with_an_invalid_annotation_is_skipped(opened):
    """The protocol requires it. The other tools stay usable."""
    ot, _ = opened
    tools = await ot.runtime.state.servers["s"].pack("s")
    assert [tool.spec.name for tool in tools] == ["s.first", "s.second"]
