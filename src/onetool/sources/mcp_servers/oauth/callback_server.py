"""A local HTTP server that receives the redirect of one OAuth login."""

import asyncio
import secrets
from contextlib import suppress
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl

from onetool.domain.text.strings import truncate_middle
from onetool.sources.mcp_servers.errors import ServerUnavailable

HOST, PATH = "127.0.0.1", "/callback"
LOGIN_TIMEOUT_S = 300.0
"""Time that the user has to log in, in seconds."""
REQUEST_TIMEOUT_S, MAX_REQUEST_LENGTH = 10.0, 32 * 2**10
MAX_REASON_LENGTH = 200
READ_ERRORS = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
DONE = "You can close this window."
FAILED = f"The login failed. {DONE}"
WRONG_STATE = f"This redirect does not belong to the login in progress. {DONE}"


class CallbackServer:
    """Listens inside its `async with` block. Requests without the expected state are rejected."""

    def __init__(self) -> None:
        self._state = ""
        self._params: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any] | None] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, 0, limit=MAX_REQUEST_LENGTH)
        self._host = f"{HOST}:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in filter(None, self._tasks):
            task.cancel()

    @property
    def url(self) -> str:
        """The redirect URI."""
        return f"http://{self._host}{PATH}"

    def expect(self, state: str) -> None:
        """Accept the redirect with this state from now on."""
        self._state = state

    async def wait(self) -> dict[str, str]:
        """Wait for the redirect and return its parameters, among them `code` and `state`.

        Raises:
            ServerUnavailable: The login was denied or timed out.
        """
        try:
            async with asyncio.timeout(LOGIN_TIMEOUT_S):
                params = await self._params
        except TimeoutError:
            raise ServerUnavailable(f"no login within {LOGIN_TIMEOUT_S:g} s") from None
        if "code" not in params:
            error = ": ".join(params[name] for name in ("error", "error_description") if name in params)
            raise ServerUnavailable(
                f"the authorization server denied access: {truncate_middle(error, MAX_REASON_LENGTH)!r}"
                if error
                else "the redirect contains no code"
            )
        return params

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            with suppress(*READ_ERRORS):
                async with asyncio.timeout(REQUEST_TIMEOUT_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                    params = self._parse(head.decode("latin-1"))
                    writer.write(self._respond(params))
                    await writer.drain()
                if params is not None and self._has_state(params) and not self._params.done():
                    self._params.set_result(params)
        finally:
            writer.close()
            self._tasks.discard(task)

    def _parse(self, head: str) -> dict[str, str] | None:
        """Return the query parameters of a redirect; None for any other request."""
        first, *lines = head.split("\r\n")
        method, _, target = first.removesuffix(" HTTP/1.1").partition(" ")
        path, _, query = target.partition("?")
        hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
        # The Host header is checked against DNS rebinding.
        is_redirect = (method, path, hosts) == ("GET", PATH, [self._host])
        if not is_redirect or not self._state or self._params.done():
            return None
        return dict(parse_qsl(query))

    def _has_state(self, params: dict[str, str]) -> bool:
        return secrets.compare_digest(params.get("state", "").encode(), self._state.encode())

    def _respond(self, params: dict[str, str] | None) -> bytes:
        if params is None:
            return _response("404 Not Found", "Not found.")
        if not self._has_state(params):
            return _response("400 Bad Request", WRONG_STATE)
        if "code" not in params:
            return _response("400 Bad Request", FAILED)
        return _response("200 OK", DONE)


def _response(status: str, text: str) -> bytes:
    headers = (
        f"HTTP/1.1 {status}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(text)}",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    )
    return "\r\n".join((*headers, "", text)).encode()
