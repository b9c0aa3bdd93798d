"""A runtime in memory that ignores the user's configuration and stores nothing."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from onetool.bootstrap import open_runtime
from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.secrets.secret import Secret
from onetool.domain.tools.registry import Registry
from onetool.ports import ActivityStore, ServerSource, ToolSource
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import Configuration, ConfiguredTool
from onetool.settings.documents import parse_settings
from onetool.settings.paths import Paths
from onetool.settings.schema import PromptSettings, Settings
from onetool.settings.secrets import Secrets
from onetool.sources.python_packs.description import PackDescription
from onetool.sources.python_packs.function_specs import describe_function, describe_module
from onetool.sources.python_packs.pack_file import PackFile, execute, make_tools
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.threads import Threads


@dataclass(frozen=True, slots=True)
class MemoryClient:
    """A client of an in-memory runtime. `caller` determines its permissions."""

    runtime: Runtime
    caller: Caller = field(default_factory=lambda: Caller(interface="python", default_effect=Effect.ALLOW))

    async def call(self, name: str, /, **args: Any) -> ToolResult:
        """Call a tool with keyword arguments."""
        return await self.runtime.call_tool(name, args, self.caller, "python")

    async def run(self, code: str) -> Any:
        """Run code that calls tools. The result has `ok`, `data`, `printed` and `error`."""
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
    activity: ActivityStore | None = None,
    cwd: Path | None = None,
    caller: Caller | None = None,
) -> AsyncIterator[MemoryClient]:
    """Start a runtime with the built-in packs and the given ones.

    packs: functions by pack name, such as `{"demo": [function]}`.
    files: pack files.
    settings, prompts: the contents of `onetool.yaml` and `prompts.yaml`.
    secrets: secret values by name.
    sources, servers: further tool sources and MCP servers.
    activity: the store of the records of calls.
    cwd: the working directory, which is the only root of `fs`. Default: a temporary directory.
    caller: the caller of all calls. Default: one that approves every call.
    """
    with TemporaryDirectory(prefix="onetool-") as folder:
        configuration = _configuration(Path(folder), cwd, settings or {}, secrets or {}, prompts or {})
        threads = Threads()
        pack_sources = [
            function_source(pack, functions, threads) for pack, functions in (packs or {}).items()
        ]
        pack_sources += [file_source(file, threads) for file in files]
        lifespan = open_runtime(
            lambda: configuration,
            sources=[*pack_sources, *sources],
            servers=servers,
            activity=activity,
            threads=threads,
            in_memory=True,
        )
        async with lifespan as runtime:
            yield MemoryClient(runtime, caller) if caller else MemoryClient(runtime)


def function_source(
    pack: str, functions: Sequence[Callable[..., Any]], threads: Threads | None = None
) -> ToolSource:
    """Return a source of these functions as tools, as a pack file would define them."""
    module = ModuleType(pack)
    vars(module).update({function.__name__: function for function in functions})
    descriptions = [describe_function(function.__name__, function) for function in functions]
    registry = Registry()
    file, description = PackFile(lambda: module), PackDescription(pack, descriptions, [])
    for tool in make_tools(file, description, threads or Threads(), "pack"):
        registry.add(tool)
    return SnapshotSource(StaticReader(f"pack {pack}", registry))


def file_source(file: Path, threads: Threads | None = None) -> ToolSource:
    """Return a source of the tools in a pack file. Imports the file in this process."""
    pack = PackFile(execute(file, file.read_bytes(), "tested"), path=file)
    registry = Registry()
    for tool in make_tools(pack, describe_module(pack.module(), file.stem), threads or Threads(), "pack"):
        registry.add(tool)
    return SnapshotSource(StaticReader(f"pack file {file}", registry))


def _configuration(
    folder: Path,
    cwd: Path | None,
    settings: Mapping[str, Any],
    secrets: Mapping[str, str],
    prompts: Mapping[str, Any],
) -> Configuration:
    home = cwd or folder
    paths = Paths(config=folder / "config", data=folder / "data", state=folder / "state", cwd=home)
    return Configuration(
        paths=paths,
        settings=parse_settings(Settings, settings, lambda path: "settings"),
        prompts=parse_settings(PromptSettings, prompts, lambda path: "prompts"),
        secrets=Secrets({name: Secret(name=name, value=value) for name, value in secrets.items()}),
        configured_tools=tuple(ConfiguredTool("settings", value) for value in settings.get("tools", ())),
        roots=(home.resolve(),),
    )
