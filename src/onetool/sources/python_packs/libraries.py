"""Packs with libraries of their own: installs the libraries, then describes the pack with them."""

import asyncio
import logging
from pathlib import Path
from typing import Any

from .environments import InstallFailed
from .index import RETRY_AFTER_S
from .inspector import PackInspector
from .script_metadata import ScriptMetadata
from .workers import PackWorkers

log = logging.getLogger(__name__)

IMPORT_TIMEOUT_S = 60.0
"""Time limit for importing one file with its libraries, in seconds. Some take long at their first import."""
SHORT_WAIT_S = 2.0
"""Time that a server waits for an import, in seconds: most end by then, and their pack is ready at once."""
MAX_RETRY_S = 3600.0
"""Longest time between two attempts to load a pack, in seconds."""


class PackLibraries:
    """Describes packs with libraries of their own, and runs them in workers."""

    def __init__(self, workers: PackWorkers, *, waits: bool) -> None:
        """waits: whether to wait for installations and imports, because this process may end soon.

        Otherwise they run in the background, and the pack appears when they have ended.
        """
        self.workers, self._waits = workers, waits
        self._inspections: dict[tuple[Path, bytes], asyncio.Task[dict[str, Any]]] = {}
        self._retries: dict[tuple[str, str], asyncio.TimerHandle] = {}
        self._delays: dict[tuple[str, str], float] = {}
        self.changes = 0
        """Changes when a pack is ready that was not, or when one that failed must be tried again."""

    async def inspect(self, file: Path, content: bytes, script: ScriptMetadata) -> dict[str, Any]:
        """Return `{"description": ...}`, `{"error": reason}` or `{"installing": what}`."""
        key = file, content
        is_installed = self.workers.environments.path(script).is_dir()
        inspection = self._inspections.get(key)
        is_new = inspection is None
        if inspection is None:
            if script.dependencies and not is_installed:
                log.warning("installing the libraries of pack file %r: %s", str(file), script.libraries)
            inspection = asyncio.create_task(self._inspect(file, content, script))
            self._inspections[key] = inspection
        if self._waits:
            await asyncio.wait([inspection])
        elif is_new and is_installed:
            await asyncio.wait([inspection], timeout=SHORT_WAIT_S)
        if not inspection.done():
            inspection.add_done_callback(self._count_change)
            what = f"installing its libraries: {script.libraries}" if not is_installed else "importing it"
            return {"installing": what}
        self._inspections.pop(key, None)
        return inspection.result()

    def retry_later(self, file: str, digest: str) -> None:
        """Let a pack that failed be read again later, each time after a longer time."""
        key = file, digest
        if self._waits or key in self._retries:
            return
        # a second later than the index forgets the failure
        delay = self._delays.get(key, RETRY_AFTER_S)
        self._delays[key] = min(MAX_RETRY_S, 2 * delay)
        self._retries[key] = asyncio.get_running_loop().call_later(delay + 1, self._retry, key)

    async def close(self) -> None:
        """Stop installations and workers."""
        for retry in self._retries.values():
            retry.cancel()
        for inspection in self._inspections.values():
            inspection.cancel()
        await asyncio.gather(*self._inspections.values(), return_exceptions=True)
        await self.workers.close()

    async def _inspect(self, file: Path, content: bytes, script: ScriptMetadata) -> dict[str, Any]:
        try:
            libraries = await self.workers.environments.ensure(script)
        except InstallFailed as error:
            return {"error": str(error)}
        inspector = PackInspector(IMPORT_TIMEOUT_S, libraries)
        try:
            return await inspector.inspect(file, content)
        finally:
            await inspector.close()

    def _count_change(self, inspection: "asyncio.Task[dict[str, Any]]") -> None:
        self.changes += 1

    def _retry(self, key: tuple[str, str]) -> None:
        del self._retries[key]
        self.changes += 1
