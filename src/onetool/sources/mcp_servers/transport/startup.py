"""The start of a server as it is observed: its steps, its last output, and signs that its program works."""

import time
from collections import deque
from collections.abc import Callable

from onetool.domain.servers.startup import StartReport, StartStep
from onetool.domain.text.strings import truncate_middle

from .process_activity import process_activity

MAX_LINES, MAX_SHOWN_LINES = 100, 5
MAX_SHOWN_LENGTH = 600
NOTICE = "npm notice"
"""Starts the lines in which npm announces its own updates, after the error of the program."""


class Startup:
    """Collects what happens during one start."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._begin = clock, clock()
        self._steps: list[StartStep] = []
        self._output: deque[str] = deque(maxlen=MAX_LINES)
        self._lines = 0
        self._pid: int | None = None

    @property
    def seconds(self) -> float:
        """Time since the start began."""
        return self._clock() - self._begin

    def add_step(self, name: str, detail: str = "") -> None:
        """Record that a step succeeded."""
        self._steps.append(StartStep(name, detail, self.seconds))

    def add_process(self, pid: int) -> None:
        """Observe a process and its children."""
        self._pid = pid

    def add_output(self, line: str) -> None:
        """Record a line that the program wrote to stderr."""
        self._output.append(line)
        self._lines += 1

    def report(self) -> StartReport:
        """Return what happened so far."""
        return StartReport(steps=tuple(self._steps), output=tuple(self._output))

    def activity(self) -> int:
        """Return a number that grows while the program writes output, computes or transfers data.

        Call it on a thread: it reads files.
        """
        return self._lines + (process_activity(self._pid) if self._pid is not None else 0)

    def explain(self, reason: str) -> str:
        """Return why the start failed, followed by the last output of the program."""
        output = [line for line in self._output if not line.startswith(NOTICE)]
        if not output:
            return reason
        lines = " | ".join(output[-MAX_SHOWN_LINES:])
        return f"{reason} (last output: {truncate_middle(lines, MAX_SHOWN_LENGTH)})"
