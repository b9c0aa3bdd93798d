"""Clients that write and read bytes, so that what is measured is the server: HTTP, and MCP over both."""

import asyncio
import json
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from benchmarks.load import Ask, Driver, Load, drive

VERSION = "2025-06-18"
HELLO = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
BOTH = "application/json, text/event-stream"


class Connection:
    """One connection that is kept open, with one request on it at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, request: bytes, expected: bytes) -> bytes:
        """Send a request and return the head of its answer, in which or in whose body this must be."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        body = await self._body(head.lower())
        if not head.startswith(b"HTTP/1.1 2") or expected not in body:
            raise SystemExit(f"a measured call failed: {head[:200]!r} {body[:500]!r}")
        return head

    def close(self) -> None:
        """Hang up."""
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


def http_driver(port: int, request: bytes, expected: bytes, pid: int, seconds: float) -> Driver:
    """Load an HTTP server with one request, a connection for each in flight."""

    async def run(flight: int) -> Load:
        async with _connections(port, flight) as connections:
            return await drive([_asking(one, request, expected) for one in connections], seconds, pid)

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
    """Load an MCP server over HTTP, a session for each in flight."""

    async def run(flight: int) -> Load:
        async with _connections(port, flight) as connections:
            asks = []
            for one in connections:
                head = await one.ask(_post(path, _message("initialize", HELLO, 0), token), b"serverInfo")
                session = _header(head, "mcp-session-id")
                await one.ask(_post(path, _message("notifications/initialized", {}), token, session), b"")
                call = _message("tools/call", {"name": tool, "arguments": args}, 1)
                asks.append(_asking(one, _post(path, call, token, session), expected))
            return await drive(asks, seconds, pid)

    return run


class StdioClient:
    """An MCP client over the pipes of a program."""

    def __init__(self, process: Process) -> None:
        self._process, self._ids = process, count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def greet(self) -> None:
        """Shake hands."""
        await self.ask("initialize", HELLO, b"serverInfo")
        self._write(_message("notifications/initialized", {}))

    async def offered(self, tool: str) -> None:
        """Wait until a tool is listed: a server behind the server may still be starting."""
        while f'"name":"{tool}"'.encode() not in await self.ask("tools/list", {}, b'"tools"'):
            await asyncio.sleep(0.2)

    async def ask(self, method: str, params: Mapping[str, Any], expected: bytes) -> bytes:
        """Send a request, and wait for its answer, in which this must be."""
        number = next(self._ids)
        waiting: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        self._write(_message(method, params, number))
        line = await waiting
        if expected not in line:
            raise SystemExit(f"a measured call failed: {line[:500]!r}")
        return line

    def driver(self, tool: str, args: Mapping[str, Any], expected: bytes, seconds: float) -> Driver:
        """Load the server with calls of one tool."""

        async def call() -> None:
            await self.ask("tools/call", {"name": tool, "arguments": args}, expected)

        async def run(flight: int) -> Load:
            return await drive([call] * flight, seconds, self._process.pid)

        return run

    def close(self) -> None:
        """Read no more."""
        self._reading.cancel()

    def _write(self, message: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(message + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            waiting = self._waiting.pop(json.loads(line).get("id", -1), None)
            if waiting is not None:
                waiting.set_result(line)
        for waiting in self._waiting.values():
            waiting.set_result(b"the server ended")


@asynccontextmanager
async def stdio_client(process: Process) -> AsyncIterator[StdioClient]:
    """A client that has shaken hands."""
    client = StdioClient(process)
    try:
        await client.greet()
        yield client
    finally:
        client.close()


def http_request(method: str, path: str, body: bytes, token: str = "", **more: str) -> bytes:
    """The bytes of a request with a JSON body."""
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    head += [f"Authorization: Bearer {token}"] if token else []
    head += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    return ("\r\n".join([*head, f"Content-Length: {len(body)}"]) + "\r\n\r\n").encode() + body


@asynccontextmanager
async def _connections(port: int, number: int) -> AsyncIterator[list[Connection]]:
    opened = [Connection(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(number)]
    try:
        yield opened
    finally:
        for one in opened:
            one.close()


def _asking(connection: Connection, request: bytes, expected: bytes) -> Ask:
    return lambda: connection.ask(request, expected)


def _post(path: str, message: bytes, token: str, session: str = "") -> bytes:
    more = {"Mcp_Session_Id": session, "Mcp_Protocol_Version": VERSION} if session else {}
    return http_request("POST", path, message, token, Accept=BOTH, **more)


def _header(head: bytes, name: str) -> str:
    lines = (line.partition(": ") for line in head.decode("latin-1").split("\r\n"))
    return next(value for key, _, value in lines if key.lower() == name)


def _message(method: str, params: Mapping[str, Any], number: int | None = None) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(
        message if number is None else {**message, "id": number}, separators=(",", ":")
    ).encode()
