"""Which resources a session wants updates of, and the stream on which newer servers report changes."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from mcp.client.session import ClientSession
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from .listening import Listening

TIMEOUT_S = 10.0
Request = Callable[[str, dict[str, Any], float], Awaitable[Any]]
"""Sends a request: its method, its parameters and the deadline."""


class SessionUpdates:
    """Asks the server for updates of the resources that this process or others want."""

    def __init__(self, request: Request, log: logging.Logger, on_notice: Callable[[Any], None]) -> None:
        self._request, self._log, self._on_notice = request, log, on_notice
        self._wanted: frozenset[str] = frozenset()
        self._relayed: set[str] = set()
        self._subscribed: set[str] = set()
        self._listening: Listening | None = None

    async def serve(self, client: ClientSession, stop: asyncio.Event) -> None:
        """Wait until the session ends. Newer servers report changes on a stream meanwhile."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            await stop.wait()
            return
        self._listening = Listening(client, self._log, self._on_notice)
        listening = asyncio.create_task(self._listening.run())
        try:
            await stop.wait()
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def want(self, uris: Collection[str]) -> None:
        """Let the server report updates of these resources, and of those that other processes want.

        Raises:
            RequestNotSent: The session has ended.
            ExecutionError: The server refuses.
        """
        self._wanted = frozenset(uris)
        await self._apply()

    async def relay(self, uri: str) -> None:
        """Let the server report updates of a resource that another process wants, until the session ends."""
        self._relayed.add(uri)
        await self._apply()

    async def _apply(self) -> None:
        uris = self._wanted | self._relayed
        if self._listening is not None:
            self._listening.set_uris(uris)
            return
        deadline = time.monotonic() + TIMEOUT_S
        for method, changed in (
            ("resources/subscribe", uris - self._subscribed),
            ("resources/unsubscribe", self._subscribed - uris),
        ):
            for uri in sorted(changed):
                await self._request(method, {"uri": uri}, deadline)
                self._subscribed ^= {uri}
