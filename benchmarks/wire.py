"""Minimal clients for HTTP and MCP that read and write bytes, so that the server dominates the cost."""

import asyncio
import json
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count, cycle, islice
from typing import Any

from benchmarks.load import Driver, Load, Request, drive

VERSION = "2025-06-18"
CLIENT_INFO = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
ACCEPT_BOTH = "application/json, text/event-stream"


class Connection:
    """A persistent connection with one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def request(self, request: bytes, expected: bytes) -> bytes:
        """Send a request and return the head of the response. The body must contain `expected`."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        body = await self._body(head.lower())
        if not head.startswith(b"HTTP/1.1 2") or expected not in body:
            raise SystemExit(f"A measured call failed: {head[:200]!r} {body[:500]!r}")
        return head

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()

    async def _body(self, head: bytes) -> bytes:
        if b"content-length: " in head:
            return await self._reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
        body = b""
        if b"transfer-encoding: chunked" in head:
            while (size := int(await self._reader.readline(), 16)) > 0:
                body += (await self._reader.readexactly(size + 2))[:-2]
            await self._reader.readline()
        return body


def http_driver(
    servers: Mapping[int, int], request: bytes | Sequence[bytes], expected: bytes, seconds: float
) -> Driver:
    """Return a driver that repeats one HTTP request, with one connection per concurrent request.

    servers: the ids of the processes by their ports, which get the connections in turn.
    request: several are repeated each on connections of its own.
    """
    requests_in_turn = [request] if isinstance(request, bytes) else request

    async def run(concurrency: int) -> Load:
        async with _connections(servers, concurrency) as connections:
            turns = zip(connections, cycle(requests_in_turn), strict=False)
            requests = [_repeatable(connection, content, expected) for connection, content in turns]
            return await drive(requests, seconds, *servers.values())

    return run


def mcp_http_driver(
    port: int,
    path: str,
    tool: str,
    args: Mapping[str, Any],
    expected: bytes,
    pid: int,
    seconds: float,
    token: str = "",
) -> Driver:
    """Return a driver that calls an MCP tool over HTTP, with one session per concurrent request."""

    async def run(concurrency: int) -> Load:
        async with _connections([port], concurrency) as connections:
            requests = []
            for connection in connections:
                head = await connection.request(
                    _post(path, _message("initialize", CLIENT_INFO, 0), token), b"serverInfo"
                )
                session = _header(head, "mcp-session-id")
                await connection.request(
                    _post(path, _message("notifications/initialized", {}), token, session), b""
                )
                call = _message("tools/call", {"name": tool, "arguments": args}, 1)
                requests.append(_repeatable(connection, _post(path, call, token, session), expected))
            return await drive(requests, seconds, pid)

    return run


class StdioClient:
    """An MCP client for the stdin and stdout of a process."""

    def __init__(self, process: Process) -> None:
        self._process, self._ids = process, count(1)
        self._pending: dict[int, asyncio.Future[bytes]] = {}
        self._reader_task = asyncio.get_running_loop().create_task(self._read())

    async def initialize(self) -> None:
        """Initialize the session."""
        await self.request("initialize", CLIENT_INFO, b"serverInfo")
        self._write(_message("notifications/initialized", {}))

    async def wait_for_tool(self, tool: str) -> None:
        """Wait until a tool is listed; a proxied server may still be starting."""
        while f'"name":"{tool}"'.encode() not in await self.request("tools/list", {}, b'"tools"'):
            await asyncio.sleep(0.2)

    async def request(self, method: str, params: Mapping[str, Any], expected: bytes) -> bytes:
        """Send a request and return the response, which must contain `expected`."""
        number = next(self._ids)
        response: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._pending[number] = response
        self._write(_message(method, params, number))
        line = await response
        if expected not in line:
            raise SystemExit(f"A measured call failed: {line[:500]!r}")
        return line

    def driver(self, tool: str, args: Mapping[str, Any], expected: bytes, seconds: float) -> Driver:
        """Return a driver that calls one tool."""

        async def call() -> None:
            await self.request("tools/call", {"name": tool, "arguments": args}, expected)

        async def run(concurrency: int) -> Load:
            return await drive([call] * concurrency, seconds, self._process.pid)

        return run

    def close(self) -> None:
        """Stop reading."""
        self._reader_task.cancel()

    def _write(self, message: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(message + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            response = self._pending.pop(json.loads(line).get("id", -1), None)
            if response is not None:
                response.set_result(line)
        for response in self._pending.values():
            response.set_result(b"the server exited")


@asynccontextmanager
async def stdio_client(process: Process) -> AsyncIterator[StdioClient]:
    """Yield a client with an initialized session."""
    client = StdioClient(process)
    try:
        await client.initialize()
        yield client
    finally:
        client.close()


def http_request(method: str, path: str, body: bytes, token: str = "", **headers: str) -> bytes:
    """Return the bytes of a request with a JSON body."""
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    head += [f"Authorization: Bearer {token}"] if token else []
    head += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join([*head, f"Content-Length: {len(body)}"]) + "\r\n\r\n").encode() + body


@asynccontextmanager
async def _connections(ports: Iterable[int], count: int) -> AsyncIterator[list[Connection]]:
    turns = islice(cycle(ports), count)
    connections = [Connection(*await asyncio.open_connection("127.0.0.1", port)) for port in turns]
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


def _repeatable(connection: Connection, request: bytes, expected: bytes) -> Request:
    return lambda: connection.request(request, expected)


def _post(path: str, message: bytes, token: str, session: str = "") -> bytes:
    headers = {"Mcp_Session_Id": session, "Mcp_Protocol_Version": VERSION} if session else {}
    return http_request("POST", path, message, token, Accept=ACCEPT_BOTH, **headers)


def _header(head: bytes, name: str) -> str:
    lines = (line.partition(": ") for line in head.decode("latin-1").split("\r\n"))
    return next(value for key, _, value in lines if key.lower() == name)


def _message(method: str, params: Mapping[str, Any], number: int | None = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(
        message if number is None else {**message, "id": number}, separators=(",", ":")
    ).encode()
