"""Streams of events that end when the one who reads them may not do so any more."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onetool.domain.errors import StoreUnavailable

from .sse import EVENT_STREAM

log = logging.getLogger(__name__)

CHECK_INTERVAL_S = 2.0
MAX_UNCHECKED_S = 60.0
"""Seconds for which a stream stays open although the database is away, which may have revoked its key."""
LAST_SEND_S = 5.0
"""Seconds in which a client must read the end of its stream."""

IsAllowed = Callable[[], Awaitable[bool]]
"""Returns whether a request would be accepted if it were made now. Raises StoreUnavailable."""


async def serve_while_allowed(
    is_allowed: IsAllowed, app: ASGIApp, scope: Scope, receive: Receive, send: Send
) -> None:
    """Serve a request. If the response is a stream of events, end it when it is not allowed any more.

    Other responses are not ended: a call in progress may have had effects.
    """
    limit = asyncio.timeout(None)
    watch: asyncio.Task[None] | None = None

    async def send_response(message: Message) -> None:
        nonlocal watch
        if message["type"] == "http.response.start" and _is_stream(message):
            watch = asyncio.create_task(_watch(is_allowed, limit))
        await send(message)

    try:
        async with limit:
            await app(scope, receive, send_response)
    except TimeoutError:
        if not limit.expired():
            raise
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SEND_S):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        if watch is not None:
            watch.cancel()


async def _watch(is_allowed: IsAllowed, limit: asyncio.Timeout) -> None:
    """Wait until a stream is not allowed any more, and end it."""
    loop = asyncio.get_running_loop()
    checked_at = loop.time()
    try:
        while loop.time() - checked_at < MAX_UNCHECKED_S:
            await asyncio.sleep(CHECK_INTERVAL_S)
            with suppress(StoreUnavailable):
                if not await is_allowed():
                    break
                checked_at = loop.time()
    except Exception:  # the root of a task: what cannot be checked ends
        log.exception("the rights to a stream cannot be checked")
    limit.reschedule(loop.time())


def _is_stream(message: Message) -> bool:
    return Headers(raw=message["headers"]).get("content-type", "").startswith(EVENT_STREAM)
