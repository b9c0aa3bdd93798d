"""A provider on loopback: strict about what it is sent, and in whatever trouble a test puts it."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

KEY = "sk-test-0123456789-abcdefghij"
MODEL = "test-model"


@dataclass(frozen=True)
class Called:
    """A tool call as a model writes it: the arguments come in pieces."""

    name: str
    pieces: Sequence[str] = ("{}",)
    id: str = ""


@dataclass(frozen=True)
class Said:
    """A turn of the model; `stop` is one of the words of the port."""

    text: Sequence[str] = ()
    calls: Sequence[Called] = ()
    stop: str = "end"
    usage: tuple[int, int] | None = (11, 7)


@dataclass(frozen=True)
class Status:
    """An answer other than 200."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    said: str = ""


@dataclass(frozen=True)
class Trouble:
    """Frames, and then: the connection is `cut`, or nothing comes any more (`hang`), or it ends too early."""

    then: str
    after: Said | None = None
    frames: Sequence[bytes] = ()


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    method: str
    target: str
    headers: dict[str, str]
    body: Any


class BadRequest(Exception):
    """The provider refuses a request; the text is what it says."""


def need(holds: Any, said: str) -> None:
    if not holds:
        raise BadRequest(said)


def only(value: Any, *, required: str = "", optional: str = "") -> dict[str, Any]:
    """A map with these keys and no others."""
    need(isinstance(value, dict), f"expected an object, got {type(value).__name__}")
    missing = set(required.split()) - set(value)
    unknown = set(value) - set(required.split()) - set(optional.split())
    need(not missing, f"Missing required parameter: {sorted(missing)}")
    need(not unknown, f"Unrecognized request argument supplied: {sorted(unknown)}")
    return value


class ProviderServer:
    """`async with OpenAIServer() as server: server.answers = [Said(text=["a"])]`; the last answer repeats."""

    path = ""
    half = 2
    """How many frames of a short answer hold some of its text and not its end."""
    content_type = "text/event-stream; charset=utf-8"

    def __init__(self) -> None:
        self.answers: list[Any] = [Said(text=["ok"])]
        self.requests: list[Request] = []
        self.shred = 0
        """Send the stream in pieces of this many bytes, wherever that cuts; 0: frame by frame."""
        self.error_content = b""
        """In place of what the provider writes."""
        self.left = asyncio.Event()
        """Set when a client has gone."""
        self._tasks: set[Any] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def base_url(self) -> str:
        return self.url

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]

    def check(self, request: Request) -> None:
        """Raise BadRequest for what the provider would refuse."""
        raise NotImplementedError

    def is_key(self, request: Request) -> bool:
        raise NotImplementedError

    def frames(self, said: Said) -> list[bytes]:
        raise NotImplementedError

    def frame(self, content: bytes) -> bytes:
        """One piece of a stream, whatever it holds."""
        return b"event: content_block_delta\ndata: %s\n\n" % content

    def error(self, status: int, said: str) -> Any:
        """The body of an error, as the provider writes it."""
        raise NotImplementedError

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.current_task())
        try:
            while await self._one(reader, writer):
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.left.set()
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.split("\r\n")[:-2]
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        method, target, _ = first.split(" ")
        request = Request(method, target, headers, json.loads(body) if body else None)
        self.requests.append(request)
        return await self._answer(self._next(request), reader, writer)

    def _next(self, request: Request) -> Any:
        if not self.is_key(request):
            return Status(401, said=f"The key {KEY} is wrong")
        if request.method != "POST" or request.target != self.path:
            return Status(404, said=f"no {request.method} {request.target}")
        try:
            self.check(request)
        except BadRequest as error:
            return Status(400, said=str(error))
        return self.answers[min(len(self.requests), len(self.answers)) - 1]

    async def _answer(self, answer: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if isinstance(answer, Status):
            content = self.error_content or json.dumps(self.error(answer.status, answer.said)).encode()
            fixed = {"Content-Type": "application/json", "Content-Length": str(len(content))}
            writer.write(_head(answer.status, fixed | answer.headers) + content)
            return True
        trouble = answer if isinstance(answer, Trouble) else Trouble("", answer)
        frames = [*(self.frames(trouble.after) if trouble.after else ()), *trouble.frames]
        if frames:
            writer.write(_head(200, {"Content-Type": self.content_type, "Transfer-Encoding": "chunked"}))
        for piece in self._pieces(frames):
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
        return await self._end(trouble.then, reader, writer)

    async def _end(self, then: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if then == "hang":
            await reader.read(1)
        if then in ("hang", "cut"):
            return False
        writer.write(b"0\r\n\r\n")
        return True

    def _pieces(self, frames: Sequence[bytes]) -> Sequence[bytes]:
        if not self.shred:
            return frames
        whole = b"".join(frames)
        return [whole[at : at + self.shred] for at in range(0, len(whole), self.shred)]


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def sse(data: Any, event: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()
