"""Packs in directories: every public function of a Python file is a tool."""

import logging
from collections.abc import Callable, Hashable
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from onetool.domain.errors import DuplicateTool, SettingsError
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import Tool
from onetool.files.fingerprint import fingerprint
from onetool.threads import Threads

from .description import PackDescription
from .index import PackIndex
from .inspector import PackInspector
from .libraries import PackLibraries
from .pack_file import PackFile, execute, import_named, make_tools
from .script_metadata import ScriptMetadata, read_metadata

log = logging.getLogger(__name__)

NO_LIBRARIES = (
    "packs with libraries of their own are not supported in hosted mode; install the libraries beside "
    "OneTool, and remove the block `# /// script`"
)


class PackDirectoryReader:
    """Reads a directory of pack files. Invalid files are logged and skipped."""

    def __init__(
        self,
        path: Path,
        read: Callable[[Path], bytes | None],
        *,
        index: PackIndex,
        threads: Threads,
        libraries: PackLibraries | None = None,
        reports_skipped: bool = True,
    ) -> None:
        """Create a reader.

        libraries: describes and runs packs with libraries of their own; None: there can be none.
        reports_skipped: whether an invalid file is an error in the log. Otherwise only the log file has it: a
            command that lists packs or uses the file shows the reason itself, and no other is disturbed.
        """
        self.name = f"packs in {path}"
        self._path, self._read, self._index, self._threads = path, read, index, threads
        self._watched, self._libraries = str(path), libraries
        self._level = logging.ERROR if reports_skipped else logging.INFO

    def generation(self) -> Hashable:
        """Return a value that changes when a file is added, removed or replaced, or its libraries are ready.

        An edit in place takes effect at the next reload.
        """
        return fingerprint(self._watched), self._libraries.changes if self._libraries else 0

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
                    self._skip(registry, file, str(error))
                except Exception as error:  # noqa: BLE001 - an invalid file must not affect the others
                    self._skip(registry, file, f"{type(error).__name__}: {error}")
        finally:
            await inspector.close()
        await self._threads.run(self._index.save)
        return registry

    def _files(self) -> list[Path]:
        candidates = self._path.glob("*.py")
        return sorted(file for file in candidates if not file.name.startswith("_") and file.is_file())

    async def _add(self, registry: Registry, inspector: PackInspector, file: Path, content: bytes) -> None:
        digest, script = sha256(content).hexdigest(), read_metadata(content)
        result = self._index.get(str(file), digest)
        if result is None:
            result = await self._inspect(inspector, file, content, script)
            if "installing" not in result:
                self._index.put(str(file), digest, result)
        if "installing" in result:
            registry.skipped[file.stem] = f"{file.name} is not ready: {result['installing']}"
        elif "error" in result:
            self._skip(registry, file, result["error"])
            if script is not None:
                self._own_libraries().retry_later(str(file), digest)
        else:
            description = PackDescription(**result["description"])
            _register(registry, file, description, self._tools(file, content, digest, script, description))

    async def _inspect(
        self, inspector: PackInspector, file: Path, content: bytes, script: ScriptMetadata | None
    ) -> dict[str, Any]:
        if script is None:
            return await inspector.inspect(file, content)
        return await self._own_libraries().inspect(file, content, script)

    def _tools(
        self,
        file: Path,
        content: bytes,
        digest: str,
        script: ScriptMetadata | None,
        description: PackDescription,
    ) -> list[Tool]:
        if script is None:
            pack = PackFile(execute(file, content, digest), file)
            return make_tools(pack, description, self._threads, "pack")
        return self._own_libraries().workers.make_tools(file, content, digest, script, description)

    def _own_libraries(self) -> PackLibraries:
        if self._libraries is None:
            raise SettingsError(NO_LIBRARIES)
        return self._libraries

    def _skip(self, registry: Registry, file: Path, reason: str) -> None:
        if self._index.is_new_reason(str(file), reason):  # not again at each reload
            log.log(self._level, "skipped pack file %r: %s", str(file), reason)
        registry.skipped[file.stem] = f"{file.name} was skipped: {reason}"


def _register(registry: Registry, file: Path, description: PackDescription, tools: list[Tool]) -> None:
    for reason in description.invalid:
        _skip_tool(registry, f"skipped function in pack file {file}: {reason}")
    for tool in tools:
        try:
            registry.add(tool)
        except DuplicateTool as error:
            _skip_tool(registry, f"skipped duplicate tool in pack file {file}: {error}")


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
            registry.add(tool)
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
