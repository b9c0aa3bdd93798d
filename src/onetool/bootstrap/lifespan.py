"""Startup and shutdown of a runtime, and of what several runtimes of one process share."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from secrets import token_bytes

from onetool.domain.identity.member_pages import NO_PAGES, MemberPages
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.files.reload_signal import FileReloadSignal
from onetool.logs import Logs, RotatingFile, open_logs
from onetool.pipeline.slots import AnySlots
from onetool.ports import (
    ActivityStore,
    CallLeases,
    OwnSecrets,
    RateLimiter,
    ReloadSignal,
    ServerSource,
    ToolSource,
)
from onetool.runtime.jobs import Jobs
from onetool.runtime.runtime import Runtime
from onetool.runtime.state import State
from onetool.sandbox.monty import MontySandbox
from onetool.settings.configuration import Configuration
from onetool.sources.mcp_servers import AttachServer
from onetool.sources.members import Members
from onetool.storage.files.keys import KEY_BYTES, read_or_create_key
from onetool.telemetry.call_meter import CallMeter
from onetool.threads import Threads

from .factories import new_id
from .shared_servers import SharedServers
from .state_builder import StateBuilder
from .stores import Stores, memory_stores, open_file_stores
from .telemetry import open_telemetry

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedParts:
    """What the runtimes of one process share. Their owner closes it after them."""

    threads: Threads
    credentials: CredentialSet
    stores: Stores
    logs: Logs | None = None
    """None: the settings of a runtime do not change the log."""
    log_level: str | None = None
    """Minimum level of messages on stderr, instead of the one in the settings."""
    servers: SharedServers = field(default_factory=SharedServers)
    sandbox: MontySandbox | None = None
    """None: each runtime has its own."""
    omitted_packs: frozenset[str] = frozenset()
    """Shipped packs that do not exist here."""
    request_key: bytes | None = None
    """Seals what MCP clients send back. None: a key in the user's files."""
    signal: ReloadSignal | None = None
    """None: a file of the user."""
    rates: RateLimiter | None = None
    """None: each runtime limits rates in memory."""
    leases: CallLeases | None = None
    """None: each runtime counts its own calls of a tool."""
    slots: AnySlots | None = None
    """Those that the calls of this runtime share with others; None: it shares none."""
    members: Members | None = None
    """The members of a workspace and their rights. None: there is one user, who may do everything."""
    own_secrets: OwnSecrets | None = None
    """The secrets of single members. None: there are none."""
    pages: MemberPages = NO_PAGES
    """Where members log in to servers and write their secrets."""
    meter: CallMeter | None = None
    """Counts the calls of all runtimes of the process. None: each runtime counts its own."""

    def configure_logs(self, configuration: Configuration) -> None:
        """Apply the settings of the log."""
        if self.logs is None:
            return
        level, file = _log_targets(configuration, self.log_level, has_files=self.stores.has_files)
        self.logs.configure(stderr=level, file=file)


@asynccontextmanager
async def open_shared_parts(
    configuration: Configuration,
    threads: Threads,
    *,
    activity: ActivityStore | None = None,
    in_memory: bool = False,
    log_level: str | None = None,
    owns_process: bool = False,
) -> AsyncIterator[SharedParts]:
    """Open the logs, the stores and the telemetry of a process. Close them, and the threads, at the end.

    owns_process: whether the log records of all loggers are OneTool's to write; see `open_logs`.

    Raises:
        StoreUnavailable: A newer version of OneTool wrote the data, or it cannot be migrated.
    """
    credentials = CredentialSet()
    level, file = _log_targets(configuration, log_level, has_files=not in_memory)
    with open_logs(stderr=level, file=file, credentials=credentials, owns_process=owns_process) as logs:
        stores = memory_stores() if in_memory else await open_file_stores(configuration.paths, threads)
        stores = replace(stores, activity=activity or stores.activity)
        try:
            async with open_telemetry(threads, owns_process=owns_process):
                yield SharedParts(
                    threads=threads, credentials=credentials, stores=stores, logs=logs, log_level=log_level
                )
        finally:
            await stores.aclose()
            threads.close()


@asynccontextmanager
async def open_runtime(
    read: Callable[[], Configuration],
    *,
    sources: Sequence[ToolSource] = (),
    servers: Sequence[ServerSource] = (),
    activity: ActivityStore | None = None,
    threads: Threads | None = None,
    in_memory: bool = False,
    log_level: str | None = None,
    owns_process: bool = False,
    waits_for_servers: bool = False,
    waits_for_libraries: bool = True,
    asks_users: bool = False,
    shared: SharedParts | None = None,
    attach: AttachServer | None = None,
) -> AsyncIterator[Runtime]:
    """Start a runtime on the current event loop, and shut it down in order.

    owns_process: whether the log records of all loggers are OneTool's to write; see `open_logs`.
    asks_users: whether callers of this process can usually be asked what servers want to know.
    waits_for_servers: whether listings wait until servers have started, because this process ends soon.
    waits_for_libraries: whether listings wait until libraries of packs are installed; False for a server.
    attach: connects to servers that another process of the user runs.
    shared: what the runtimes of this process share; by default, this one has everything for itself.

    Raises:
        SettingsError: A configuration file is invalid.
        StoreUnavailable: A newer version of OneTool wrote the data, or it cannot be migrated.
    """
    threads = shared.threads if shared else threads or Threads()
    configuration = await threads.run(read)
    async with (
        nullcontext(shared)
        if shared
        else open_shared_parts(
            configuration,
            threads,
            activity=activity,
            in_memory=in_memory,
            log_level=log_level,
            owns_process=owns_process,
        )
    ) as parts:
        builder = StateBuilder(
            configuration,
            parts.stores,
            threads,
            parts.credentials,
            sources=sources,
            servers=servers,
            shared=parts.servers,
            attach=attach,
            waits_for_servers=waits_for_servers,
            waits_for_libraries=waits_for_libraries,
            asks_users=asks_users,
            sandbox=parts.sandbox,
            omitted_packs=parts.omitted_packs,
            rates=parts.rates,
            leases=parts.leases,
            slots=parts.slots,
            members=parts.members,
            own_secrets=parts.own_secrets,
            pages=parts.pages,
            meter=parts.meter,
        )

        async def build(configuration: Configuration, runtime: Runtime) -> State:
            state = await builder.build(configuration, runtime)
            parts.configure_logs(configuration)
            return state

        jobs = Jobs(parts.stores.jobs, parts.stores.results, threads)
        runtime = Runtime(
            read=read,
            build=build,
            recorder=builder.recorder,
            savings=builder.savings,
            sessions=parts.stores.sessions,
            session_leases=parts.stores.session_leases,
            session_approvals=parts.stores.session_approvals,
            jobs=jobs,
            client_sessions=parts.stores.client_sessions,
            request_key=parts.request_key
            or await _request_key(configuration, threads, has_files=parts.stores.has_files),
            threads=threads,
            signal=parts.signal
            or FileReloadSignal(configuration.paths.reload_file if parts.stores.has_files else None),
            new_id=new_id,
            queue=parts.stores.queue,
            audit=parts.stores.audit,
        )
        await runtime.start(configuration)
        try:
            yield runtime
        finally:
            await jobs.close()
            await builder.close()


async def _request_key(configuration: Configuration, threads: Threads, *, has_files: bool) -> bytes:
    """Return the key of all processes; one for this process alone if there are no files, or only to read."""
    if has_files:
        try:
            return await threads.run(read_or_create_key, configuration.paths.data / "request.key")
        except OSError as error:
            log.warning("answers of MCP clients work only in this process: %s", error)
    return token_bytes(KEY_BYTES)


def _log_targets(
    configuration: Configuration, log_level: str | None, *, has_files: bool
) -> tuple[str, RotatingFile | None]:
    """Return the minimum level on stderr, and the log file."""
    log = configuration.settings.log
    file = RotatingFile(configuration.paths.log_file, log.max_bytes) if log.file and has_files else None
    return log_level or log.level, file
