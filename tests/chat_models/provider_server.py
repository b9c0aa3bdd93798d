"""A fake provider on the loopback interface that validates requests strictly and can simulate faults."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from support.raw_http import LoopbackServer, read_request

KEY = "sk-test-0123456789-abcdefghij"
MODEL = "test-model"


@dataclass(frozen=True)
class CallTurn:
    """A tool call of a turn. Its arguments are streamed in fragments."""

    name: str
    fragments: Sequence[str] = ("{}",)
    id: str = ""


@dataclass(frozen=True)
class TextTurn:
    """A turn of the model. `stop` is a value of `Stop`."""

    text: Sequence[str] = ()
    calls: Sequence[CallTurn] = ()
    stop: str = "end"
    usage: tuple[int, int] | None = (11, 7)


@dataclass(frozen=True)
class Status:
    """A response with a status other than 200."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    message: str = ""


@dataclass(frozen=True)
class Fault:
    """Frames of a turn, followed by `then`: `cut` closes the connection, `hang` sends nothing more.

    Otherwise the stream ends there.
    """

    then: str
    after: TextTurn | None = None
    frames: Sequence[bytes] = ()


@dataclass(frozen=True)
class Request:
    """A request of a client."""

    method: str
    target: str
    headers: dict[str, str]
    body: Any


class BadRequest(Exception):
    """The provider rejects a request with this message."""


def require(condition: Any, message: str) -> None:
    if not condition:
        raise BadRequest(message)


def check_keys(value: Any, *, required: str = "", optional: str = "") -> dict[str, Any]:
    """Return the value if it is an object with these keys and no others."""
    require(isinstance(value, dict), f"expected an object, got {type(value).__name__}")
    missing = set(required.split()) - set(value)
    unknown = set(value) - set(required.split()) - set(optional.split())
    require(not missing, f"Missing required parameter: {sorted(missing)}")
    require(not unknown, f"Unrecognized request argument supplied: {sorted(unknown)}")
    return value


class ProviderServer(LoopbackServer):
    """A server that responds to each request with the next of `responses`, and repeats the last one.

    async with OpenAIServer() as server:
        server.responses = [TextTurn(text=["a"])]
    """

    path = ""
    partial_frames = 2
    """How many frames of a short response contain some of its text but not its end."""
    content_type = "text/event-stream; charset=utf-8"

    def __init__(self) -> None:
        self.responses: list[Any] = [TextTurn(text=["ok"])]
        self.requests: list[Request] = []
        self.chunk_size = 0
        """Size in bytes of the chunks in which a stream is sent; 0: one frame per chunk."""
        self.error_content = b""
        """Replaces the body of an error."""
        self.disconnected = asyncio.Event()
        """Set when a client has disconnected."""

    @property
    def base_url(self) -> str:
        return self.url

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    def check(self, request: Request) -> None:
        """Raise BadRequest for a request that the provider would reject."""
        raise NotImplementedError

    def is_authorized(self, request: Request) -> bool:
        raise NotImplementedError

    def frames(self, turn: TextTurn) -> list[bytes]:
        raise NotImplementedError

    def frame(self, content: bytes) -> bytes:
        """Return one frame of a stream with any content."""
        return b"event: content_block_delta\ndata: %s\n\n" % content

    def error(self, status: int, message: str) -> Any:
        """Return the body of an error in the format of the provider."""
        raise NotImplementedError

    def on_disconnected(self) -> None:
        self.disconnected.set()

    async def serve_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        raw = await read_request(reader)
        method, target, _ = raw.line.split(" ")
        request = Request(method, target, raw.headers, json.loads(raw.body) if raw.body else None)
        self.requests.append(request)
        return await self._respond(self._next_response(request), reader, writer)

    def _next_response(self, request: Request) -> Any:
        if not self.is_authorized(request):
            return Status(401, message=f"The key {KEY} is wrong")
        if request.method != "POST" or request.target != self.path:
            return Status(404, message=f"no {request.method} {request.target}")
        try:
            self.check(request)
        except BadRequest as error:
            return Status(400, message=str(error))
        return self.responses[min(len(self.requests), len(self.responses)) - 1]

    async def _respond(
        self, response: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        if isinstance(response, Status):
            error = self.error(response.status, response.message)
            content = self.error_content or json.dumps(error).encode()
            headers = {"Content-Type": "application/json", "Content-Length": str(len(content))}
            writer.write(_head(response.status, headers | response.headers) + content)
            return True
        fault = response if isinstance(response, Fault) else Fault("", response)
        frames = [*(self.frames(fault.after) if fault.after else ()), *fault.frames]
        if frames:
            writer.write(_head(200, {"Content-Type": self.content_type, "Transfer-Encoding": "chunked"}))
        for chunk in self._chunks(frames):
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await writer.drain()
        return await self._end(fault.then, reader, writer)

    async def _end(self, then: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if then == "hang":
            await reader.read(1)
        if then in ("hang", "cut"):
            return False
        writer.write(b"0\r\n\r\n")
        return True

    def _chunks(self, frames: Sequence[bytes]) -> Sequence[bytes]:
        if not self.chunk_size:
            return frames
        content = b"".join(frames)
        return [content[start : start + self.chunk_size] for start in range(0, len(content), self.chunk_size)]


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def sse(data: Any, event: str = "") -> bytes:
    """Return one server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()
