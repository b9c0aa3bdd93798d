"""Startup and shutdown of a runtime."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from onetool.domain.secrets.credential_set import CredentialSet
from onetool.files.reload_signal import FileReloadSignal
from onetool.logs import RotatingFile, open_logs
from onetool.ports import ServerSource, ToolSource, UsageStore
from onetool.runtime.runtime import Runtime
from onetool.runtime.state import State
from onetool.settings.configuration import Configuration
from onetool.settings.schema import LogSettings
from onetool.threads import Threads

from .factories import new_id
from .state_builder import StateBuilder
from .stores import memory_stores, open_file_stores


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
    owns_process: bool = False,
) -> AsyncIterator[Runtime]:
    """Start a runtime on the current event loop, and shut it down in order.

    owns_process: whether the log records of all loggers are OneTool's to write; see `open_logs`.

    Raises:
        SettingsError: A configuration file is invalid.
        StoreUnavailable: A newer version of OneTool wrote the data, or it cannot be migrated.
    """
    threads = threads or Threads()
    configuration = await threads.run(read)
    paths, credentials = configuration.paths, CredentialSet()

    def log_targets(log: LogSettings) -> tuple[str, RotatingFile | None]:
        file = RotatingFile(paths.log_file, log.max_bytes) if log.file and not in_memory else None
        return log_level or log.level, file

    stderr, file = log_targets(configuration.settings.log)
    with open_logs(stderr=stderr, file=file, credentials=credentials, owns_process=owns_process) as logs:
        stores = memory_stores() if in_memory else await open_file_stores(paths, threads)
        stores = replace(stores, usage=usage or stores.usage)
        builder = StateBuilder(configuration, stores, threads, credentials, sources=sources, servers=servers)

        async def build(configuration: Configuration, runtime: Runtime) -> State:
            state = await builder.build(configuration, runtime)
            stderr, file = log_targets(configuration.settings.log)
            logs.configure(stderr=stderr, file=file)
            return state

        runtime = Runtime(
            read=read,
            build=build,
            recorder=builder.recorder,
            savings=builder.savings,
            sessions=stores.sessions,
            threads=threads,
            signal=FileReloadSignal(None if in_memory else paths.reload_file),
            new_id=new_id,
        )
        await runtime.start(configuration)
        try:
            yield runtime
        finally:
            try:
                await builder.close()
            finally:
                await stores.aclose()
                threads.close()
