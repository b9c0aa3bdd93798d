"""A server on loopback that keeps every byte it was sent, and answers with the bytes it is told to."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    head: bytes
    body: bytes
    at: float

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


Answer = Callable[[Seen], bytes | Awaitable[bytes | None] | None]


def reply(body: Any = "", status: int = 200, *, zipped: bool = False, **headers: str) -> bytes:
    """An answer: text as it is, anything else as JSON; None as an answer hangs up."""
    is_raw = isinstance(body, str | bytes)
    content = body if isinstance(body, bytes) else (body if is_raw else json.dumps(body)).encode()
    given = {"Content-Type": "text/plain" if is_raw else "application/json"}
    if zipped:
        content, given["Content-Encoding"] = gzip.compress(content), "gzip"
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in given.items())]
    return ("\r\n".join([*lines, f"Content-Length: {len(content)}"]) + "\r\n\r\n").encode() + content


@dataclass
class RawServer:
    """`async with RawServer(lambda seen: reply({"a": 1})) as server: ... server.url`."""

    answer: Answer
    host: str = "127.0.0.1"
    requests: list[Seen] = field(default_factory=list)
    connections: int = 0
    _tasks: set[Any] = field(default_factory=set)

    async def __aenter__(self) -> Self:
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

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._tasks.add(asyncio.current_task())
        try:
            while await self._one(reader, writer):
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = Seen(head, b"", 0).headers.get("content-length", "0")
        seen = Seen(head, await reader.readexactly(int(length)), asyncio.get_running_loop().time())
        self.requests.append(seen)
        given = self.answer(seen)
        content = given if given is None or isinstance(given, bytes) else await given
        writer.write(content or b"")
        return content is not None
