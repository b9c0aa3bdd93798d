"""Approval prompts on the terminal, shown one at a time."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

import click

from onetool.domain.calls.approval_request import ApprovalRequest
from onetool.threads import Threads

from .command import mask

YES = ("y", "yes")
SHOW = ("s", "show")


class ApprovalPrompt:
    """Asks the user to approve calls of tools that are not read-only."""

    def __init__(self, threads: Threads, quiet: Callable[[], AbstractContextManager[None]]) -> None:
        self._threads, self._quiet = threads, quiet
        self._lock = asyncio.Lock()
        self._line: asyncio.Future[str] | None = None

    async def confirm(self, request: ApprovalRequest) -> bool:
        """Return whether the user approved the call. Only `y` and `yes` do; `s` shows hidden parts first."""
        async with self._lock:
            with self._quiet():
                try:
                    return await self._ask(request)
                except asyncio.CancelledError:
                    click.echo("\n(Cancelled.)", err=True)
                    raise

    async def _ask(self, request: ApprovalRequest) -> bool:
        has_more = request.hides_something
        text = request.text()
        while True:
            choices = "y/N/s to show everything" if has_more else "y/N"
            _discard_typed_input()
            click.echo(mask(f"{text}\nRun {request.tool}? [{choices}]: "), err=True, nl=False)
            reply = (await self._read()).strip().lower()
            if not (has_more and reply in SHOW):
                return reply in YES
            text, has_more = await self._threads.run(request.complete_text), False

    async def _read(self) -> str:
        """Read the next line. A pending read of a cancelled question serves the next question."""
        if self._line is None or self._line.done():
            self._line = asyncio.ensure_future(self._threads.run(sys.stdin.readline))
        return await asyncio.shield(self._line)


def _discard_typed_input() -> None:
    """Drop what was typed before the question was shown. It is not an answer to this question."""
    if not sys.stdin.isatty():
        return
    if sys.platform == "win32":  # pragma: no cover - the same with other system calls
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)
