"""Where the browser comes back to after a login: listens on this machine for one answer."""

import asyncio
import secrets
from contextlib import suppress
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl

from onetool.domain.texts import cut

from .failure import Down

HOST, PATH = "127.0.0.1", "/callback"
LIMIT = 300.0
"""Seconds that a person has to log in."""
REQUEST_LIMIT, LONGEST_REQUEST = 10.0, 32 * 2**10
SHOWN = 200
TORN = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
CLOSE = "You can close this window."
REFUSED = f"You were not logged in. {CLOSE}"
STRANGE = f"This is not the answer to the login that goes on here. {CLOSE}"


class Callback:
    """Listens while its block lasts; a page that guesses the port gets and ends nothing without the state."""

    def __init__(self) -> None:
        self._state = ""
        self._params: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any] | None] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, 0, limit=LONGEST_REQUEST)
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
        """Where the browser is to be sent."""
        return f"http://{self._host}{PATH}"

    def expect(self, state: str) -> None:
        """Take an answer from now on, if it bears this state."""
        self._state = state

    async def answer(self) -> dict[str, str]:
        """Wait for the browser; return `code`, `state` and what else came with them.

        Raises Down when it was refused, or does not come in time.
        """
        try:
            async with asyncio.timeout(LIMIT):
                params = await self._params
        except TimeoutError:
            raise Down(f"nobody has logged in within {LIMIT:g} s") from None
        if "code" not in params:
            said = ": ".join(params[name] for name in ("error", "error_description") if name in params)
            raise Down(
                f"it was denied: {cut(said, SHOWN)!r}" if said else "the browser came back with no code"
            )
        return params

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            with suppress(*TORN):
                async with asyncio.timeout(REQUEST_LIMIT):
                    head = await reader.readuntil(b"\r\n\r\n")
                    params = self._read(head.decode("latin-1"))
                    writer.write(self._page(params))
                    await writer.drain()
                if params is not None and self._is_ours(params) and not self._params.done():
                    self._params.set_result(params)
        finally:
            writer.close()
            self._tasks.discard(task)

    def _read(self, head: str) -> dict[str, str] | None:
        """The parameters of an answer; None for a request that is none."""
        first, *lines = head.split("\r\n")
        method, _, target = first.removesuffix(" HTTP/1.1").partition(" ")
        path, _, query = target.partition("?")
        hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
        is_meant = (method, path, hosts) == (
            "GET",
            PATH,
            [self._host],
        )  # else a name was bent to this address
        if not is_meant or not self._state or self._params.done():
            return None
        return dict(parse_qsl(query))

    def _is_ours(self, params: dict[str, str]) -> bool:
        return secrets.compare_digest(params.get("state", "").encode(), self._state.encode())

    def _page(self, params: dict[str, str] | None) -> bytes:
        if params is None:
            return _response("404 Not Found", "There is nothing here.")
        if not self._is_ours(params):
            return _response("400 Bad Request", STRANGE)
        if "code" not in params:
            return _response("400 Bad Request", REFUSED)
        return _response("200 OK", CLOSE)


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
