"""The way to a server: opened once for all who wait, again when it broke, later when that fails."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import TYPE_CHECKING

from .failure import Down, describe

if TYPE_CHECKING:
    from .session import Session

FIRST_WAIT, LONGEST_WAIT = 0.2, 30.0


class Connection:
    """At most one session, and at most one attempt at it."""

    def __init__(
        self, open_session: Callable[[], Awaitable["Session"]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._open_session, self._clock = open_session, clock
        self._session: Session | None = None
        self._opening: asyncio.Task[Session] | None = None
        self._wait, self._retry_at = 0.0, 0.0
        self._is_closed = False
        self.failure = ""
        """Why the last attempt failed; nothing after one that did not."""

    @property
    def opening(self) -> "asyncio.Task[Session] | None":
        """The attempt that is being made, if one is."""
        return self._opening if self._opening is not None and not self._opening.done() else None

    @property
    def is_open(self) -> bool:
        """Whether there is a session that has not ended."""
        return self._session is not None and self._session.is_alive

    async def session(self, *, at_once: bool = False) -> "Session":
        """Return the session, opened if need be; at_once: also when the last attempt was a moment ago.

        Raises Down, saying why and when there will be another attempt.
        """
        if self._session is not None and self._session.is_alive:
            return self._session
        if self._opening is None or self._opening.done():
            self._check(at_once)
            self._opening = asyncio.create_task(self._open(), context=Context())
            self._opening.add_done_callback(_look)
        return await asyncio.shield(self._opening)

    async def current(self) -> "Session":
        """Return the session that there is, or is about to be; starts none.

        Raises Down.
        """
        if self._opening is not None and not self._opening.done():
            return await asyncio.shield(self._opening)
        if self._session is None or not self._session.is_alive:
            raise Down("it has ended")
        return self._session

    async def close(self) -> None:
        """End everything, and wait until it is gone."""
        self._is_closed = True
        if self._opening is not None and not self._opening.done():
            self._opening.cancel()
            await asyncio.wait({self._opening})
        if self._session is not None:
            await self._session.close()

    def _check(self, at_once: bool) -> None:
        if self._is_closed:
            raise Down("it was closed")
        left = self._retry_at - self._clock()
        if left > 0 and not at_once:
            raise Down(f"{self.failure}; the next attempt is made in {left:.1f} s at the earliest")

    async def _open(self) -> "Session":
        try:
            if self._session is not None:
                await self._session.close()
            self._session = await self._open_session()
        except asyncio.CancelledError:
            if self._is_closed:  # whoever waits is not cancelled
                raise Down("it was closed") from None
            raise
        except Exception as error:
            self.failure = describe(error)
            self._wait = min(max(self._wait * 2, FIRST_WAIT), LONGEST_WAIT)
            self._retry_at = self._clock() + self._wait
            raise Down(self.failure) from error
        self.failure, self._wait, self._retry_at = "", 0.0, 0.0
        return self._session


def _look(opening: "asyncio.Task[Session]") -> None:
    """Take note of a failure that nobody may be waiting for."""
    if not opening.cancelled():
        opening.exception()
