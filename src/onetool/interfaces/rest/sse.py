"""Server-sent events: one response class for calls and chats."""

import asyncio
from collections.abc import AsyncGenerator

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

EVENT_STREAM = "text/event-stream"
HEARTBEAT = b": heartbeat\n\n"
HEARTBEAT_S = 10.0
"""Seconds without an event after which a heartbeat is sent."""
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Makes proxies forward each event immediately."""

LINE_SEPARATORS = {char.encode(): rf"\u{ord(char):04x}".encode() for char in "\x85\u2028\u2029"}
"""Line separators that JSON does not escape, with their escapes."""

EventQueue = asyncio.Queue[bytes | None]
"""Formatted events; None ends the stream."""


class EventStream(StreamingResponse):
    """Streams the events of a task. Cancels the task when the client disconnects, and waits for its end."""

    media_type = EVENT_STREAM

    def __init__(self, events: EventQueue, task: "asyncio.Task[None]") -> None:
        self._events, self._task = _read_events(events, HEARTBEAT_S), task
        super().__init__(self._events, headers=HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until the end or until the client disconnects."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._task.cancel()
            await asyncio.wait({self._task})
            await self._events.aclose()


def format_event(kind: str, data: bytes) -> bytes:
    """Format an event with JSON data. Line separators in the data are escaped."""
    for separator, escape in LINE_SEPARATORS.items():
        data = data.replace(separator, escape)
    return f"event: {kind}\ndata: ".encode() + data + b"\n\n"


async def _read_events(events: EventQueue, heartbeat_s: float) -> AsyncGenerator[bytes]:
    while True:
        try:
            async with asyncio.timeout(heartbeat_s):
                event = await events.get()
        except TimeoutError:
            event = HEARTBEAT
        if event is None:
            return
        yield event
        await asyncio.sleep(0)  # a disconnect cancels the stream here, even if events never stop
