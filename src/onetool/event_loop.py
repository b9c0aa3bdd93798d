"""Watches that the event loop is not blocked, and says what blocks it."""

import asyncio
import logging
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import NamedTuple

log = logging.getLogger(__name__)
TICK_S = 1.0
"""Time between two signs of life of the event loop, in seconds."""
MAX_MISSED = 10
"""Ticks without a sign of life after which the event loop counts as blocked. Fewer could be a busy machine.
Ticks are counted rather than seconds: a process that was stopped as a whole misses only one."""
OWN_CODE = (str(Path(__file__).parent), str(Path(asyncio.__file__).parents[1]), "<frozen")
"""Where the file names of code begin that is never named as what blocks the loop."""


class LoopBlock(NamedTuple):
    """A time in which the event loop ran no other task."""

    where: str
    """The code that the event loop was in."""
    seconds: float
    ended_at: float
    """On the monotonic clock."""


class LoopWatchdog:
    """Notices on its own thread that the event loop is blocked. Thread-safe."""

    def __init__(self, *, tick_s: float = TICK_S) -> None:
        self._tick_s = tick_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._is_closed = threading.Event()
        self._awaits_sign, self._missed, self._asked_at = False, 0, 0.0
        self.blocked_by = ""
        """The code that blocks the event loop now; empty while the loop responds."""
        self.last_block: LoopBlock | None = None
        """The last time that the event loop was blocked and responded again."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch the event loop of the current thread. Does nothing if a loop is watched already."""
        if self._loop is not None:
            return
        self._loop, self._loop_thread = loop, threading.get_ident()
        threading.Thread(target=self._watch, args=(loop,), name="onetool-watchdog", daemon=True).start()

    def close(self) -> None:
        """Stop watching."""
        self._is_closed.set()

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._is_closed.wait(self._tick_s):
            if self._awaits_sign:
                self._missed += 1
                if self._missed == MAX_MISSED:
                    self._report()
                continue
            self._awaits_sign, self._asked_at = True, time.monotonic()
            try:
                loop.call_soon_threadsafe(self._respond)
            except RuntimeError:  # the loop is closed
                return

    def _report(self) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        stack = traceback.extract_stack(frame)
        self.blocked_by = _name(stack)
        log.error(
            "the event loop is blocked by %s; until it returns, nothing else is answered",
            self.blocked_by,
            extra={"stack": "".join(traceback.format_list(stack))},
        )

    def _respond(self) -> None:
        """Run on the event loop."""
        if where := self.blocked_by:
            now = time.monotonic()
            self.last_block = LoopBlock(where, now - self._asked_at, now)
            self.blocked_by = ""
            log.warning("the event loop responds again; it was blocked by %s", where)
        self._missed = 0
        self._awaits_sign = False


def _name(stack: traceback.StackSummary) -> str:
    """Return the innermost line outside OneTool and the standard library, or else the innermost of all."""
    foreign = [entry for entry in stack if not entry.filename.startswith(OWN_CODE)]
    entry = (foreign or list(stack))[-1]
    return f"{entry.name}() ({entry.filename}, line {entry.lineno})"
