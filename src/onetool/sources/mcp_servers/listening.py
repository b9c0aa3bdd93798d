"""The stream on which servers of the newer protocol report changes."""

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Any

from mcp import MCPError
from mcp.client.session import ClientSession
from mcp.client.subscriptions import Subscription, SubscriptionLost, listen
from mcp_types import METHOD_NOT_FOUND, ResourceListChangedNotification, ToolListChangedNotification

PAUSE_S = 1.0
"""Seconds before a stream that ended is opened again."""


class Listening:
    """Keeps one `subscriptions/listen` stream open. Events reach the session like other notifications."""

    def __init__(self, client: ClientSession, log: logging.Logger, on_notice: Callable[[Any], None]) -> None:
        self._client, self._log, self._on_notice = client, log, on_notice
        self._uris: frozenset[str] = frozenset()
        self._has_changed = asyncio.Event()

    def set_uris(self, uris: Collection[str]) -> None:
        """Change the resources whose updates are reported."""
        if frozenset(uris) != self._uris:
            self._uris = frozenset(uris)
            self._has_changed.set()

    async def run(self) -> None:
        """Listen until this is cancelled. A server without such a stream reports no changes."""
        is_first = True
        while True:
            try:
                await self._listen(is_first)
            except MCPError as error:
                if error.code == METHOD_NOT_FOUND:
                    return
                self._log.info("the server does not report changes now: %s", error.message)
                await asyncio.sleep(PAUSE_S)
            except SubscriptionLost:
                await asyncio.sleep(PAUSE_S)
            is_first = False

    async def _listen(self, is_first: bool) -> None:
        """Listen until the stream ends or other resources are wanted."""
        self._has_changed.clear()
        async with listen(
            self._client,
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=sorted(self._uris),
        ) as stream:
            if not is_first:  # changes in between were not reported
                self._on_notice(ToolListChangedNotification())
                self._on_notice(ResourceListChangedNotification())
            tasks = {asyncio.create_task(_drain(stream)), asyncio.create_task(self._has_changed.wait())}
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            for task in done:
                task.result()


async def _drain(stream: Subscription) -> bool:
    """Wait until a stream ends. The session has already received its events."""
    async for _ in stream:
        pass
    raise SubscriptionLost("the server closed the stream")
