"""How a state of OneTool is made of settings, and of what lasts as long as the process."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from onetool.bundles.bundles import Bundles
from onetool.bundles.exchange import Exchange
from onetool.bundles.rules import Rules
from onetool.bundles.unstored import Unstored
from onetool.catalog.catalog import Catalog
from onetool.catalog.discovery import Discovery
from onetool.catalog.servers import Servers
from onetool.domain.redaction import Redactor
from onetool.domain.registry import Registry
from onetool.domain.tool import ToolSpec
from onetool.embeddings.bert_meanings import BertMeanings
from onetool.logs import JsonLog
from onetool.pipeline.code import CodeRuns
from onetool.pipeline.record import Recorder
from onetool.ports import ServerSource, ToolSource
from onetool.runtime import Runtime, State
from onetool.sandbox.monty import MontySandbox
from onetool.settings.configuration import Configuration, load_definitions, settings_files
from onetool.sources.bundle_tools import BundleTools
from onetool.sources.config_tools import ConfigTools
from onetool.sources.python_packs.python_packs import PackDirectory, describe_shipped
from onetool.sources.snapshot import Fixed, Reader, Snapshot
from onetool.sources.switched import SwitchBoard, Switched
from onetool.storage.memory_rates import MemoryRates
from onetool.threads import Threads

from .chat_models import ConfiguredModels
from .connections import Connections
from .parts import directory_of, handlers, http_runner, make_pipeline, new_id, sandbox_limits
from .stores import Stores

SHIPPED, STARTERS = "onetool.packs", "onetool.starters"


class Wiring:
    """The parts that last as long as the process, and how a state is made of them and of settings."""

    def __init__(
        self,
        configuration: Configuration,
        stores: Stores,
        threads: Threads,
        logs: JsonLog,
        *,
        sources: Sequence[ToolSource],
        servers: Sequence[ServerSource],
    ) -> None:
        self._stores, self._threads, self._logs = stores, threads, logs
        self._sources, self._servers = sources, servers
        self.recorder = Recorder(stores.usage, stores.counters, threads)
        self._rates, self._secrets = MemoryRates(), set[str]()
        self._connections = Connections(stores, threads)
        self._model_dir: Path | None = None
        self._meanings: BertMeanings | None = None
        self._sandbox = MontySandbox(threads, configuration.settings.execution.max_runs)

    async def close(self) -> None:
        """Write what is left, end servers and workers, close connections."""
        try:
            await self.recorder.close()
            await self._connections.close()
        finally:
            self._sandbox.close()

    async def build(self, configuration: Configuration, runtime: Runtime) -> State:
        """Make all that a reload replaces."""
        settings = configuration.settings
        self._secrets |= {secret.value for secret in configuration.secrets.values()}
        self._logs.redactor = Redactor(self._secrets)  # a line about the last state may still be on its way
        self.recorder.keeps_events = settings.stats.enabled
        plan = self._connections.plan(configuration, {server.name for server in self._servers})
        stored = BundleTools(self._stores.bundles, http_runner(configuration, plan.http), self._threads)
        servers = [*self._servers, *plan.servers.values()]
        others = await self._other_sources(configuration, servers)
        catalog = Catalog([*others, stored], settings.aliases)
        pipeline = make_pipeline(configuration, catalog, self.recorder, self._rates, runtime)
        discovery = Discovery(catalog, self._threads, meanings=self._open_meanings(configuration))
        bundles = self._bundles(configuration, Catalog(others), discovery)
        limits = sandbox_limits(configuration)
        code = CodeRuns(
            catalog, pipeline, self._sandbox, self._threads, limits=limits, snippets=settings.snippets
        )
        state = State(
            configuration=configuration,
            catalog=catalog,
            discovery=discovery,
            pipeline=pipeline,
            code=code,
            results=self._stores.results,
            bundles=bundles,
            exchange=Exchange(bundles, self._stores.bundles, threads=self._threads, new_id=new_id),
            http=plan.http,
            servers=Servers(servers, settings.servers),
            chat_models=ConfiguredModels(configuration, os.environ, self._threads, new_id),
        )
        await self._connections.take(plan)
        return state

    def _open_meanings(self, configuration: Configuration) -> BertMeanings | None:
        """They last over reloads: the model is loaded once, unless another is chosen."""
        places = configuration.places
        directory = places.model_dir(configuration.settings.search.model_dir)
        if self._stores.has_files and directory != self._model_dir:
            self._model_dir, self._meanings = directory, BertMeanings(directory, places.state / "vectors")
        return self._meanings

    def _bundles(self, configuration: Configuration, others: Catalog, discovery: Discovery) -> Bundles:
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
            fitting=discovery.names,
        )
        unstored = Unstored(packs, stores.switches, self._threads)
        return Bundles(stores.bundles, unstored, stores.counters, rules, threads=self._threads, new_id=new_id)

    async def _other_sources(
        self, configuration: Configuration, servers: Sequence[ServerSource]
    ) -> list[ToolSource]:
        """Sources of what is not stored, in the order in which they claim names: ours cannot be shadowed."""
        index, threads = self._stores.packs, self._threads
        describe = partial(describe_shipped, index=index, threads=threads)
        shipped: Registry = await threads.run(describe, SHIPPED, directory_of(SHIPPED))
        starters: Registry = await threads.run(describe, STARTERS, directory_of(STARTERS))
        readers: list[Reader] = [
            Fixed("shipped packs", shipped),
            ConfigTools(
                configuration.definitions,
                files=settings_files(configuration.places) if self._stores.has_files else (),
                read=partial(load_definitions, configuration.places),
                handlers=handlers(shipped),
                threads=threads,
            ),
            *(
                PackDirectory(directory.path, directory.read, index=index, threads=threads)
                for directory in configuration.pack_dirs
            ),
        ]
        own: list[ToolSource] = [Snapshot(reader) for reader in readers]
        spare = Snapshot(Fixed("starter packs", starters), is_spare=True)
        board = SwitchBoard(self._stores.switches, threads)
        return [board, *(Switched(source, board) for source in (*own, *self._sources, *servers, spare))]
