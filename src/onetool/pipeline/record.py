"""Remember finished calls, never on the caller's time."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from onetool.domain.call import Meta, ToolCall
from onetool.domain.caller import Caller
from onetool.domain.errors import CODE_OF
from onetool.domain.ids import named_id
from onetool.domain.texts import cut
from onetool.domain.usage import CallEvent, Event, Saving
from onetool.ports import CounterStore, UsageStore
from onetool.threads import Threads

log = logging.getLogger("onetool.calls")

DELAY = 0.1
"""Seconds over which events are gathered, to be written together."""
LAST_WORDS = 1.0
"""Seconds that closing waits for events not yet written."""


LONGEST_INPUT = 200
KEPT_AFTER_FAILURE = 10_000
"""How many events wait in memory for a store that fails to work again."""

Sizes = tuple[int, int]


class _Finished(NamedTuple):
    at: float
    call: ToolCall
    caller: Caller
    meta: Meta
    sizes: Sizes
    tool_id: str | None


class Recorder:
    """Gathers events and writes them in batches on a thread."""

    def __init__(
        self,
        usage: UsageStore,
        counters: CounterStore,
        threads: Threads,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.keeps_events = True
        """Whether the statistics are on; the counters of tools always are."""
        self._usage, self._counters, self._threads, self._now = usage, counters, threads, now
        self._calls: list[_Finished] = []
        self._savings: list[Saving] = []
        self._unkept: list[Event] = []
        self._uncounted: list[CallEvent] = []
        self._one_writer = threading.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def add(self, call: ToolCall, caller: Caller, meta: Meta, sizes: Sizes, tool_id: str | None) -> None:
        """Take a finished call; it is made an event of, and written, soon.

        tool_id: of a stored tool; empty for one that has only a name, None where no tool was found.
        """
        self._calls.append(_Finished(self._now(), call, caller, meta, sizes, tool_id))
        if self._timer is None:
            self._start_timer()

    def save(self, saving: Saving) -> None:
        """Take what a model was spared."""
        self._savings.append(saving)
        if self._timer is None:
            self._start_timer()

    async def flush(self) -> None:
        """Return when every event taken so far is kept.

        Raises what the store raises; the events are kept in memory then, and written with the next.
        """
        async with self._writing:
            calls, self._calls = self._calls, []
            savings, self._savings = self._savings, []
            if calls or savings or self._unkept or self._uncounted:
                await self._threads.run(self._write, calls, savings)

    async def close(self) -> None:
        """Write what is left, within a second."""
        if self._timer is not None:
            self._timer.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await self._flush_quietly()

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(DELAY, self._flush_soon)

    def _flush_soon(self) -> None:
        self._timer = None
        self._flushing = asyncio.get_running_loop().create_task(self._flush_quietly())

    async def _flush_quietly(self) -> None:
        try:
            await self.flush()
        except Exception as error:  # noqa: BLE001 - the root of a background task: a full disk must not stop calls
            waiting = max(len(self._unkept), len(self._uncounted))
            log.error("%d events could not be kept yet: %s: %s", waiting, type(error).__name__, error)

    def _write(self, calls: Sequence[_Finished], savings: Sequence[Saving]) -> None:
        events = [_event(finished) for finished in calls]
        if log.isEnabledFor(logging.INFO):
            for event, finished in zip(events, calls, strict=True):
                log.info("call", extra=_members(event, finished.call))
        with self._one_writer:  # a flush whose caller left may still be writing
            self._uncounted = [*self._uncounted, *events][-KEPT_AFTER_FAILURE:]
            if self.keeps_events:
                self._unkept = [*self._unkept, *events, *savings][-KEPT_AFTER_FAILURE:]
            self._usage.add(self._unkept)
            self._unkept = []
            self._counters.add(self._uncounted)
            self._uncounted = []


def _members(event: CallEvent, call: ToolCall) -> dict[str, Any]:
    known = {key: value for key, value in event._asdict().items() if key != "at"}  # a record has its own time
    inputs = {cut(key, LONGEST_INPUT): _shown(value) for key, value in call.args.items()}
    status = "SUCCESS" if event.ok else "FAILED"
    return {
        "span": event.tool,
        "status": status,
        "duration": event.duration_ms / 1000,
        "inputs": inputs,
    } | known


def _shown(value: Any) -> Any:
    """An argument as a log has it: short, and of collections only how many they hold."""
    if isinstance(value, str):
        return cut(value, LONGEST_INPUT)
    return f"[{len(value)}]" if isinstance(value, dict | list) else value


def _event(finished: _Finished) -> CallEvent:
    meta, tool_id = finished.meta, finished.tool_id
    return CallEvent(
        tool=meta.tool,
        tool_id=named_id("tool", meta.tool) if tool_id == "" else tool_id or "",
        version=meta.version,
        at=finished.at,
        ok=meta.reason is None,
        code=CODE_OF[meta.reason] if meta.reason else None,
        reason=meta.reason,
        duration_ms=meta.duration_ms,
        bytes_in=finished.sizes[0],
        bytes_out=finished.sizes[1],
        source=finished.call.source,
        session=finished.caller.session,
        call_id=finished.call.id,
    )
