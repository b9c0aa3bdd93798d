"""The connection to a server: shared by all callers, reopened when lost, with backoff after failures."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TYPE_CHECKING

from .errors import ServerUnavailable, consume_exception, describe

if TYPE_CHECKING:
    from .session import ServerSession

FIRST_WAIT_S, MAX_WAIT_S = 0.2, 30.0


class Connection:
    """Holds at most one session and runs at most one attempt to open it."""

    def __init__(
        self,
        open_session: Callable[[], Awaitable["ServerSession"]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_new, self._clock = open_session, clock
        self._session: ServerSession | None = None
        self._opening: asyncio.Task[ServerSession] | None = None
        self._wait_s, self._retry_at = 0.0, 0.0
        self._is_closed = False
        self.failure = ""
        """Why the last attempt failed; empty if it succeeded."""

    @property
    def opening(self) -> "asyncio.Task[ServerSession] | None":
        """The attempt in progress, if any."""
        return self._opening if self._opening is not None and not self._opening.done() else None

    @property
    def is_open(self) -> bool:
        """Whether there is a live session."""
        return self._session is not None and self._session.is_alive

    @property
    def open_session(self) -> "ServerSession | None":
        """The live session, if there is one."""
        return self._session if self.is_open else None

    async def session(self, *, ignore_backoff: bool = False) -> "ServerSession":
        """Return the session, opened if necessary. `ignore_backoff` retries at once after a failure.

        Raises:
            ServerUnavailable: The session cannot be opened, or the next attempt is not due yet.
        """
        if self._session is not None and self._session.is_alive:
            return self._session
        if self._opening is None or self._opening.done():
            self._check(ignore_backoff)
            self._opening = asyncio.create_task(self._open(), context=Context())
            self._opening.add_done_callback(consume_exception)
        return await asyncio.shield(self._opening)

    async def current(self) -> "ServerSession":
        """Return the session that is open or opening, without starting one.

        Raises:
            ServerUnavailable: There is no session.
        """
        if self._opening is not None and not self._opening.done():
            return await asyncio.shield(self._opening)
        if self._session is None or not self._session.is_alive:
            raise ServerUnavailable("the session has ended")
        return self._session

    async def close(self) -> None:
        """Close the session or cancel the attempt in progress, and wait until it is done."""
        self._is_closed = True
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.wait({self._opening})
        if self._session is not None:
            await self._session.close()

    def _check(self, ignore_backoff: bool) -> None:
        if self._is_closed:
            raise ServerUnavailable("the connection was closed")
        remaining = self._retry_at - self._clock()
        if remaining > 0 and not ignore_backoff:
            raise ServerUnavailable(f"{self.failure}; next attempt in {remaining:.1f} s at the earliest")

    async def _open(self) -> "ServerSession":
        try:
            if self._session is not None:
                await self._session.close()
            self._session = await self._open_new()
        except asyncio.CancelledError:
            if self._is_closed:  # only the attempt is cancelled, not the callers that wait for it
                raise ServerUnavailable("the connection was closed") from None
            raise
        except Exception as error:
            self.failure = describe(error)
            self._wait_s = min(max(self._wait_s * 2, FIRST_WAIT_S), MAX_WAIT_S)
            self._retry_at = self._clock() + self._wait_s
            raise ServerUnavailable(self.failure) from error
        self.failure, self._wait_s, self._retry_at = "", 0.0, 0.0
        return self._session
