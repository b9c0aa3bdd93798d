"""An HTTP server on the loopback interface with predefined responses, which records its requests."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request that the stub received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class StubResponse:
    """A response of the stub. A string body is sent as text, anything else as JSON."""

    body: Any = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Responder = StubResponse | Callable[[RecordedRequest], StubResponse]


class HttpStub:
    """A server with a response for each path. Other paths are not found (404).

    with HttpStub({"/a": StubResponse({"x": 1})}) as stub:
        client.get(stub.url + "/a")
    """

    def __init__(self, responses: dict[str, Responder]) -> None:
        self.requests: list[RecordedRequest] = []
        self._responses = responses
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """The base URL of the server, without a trailing slash."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def respond(self, request: RecordedRequest) -> StubResponse:
        """Record a request and return its response."""
        self.requests.append(request)
        response = self._responses.get(request.path.partition("?")[0], StubResponse("not found", 404))
        return response(request) if callable(response) else response

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self._send(stub.respond(RecordedRequest(self.command, self.path, dict(self.headers), body)))

            def _send(self, response: StubResponse) -> None:
                is_text = isinstance(response.body, str)
                content = (response.body if is_text else json.dumps(response.body)).encode()
                kind = "text/plain; charset=utf-8" if is_text else "application/json"
                self.send_response(response.status)
                for name, value in {"Content-Type": kind, **response.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        return Handler
