"""Settings -> Runtime: the only file that knows every adapter."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from uuid_utils import uuid7

from onetool.bundles.bundles import Bundles, Rules
from onetool.bundles.exchange import Exchange
from onetool.bundles.unstored import Unstored
from onetool.catalog.catalog import Catalog
from onetool.catalog.discovery import Discovery
from onetool.domain.bundle import ToolVersion
from onetool.domain.redaction import Redactor
from onetool.domain.registry import Registry
from onetool.domain.sandbox import SandboxLimits
from onetool.domain.tool import Runner, ToolSpec
from onetool.logs import JsonLog, SharedFile, open_logs
from onetool.network.client import HttpClients
from onetool.pipeline.approval import Approval
from onetool.pipeline.code import CodeRuns
from onetool.pipeline.pipeline import Limits, Pipeline
from onetool.pipeline.record import Recorder
from onetool.ports import (
    BundleStore,
    CounterStore,
    ManifestStore,
    RateLimiter,
    ResultStore,
    ServerSource,
    SwitchStore,
    ToolSource,
    UsageStore,
)
from onetool.runtime import Runtime, State
from onetool.sandbox.monty import MontySandbox
from onetool.settings.configuration import Configuration, load_definitions, settings_files
from onetool.sources.bundle_tools import BundleTools, MakeRunner
from onetool.sources.config_tools import ConfigTools
from onetool.sources.mcp_servers import McpServer
from onetool.sources.python_packs.index import PackIndex
from onetool.sources.python_packs.python_packs import PackDirectory, describe_shipped
from onetool.sources.snapshot import Fixed, Reader, Snapshot
from onetool.sources.switched import Switched
from onetool.storage.flat_file import FlatFileResults
from onetool.storage.flat_file_bundles import FlatFileBundles
from onetool.storage.flat_file_manifests import FlatFileManifests
from onetool.storage.flat_file_switches import FlatFileSwitches
from onetool.storage.flat_file_usage import FlatFileUsage
from onetool.storage.memory import MemoryCounters, MemoryResults, MemorySwitches, MemoryUsage
from onetool.storage.memory_bundles import MemoryBundles
from onetool.storage.memory_manifests import MemoryManifests
from onetool.storage.memory_rates import MemoryRates
from onetool.storage.sqlite_counters import SqliteCounters
from onetool.threads import Threads

SHIPPED = "onetool.packs"
FORMER_STATES = 4
"""How many states back a call in flight may have begun and still use its connections."""
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
        stores = _memory_stores(configuration) if in_memory else _flat_file_stores(configuration)
        stores = replace(stores, usage=usage or stores.usage)
        wiring = _Wiring(configuration, stores, threads, logs, closing)
        wiring.sources, wiring.servers = sources, servers
        runtime = Runtime(
            read=read,
            build=wiring.build,
            recorder=wiring.recorder,
            usage=stores.usage,
            threads=threads,
            reload_file=None if in_memory else places.reload_file,
            new_id=_new_id,
        )
        await runtime.start(configuration)
        try:
            yield runtime
        finally:
            await wiring.close()
            threads.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stores:
    """Where everything is kept, and whether there are files to watch."""

    usage: UsageStore
    counters: CounterStore
    results: ResultStore
    bundles: BundleStore
    switches: SwitchStore
    manifests: ManifestStore
    packs: PackIndex
    has_files: bool


def _memory_stores(configuration: Configuration) -> _Stores:
    return _Stores(
        usage=MemoryUsage(),
        counters=MemoryCounters(),
        results=MemoryResults(configuration.settings.output.ttl_s),
        bundles=MemoryBundles(),
        switches=MemorySwitches(),
        manifests=MemoryManifests(),
        packs=PackIndex(None),
        has_files=False,
    )


def _flat_file_stores(configuration: Configuration) -> _Stores:
    data, state = configuration.places.data, configuration.places.state
    return _Stores(
        usage=FlatFileUsage(data / "usage"),
        counters=SqliteCounters(data / "counters.sqlite3"),
        results=FlatFileResults(data / "results", configuration.settings.output.ttl_s),
        bundles=FlatFileBundles(data / "bundles", with_words="ONETOOL_NO_FTS5" not in os.environ),
        switches=FlatFileSwitches(data / "bundles" / "switches.json"),
        manifests=FlatFileManifests(state / "servers"),
        packs=PackIndex(state / "packs.json"),
        has_files=True,
    )


class _Wiring:
    """The parts that last as long as the process, and how a state is made of them and of settings."""

    def __init__(
        self,
        configuration: Configuration,
        stores: _Stores,
        threads: Threads,
        logs: JsonLog,
        closing: ExitStack,
    ) -> None:
        self.sources: Sequence[ToolSource] = ()
        self.servers: Sequence[ServerSource] = ()
        self._stores, self._threads, self._logs, self._closing = stores, threads, logs, closing
        self.recorder = Recorder(stores.usage, stores.counters, threads)
        self._rates, self._secrets = MemoryRates(), set[str]()
        self._clients: list[HttpClients] = []
        self._running: list[McpServer] = []
        self._retired: list[McpServer] = []
        self._sandbox = MontySandbox(threads, configuration.settings.execution.max_runs)
        closing.callback(self._sandbox.close)

    async def close(self) -> None:
        """Write what is left, end servers, close connections."""
        await self.recorder.close()
        await asyncio.gather(*(server.close() for server in (*self._running, *self._retired)))
        for http in self._clients:
            await http.aclose()

    async def _retire_clients(self) -> None:
        """Close the connections of states that are long gone; calls in flight may still use the last ones."""
        while len(self._clients) > FORMER_STATES:
            await self._clients.pop(0).aclose()
        retired, self._retired = self._retired, []
        for server in retired:
            await server.close()

    async def build(self, configuration: Configuration, runtime: Runtime) -> State:
        """Make all that a reload replaces."""
        settings = configuration.settings
        self._secrets |= {secret.value for secret in configuration.secrets.values()}
        self._logs.redactor = Redactor(self._secrets)  # a line about the last state may still be on its way
        self.recorder.keeps_events = settings.stats.enabled
        http = HttpClients(settings.allowedHosts)
        await self._retire_clients()
        self._clients.append(http)
        stored = BundleTools(self._stores.bundles, _http_runner(configuration, http), self._threads)
        servers = [*self.servers, *self._own_servers(configuration)]
        others = await self._other_sources(configuration, servers)
        catalog = Catalog([*others, stored], settings.aliases)
        pipeline = _pipeline(configuration, catalog, self.recorder, self._rates, runtime)
        bundles = self._bundles(configuration, Catalog(others))
        limits = _sandbox_limits(configuration)
        code = CodeRuns(
            catalog, pipeline, self._sandbox, self._threads, limits=limits, snippets=settings.snippets
        )
        return State(
            configuration=configuration,
            catalog=catalog,
            discovery=Discovery(catalog, self._threads),
            pipeline=pipeline,
            code=code,
            results=self._stores.results,
            bundles=bundles,
            exchange=Exchange(bundles, self._stores.bundles, threads=self._threads, new_id=_new_id),
            http=http,
            servers={server.name: server for server in servers},
        )

    def _bundles(self, configuration: Configuration, others: Catalog) -> Bundles:
        async def packs() -> dict[str, list[ToolSpec]]:
            return {name: await others.pack(name) for name in await others.packs()}

        async def has_function(name: str) -> bool:
            found = await others.find(name)
            return found is not None and found.spec.handler == found.spec.name

        settings, stores = configuration.settings, self._stores
        rules = Rules(
            allowed_hosts=settings.allowedHosts,
            max_tools=settings.execution.max_tools,
            secrets=frozenset(configuration.secrets),
            has_function=has_function,
        )
        unstored = Unstored(packs, stores.switches, self._threads)
        return Bundles(
            stores.bundles, unstored, stores.counters, rules, threads=self._threads, new_id=_new_id
        )

    def _own_servers(self, configuration: Configuration) -> list[ServerSource]:
        """Other MCP servers: started when they are first needed, ended when the settings change or we end."""
        from onetool.domain.poisoning import scan

        given = {server.name for server in self.servers}
        wanted = {
            name: server
            for name, server in configuration.settings.servers.items()
            if server.enabled and name not in given
        }
        self._retired += self._running
        self._running = [
            McpServer(
                name,
                server,
                configuration.secrets,
                manifest=self._stores.manifests,
                threads=self._threads,
                scan=scan,
            )
            for name, server in wanted.items()
        ]
        return list(self._running)

    async def _other_sources(
        self, configuration: Configuration, servers: Sequence[ServerSource]
    ) -> list[ToolSource]:
        """Sources of what is not stored, in the order in which they claim names: ours cannot be shadowed."""
        index, threads = self._stores.packs, self._threads
        describe = partial(describe_shipped, SHIPPED, _directory_of(SHIPPED), index=index, threads=threads)
        shipped: Registry = await threads.run(describe)
        readers: list[Reader] = [
            Fixed("shipped packs", shipped),
            ConfigTools(
                configuration.definitions,
                files=settings_files(configuration.places) if self._stores.has_files else (),
                read=partial(load_definitions, configuration.places),
                handlers=_handlers(shipped),
                threads=threads,
            ),
            *(
                PackDirectory(directory.path, directory.read, index=index, threads=threads)
                for directory in configuration.pack_dirs
            ),
        ]
        own: list[ToolSource] = [Snapshot(reader) for reader in readers]
        return [
            Switched(source, self._stores.switches, threads) for source in (*own, *self.sources, *servers)
        ]


def _http_runner(configuration: Configuration, http: HttpClients) -> MakeRunner:
    """How a stored HTTP tool runs with these settings; its tokens are forgotten with them."""
    from onetool.sources.http_tools import HttpTool, Tokens

    settings, secrets = configuration.settings, configuration.secrets
    tokens = Tokens()

    def make(tool: ToolVersion) -> Runner:
        return HttpTool(
            tool.http_impl or {},
            arg_schema=tool.arg_schema,
            limits=tool.limits or {},
            secrets=secrets,
            http=http,
            allowed_hosts=settings.allowedHosts,
            tokens=tokens,
        ).run

    return make


def _handlers(shipped: Registry) -> dict[str, set[str]]:
    names = {tool.spec.name for tool in shipped}
    services = {tool.spec.name for tool in shipped if tool.spec.pack == SERVICES}
    return {"builtin": names - services, "internal": services}


def _pipeline(
    configuration: Configuration, catalog: Catalog, recorder: Recorder, rates: RateLimiter, runtime: Runtime
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
        rates=rates,
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


def _new_id() -> str:
    return str(uuid7())


def _directory_of(package: str) -> Path:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{package} is missing: OneTool is not installed completely.")
    return Path(found.submodule_search_locations[0])
