"""A loopback HTTP server that records requests byte for byte and sends raw responses."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class RawRequest:
    """A request as received."""

    head: bytes
    body: bytes
    received_at: float

    @property
    def line(self) -> str:
        return self.head.partition(b"\r\n")[0].decode()

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode("utf-8").split("\r\n")[1:-2]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


RawHandler = Callable[[RawRequest], bytes | Awaitable[bytes | None] | None]
"""Returns the raw response, or None to close the connection without one."""


def raw_response(body: Any = "", status: int = 200, *, gzipped: bool = False, **headers: str) -> bytes:
    """Return a raw response; text and bytes are sent unchanged, other values as JSON."""
    is_raw = isinstance(body, str | bytes)
    content = body if isinstance(body, bytes) else (body if is_raw else json.dumps(body)).encode()
    fields = {"Content-Type": "text/plain" if is_raw else "application/json"}
    if gzipped:
        content, fields["Content-Encoding"] = gzip.compress(content), "gzip"
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in fields.items())]
    return ("\r\n".join([*lines, f"Content-Length: {len(content)}"]) + "\r\n\r\n").encode() + content


class LoopbackServer:
    """Serves each connection with `serve_request` until that returns False."""

    host = "127.0.0.1"
    connections = 0

    async def __aenter__(self) -> Self:
        self._tasks: set[Any] = set()
        self._server = await asyncio.start_server(self._serve, self.host, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://{self.host}:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def serve_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer the next request, and return whether there may be others."""
        raise NotImplementedError

    def on_disconnected(self) -> None:
        """Do what follows the end of a connection."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._tasks.add(asyncio.current_task())
        try:
            while await self.serve_request(reader, writer):
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.on_disconnected()
            writer.close()


async def read_request(reader: asyncio.StreamReader) -> RawRequest:
    """Read a request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = RawRequest(head, b"", 0).headers.get("content-length", "0")
    return RawRequest(head, await reader.readexactly(int(length)), asyncio.get_running_loop().time())


class RawHttpServer(LoopbackServer):
    """The server: `async with RawHttpServer(lambda request: raw_response({"a": 1})) as server: ...`."""

    def __init__(self, handler: RawHandler, host: str = "127.0.0.1") -> None:
        self.handler, self.host = handler, host
        self.requests: list[RawRequest] = []

    async def serve_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await read_request(reader)
        self.requests.append(request)
        response = self.handler(request)
        content = response if response is None or isinstance(response, bytes) else await response
        writer.write(content or b"")
        return content is not None
