"""Remember finished calls, never on the caller's time."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict

from onetool.domain.usage import CallEvent
from onetool.ports import UsageStore
from onetool.threads import Threads

log = logging.getLogger("onetool.calls")

DELAY = 0.1
"""Seconds over which events are gathered, to be written together."""
LAST_WORDS = 1.0
"""Seconds that closing waits for events not yet written."""


class Recorder:
    """Gathers events and writes them in batches on a thread."""

    def __init__(self, usage: UsageStore, threads: Threads) -> None:
        self._usage, self._threads = usage, threads
        self._events: list[CallEvent] = []
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def add(self, event: CallEvent) -> None:
        """Take an event; it is written soon."""
        self._events.append(event)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY, self._flush_soon)

    async def flush(self) -> None:
        """Return when every event taken so far is kept."""
        async with self._writing:
            events, self._events = self._events, []
            if events:
                await self._threads.run(self._write, events)

    async def close(self) -> None:
        """Write what is left, within a second."""
        if self._timer is not None:
            self._timer.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await self.flush()

    def _flush_soon(self) -> None:
        self._timer = None
        self._flushing = asyncio.get_running_loop().create_task(self.flush())

    def _write(self, events: Sequence[CallEvent]) -> None:
        for event in events:
            log.info(
                "call",
                extra={"span": event.tool, "status": "SUCCESS" if event.ok else "FAILED", **asdict(event)},
            )
        try:
            self._usage.add(events)
        except Exception:  # the root of a background task: a full disk must not stop calls
            log.exception("%d events of finished calls could not be kept", len(events))
