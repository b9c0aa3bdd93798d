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
from onetool.logs import SharedFile, open_logs
from onetool.network.client import HttpClients
from onetool.pipeline.approval import Approval
from onetool.pipeline.code import CodeRuns
from onetool.pipeline.pipeline import Limits, Pipeline
from onetool.pipeline.record import Recorder
from onetool.ports import ToolSource, UsageStore
from onetool.runtime import Runtime, State
from onetool.sandbox.monty import MontySandbox
from onetool.settings.configuration import Configuration, load_definitions, settings_files
from onetool.sources.config_tools import ConfigTools
from onetool.sources.python_packs.index import PackIndex
from onetool.sources.python_packs.python_packs import PackDirectory, describe_shipped
from onetool.sources.snapshot import Fixed, Reader, Snapshot
from onetool.storage.flat_file import FlatFileResults
from onetool.storage.memory import MemoryResults, MemoryUsage
from onetool.threads import Threads

SHIPPED = "onetool.packs"
SERVICES = "ot"
"""The pack whose functions are services of OneTool itself: what `internal` handlers name."""


@asynccontextmanager
async def open_runtime(
    read: Callable[[], Configuration],
    *,
    sources: Sequence[ToolSource] = (),
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
        index = PackIndex(None if in_memory else places.state / "packs.json")
        recorder = Recorder(usage or MemoryUsage(), threads)
        ttl_s = configuration.settings.output.ttl_s
        results = MemoryResults(ttl_s) if in_memory else FlatFileResults(places.data / "results", ttl_s)
        sandbox = MontySandbox(threads, configuration.settings.execution.max_runs)
        closing.callback(sandbox.close)

        async def build(configuration: Configuration, runtime: Runtime) -> State:
            logs.redactor = configuration.secrets.redactor
            files = () if in_memory else settings_files(configuration.places)
            own = await _sources(configuration, files, index, threads)
            catalog = Catalog([*own, *sources], configuration.settings.aliases)
            pipeline = _pipeline(configuration, catalog, recorder, runtime)
            http = HttpClients(configuration.settings.allowedHosts)
            closing.callback(http.close)
            code = CodeRuns(
                catalog,
                pipeline,
                sandbox,
                threads,
                limits=_sandbox_limits(configuration),
                snippets=configuration.settings.snippets,
            )
            return State(
                configuration=configuration,
                catalog=catalog,
                pipeline=pipeline,
                code=code,
                results=results,
                http=http,
            )

        runtime = Runtime(
            read=read,
            build=build,
            recorder=recorder,
            threads=threads,
            reload_file=None if in_memory else places.reload_file,
            new_id=lambda: str(uuid7()),
        )
        await runtime.start(configuration)
        try:
            yield runtime
        finally:
            await recorder.close()
            threads.close()


async def _sources(
    configuration: Configuration, files: Sequence[Path], index: PackIndex, threads: Threads
) -> list[ToolSource]:
    """All sources in the order in which they claim names: what we ship cannot be shadowed."""
    describe = partial(describe_shipped, SHIPPED, _directory_of(SHIPPED), index=index, threads=threads)
    shipped: Registry = await threads.run(describe)
    readers: list[Reader] = [
        Fixed("shipped packs", shipped),
        ConfigTools(
            configuration.definitions,
            files=files,
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
    execution, output, approval = (
        configuration.settings.execution,
        configuration.settings.output,
        configuration.settings.approval,
    )
    return Pipeline(
        catalog,
        recorder,
        runtime.enter,
        limits=Limits(
            timeout=execution.timeout_s,
            max_concurrent=execution.max_concurrent,
            max_args_bytes=execution.max_args_bytes,
            max_output_bytes=output.max_bytes,
        ),
        approval=Approval(approval.allow, approval.deny),
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
