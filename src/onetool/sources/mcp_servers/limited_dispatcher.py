"""A dispatcher that limits what a server can send unasked."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import ErrorData, JSONRPCNotification, JSONRPCRequest, RequestId

from .transport.notification_limit import LIST_CHANGED, NotificationLimit
from .transport.rejected_message import MESSAGE_TOO_LARGE, TOO_LARGE_METHOD
from .transport.streams import Incoming, Outgoing

MAX_SERVER_REQUESTS = 100
"""Requests of a server that are not answered yet: it may never read the answers. More are dropped."""
POSTPONE_S = 0.4
"""Seconds after which a notice of a changed list that was above the limit is delivered, once for all."""
TOO_LARGE, REQUESTS = "notifications above the size limits", "unanswered requests"


class LimitedDispatcher(JSONRPCDispatcher[TransportContext]):
    """Drops what is above the limits, and logs the numbers when the session ends."""

    def __init__(self, incoming: Incoming, outgoing: Outgoing, limit: NotificationLimit) -> None:
        super().__init__(incoming, outgoing)
        self._limit = limit
        self._unanswered = 0
        self._postponed: dict[str, Callable[[], None]] = {}

    async def run(self, *args: Any, **kwargs: Any) -> None:
        """Receive messages until the connection ends."""
        try:
            await super().run(*args, **kwargs)
        finally:
            self._limit.report()

    def _dispatch_notification(self, msg: JSONRPCNotification, *args: Any) -> None:
        if msg.method == TOO_LARGE_METHOD:
            self._limit.drop(TOO_LARGE)
            return
        dispatch = partial(super()._dispatch_notification, msg, *args)
        if self._limit.allows(msg.method):
            dispatch()
        elif msg.method in LIST_CHANGED:
            self._postpone(msg.method, dispatch)
        else:
            self._limit.drop_notification(msg.method)

    async def _dispatch_request(self, req: JSONRPCRequest, *args: Any) -> None:
        if self._unanswered >= MAX_SERVER_REQUESTS:
            self._limit.drop(REQUESTS)
            return
        self._unanswered += 1
        await super()._dispatch_request(req, *args)

    async def _handle_request(self, *args: Any) -> None:
        try:
            await super()._handle_request(*args)
        finally:
            self._unanswered -= 1

    def _resolve_pending(self, request_id: RequestId | None, outcome: dict[str, Any] | ErrorData) -> None:
        """Deliver a response. A rejected message without an id may answer any request: all of them fail."""
        is_rejected = isinstance(outcome, ErrorData) and outcome.code == MESSAGE_TOO_LARGE
        for id_ in list(self._pending) if request_id is None and is_rejected else [request_id]:
            super()._resolve_pending(id_, outcome)

    def _postpone(self, method: str, dispatch: Callable[[], None]) -> None:
        if method not in self._postponed:
            self._spawn(self._deliver, method, sender_ctx=None)
        self._postponed[method] = dispatch

    async def _deliver(self, method: str) -> None:
        await asyncio.sleep(POSTPONE_S)
        self._postponed.pop(method)()
