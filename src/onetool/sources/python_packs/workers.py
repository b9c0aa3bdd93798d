"""The worker processes of all packs with libraries of their own."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from onetool.domain.calls.invocation import Invocation
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.tools.tool import Tool
from onetool.threads import Threads

from .description import PackDescription
from .environments import InstallFailed, PackEnvironments
from .pack_file import make_tool
from .script_metadata import ScriptMetadata
from .worker import PackWorker, RunSdk

IDLE_S = 300.0
"""Time after which a worker without calls ends, in seconds."""


class PackWorkers:
    """One worker for each pack in use, started by its first call and stopped when it is idle."""

    def __init__(
        self, environments: PackEnvironments, run_sdk: RunSdk, threads: Threads, *, idle_s: float = IDLE_S
    ) -> None:
        self.environments = environments
        self._run_sdk, self._threads, self._idle_s = run_sdk, threads, idle_s
        # A version of a file is kept while it has tools, or a worker: its timer refers to it.
        self._packs: WeakValueDictionary[tuple[str, str], _WorkerPack] = WeakValueDictionary()

    def make_tools(
        self,
        file: Path,
        content: bytes,
        digest: str,
        script: ScriptMetadata,
        description: PackDescription,
    ) -> list[Tool]:
        """Return the tools of a described pack file, which run in its worker."""
        key = str(file), digest
        pack = self._packs.get(key)
        if pack is None:
            load = {"load": str(file), "source": content, "digest": digest, "tools": description.tools}
            pack = self._packs[key] = _WorkerPack(self, description.pack, load, script)
        return [
            make_tool(description, entry, _WorkerFunction(pack, entry["name"]).run, "pack")
            for entry in description.tools
        ]

    async def start(self, pack: str, load: Mapping[str, Any], script: ScriptMetadata) -> PackWorker:
        """Start a worker. Install its libraries first, if they were deleted.

        Raises:
            ExecutionError: The libraries cannot be installed, or the process cannot be started.
        """
        try:
            libraries = await self.environments.ensure(script)
            worker = PackWorker(pack, load, libraries, self._run_sdk, self._threads)
            await worker.start()
        except (InstallFailed, OSError) as error:
            message = f"Cannot start the worker process of pack {pack!r}: {error}"
            raise ExecutionError(Reason.UPSTREAM, message) from error
        return worker

    @property
    def idle_s(self) -> float:
        """Time after which a worker without calls ends, in seconds."""
        return self._idle_s

    async def close(self) -> None:
        """Stop all workers and installations."""
        await asyncio.gather(*(pack.close() for pack in self._packs.values()))
        await self.environments.close()


class _WorkerPack:
    """The worker of one pack file, if it runs."""

    def __init__(
        self, workers: PackWorkers, pack: str, load: Mapping[str, Any], script: ScriptMetadata
    ) -> None:
        self._workers, self._pack, self._load, self._script = workers, pack, load, script
        self._lock = asyncio.Lock()
        self._worker: PackWorker | None = None
        self._replaced: set[PackWorker] = set()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()

    async def call(self, function: str, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Run a function in the worker. Start one if there is none."""
        worker = self._worker
        if worker is None or not worker.is_usable:
            worker = await self._usable_worker()
        self._stop_timer()
        try:
            return await worker.call(function, args, invocation)
        finally:
            self._start_timer()

    async def close(self) -> None:
        """Stop the worker."""
        self._stop_timer()
        workers = [*self._replaced, *([self._worker] if self._worker else ())]
        self._worker = None
        await asyncio.gather(*(worker.close() for worker in workers), *self._closing)

    async def _usable_worker(self) -> PackWorker:
        async with self._lock:
            if self._worker is None or not self._worker.is_usable:
                if self._worker is not None:
                    replaced = {*self._replaced, self._worker}
                    self._replaced = {worker for worker in replaced if not worker.has_ended}
                self._worker = await self._workers.start(self._pack, self._load, self._script)
            return self._worker

    def _stop_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()

    def _start_timer(self) -> None:
        self._stop_timer()
        self._idle_timer = asyncio.get_running_loop().call_later(self._workers.idle_s, self._close_if_idle)

    def _close_if_idle(self) -> None:
        worker = self._worker
        if worker is not None and worker.is_idle:
            self._worker = None
            task = asyncio.get_running_loop().create_task(worker.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


class _WorkerFunction:
    """A function of a pack, as the pipeline runs it."""

    def __init__(self, pack: _WorkerPack, name: str) -> None:
        self._pack, self._name = pack, name

    async def run(self, args: Mapping[str, Any], invocation: Invocation) -> Any:
        """Run the function in the worker of its pack."""
        return await self._pack.call(self._name, args, invocation)
