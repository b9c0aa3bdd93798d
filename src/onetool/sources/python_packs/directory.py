"""Packs in directories: every public function of a Python file is a tool."""

import logging
from collections.abc import Callable, Hashable
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from onetool.domain.errors import DuplicateTool, SettingsError
from onetool.domain.tools.registry import Registry
from onetool.files.fingerprint import fingerprint
from onetool.threads import Threads

from .description import PackDescription
from .index import PackIndex
from .inspector import PackInspector
from .pack_file import PackFile, execute, import_named, make_tools

log = logging.getLogger(__name__)


class PackDirectoryReader:
    """Reads a directory of pack files. Invalid files are logged and skipped."""

    def __init__(
        self, path: Path, read: Callable[[Path], bytes | None], *, index: PackIndex, threads: Threads
    ) -> None:
        self.name = f"packs in {path}"
        self._path, self._read, self._index, self._threads = path, read, index, threads
        self._watched = str(path)

    def generation(self) -> Hashable:
        """Return a value that changes when a file is added, removed or replaced.

        An edit in place takes effect at the next reload.
        """
        return fingerprint(self._watched)

    async def read(self) -> Registry:
        """Read all files in the order of their names."""
        registry = Registry()
        inspector = PackInspector()
        try:
            for file in await self._threads.run(self._files):
                try:
                    content = await self._threads.run(self._read, file)
                    if content is not None:
                        await self._add(registry, inspector, file, content)
                except SettingsError as error:
                    _skip(registry, file, str(error))
                except Exception as error:  # noqa: BLE001 - an invalid file must not affect the others
                    _skip(registry, file, f"{type(error).__name__}: {error}")
        finally:
            await inspector.close()
        await self._threads.run(self._index.save)
        return registry

    def _files(self) -> list[Path]:
        candidates = self._path.glob("*.py")
        return sorted(file for file in candidates if not file.name.startswith("_") and file.is_file())

    async def _add(self, registry: Registry, inspector: PackInspector, file: Path, content: bytes) -> None:
        digest = sha256(content).hexdigest()
        result = self._index.get(str(file), digest)
        if result is None:
            result = await inspector.inspect(file, content)
            self._index.put(str(file), digest, result)
        if "error" in result:
            _skip(registry, file, result["error"])
            return
        description = PackDescription(**result["description"])
        for reason in description.invalid:
            _skip_tool(registry, f"skipped function in pack file {file}: {reason}")
        pack = PackFile(execute(file, content, digest))
        for tool in make_tools(pack, description, self._threads, "pack"):
            try:
                registry.register(tool)
            except DuplicateTool as error:
                _skip_tool(registry, f"skipped duplicate tool in pack file {file}: {error}")


def _skip(registry: Registry, file: Path, reason: str) -> None:
    log.error("skipped pack file %r: %s", str(file), reason)
    registry.skipped[file.stem] = f"{file.name} was skipped: {reason}"


def _skip_tool(registry: Registry, message: str) -> None:
    log.error("%s", message)
    registry.skipped_tools.append(message)


def describe_shipped(package: str, path: Path, *, index: PackIndex, threads: Threads) -> Registry:
    """Return the tools of the packs that ship with OneTool. Modules are imported when needed."""
    registry = Registry()
    for file in sorted(path.glob("[!_]*.py")):
        pack = PackFile(import_named(f"{package}.{file.stem}"))
        description = PackDescription(**_describe(pack, file, index)["description"])
        for tool in make_tools(pack, description, threads, "builtin"):
            registry.register(tool)
    index.save()
    return registry


def _describe(pack: PackFile, file: Path, index: PackIndex) -> dict[str, Any]:
    digest = sha256(file.read_bytes()).hexdigest()
    result = index.get(str(file), digest)
    if result is None:
        from .function_specs import describe_module

        result = {"description": asdict(describe_module(pack.module(), file.stem))}
        index.put(str(file), digest, result)
    return result
