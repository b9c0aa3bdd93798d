"""Connections that are closed if the server does not respond."""

import time
from contextlib import suppress
from typing import TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.rows import TupleRow

T = TypeVar("T")
ANSWER_S = 35.0
"""Seconds for one statement. A server that does not hang ends statements itself before that."""
CANCEL_S = 1.0
"""Seconds for the request to cancel a statement that does not respond."""
INTERVAL_S = 0.1
"""Seconds after which a waiting thread checks whether it must stop."""


class DatabaseHangs(psycopg.OperationalError):
    """The server has not responded in time: it hangs, or its disk does. Its connections stay open."""


class TimedConnection(psycopg.Connection[TupleRow]):
    """A connection with a limit for each wait for the server."""

    answer_s: float | None = None
    """Seconds to wait; None: `ANSWER_S`."""

    def wait(self, gen: PQGen[T], interval: float = INTERVAL_S, timeout: float | None = None) -> T:
        """Wait for the server, for at most `timeout` or `answer_s`.

        Raises:
            DatabaseHangs: The server does not respond. The connection is closed.
        """
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        seconds = ANSWER_S if self.answer_s is None else self.answer_s
        end = time.monotonic() + seconds
        try:
            return super().wait(gen, interval, seconds)
        except psycopg.OperationalError as error:
            if time.monotonic() < end:
                raise
            with suppress(psycopg.Error):  # its process may wait for a standby, and would not end otherwise
                self.cancel_safe(timeout=CANCEL_S)
            self.close()
            raise DatabaseHangs(f"The server has not responded for {seconds:g} s.") from error


class AsyncTimedConnection(psycopg.AsyncConnection[TupleRow]):
    """The same as `TimedConnection`, for the event loop."""

    async def wait(self, gen: PQGen[T], interval: float = INTERVAL_S, timeout: float | None = None) -> T:
        """Wait for the server, for at most `timeout` or `ANSWER_S`.

        Raises:
            DatabaseHangs: The server does not respond. The connection is closed.
        """
        if timeout is not None:
            return await super().wait(gen, interval, timeout)
        end = time.monotonic() + ANSWER_S
        try:
            return await super().wait(gen, interval, ANSWER_S)
        except psycopg.OperationalError as error:
            if time.monotonic() < end:
                raise
            await self.close()
            raise DatabaseHangs(f"The server has not responded for {ANSWER_S:g} s.") from error
