"""Refresh of stored tokens, by one process at a time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from onetool.ports import TokenStore

REFRESH_TIMEOUT_S = 25.0
"""Time limit for one refresh, in seconds."""

Refresh = Callable[[str | None], Coroutine[Any, Any, str | None]]
"""Returns the text to store instead of this one: with new tokens, or unchanged; None deletes it."""


class RefreshTimedOut(Exception):
    """The refresh took too long. The message is a fragment without a full stop."""


class SharedRefresh:
    """Replaces one text of a token store. All other processes wait meanwhile, and then find new tokens."""

    def __init__(self, store: TokenStore, name: str) -> None:
        self._store, self._name = store, name
        self._task: asyncio.Task[str | None] | None = None
        self._unstored: tuple[str | None, str | None] | None = None
        """The stored text, and the one that could not be stored instead of it."""

    async def run(self, refresh: Refresh) -> str | None:
        """Replace the stored text with what `refresh` returns, and return it. Durable on return.

        A refresh that has begun continues if the caller is cancelled: the old refresh token is used up, and
        the new one would be lost. For the same reason, the next refresh gets a text that could not be stored.

        Raises:
            RefreshTimedOut: The refresh took too long.
            OSError: The text cannot be read or stored.
        """
        self._task = asyncio.create_task(self._replace(refresh))
        self._task.add_done_callback(_consume_exception)
        return await asyncio.shield(self._task)

    async def close(self) -> None:
        """Wait for a refresh in progress."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _replace(self, refresh: Refresh) -> str | None:
        async with self._store.exclusive(self._name) as stored:
            before = current = stored.text
            if self._unstored is not None and self._unstored[0] == before:
                current = self._unstored[1]
            try:
                async with asyncio.timeout(REFRESH_TIMEOUT_S):
                    text = await refresh(current)
            except TimeoutError:
                raise RefreshTimedOut(f"token refresh timed out after {REFRESH_TIMEOUT_S:g} s") from None
            try:
                await stored.replace(text, is_refresh=True)
                self._unstored = None
            except OSError:
                self._unstored = before, text
                if text != current:
                    raise
            return text


def _consume_exception(task: "asyncio.Task[str | None]") -> None:
    """Mark the exception of a task as retrieved: asyncio reports it otherwise if no one awaits the task."""
    if not task.cancelled():
        task.exception()
