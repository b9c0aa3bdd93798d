"""Reloading the configuration, in this process and in the user's other processes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any

from onetool.ports import ReloadSignal
from onetool.settings.configuration import Configuration
from onetool.settings.restart import pending_restart
from onetool.settings.schema import Settings
from onetool.threads import Threads

from .state import State

log = logging.getLogger(__name__)


class Reloader:
    """Holds the current state and replaces it, one reload at a time."""

    def __init__(
        self,
        *,
        read: Callable[[], Configuration],
        build: Callable[[Configuration], Awaitable[State]],
        signal: ReloadSignal,
        threads: Threads,
    ) -> None:
        self._read, self._build, self._signal, self._threads = read, build, signal, threads
        self.state: State
        self._started: Settings
        self._lock = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None

    @property
    def is_pending(self) -> bool:
        """Whether another process has reloaded since this one last did. Costs one stat."""
        return self._signal.is_pending

    async def start(self, configuration: Configuration) -> None:
        """Build the first state."""
        self._signal.acknowledge(self._signal.current())
        self.state, self._started = await self._build(configuration), configuration.settings

    async def reload(self) -> Mapping[str, Any]:
        """Read the configuration again and signal the other processes, which follow before their next call.

        Returns the names of the settings that only a restart applies, with the values that stay active.

        Raises:
            SettingsError: A file is invalid. The previous state stays active.
        """
        async with self._lock:
            await self._threads.run(self._signal.notify)
            return await self._replace(self._signal.current())

    async def reload_if_changed(self) -> None:
        """Follow a reload of another process. If that fails here, the previous state stays active."""
        for _ in range(2):  # a reload in progress may have read the files before the last change
            if not self.is_pending:
                return
            if self._following is None or self._following.done():
                self._following = asyncio.get_running_loop().create_task(self._follow())
            await asyncio.shield(self._following)  # a caller that is cancelled does not stop it

    async def _follow(self) -> None:
        async with self._lock:
            if not self.is_pending:
                return
            signalled = self._signal.current()
            try:
                await self._replace(signalled)
            except Exception as error:  # noqa: BLE001 - root of a background task: the previous state stays
                self._signal.acknowledge(signalled)
                log.error("reload failed; the previous configuration stays active: %s", error)

    async def _replace(self, signalled: Hashable) -> Mapping[str, Any]:
        """Read and build everything. The signal is taken before, so a later one is not missed."""
        configuration = await self._threads.run(self._read)
        self.state = await self._build(configuration)
        self._signal.acknowledge(signalled)
        pending = pending_restart(self._started, configuration.settings)
        for name, active in pending.items():
            log.warning("setting %s changed but needs a restart; %r stays active", name, active)
        return pending
