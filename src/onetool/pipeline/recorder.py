"""Recording of finished calls, in the background so that callers do not wait for it."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Sized
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar

from onetool.domain.activity.body import to_body
from onetool.domain.activity.record import CallRecord
from onetool.domain.activity.rollup import RollUp
from onetool.domain.bundles.derived_ids import derived_id
from onetool.domain.calls.call import CallMeta, ToolCall
from onetool.domain.calls.caller import Caller
from onetool.domain.content.media import Media
from onetool.domain.errors import StoreUnavailable
from onetool.domain.secrets.redaction import Redactor
from onetool.domain.text.strings import truncate_middle
from onetool.domain.usage.summary import TokenSaving, UsageSummary
from onetool.ports import ActivityStore
from onetool.settings.schema import ActivitySettings, StatsSettings
from onetool.telemetry.call_meter import CallMeter
from onetool.threads import Threads

log = logging.getLogger("onetool.calls")
T = TypeVar("T")

DELAY = 0.1
"""Seconds over which events are collected into one write."""
RETRY_S = 2.0
"""Seconds until events that could not be stored are written again."""
CLOSE_TIMEOUT_S = 1.0
READ_TIMEOUT_S = 10.0
"""Seconds to wait for the latest events, and then for a summary."""
MAX_INPUT_LENGTH = 200
"""Length at which argument names and values are truncated in the log."""
MAX_LOGGED_INPUTS = 100
MAX_NAME_LENGTH = 400
"""Length at which names that clients send are truncated in records."""
MAX_PENDING = 10_000
"""Maximum number of events in memory while the store fails or is slow. The oldest are dropped and counted."""
CLEAN_INTERVAL_S = 3600.0
DAY_S = 86_400.0
MAX_PENDING_BODIES = 32 * 2**20
"""Maximum size of the bodies in memory. Further records have none."""


class FinishedCall(NamedTuple):
    """A call that has ended, or a run of code."""

    call: ToolCall
    caller: Caller
    meta: CallMeta
    value: Any
    """What it returned, or the message of its error."""
    redactor: Redactor
    bytes_in: int = 0
    bytes_out: int = 0
    tool_id: str | None = None
    """The id of a stored tool; empty for a tool that only has a name; None if no tool was found."""
    decision: str = ""
    kind: Literal["call", "run"] = "call"


class Recorder:
    """Collects finished calls, logs them, and writes them to the store in batches on a thread."""

    def __init__(
        self,
        store: ActivityStore,
        threads: Threads,
        now: Callable[[], float] = time.time,
        *,
        meter: CallMeter | None = None,
    ) -> None:
        """meter: counts the calls of all recorders of the process."""
        self._store, self._threads, self._now = store, threads, now
        self._meter = meter or CallMeter()
        self._meter.watch(self)
        self._statistics, self._settings = True, ActivitySettings()
        self._calls: deque[_UnwrittenCall] = deque(maxlen=MAX_PENDING)
        self._savings: deque[TokenSaving] = deque(maxlen=MAX_PENDING)
        self._failed_calls: list[CallRecord] = []
        self._failed_savings: list[TokenSaving] = []
        self._attempted: tuple[CallRecord | None, TokenSaving | None] = (None, None)
        """The last events of a write that has failed, and may have been stored nevertheless."""
        self._bodies_size = 0
        self._cleaned_at = -CLEAN_INTERVAL_S
        self._write_lock = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._background_flush: asyncio.Task[None] | None = None
        self._next_write: asyncio.Task[None] | None = None
        """A write that waits until the one in progress has ended."""
        self._current_write: asyncio.Task[None] | None = None
        self._dropped = 0
        """Number of events that were dropped since the last write began."""
        self._is_failing = False

    def configure(self, stats: StatsSettings, activity: ActivitySettings) -> None:
        """Apply the settings. The call counters are always stored."""
        if activity != self._settings:
            self._cleaned_at = -CLEAN_INTERVAL_S
        self._statistics, self._settings = stats.enabled, activity

    def add(self, finished: FinishedCall) -> None:
        """Record a finished call. It is written soon."""
        call, caller, meta = finished.call, finished.caller, finished.meta
        self._meter.count(finished.kind, meta.reason, meta.duration_ms)
        tool, tool_id, ended = meta.tool, finished.tool_id, self._now()
        if tool_id is None and finished.kind == "call":  # the name is whatever the caller wrote
            tool = finished.redactor.redact(tool)
        # By position, because names take twice as long.
        record = CallRecord(
            _storable(meta.call_id),
            _storable(tool),
            ended - meta.duration_ms / 1000,
            ended,
            finished.kind,
            caller.parent,
            caller.principal.id,
            caller.interface,
            _storable(caller.client),
            caller.profile,
            _storable(caller.session),
            call.source,
            _derived_id(tool) if tool_id == "" else tool_id or "",
            meta.version,
            meta.reason,
            finished.decision,
            meta.duration_ms,
            finished.bytes_in,
            finished.bytes_out,
            *self._bodies(finished),
        )
        inputs = _truncate_inputs(call.args) if log.isEnabledFor(logging.INFO) else {}
        self._append(self._calls, _UnwrittenCall(record, inputs))

    def _bodies(self, finished: FinishedCall) -> tuple[str, str]:
        """Return the arguments and the result for the record; empty ones if they are not recorded."""
        settings = self._settings
        if not (settings.enabled and settings.bodies and self._statistics):
            return "", ""
        if self._bodies_size > MAX_PENDING_BODIES:
            return "", ""
        limit, redactor, args = settings.max_body_bytes, finished.redactor, finished.call.args
        args = args["code"] if finished.kind == "run" else args
        arguments = to_body(args, limit, redactor, size=finished.bytes_in)
        is_native = finished.call.source == "sdk"
        result = to_body(finished.value, limit, redactor, size=finished.bytes_out, is_native=is_native)
        self._bodies_size += len(arguments) + len(result)
        return arguments, result

    def add_saving(self, saving: TokenSaving) -> None:
        """Record an estimate of saved tokens. It is written soon."""
        self._append(self._savings, saving)

    async def flush(self) -> None:
        """Write every event recorded so far.

        Exceptions of the stores propagate. The events stay in memory and are written with the next flush.
        """
        if self._next_write is None:
            self._next_write = asyncio.get_running_loop().create_task(self._write())
            self._next_write.add_done_callback(_consume_exception)
        await asyncio.shield(self._next_write)  # a write that is cancelled halfway would store events twice

    async def summary(self, period_s: float | None = None) -> UsageSummary:
        """Summarize the calls of the last `period_s` seconds, or all calls, up to the latest one.

        Raises:
            StoreUnavailable: The store does not respond in time.
        """
        since = None if period_s is None else self._now() - period_s
        store = await self.written()
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                return await store.summarize(since)
        except TimeoutError:
            raise StoreUnavailable("The statistics cannot be read: the store does not respond.") from None

    async def written(self) -> ActivityStore:
        """Return the store once it has all records so far. If they cannot be written, it lacks the latest."""
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                await self.flush()
        except OSError as error:  # also if it takes too long
            reason = str(error) or "the store does not respond"
            log.error("cannot write the latest calls; statistics are incomplete: %s", reason)
        return self._store

    async def close(self) -> None:
        """Write the remaining events, for at most CLOSE_TIMEOUT_S."""
        if self._timer is not None:
            self._timer.cancel()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.flush()
        except TimeoutError:
            count = self.pending + self._dropped
            log.error("%d events may be lost: the store does not respond", count)
        except Exception as error:  # noqa: BLE001 - a full disk must not stop what else is closed
            kind = type(error).__name__
            log.error("cannot store %d events, which are lost: %s: %s", self.pending, kind, error)

    @property
    def pending(self) -> int:
        """Events that are not stored yet."""
        return len(self._calls) + len(self._savings) + self._failed_count

    @property
    def _failed_count(self) -> int:
        return len(self._failed_calls) + len(self._failed_savings)

    def _append(self, waiting: deque[Any], event: Any) -> None:
        if len(waiting) == MAX_PENDING:
            self._count_dropped(1)
        waiting.append(event)
        self._start_timer()

    def _start_timer(self) -> None:
        """Flush soon, unless a flush is already due or running."""
        if self._timer is None and self._background_flush is None:
            delay = RETRY_S if self._is_failing else DELAY
            self._timer = asyncio.get_running_loop().call_later(delay, self._flush_in_background)

    def _flush_in_background(self) -> None:
        self._timer = None
        self._background_flush = asyncio.get_running_loop().create_task(self._try_flush())
        self._background_flush.add_done_callback(self._on_flushed)

    def _on_flushed(self, _flush: asyncio.Task[None]) -> None:
        self._background_flush = None
        if self.pending:
            self._start_timer()

    async def _try_flush(self) -> None:
        try:
            await self.flush()
        except Exception as error:  # noqa: BLE001 - root of a background task: a full disk must not stop calls
            if not self._is_failing:
                count, kind = self._failed_count, type(error).__name__
                log.error("cannot store %d events; will retry: %s: %s", count, kind, error)
            self._is_failing = True
        else:
            if self._is_failing:
                log.warning("events are stored again")
            self._is_failing = False

    async def _write(self) -> None:
        async with self._write_lock:
            self._current_write, self._next_write = self._next_write, None
            calls, savings = list(self._calls), list(self._savings)
            self._calls.clear()
            self._savings.clear()
            if not (calls or savings or self._failed_calls or self._failed_savings):
                return
            records = await self._threads.run(_log_calls, calls)
            self._failed_calls = self._latest([*self._failed_calls, *records])
            self._failed_savings = self._latest([*self._failed_savings, *savings])
            if self._dropped:
                log.error("dropped %d events: the store failed or was too slow", self._dropped)
                self._dropped = 0
            await self._forget_stored()
            if self._failed_calls or self._failed_savings:
                self._attempted = _last(self._failed_calls), _last(self._failed_savings)
                await self._store.add(*await self._threads.run(self._derive))
            self._failed_calls, self._failed_savings, self._attempted = [], [], (None, None)
            self._bodies_size = sum(len(call.record.arguments + call.record.result) for call in self._calls)
            await self._clean_up()

    async def _forget_stored(self) -> None:
        """Forget events whose write has failed, but was stored: a connection was lost at the wrong moment."""
        call, saving = self._attempted
        if call is not None and await self._store.get(call.id) is not None:
            self._failed_calls = _after(self._failed_calls, call)
            self._failed_savings = _after(self._failed_savings, saving)

    def _latest(self, events: list[T]) -> list[T]:
        """Return as many of the latest events as may wait, and count the others."""
        self._count_dropped(max(len(events) - MAX_PENDING, 0))
        return events[-MAX_PENDING:]

    def _count_dropped(self, count: int) -> None:
        self._dropped += count
        self._meter.dropped += count

    def _derive(self) -> tuple[Sequence[CallRecord], RollUp]:
        """Return what the settings allow to store of the pending calls."""
        records, figures = self._failed_calls, RollUp().add_counts(self._failed_calls)
        if not self._statistics:
            return (), figures
        figures.add_usage(records).add_savings(self._failed_savings)
        return records if self._settings.enabled else (), figures

    async def _clean_up(self) -> None:
        """Delete old records, once in a while."""
        now, settings = self._now(), self._settings
        if now - self._cleaned_at < CLEAN_INTERVAL_S:
            return
        self._cleaned_at = now
        try:
            await self._store.delete_old(now - settings.retention_days * DAY_S, settings.max_bytes)
        except OSError as error:
            log.error("cannot delete old records of calls: %s", error)


class _UnwrittenCall(NamedTuple):
    record: CallRecord
    inputs: Mapping[str, Any]
    """Arguments for the log, truncated: complete ones would fill the memory while a write blocks."""


def _last(events: Sequence[T]) -> T | None:
    return events[-1] if events else None


def _after(events: list[T], last: T | None) -> list[T]:
    """Return the events after one of them; all if it is not there."""
    return events[next((number for number, event in enumerate(events, 1) if event is last), 0) :]


def _consume_exception(write: asyncio.Task[None]) -> None:
    """Mark the error of a write as seen: those that wait for it may have stopped to wait."""
    with suppress(asyncio.CancelledError):
        write.exception()


def _log_calls(calls: Sequence[_UnwrittenCall]) -> list[CallRecord]:
    """Write calls to the log and return their records."""
    if log.isEnabledFor(logging.INFO):
        template = vars(log.makeRecord(log.name, logging.INFO, __file__, 0, "call", (), None))
        for record, inputs in calls:
            if record.kind == "call":
                entry = logging.LogRecord.__new__(logging.LogRecord)  # `log.info` takes three times as long
                vars(entry).update(template, created=record.ended, **_log_fields(record, inputs))
                log.handle(entry)
    return [call.record for call in calls]


def _storable(text: str) -> str:
    """Return a text that a client may have sent without lone surrogates, truncated."""
    if text.isascii() and len(text) <= MAX_NAME_LENGTH:
        return text
    return truncate_middle(text, MAX_NAME_LENGTH).encode("utf-8", "replace").decode()


@lru_cache(maxsize=10_000)
def _derived_id(tool: str) -> str:
    return derived_id("tool", tool)


def _log_fields(record: CallRecord, inputs: Mapping[str, Any]) -> dict[str, Any]:
    is_ok = record.ok
    return {
        "span": record.tool,
        "status": "SUCCESS" if is_ok else "FAILED",
        "duration": record.duration_ms / 1000,
        "inputs": inputs,
        "tool": record.tool,
        "ok": is_ok,
        "tool_id": record.tool_id,
        "version": record.version,
        "code": record.code,
        "reason": record.reason,
        "duration_ms": record.duration_ms,
        "bytes_in": record.bytes_in,
        "bytes_out": record.bytes_out,
        "source": record.source,
        "session": record.session,
        "call_id": record.id,
    }


def _truncate_inputs(args: Mapping[str, Any]) -> dict[str, Any]:
    first = islice(args.items(), MAX_LOGGED_INPUTS)
    return {truncate_middle(key, MAX_INPUT_LENGTH): _shorten(value) for key, value in first}


def _shorten(value: Any) -> Any:
    """Truncate a text, and replace a collection with its length and media with their line."""
    if isinstance(value, Media):
        return str(value)
    if isinstance(value, str):
        return truncate_middle(value, MAX_INPUT_LENGTH)
    return f"[{len(value)}]" if isinstance(value, Sized) else value
