"""Approval prompts on the terminal, shown one at a time."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import click

from onetool.domain.text.json_text import pretty
from onetool.domain.text.strings import truncate_middle
from onetool.threads import Threads

from .command import mask

MAX_SHOWN_LENGTH = 2_000
"""Characters of the arguments; a longer text would scroll the question off the screen."""
YES = ("y", "yes")


class ApprovalPrompt:
    """Asks the user to approve calls of tools that are not read-only."""

    def __init__(self, threads: Threads, quiet: Callable[[], AbstractContextManager[None]]) -> None:
        self._threads, self._quiet = threads, quiet
        self._lock = asyncio.Lock()
        self._line: asyncio.Future[str] | None = None

    async def confirm(self, tool: str, args: Mapping[str, Any]) -> bool:
        """Return whether the user approved the call. Only `y` and `yes` do."""
        arguments = truncate_middle(pretty(dict(args)), MAX_SHOWN_LENGTH)
        question = mask(f"{tool} requires approval:\n{arguments}\nRun {tool}? [y/N]: ")
        async with self._lock:
            with self._quiet():
                click.echo(question, err=True, nl=False)
                try:
                    return (await self._read()).strip().lower() in YES
                except asyncio.CancelledError:
                    click.echo("\n(Cancelled.)", err=True)
                    raise

    async def _read(self) -> str:
        """Read the next line. A pending read of a cancelled question serves the next question."""
        if self._line is None or self._line.done():
            self._line = asyncio.ensure_future(self._threads.run(sys.stdin.readline))
        return await asyncio.shield(self._line)
