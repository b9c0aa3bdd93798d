"""A real HTTP server on loopback that answers as told, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent back: text as it is, anything else as JSON."""

    body: Any = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Answer = Reply | Callable[[Request], Reply]


class HttpStub:
    """`with HttpStub({"/a": Reply({"x": 1})}) as stub: client.get(stub.url + "/a")`."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.requests: list[Request] = []
        self._answers = answers
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """Where it listens, without a last slash."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: Request) -> Reply:
        """Remember a request and find its reply; a path that nobody named is a 404."""
        self.requests.append(request)
        found = self._answers.get(request.path.partition("?")[0], Reply("not found", 404))
        return found(request) if callable(found) else found

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self._send(stub.answer(Request(self.command, self.path, dict(self.headers), body)))

            def _send(self, reply: Reply) -> None:
                is_text = isinstance(reply.body, str)
                content = (reply.body if is_text else json.dumps(reply.body)).encode()
                kind = "text/plain; charset=utf-8" if is_text else "application/json"
                self.send_response(reply.status)
                for name, value in {"Content-Type": kind, **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Stay silent."""

        return Handler
