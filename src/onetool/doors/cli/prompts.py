"""Questions to whoever sits at the terminal: one at a time, and nothing else is shown meanwhile."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import click

from onetool.domain.json_text import pretty
from onetool.domain.texts import cut
from onetool.threads import Threads

from .session import masked

LONGEST_SHOWN = 2_000
"""Characters of arguments: more would push the question off the screen."""
YES = ("y", "yes")


class Prompts:
    """Asks whether tools that change things may run."""

    def __init__(self, threads: Threads, quiet: Callable[[], AbstractContextManager[None]]) -> None:
        self._threads, self._quiet = threads, quiet
        self._turn = asyncio.Lock()
        self._line: asyncio.Future[str] | None = None

    async def confirm(self, tool: str, args: Mapping[str, Any]) -> bool:
        """Return whether the person said yes; anything else is a no."""
        shown = cut(pretty(dict(args)), LONGEST_SHOWN)
        question = masked(f"{tool} wants to change things:\n{shown}\nRun {tool}? [y/N]: ")
        async with self._turn:
            with self._quiet():
                click.echo(question, err=True, nl=False)
                try:
                    return (await self._read()).strip().lower() in YES
                except asyncio.CancelledError:
                    click.echo("\n(No longer needed.)", err=True)
                    raise

    async def _read(self) -> str:
        """The next line; a question that was given up leaves its reading to the next one."""
        if self._line is None or self._line.done():
            self._line = asyncio.ensure_future(self._threads.run(sys.stdin.readline))
        return await asyncio.shield(self._line)
