"""The relay for other processes of the user passes results on as they are."""

import asyncio
import json
import socket
import sys
from contextlib import asynccontextmanager

import pytest

from onetool.settings.server_schema import ServerSettings
from onetool.sources.mcp_servers.relay import relay
from onetool.sources.mcp_servers.transport.rejected_message import MESSAGE_TOO_LARGE
from support.mcp_servers import contents_server, rich_server
from support.opened_server import opened_server
from support.paths import MCP_SERVERS
from support.waiting import HANG_S

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@asynccontextmanager
async def relayed(script, *args, home):
    """Yield a function that sends a request to a server through the relay, and returns the response."""
    command = ServerSettings(
        command=sys.executable, args=("-I", str(MCP_SERVERS / script), *args), sandbox=False
    )
    here, there = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=here, limit=2**20)
    relay_end = await asyncio.open_connection(sock=there)
    async with opened_server(command, home) as server:
        assert await server.probe(HANG_S)
        session = await server._connection.current()
        relaying = asyncio.create_task(relay(session, *relay_end))

        async def request(number, method, params):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            writer.write(json.dumps(message).encode() + b"\n")
            async with asyncio.timeout(HANG_S):
                while (received := json.loads(await reader.readline())).get("id") != number:
                    request.notices.append(received["method"])
            return received

        request.notices = []
        await request(0, "initialize", INITIALIZE)
        writer.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        try:
            yield request
        finally:
            writer.close()
    await asyncio.wait_for(relaying, HANG_S)
    relay_end[1].close()
    await asyncio.gather(writer.wait_closed(), relay_end[1].wait_closed())


@pytest.mark.spec("MCP-01", "MCP-02")
async def test_results_are_passed_on_unchanged(tmp_path):
    async with relayed("rich_server.py", home=tmp_path) as request:
        for number, (name, result) in enumerate(rich_server.RESULTS.items(), 1):
            assert (await request(number, "tools/call", {"name": name}))["result"] == result


@pytest.mark.spec("MCP-64")
async def test_message_above_the_limits_is_reported_as_such(tmp_path):
    """With the code of the limit, so that the other process reports the same reason; others as received."""
    async with relayed("flooding_server.py", "stdio", home=tmp_path) as request:
        for number, (name, code) in enumerate((("values", MESSAGE_TOO_LARGE), ("unknown", -32602)), 1):
            error = (await request(number, "tools/call", {"name": name}))["error"]
            assert error["code"] == code


@pytest.mark.spec("MCP-24")
async def test_resources_prompts_and_completion_are_passed_on(tmp_path):
    ref = {"type": "ref/prompt", "name": "greet"}
    expected = {
        ("resources/list", "resources"): contents_server.RESOURCES[:2],
        ("resources/templates/list", "resourceTemplates"): contents_server.TEMPLATES,
        ("prompts/list", "prompts"): contents_server.PROMPTS,
    }
    async with relayed("contents_server.py", str(tmp_path / "offer"), home=tmp_path) as request:
        for number, ((method, field), items) in enumerate(expected.items(), 1):
            assert (await request(number, method, {}))["result"][field] == items
        read = await request(4, "resources/read", {"uri": "memo:x"})
        assert read["result"]["contents"][0]["text"] == "offer has memo:x"
        completed = await request(
            5, "completion/complete", {"ref": ref, "argument": {"name": "who", "value": "A"}}
        )
        assert completed["result"]["completion"]["values"][0] == "A!"
        missing = await request(6, "resources/read", {"uri": "memo:unknown"})
        assert missing["error"]["code"] == -32002


@pytest.mark.spec("MCP-29", "MCP-36")
async def test_notices_are_passed_back(tmp_path):
    update = {"methods": ["notifications/resources/updated"], "params": {"uri": "memo:x"}}
    async with relayed("contents_server.py", str(tmp_path / "offer"), home=tmp_path) as request:
        assert (await request(1, "resources/subscribe", {"uri": "memo:x"}))["result"] == {}
        await request(2, "tools/call", {"name": "notify", "arguments": update})
        await request(3, "tools/call", {"name": "log", "arguments": {"levels": ["error"]}})
        assert request.notices == ["notifications/resources/updated", "notifications/message"]
    requests = [json.loads(line)["method"] for line in (tmp_path / "offer.requests").read_text().splitlines()]
    assert requests.count("resources/subscribe") == 1
