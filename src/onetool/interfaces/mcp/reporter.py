"""Progress and log messages of a call, for the client that made it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext

from onetool.domain.calls.caller import LogEntry
from onetool.runtime.runtime import Runtime

Context = ServerRequestContext[Any, Any]


class Reporter:
    """Forwards progress and log messages to the client. Tools may report them from any thread."""

    def __init__(
        self, context: Context, runtime: Runtime, allows_level: Callable[[Context, str], bool]
    ) -> None:
        """allows_level: whether the client wants log messages of a level for this request."""
        self._context, self._runtime, self._loop = context, runtime, asyncio.get_running_loop()
        self._allows_level = allows_level
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_done = False

    def report(self, done: float, total: float | None, message: str) -> None:
        """Send progress without waiting."""
        text = self._runtime.state.redactor.mask(message) or None
        self._spawn(lambda: self._context.session.report_progress(done, total, text))

    def log(self, entry: LogEntry) -> None:
        """Send a log message without waiting, if the client wants it."""
        if self._allows_level(self._context, entry.level):
            self._spawn(lambda: self._send_log(entry))

    async def wait_until_sent(self) -> None:
        """Wait until everything is sent. Clients ignore what arrives after the result, so nothing follows."""
        await asyncio.sleep(0)  # what other threads reported before the end
        self._is_done = True
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _send_log(self, entry: LogEntry) -> None:
        level: Any = entry.level
        params = types.LoggingMessageNotificationParams(
            level=level, logger=entry.logger or None, data=entry.data
        )
        notification = types.LoggingMessageNotification(params=params)
        await self._context.session.send_notification(notification, self._context.request_id)

    def _spawn(self, send: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._loop.call_soon_threadsafe(self._start, send)

    def _start(self, send: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if not self._is_done:
            task = self._loop.create_task(send())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
