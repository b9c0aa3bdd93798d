"""Remember finished calls, never on the caller's time."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from onetool.domain.call import Meta, ToolCall
from onetool.domain.caller import Caller
from onetool.domain.errors import CODE_OF
from onetool.domain.usage import CallEvent
from onetool.ports import UsageStore
from onetool.threads import Threads

log = logging.getLogger("onetool.calls")

DELAY = 0.1
"""Seconds over which events are gathered, to be written together."""
LAST_WORDS = 1.0
"""Seconds that closing waits for events not yet written."""


_Finished = tuple[float, ToolCall, Caller, Meta, tuple[int, int]]


class Recorder:
    """Gathers events and writes them in batches on a thread."""

    def __init__(self, usage: UsageStore, threads: Threads, now: Callable[[], float] = time.time) -> None:
        self._usage, self._threads, self._now = usage, threads, now
        self._calls: list[_Finished] = []
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def add(self, call: ToolCall, caller: Caller, meta: Meta, sizes: tuple[int, int]) -> None:
        """Take a finished call; it is made an event of, and written, soon."""
        self._calls.append((self._now(), call, caller, meta, sizes))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY, self._flush_soon)

    async def flush(self) -> None:
        """Return when every event taken so far is kept."""
        async with self._writing:
            calls, self._calls = self._calls, []
            if calls:
                await self._threads.run(self._write, calls)

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

    def _write(self, calls: Sequence[_Finished]) -> None:
        events = [_event(*call) for call in calls]
        if log.isEnabledFor(logging.INFO):
            for event in events:
                log.info("call", extra=_members(event))
        try:
            self._usage.add(events)
        except Exception:  # the root of a background task: a full disk must not stop calls
            log.exception("%d events of finished calls could not be kept", len(events))


def _members(event: CallEvent) -> dict[str, Any]:
    status = "SUCCESS" if event.ok else "FAILED"
    known = event._asdict()
    del known["at"]  # a record has its own time
    return {"span": event.tool, "status": status, "duration": event.duration_ms / 1000} | known


def _event(at: float, call: ToolCall, caller: Caller, meta: Meta, sizes: tuple[int, int]) -> CallEvent:
    return CallEvent(
        tool=meta.tool,
        version=meta.version,
        at=at,
        ok=meta.reason is None,
        code=CODE_OF[meta.reason] if meta.reason else None,
        reason=meta.reason,
        duration_ms=meta.duration_ms,
        bytes_in=sizes[0],
        bytes_out=sizes[1],
        source=call.source,
        session=caller.session,
        call_id=call.id,
    )
