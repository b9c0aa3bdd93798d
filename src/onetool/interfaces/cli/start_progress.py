"""Progress of servers that start: what they do, on a terminal, until they have started."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from onetool.runtime.runtime import Runtime

INTERVAL_S = 0.2


class StartProgress:
    """Shows servers that are starting, with the last line that each wrote to stderr, on a terminal."""

    def __init__(self) -> None:
        self._live: Any = None
        self._spinner: Any = None
        self._is_paused = False

    @asynccontextmanager
    async def show(self, runtime: Runtime) -> AsyncIterator[None]:
        """Show the progress while the block runs."""
        if not sys.stderr.isatty():
            yield
            return
        task = asyncio.create_task(self._run(runtime))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def pause(self) -> None:
        """Remove the progress from the terminal: it would overwrite the line in which others write."""
        self._is_paused = True
        self._hide()

    def resume(self) -> None:
        """Show the progress again, at the start of a line."""
        self._is_paused = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the progress while the block runs."""
        was_paused = self._is_paused
        self.pause()
        try:
            yield
        finally:
            self._is_paused = was_paused

    async def _run(self, runtime: Runtime) -> None:
        try:
            while True:
                await asyncio.sleep(INTERVAL_S)
                self._update(runtime)
        finally:
            self._hide()

    def _hide(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _update(self, runtime: Runtime) -> None:
        servers = runtime.state.servers
        starting = [name for name, server in servers.items() if server.state == "starting"]
        if self._is_paused or not starting:
            self._hide()
            return
        text = f"Starting {', '.join(starting)} ... (Ctrl-C stops)"
        for name in starting:
            if output := servers[name].last_start().output:
                text += f"  {name}: {output[-1]}"
        self._show(runtime.state.credentials.redact(text))

    def _show(self, text: str) -> None:
        """Show a text in one line of the terminal, cut at its width."""
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        if self._live is None:
            # Without a thread of its own, which could draw once more after the end.
            self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
            self._live.start()
            self._spinner = Spinner("dots")
        frame = self._spinner.render(self._live.console.get_time())
        self._live.update(Text(f"{frame} {text}", no_wrap=True, overflow="ellipsis"), refresh=True)
