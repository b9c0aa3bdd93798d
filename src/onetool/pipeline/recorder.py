"""Recording of finished calls, in the background so that callers do not wait for it."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from onetool.domain.bundles.derived_ids import derived_id
from onetool.domain.calls.call import CallMeta, ToolCall
from onetool.domain.calls.caller import Caller
from onetool.domain.errors import CODE_BY_REASON
from onetool.domain.text.strings import truncate_middle
from onetool.domain.usage.events import CallEvent, Event, TokenSaving, UsageSummary
from onetool.ports import CounterStore, UsageStore
from onetool.threads import Threads

log = logging.getLogger("onetool.calls")

DELAY = 0.1
"""Seconds over which events are collected into one write."""
CLOSE_TIMEOUT_S = 1.0
MAX_INPUT_LENGTH = 200
"""Length at which argument names and values are truncated in the log."""
MAX_PENDING = 10_000
"""Maximum number of events in memory while the store fails. The oldest are dropped."""

Sizes = tuple[int, int]
"""Bytes of the arguments and of the output."""


class _FinishedCall(NamedTuple):
    at: float
    call: ToolCall
    caller: Caller
    meta: CallMeta
    sizes: Sizes
    tool_id: str | None


class Recorder:
    """Collects finished calls, logs them, and writes them to the stores in batches on a thread."""

    def __init__(
        self,
        usage: UsageStore,
        counters: CounterStore,
        threads: Threads,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.statistics_enabled = True
        """Whether events are stored for statistics. The call counters are always updated."""
        self._usage, self._counters, self._threads, self._now = usage, counters, threads, now
        self._calls: list[_FinishedCall] = []
        self._savings: list[TokenSaving] = []
        self._pending_events: list[Event] = []
        self._pending_counts: list[CallEvent] = []
        self._write_lock = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._background_flush: asyncio.Task[None] | None = None
        self._writing: asyncio.Task[None] | None = None

    def add(self, call: ToolCall, caller: Caller, meta: CallMeta, sizes: Sizes, tool_id: str | None) -> None:
        """Record a finished call. It is written soon.

        tool_id: the id of a stored tool; empty for a tool that only has a name; None if no tool was found.
        """
        self._calls.append(_FinishedCall(self._now(), call, caller, meta, sizes, tool_id))
        if self._timer is None:
            self._start_timer()

    def add_saving(self, saving: TokenSaving) -> None:
        """Record an estimate of saved tokens. It is written soon."""
        self._savings.append(saving)
        if self._timer is None:
            self._start_timer()

    async def flush(self) -> None:
        """Write every event recorded so far.

        Exceptions of the stores propagate. The events stay in memory and are written with the next flush.
        """
        self._writing = asyncio.get_running_loop().create_task(self._write())
        await asyncio.shield(self._writing)  # a write that is cancelled halfway would store events twice

    async def summary(self, period_s: float | None = None) -> UsageSummary:
        """Summarize the calls of the last `period_s` seconds, or all calls, up to the latest one."""
        try:
            await self.flush()
        except OSError as error:
            log.error("cannot write the latest calls; statistics are incomplete: %s", error)
        since = None if period_s is None else self._now() - period_s
        return await self._usage.summarize(since)

    async def close(self) -> None:
        """Write the remaining events, for at most CLOSE_TIMEOUT_S."""
        if self._timer is not None:
            self._timer.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._try_flush()

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(DELAY, self._flush_in_background)

    def _flush_in_background(self) -> None:
        self._timer = None
        self._background_flush = asyncio.get_running_loop().create_task(self._try_flush())

    async def _try_flush(self) -> None:
        try:
            await self.flush()
        except Exception as error:  # noqa: BLE001 - root of a background task: a full disk must not stop calls
            pending = max(len(self._pending_events), len(self._pending_counts))
            log.error("cannot store %d events; will retry: %s: %s", pending, type(error).__name__, error)

    async def _write(self) -> None:
        async with self._write_lock:
            calls, self._calls = self._calls, []
            savings, self._savings = self._savings, []
            if not (calls or savings or self._pending_events or self._pending_counts):
                return
            events = await self._threads.run(_log_calls, calls)
            self._pending_counts = [*self._pending_counts, *events][-MAX_PENDING:]
            if self.statistics_enabled:
                self._pending_events = [*self._pending_events, *events, *savings][-MAX_PENDING:]
            await self._usage.add(self._pending_events)
            self._pending_events = []
            await self._counters.add(self._pending_counts)
            self._pending_counts = []


def _log_calls(calls: Sequence[_FinishedCall]) -> list[CallEvent]:
    """Write calls to the log and return their events."""
    events = [_to_event(finished) for finished in calls]
    if log.isEnabledFor(logging.INFO):
        for event, finished in zip(events, calls, strict=True):
            log.info("call", extra=_log_fields(event, finished.call))
    return events


def _log_fields(event: CallEvent, call: ToolCall) -> dict[str, Any]:
    inputs = {truncate_middle(key, MAX_INPUT_LENGTH): _shorten(value) for key, value in call.args.items()}
    return {
        "span": event.tool,
        "status": "SUCCESS" if event.ok else "FAILED",
        "duration": event.duration_ms / 1000,
        "inputs": inputs,
        # without `at`, because a log record has its own time
        **{key: value for key, value in event._asdict().items() if key != "at"},
    }


def _shorten(value: Any) -> Any:
    """Truncate a text, and replace a collection with its length."""
    if isinstance(value, str):
        return truncate_middle(value, MAX_INPUT_LENGTH)
    return f"[{len(value)}]" if isinstance(value, dict | list) else value


def _to_event(finished: _FinishedCall) -> CallEvent:
    meta, tool_id = finished.meta, finished.tool_id
    return CallEvent(
        tool=meta.tool,
        tool_id=derived_id("tool", meta.tool) if tool_id == "" else tool_id or "",
        version=meta.version,
        at=finished.at,
        ok=meta.reason is None,
        code=CODE_BY_REASON[meta.reason] if meta.reason else None,
        reason=meta.reason,
        duration_ms=meta.duration_ms,
        bytes_in=finished.sizes[0],
        bytes_out=finished.sizes[1],
        source=finished.call.source,
        session=finished.caller.session,
        call_id=finished.call.id,
    )
