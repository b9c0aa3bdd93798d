"""A OneTool in memory: it reads no settings of the user, and keeps nothing."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from onetool.bootstrap import open_runtime
from onetool.domain.call import ToolResult
from onetool.domain.caller import Caller, grant
from onetool.domain.registry import Registry
from onetool.ports import ServerSource, ToolSource, UsageStore
from onetool.runtime import Runtime
from onetool.settings.configuration import Configuration, Definition, checked
from onetool.settings.places import Places
from onetool.settings.schema import Prompts, Settings
from onetool.settings.secrets import Secret, Secrets
from onetool.sources.python_packs.describe import describe_function, describe_module
from onetool.sources.python_packs.description import Description
from onetool.sources.python_packs.pack_file import PackFile, execute, make_tools
from onetool.sources.snapshot import Fixed, Snapshot
from onetool.threads import Threads


@dataclass(frozen=True, slots=True)
class MemoryTools:
    """A runtime to call tools on; `caller` says with which rights."""

    runtime: Runtime
    caller: Caller = field(default_factory=lambda: Caller(door="python", approve=grant))

    async def call(self, name: str, /, **args: Any) -> ToolResult:
        """Call a tool by its name; the arguments are keywords."""
        return await self.runtime.call(self.runtime.new_call(name, args, "python"), self.caller)

    async def run(self, code: str) -> Any:
        """Run code that calls tools; the result has `ok`, `data`, `printed` and `error`."""
        return await self.runtime.run(code, self.caller)


@asynccontextmanager
async def memory_runtime(
    packs: Mapping[str, Sequence[Callable[..., Any]]] | None = None,
    *,
    files: Sequence[Path] = (),
    settings: Mapping[str, Any] | None = None,
    secrets: Mapping[str, str] | None = None,
    prompts: Mapping[str, Any] | None = None,
    sources: Sequence[ToolSource] = (),
    servers: Sequence[ServerSource] = (),
    usage: UsageStore | None = None,
    cwd: Path | None = None,
    caller: Caller | None = None,
) -> AsyncIterator[MemoryTools]:
    """Start a OneTool with the shipped packs and these: `{"demo": [function, ...]}`.

    files: pack files. settings, prompts: what `onetool.yaml` and `prompts.yaml` would hold.
    secrets: names and values. servers: other MCP servers. cwd: where `fs` may look.
    """
    with TemporaryDirectory(prefix="onetool-") as folder:
        configuration = _configuration(Path(folder), cwd, settings or {}, secrets or {}, prompts or {})
        threads = Threads()
        own = [function_source(pack, given, threads) for pack, given in (packs or {}).items()]
        own += [file_source(file, threads) for file in files]
        opened = open_runtime(
            lambda: configuration,
            sources=[*own, *sources],
            servers=servers,
            usage=usage,
            threads=threads,
            in_memory=True,
        )
        async with opened as runtime:
            yield MemoryTools(runtime, caller) if caller else MemoryTools(runtime)


def function_source(
    pack: str, functions: Sequence[Callable[..., Any]], threads: Threads | None = None
) -> ToolSource:
    """A source whose tools are these functions, as a pack file would offer them."""
    module = ModuleType(pack)
    vars(module).update({function.__name__: function for function in functions})
    described = [describe_function(function.__name__, function) for function in functions]
    registry = Registry()
    file, description = PackFile(lambda: module), Description(pack, described, [])
    for tool in make_tools(file, description, threads or Threads(), "pack"):
        registry.register(tool)
    return Snapshot(Fixed(f"pack {pack}", registry))


def file_source(file: Path, threads: Threads | None = None) -> ToolSource:
    """A source whose tools are those of a pack file, imported right here."""
    pack = PackFile(execute(file, file.read_bytes(), "tested"))
    registry = Registry()
    for tool in make_tools(pack, describe_module(pack.module(), file.stem), threads or Threads(), "pack"):
        registry.register(tool)
    return Snapshot(Fixed(f"pack file {file}", registry))


def _configuration(
    folder: Path,
    cwd: Path | None,
    settings: Mapping[str, Any],
    secrets: Mapping[str, str],
    prompts: Mapping[str, Any],
) -> Configuration:
    home = cwd or folder
    places = Places(config=folder / "config", data=folder / "data", state=folder / "state", cwd=home)
    return Configuration(
        places=places,
        settings=checked(Settings, settings, lambda path: "settings"),
        prompts=checked(Prompts, prompts, lambda path: "prompts"),
        secrets=Secrets({name: Secret(name=name, value=value) for name, value in secrets.items()}),
        definitions=tuple(Definition("settings", value) for value in settings.get("tools", ())),
        roots=(home.resolve(),),
    )
