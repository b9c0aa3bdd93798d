"""A OneTool from its first line to its last."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from onetool.logs import SharedFile, open_logs
from onetool.ports import ServerSource, ToolSource, UsageStore
from onetool.runtime import Runtime
from onetool.settings.configuration import Configuration
from onetool.threads import Threads

from .parts import new_id
from .stores import flat_file_stores, memory_stores
from .wiring import Wiring


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
    with open_logs(stderr=log_level or log.level, file=file) as logs:
        stores = memory_stores(configuration) if in_memory else flat_file_stores(configuration)
        stores = replace(stores, usage=usage or stores.usage)
        wiring = Wiring(configuration, stores, threads, logs, sources=sources, servers=servers)
        runtime = Runtime(
            read=read,
            build=wiring.build,
            recorder=wiring.recorder,
            usage=stores.usage,
            sessions=stores.sessions,
            threads=threads,
            reload_file=None if in_memory else places.reload_file,
            new_id=new_id,
        )
        await runtime.start(configuration)
        try:
            yield runtime
        finally:
            await wiring.close()
            threads.close()
