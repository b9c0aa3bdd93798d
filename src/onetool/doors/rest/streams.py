"""Server-sent events: what is told while something happens."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

STREAM = "text/event-stream"
STILL_HERE = b": still here\n\n"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""A proxy in between is to hand on each event at once."""

LINE_ENDS = {sign.encode(): rf"\u{ord(sign):04x}".encode() for sign in "\x85\u2028\u2029"}
"""What JSON leaves as it stands."""

Told = asyncio.Queue[bytes | None]
"""Events on their way; None is the end."""


class EventStream(StreamingResponse):
    """Hands on what a task tells; when the reader leaves, the task is cancelled."""

    def __init__(self, told: Told, telling: "asyncio.Task[Any]", heartbeat_s: float) -> None:
        super().__init__(_events(told, heartbeat_s), media_type=STREAM, headers=HEADERS)
        self._telling = telling

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, up to the end or until nobody listens."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._telling.cancel()


def event(kind: str, data: bytes) -> bytes:
    """Write an event; no reader takes a sign of the data, which is JSON, for the end of a line."""
    for sign, escaped in LINE_ENDS.items():
        data = data.replace(sign, escaped)
    return f"event: {kind}\ndata: ".encode() + data + b"\n\n"


async def _events(told: Told, heartbeat_s: float) -> AsyncIterator[bytes]:
    while True:
        try:
            async with asyncio.timeout(heartbeat_s):
                next_one = await told.get()
        except TimeoutError:
            next_one = STILL_HERE
        if next_one is None:
            return
        yield next_one
