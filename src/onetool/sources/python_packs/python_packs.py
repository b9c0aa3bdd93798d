"""Tools from Python files: every public function of a file in a tools directory."""

import logging
from collections.abc import Callable, Hashable
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from onetool.domain.errors import DuplicateTool
from onetool.domain.registry import Registry
from onetool.files.stamp import stamp
from onetool.threads import Threads

from .description import Description
from .index import PackIndex
from .inspector import Inspector
from .pack_file import PackFile, execute, import_named, make_tools

log = logging.getLogger(__name__)


class PackDirectory:
    """A directory of the user's or the project's pack files; a bad file is logged and left out."""

    def __init__(
        self, path: Path, read: Callable[[Path], bytes | None], *, index: PackIndex, threads: Threads
    ) -> None:
        self.name = f"packs in {path}"
        self._path, self._read, self._index, self._threads = path, read, index, threads
        self._watched = str(path)

    def generation(self) -> Hashable:
        """Moves when a file is added, removed or replaced; an edit in place waits for a reload."""
        return stamp(self._watched)

    async def read(self) -> Registry:
        """Look at every file, in the order of their names."""
        registry = Registry()
        inspector = Inspector()
        try:
            for file, content in await self._threads.run(self._contents):
                try:
                    await self._add(registry, inspector, file, content)
                except Exception as error:  # noqa: BLE001 - one bad file never harms the others
                    _leave_out(registry, file, f"{type(error).__name__}: {error}")
        finally:
            await inspector.close()
        await self._threads.run(self._index.save)
        return registry

    def _contents(self) -> list[tuple[Path, bytes]]:
        found = self._path.glob("*.py")
        files = sorted(file for file in found if not file.name.startswith("_") and file.is_file())
        read = ((file, self._read(file)) for file in files)
        return [(file, content) for file, content in read if content is not None]

    async def _add(self, registry: Registry, inspector: Inspector, file: Path, content: bytes) -> None:
        digest = sha256(content).hexdigest()
        answer = self._index.get(str(file), digest)
        if answer is None:
            answer = await inspector.inspect(file, content)
            self._index.put(str(file), digest, answer)
        if "error" in answer:
            _leave_out(registry, file, answer["error"])
            return
        description = Description(**answer["description"])
        for refused in description.refused:
            log.error("in pack file %s a function is left out: %s", file, refused)
        pack = PackFile(execute(file, content, digest))
        for tool in make_tools(pack, description, self._threads, "pack"):
            try:
                registry.register(tool)
            except DuplicateTool as error:
                log.error("in pack file %s: %s", file, error)


def _leave_out(registry: Registry, file: Path, why: str) -> None:
    log.error("pack file %r is left out: %s", str(file), why)
    registry.left_out[file.stem] = f"{file.name} is left out: {why}"


def describe_shipped(package: str, path: Path, *, index: PackIndex, threads: Threads) -> Registry:
    """Return the tools of the packs that come with OneTool: modules of one package, imported when needed."""
    registry = Registry()
    for file in sorted(path.glob("[!_]*.py")):
        pack = PackFile(import_named(f"{package}.{file.stem}"))
        description = Description(**_described(pack, file, index)["description"])
        for tool in make_tools(pack, description, threads, "builtin"):
            registry.register(tool)
    index.save()
    return registry


def _described(pack: PackFile, file: Path, index: PackIndex) -> dict[str, Any]:
    digest = sha256(file.read_bytes()).hexdigest()
    answer = index.get(str(file), digest)
    if answer is None:
        from .describe import describe_module

        answer = {"description": asdict(describe_module(pack.module(), file.stem))}
        index.put(str(file), digest, answer)
    return answer
