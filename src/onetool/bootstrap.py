"""Settings -> Runtime: the only file that knows every adapter."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from uuid_utils import uuid7

from onetool.catalog.catalog import Catalog
from onetool.domain.registry import Registry
from onetool.domain.sandbox import SandboxLimits
from onetool.logs import JsonLog, SharedFile, open_logs
from onetool.network.client import HttpClients
from onetool.pipeline.approval import Approval
from onetool.pipeline.code import CodeRuns
from onetool.pipeline.pipeline import Limits, Pipeline
from onetool.pipeline.record import Recorder
from onetool.ports import CounterStore, ResultStore, ServerSource, ToolSource, UsageStore
from onetool.runtime import Runtime, State
from onetool.sandbox.monty import MontySandbox
from onetool.settings.configuration import Configuration, load_definitions, settings_files
from onetool.sources.config_tools import ConfigTools
from onetool.sources.python_packs.index import PackIndex
from onetool.sources.python_packs.python_packs import PackDirectory, describe_shipped
from onetool.sources.snapshot import Fixed, Reader, Snapshot
from onetool.storage.flat_file import FlatFileResults
from onetool.storage.flat_file_usage import FlatFileUsage
from onetool.storage.memory import MemoryCounters, MemoryResults, MemoryUsage
from onetool.storage.sqlite_counters import SqliteCounters
from onetool.threads import Threads

SHIPPED = "onetool.packs"
SERVICES = "ot"
"""The pack whose functions are services of OneTool itself: what `internal` handlers name."""


@asynccontextmanager
async def open_runtime(
    read: Callable[[], Configuration],
    *,
    sources: Sequence[ToolSource] = (),
    servers: Sequence[ServerSource] = (),
    usage: UsageStore | None = None,
    threads: Threads | None = None,
    in_memory: bool = False,
    log_level: str | None = None,
) -> AsyncIterator[Runtime]:
    """Start a OneTool in the event loop that will serve, and end it in order.

    Raises SettingsError when a file cannot be used.
    """
    threads = threads or Threads()
    configuration = await threads.run(read)
    log, places = configuration.settings.log, configuration.places
    file = SharedFile(places.log_file, log.max_bytes) if log.file and not in_memory else None
    with open_logs(stderr=log_level or log.level, file=file) as logs, ExitStack() as closing:
        wiring = _Wiring(configuration, threads, logs, closing, in_memory=in_memory, usage=usage)
        wiring.sources, wiring.servers = sources, servers
        runtime = Runtime(
            read=read,
            build=wiring.build,
            recorder=wiring.recorder,
            usage=wiring.usage,
            threads=threads,
            reload_file=None if in_memory else places.reload_file,
            new_id=lambda: str(uuid7()),
        )
        await runtime.start(configuration)
        try:
            yield runtime
        finally:
            await wiring.recorder.close()
            threads.close()


class _Wiring:
    """The parts that last as long as the process, and how a state is made of them and of settings."""

    def __init__(
        self,
        configuration: Configuration,
        threads: Threads,
        logs: JsonLog,
        closing: ExitStack,
        *,
        in_memory: bool,
        usage: UsageStore | None,
    ) -> None:
        self.sources: Sequence[ToolSource] = ()
        self.servers: Sequence[ServerSource] = ()
        self._threads, self._logs, self._closing, self._in_memory = threads, logs, closing, in_memory
        places, settings = configuration.places, configuration.settings
        counters: CounterStore
        self._results: ResultStore
        if in_memory:
            self.usage, counters = usage or MemoryUsage(), MemoryCounters()
            self._results, self._index = MemoryResults(settings.output.ttl_s), PackIndex(None)
        else:
            self.usage = usage or FlatFileUsage(places.data / "usage")
            counters = SqliteCounters(places.data / "counters.sqlite3")
            self._results = FlatFileResults(places.data / "results", settings.output.ttl_s)
            self._index = PackIndex(places.state / "packs.json")
        self.recorder = Recorder(self.usage, counters, threads)
        self._sandbox = MontySandbox(threads, settings.execution.max_runs)
        closing.callback(self._sandbox.close)

    async def build(self, configuration: Configuration, runtime: Runtime) -> State:
        """Make all that a reload replaces."""
        settings = configuration.settings
        self._logs.redactor = configuration.secrets.redactor
        self.recorder.keeps_events = settings.stats.enabled
        own = await self._own_sources(configuration)
        catalog = Catalog([*own, *self.sources, *self.servers], settings.aliases)
        pipeline = _pipeline(configuration, catalog, self.recorder, runtime)
        http = HttpClients(settings.allowedHosts)
        self._closing.callback(http.close)
        limits = _sandbox_limits(configuration)
        code = CodeRuns(
            catalog, pipeline, self._sandbox, self._threads, limits=limits, snippets=settings.snippets
        )
        return State(
            configuration=configuration,
            catalog=catalog,
            pipeline=pipeline,
            code=code,
            results=self._results,
            http=http,
            servers={server.name: server for server in self.servers},
        )

    async def _own_sources(self, configuration: Configuration) -> list[ToolSource]:
        """Sources in the order in which they claim names: what we ship cannot be shadowed."""
        index, threads = self._index, self._threads
        describe = partial(describe_shipped, SHIPPED, _directory_of(SHIPPED), index=index, threads=threads)
        shipped: Registry = await threads.run(describe)
        readers: list[Reader] = [
            Fixed("shipped packs", shipped),
            ConfigTools(
                configuration.definitions,
                files=() if self._in_memory else settings_files(configuration.places),
                read=partial(load_definitions, configuration.places),
                handlers=_handlers(shipped),
                threads=threads,
            ),
            *(
                PackDirectory(directory.path, directory.read, index=index, threads=threads)
                for directory in configuration.pack_dirs
            ),
        ]
        return [Snapshot(reader) for reader in readers]


def _handlers(shipped: Registry) -> dict[str, set[str]]:
    names = {tool.spec.name for tool in shipped}
    services = {tool.spec.name for tool in shipped if tool.spec.pack == SERVICES}
    return {"builtin": names - services, "internal": services}


def _pipeline(
    configuration: Configuration, catalog: Catalog, recorder: Recorder, runtime: Runtime
) -> Pipeline:
    settings = configuration.settings
    return Pipeline(
        catalog,
        recorder,
        runtime.enter,
        limits=Limits(
            timeout=settings.execution.timeout_s,
            max_concurrent=settings.execution.max_concurrent,
            max_args_bytes=settings.execution.max_args_bytes,
            max_output_bytes=settings.output.max_bytes,
        ),
        approval=Approval(settings.approval.allow, settings.approval.deny),
        redactor=configuration.secrets.redactor,
    )


def _sandbox_limits(configuration: Configuration) -> SandboxLimits:
    execution = configuration.settings.execution
    return SandboxLimits(
        cpu_s=execution.run_cpu_s,
        memory_bytes=execution.run_memory_bytes,
        calls=execution.run_max_calls,
        sleep_s=execution.run_timeout_s,
    )


def _directory_of(package: str) -> Path:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{package} is missing: OneTool is not installed completely.")
    return Path(found.submodule_search_locations[0])
