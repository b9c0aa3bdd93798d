"""Which protocol a server over HTTP is used with: the newest that both know."""

import asyncio
import json

import pytest

from onetool.settings.server_schema import ServerSettings
from onetool.testing.http_stub import HttpStub, StubResponse
from support.opened_server import opened_server
from support.waiting import HANG_S

LEGACY, MODERN = "2025-11-25", "2026-07-28"
INFO = {"name": "both", "version": "1"}
RESULTS = {
    "initialize": {"protocolVersion": LEGACY, "capabilities": {"tools": {}}, "serverInfo": INFO},
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
}
UNKNOWN = {"code": -32601, "message": "Method not found"}
ONLY_OLDER = {"code": -32022, "message": "Unsupported", "data": {"supported": [LEGACY], "requested": MODERN}}


def discovered(*versions):
    result = {"supportedVersions": versions, "capabilities": {"tools": {}}, "resultType": "complete"}
    return {"result": result | {"ttlMs": 0, "cacheScope": "private"}}


ANSWERS = {
    "newest": (200, discovered(MODERN)),
    "unknown method": (200, {"error": UNKNOWN}),
    "unknown method, 404": (404, {"error": UNKNOWN}),
    "only older versions": (400, {"error": ONLY_OLDER}),
    "discovers only older versions": (200, discovered(LEGACY)),
    "no result of this protocol": (200, {"result": {"protocolVersion": LEGACY}}),
    "not found": (404, "no such page"),
    "bad request": (400, "Mcp-Session-Id is missing"),
    "failure": (500, "internal error"),
}


def result_of(method):
    if method not in RESULTS:
        return {"error": UNKNOWN}
    return {"result": RESULTS[method] | {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}}


def envelope(message):
    return {"jsonrpc": "2.0", "id": message["id"]}


async def wait_until_listed(source):
    async with asyncio.timeout(HANG_S):
        while not await source.probe(HANG_S):  # a busy machine may exceed the time limit of a listing
            pass


@pytest.mark.parametrize("answer", ANSWERS)
async def test_server_over_http_is_used_with_the_newest_protocol_that_it_knows(tmp_path, answer):
    """`server/discover` comes first. Whatever an older server answers to it, `initialize` follows."""
    status, discovery = ANSWERS[answer]
    requests = []

    def respond(request):
        if request.method != "POST":
            return StubResponse("", 405)
        message = json.loads(request.body)
        if "id" not in message:
            return StubResponse("", 202)
        method = message["method"]
        requests.append((method, request.headers.get("mcp-protocol-version")))
        code, reply = (status, discovery) if method == "server/discover" else (200, result_of(method))
        return StubResponse(reply if isinstance(reply, str) else {**reply, **envelope(message)}, code)

    with HttpStub({"/mcp": respond}) as stub:
        async with opened_server(ServerSettings(url=f"{stub.url}/mcp"), tmp_path) as source:
            await wait_until_listed(source)
    older = [] if answer == "newest" else [("initialize", None)]
    used = MODERN if answer == "newest" else LEGACY
    seen = [request for request in dict.fromkeys(requests) if request[0] != "subscriptions/listen"]
    assert seen == [("server/discover", MODERN), *older, ("tools/list", used)]
