"""Startup and shutdown of a runtime."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from onetool.domain.secrets.credential_set import CredentialSet
from onetool.files.reload_signal import FileReloadSignal
from onetool.logs import RotatingFile, open_logs
from onetool.ports import ServerSource, ToolSource, UsageStore
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import Configuration
from onetool.threads import Threads

from .factories import new_id
from .state_builder import StateBuilder
from .stores import file_stores, memory_stores


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
    """
    threads = threads or Threads()
    configuration = await threads.run(read)
    log, paths = configuration.settings.log, configuration.paths
    file = RotatingFile(paths.log_file, log.max_bytes) if log.file and not in_memory else None
    level, credentials = log_level or log.level, CredentialSet()
    with open_logs(stderr=level, file=file, credentials=credentials, owns_process=owns_process):
        stores = memory_stores(configuration) if in_memory else file_stores(configuration, threads)
        stores = replace(stores, usage=usage or stores.usage)
        builder = StateBuilder(configuration, stores, threads, credentials, sources=sources, servers=servers)
        runtime = Runtime(
            read=read,
            build=builder.build,
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
            await builder.close()
            await stores.aclose()
            threads.close()
