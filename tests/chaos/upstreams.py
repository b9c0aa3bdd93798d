"""The upstream of a run: an HTTP API and an MCP server that count what reaches them, and a hostile one."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from support.raw_http import LoopbackServer

MAX_BODY = 10_000_000
HANG_S = 600.0
ENDLESS_BLOCK = b"x" * 65_536
IDEMPOTENCY = "io.onetool/idempotency-key"
HOSTILE = ("hang", "endless", "short", "headers", "json", "error", "reset", "redirect")
"""What the hostile upstream does, by the last part of the path."""


class UpstreamRequest(NamedTuple):
    """A request that reached the upstream."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class CountingUpstream(LoopbackServer):
    """Counts calls by the id in their arguments, and returns the canary in the path."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        """How often each call has arrived, by its id."""
        self.keys: dict[str, set[str]] = {}
        """Idempotency keys by the id of the call."""
        self.hostile_requests = 0
        self._lists = 0

    async def serve_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await self._respond(await _read(reader), writer)
        return True

    async def _respond(self, request: UpstreamRequest, writer: asyncio.StreamWriter) -> None:
        kind, _, rest = request.path.strip("/").partition("/")
        if kind == "hostile":
            self.hostile_requests += 1
            await ATTACKS[rest.rpartition("/")[2]](writer)
            raise ConnectionError("the response has no end")
        responder = {
            "record": self._record,
            "read": self._read,
            "mcp": self._serve_mcp,
            "hostile-mcp": self._serve_hostile_mcp,
        }[kind]
        status, body = responder(request, rest.split("?")[0])
        await _send(writer, status, body)

    def _record(self, request: UpstreamRequest, canary: str) -> tuple[int, Any]:
        id = json.loads(request.body)["id"]
        self._count(id, request.headers.get("idempotency-key", ""))
        return 200, {"canary": canary, "id": id}

    def _read(self, request: UpstreamRequest, canary: str) -> tuple[int, Any]:
        return 200, {"canary": canary, "items": list(range(20))}

    def _count(self, id: str, key: str) -> None:
        self.calls[id] += 1
        self.keys.setdefault(id, set()).add(key)

    def _serve_mcp(self, request: UpstreamRequest, canary: str) -> tuple[int, Any]:
        if request.method != "POST":
            return 405, None
        message = json.loads(request.body)
        if "id" not in message:
            return 202, None
        return 200, _answer(message, {"tools": [_mcp_tool("note", canary)]}, lambda p: self._note(p, canary))

    def _note(self, params: dict[str, Any], canary: str) -> str:
        id = params["arguments"]["id"]
        self._count(id, params.get("_meta", {}).get(IDEMPOTENCY, ""))
        return f"noted {id} {canary}"

    def _serve_hostile_mcp(self, request: UpstreamRequest, canary: str) -> tuple[int, Any]:
        """Return different tools in each listing, and an error for each call."""
        self.hostile_requests += 1
        if request.method != "POST":
            return 405, None
        message = json.loads(request.body)
        if "id" not in message:
            return 202, None
        if message["method"] == "tools/call":
            error = {"code": -32_603, "message": "e" * 5_000}
            return 200, {"jsonrpc": "2.0", "id": message["id"], "error": error}
        self._lists += 1
        names = [f"changing{self._lists}_{number}" for number in range(50)]
        tools = [_mcp_tool(name, f"{canary} {self._lists}") for name in [*names, "note"]]
        return 200, _answer(message, {"tools": tools}, lambda params: "never")


def _mcp_tool(name: str, text: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    return {"name": name, "description": f"Take a note. {text}", "inputSchema": schema}


def _answer(
    message: dict[str, Any], tools: dict[str, Any], call: Callable[[dict[str, Any]], str]
) -> dict[str, Any]:
    """Return the response of an MCP server of the version 2025-11-25 to a request."""
    head = {"jsonrpc": "2.0", "id": message["id"]}
    match message["method"]:
        case "initialize":
            info = {"name": "upstream", "version": "1"}
            version = message["params"]["protocolVersion"]
            result: Any = {
                "protocolVersion": version,
                "serverInfo": info,
                "capabilities": {"tools": {"listChanged": True}},
            }
        case "tools/list":
            result = tools
        case "tools/call":
            result = {"content": [{"type": "text", "text": call(message["params"])}]}
        case "ping":
            result = {}
        case method:
            return head | {"error": {"code": -32_601, "message": f"Method not found: {method}"}}
    return head | {"result": result}


async def _read(reader: asyncio.StreamReader) -> UpstreamRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    length = min(int(headers.get("content-length") or 0), MAX_BODY)
    body = await _read_chunks(reader) if "chunked" in headers.get("transfer-encoding", "") else b""
    return UpstreamRequest(method, path, headers, body or await reader.readexactly(length))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


async def _send(writer: asyncio.StreamWriter, status: int, body: Any) -> None:
    content = b"" if body is None else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    writer.write(head.encode() + content)
    await writer.drain()


async def _hang(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(HANG_S)


async def _send_endlessly(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 X\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not writer.is_closing():
        writer.write(b"%x\r\n%s\r\n" % (len(ENDLESS_BLOCK), ENDLESS_BLOCK))
        await writer.drain()
        await asyncio.sleep(0.005)


async def _send_less_than_announced(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{}")
    await writer.drain()


async def _send_huge_headers(writer: asyncio.StreamWriter) -> None:
    lines = b"".join(b"X-Header-%d: %s\r\n" % (number, b"y" * 10_000) for number in range(200))
    writer.write(b"HTTP/1.1 200 X\r\nContent-Length: 2\r\n" + lines + b"\r\n{}")
    await writer.drain()


async def _send_invalid_json(writer: asyncio.StreamWriter) -> None:
    body = b'{"a": ' + b"[" * 50_000
    head = b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    writer.write(head + body)
    await writer.drain()


async def _send_error(writer: asyncio.StreamWriter) -> None:
    body = b"e" * 100_000
    writer.write(b"HTTP/1.1 500 X\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    await writer.drain()


async def _reset(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def _redirect_to_itself(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 302 X\r\nLocation: redirect\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()


ATTACKS: dict[str, Callable[[asyncio.StreamWriter], Awaitable[None]]] = {
    "hang": _hang,
    "endless": _send_endlessly,
    "short": _send_less_than_announced,
    "headers": _send_huge_headers,
    "json": _send_invalid_json,
    "error": _send_error,
    "reset": _reset,
    "redirect": _redirect_to_itself,
}
