"""Construction of states from a configuration and from the parts that live as long as the process."""

import asyncio
import logging
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from onetool.bundles.bundles import Bundles
from onetool.bundles.policy import BundlePolicy
from onetool.bundles.transfer import BundleTransfer
from onetool.bundles.virtual import VirtualBundles
from onetool.catalog.catalog import Catalog
from onetool.catalog.contents import CatalogContents
from onetool.catalog.mcp_servers import McpServers
from onetool.catalog.tool_search import CatalogSearch
from onetool.domain.identity.member_pages import NO_PAGES, MemberPages
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import ToolSpec
from onetool.embeddings.bert_embedder import BertEmbedder
from onetool.pipeline.admission import Admission
from onetool.pipeline.code_runner import CodeRunner
from onetool.pipeline.recorder import Recorder
from onetool.pipeline.run_slots import RunSlots
from onetool.pipeline.slots import AnySlots
from onetool.pipeline.token_savings import TokenSavings
from onetool.ports import CallLeases, OwnSecrets, RateLimiter, ServerSource, SourceCapabilities, ToolSource
from onetool.runtime.model_output import ModelOutput
from onetool.runtime.runtime import Runtime
from onetool.runtime.state import State
from onetool.sandbox.monty import MontySandbox
from onetool.sdk.forwarding import run_forwarded
from onetool.settings.configuration import Configuration, load_configured_tools
from onetool.settings.documents import settings_files
from onetool.sources.bundle_tools import BundleToolSource
from onetool.sources.config_tools import ConfigToolReader
from onetool.sources.http_tools import TokenCache
from onetool.sources.mcp_servers import AttachServer
from onetool.sources.members import Members
from onetool.sources.overrides import OverriddenServer
from onetool.sources.python_packs.directory import PackDirectoryReader, describe_shipped
from onetool.sources.python_packs.environments import PackEnvironments
from onetool.sources.python_packs.libraries import PackLibraries
from onetool.sources.python_packs.workers import PackWorkers
from onetool.sources.snapshot import SnapshotReader, SnapshotSource, StaticReader
from onetool.sources.toggles import ToggledSource, Toggles
from onetool.storage.memory.rate_limits import MemoryRateLimiter
from onetool.telemetry.call_meter import CallMeter
from onetool.threads import Threads

from .chat_models import ConfiguredChatModels
from .connections import ConnectionPlan, Connections
from .factories import (
    handlers,
    http_runner,
    make_pipeline,
    make_policy,
    new_id,
    package_directory,
    sandbox_limits,
    stored_runner,
)
from .shared_servers import SharedServers
from .stores import Stores

BUILT_IN_PACKS, STARTER_PACKS = "onetool.packs", "onetool.starter_packs"


log = logging.getLogger(__name__)


class StateBuilder:
    """Owns the parts that live as long as the process, and builds states from them and a configuration."""

    def __init__(
        self,
        configuration: Configuration,
        stores: Stores,
        threads: Threads,
        credentials: CredentialSet,
        *,
        sources: Sequence[ToolSource],
        servers: Sequence[ServerSource],
        shared: SharedServers,
        attach: AttachServer | None,
        waits_for_servers: bool,
        waits_for_libraries: bool,
        asks_users: bool,
        sandbox: MontySandbox | None = None,
        omitted_packs: frozenset[str] = frozenset(),
        rates: RateLimiter | None = None,
        leases: CallLeases | None = None,
        slots: AnySlots | None = None,
        members: Members | None = None,
        own_secrets: OwnSecrets | None = None,
        pages: MemberPages = NO_PAGES,
        meter: CallMeter | None = None,
    ) -> None:
        """Create the parts.

        sandbox: one that other runtimes use too; by default, this one has its own.
        omitted_packs: shipped packs that do not exist here.
        rates: limits the rates of calls; by default, in memory.
        leases: counts calls of tools at all replicas; by default, only those of this runtime count.
        slots: those that the calls of this runtime share with others.
        members: the members of a workspace; by default, there is one user.
        own_secrets: the secrets of single members; by default, there are none.
        pages: where members log in to servers and write their secrets.
        meter: counts the calls of all runtimes of the process.
        """
        self._stores, self._threads, self._credentials = stores, threads, credentials
        self._sources, self._servers = sources, servers
        self.recorder = Recorder(stores.activity, threads, meter=meter)
        self.savings = TokenSavings(self.recorder, new_id(), time.time)
        execution = configuration.settings.execution
        self._admission = Admission(execution.max_concurrent, rates or MemoryRateLimiter(), slots, leases)
        self._shared_slots = slots
        self._run_slots = RunSlots(execution.max_concurrent_runs)
        self._connections = Connections(
            stores,
            threads,
            credentials,
            shared=shared,
            attach=attach,
            waits_for_servers=waits_for_servers,
            asks_users=asks_users,
            pages=pages,
        )
        self._http_tokens = TokenCache(stores.http_tokens, credentials)
        self._model_dir: Path | None = None
        self._embedder: BertEmbedder | None = None
        self._sandbox, self._owns_sandbox = sandbox or MontySandbox(threads), sandbox is None
        self._omitted_packs, self._members, self._own_secrets = omitted_packs, members, own_secrets
        self._pages = pages
        self._reports_skipped = not waits_for_servers  # a command that ends soon shows them itself
        self._pack_libraries: PackLibraries | None = None
        if stores.has_files:
            environments = PackEnvironments(configuration.paths.state / "environments", threads)
            workers = PackWorkers(environments, run_forwarded, threads)
            self._pack_libraries = PackLibraries(workers, waits=waits_for_libraries)

    async def close(self) -> None:
        """Write pending records, close the connections and servers, and stop the sandbox and the workers."""
        try:
            if self._pack_libraries is not None:
                await self._pack_libraries.close()
            await self.recorder.close()
            await self._http_tokens.close()
            await self._connections.close()
        finally:
            if self._owns_sandbox:
                self._sandbox.close()

    async def build(self, configuration: Configuration, runtime: Runtime) -> State:
        """Build a state: everything that a reload replaces."""
        settings = configuration.settings
        self._credentials.keep(configuration.credentials)  # with those of earlier states, whose calls may run
        for name, reason in configuration.secrets.unavailable.items():
            log.warning("secret %r is unavailable: %s", name, reason)
        plan = self._connections.plan(configuration, {server.name for server in self._servers})
        make_runner = stored_runner(
            runtime, http_runner(configuration, plan.http, self._http_tokens, self._pages)
        )
        stored = BundleToolSource(
            self._stores.bundles, make_runner, code_timeout_s=settings.execution.run_timeout_s
        )
        servers = [*self._servers, *self._overridden_servers(configuration, plan)]
        unstored = await self._unstored_sources(configuration, servers)
        policy = make_policy(settings, self._members)
        catalog = Catalog([*unstored, stored], settings.aliases, policy)
        pipeline = make_pipeline(
            configuration,
            catalog,
            self.recorder,
            self._admission,
            runtime,
            credentials=self._credentials,
            own_secrets=self._own_secrets,
        )
        search = CatalogSearch(catalog, self._threads, embedder=self._open_embedder(configuration))
        bundles = self._bundles(configuration, Catalog(unstored), search)
        code_runner = CodeRunner(
            catalog,
            pipeline,
            self._sandbox,
            self._threads,
            slots=self._run_slots,
            shared=self._shared_slots,
            limits=sandbox_limits(configuration),
            snippets=settings.snippets,
        )
        state = State(
            configuration=configuration,
            catalog=catalog,
            search=search,
            pipeline=pipeline,
            code_runner=code_runner,
            model_output=ModelOutput(
                self._stores.results,
                self.savings,
                self._threads,
                max_inline_bytes=settings.output.max_inline_size,
                ttl_s=settings.output.ttl_s,
                unlisted=lambda: catalog.unlisted,
            ),
            results=self._stores.results,
            bundles=bundles,
            transfer=BundleTransfer(bundles, self._stores.bundles, threads=self._threads, new_id=new_id),
            http=plan.http,
            servers=McpServers(servers, settings.servers),
            contents=CatalogContents({server.name: server for server in servers}, policy),
            chat_models=ConfiguredChatModels(configuration, configuration.environment, self._threads, new_id),
            credentials=self._credentials,
            directories=(configuration.paths.data, configuration.paths.state)
            if self._stores.has_files
            else (),
        )
        await self._connections.apply(plan)
        self._apply(configuration)
        return state

    def _overridden_servers(self, configuration: Configuration, plan: ConnectionPlan) -> list[ServerSource]:
        """Return the servers, wrapped if the settings override tools: a reload replaces only the wrapper."""
        settings, secrets = configuration.settings.servers, configuration.secrets
        return [
            OverriddenServer(server, settings[name], secrets, self._credentials)
            if settings[name].tools
            else server
            for name, server in plan.servers.items()
        ]

    def _apply(self, configuration: Configuration) -> None:
        """Change the parts that outlive a reload."""
        settings, limits = configuration.settings, configuration.limits
        execution, max_runs = settings.execution, limits.concurrent_runs if limits is not None else None
        self.recorder.configure(settings.stats, settings.activity)
        self._admission.configure(execution.max_concurrent, limits)
        self._run_slots.resize(min(execution.max_concurrent_runs, max_runs or execution.max_concurrent_runs))

    def _open_embedder(self, configuration: Configuration) -> BertEmbedder | None:
        """Return the embedder. It survives reloads, unless the directory of the model changes."""
        paths = configuration.paths
        directory = paths.model_dir(configuration.settings.search.model_dir)
        if self._stores.has_files and directory != self._model_dir:
            self._model_dir, self._embedder = directory, BertEmbedder(directory, paths.state / "vectors")
        return self._embedder

    def _bundles(self, configuration: Configuration, unstored: Catalog, search: CatalogSearch) -> Bundles:
        async def packs() -> dict[str, list[ToolSpec]]:
            names = list(await unstored.packs())
            found = await asyncio.gather(*map(unstored.pack, names))  # servers start at the same time
            return dict(zip(names, found, strict=True))

        async def has_function(name: str) -> bool:
            tool = await unstored.find(name)
            return tool is not None and tool.spec.handler == tool.spec.name

        settings, stores = configuration.settings, self._stores
        policy = BundlePolicy(
            allowed_hosts=settings.allowedHosts,
            max_tools=settings.execution.max_tools,
            secrets=frozenset(configuration.secrets),
            has_function=has_function,
            find_names=search.find_names,
        )
        virtual = VirtualBundles(packs, unstored.packs, unstored.generation, stores.toggles)
        return Bundles(stores.bundles, virtual, stores.activity, policy, threads=self._threads, new_id=new_id)

    async def _unstored_sources(
        self, configuration: Configuration, servers: Sequence[ServerSource]
    ) -> list[ToolSource]:
        """Return all sources except stored bundles, in order of precedence: built-in packs always win."""
        index, threads, has_files = self._stores.packs, self._threads, self._stores.has_files
        describe = partial(describe_shipped, index=index, threads=threads)
        built_in: Registry = await threads.run(describe, BUILT_IN_PACKS, package_directory(BUILT_IN_PACKS))
        starters: Registry = await threads.run(describe, STARTER_PACKS, package_directory(STARTER_PACKS))
        built_in, starters = (registry.without(self._omitted_packs) for registry in (built_in, starters))
        readers: list[SnapshotReader] = [
            StaticReader("built-in packs", built_in),
            ConfigToolReader(
                configuration.configured_tools,
                files=settings_files(configuration.paths) if has_files else (),
                read=partial(load_configured_tools, configuration.paths)
                if has_files
                else lambda: configuration.configured_tools,
                handlers=handlers(built_in),
                threads=threads,
            ),
            *(
                PackDirectoryReader(
                    directory.path,
                    directory.read,
                    index=index,
                    threads=threads,
                    libraries=self._pack_libraries,
                    reports_skipped=self._reports_skipped,
                )
                for directory in configuration.pack_dirs
            ),
        ]
        local: list[ToolSource] = [SnapshotSource(reader) for reader in readers]
        overridable = SnapshotSource(
            StaticReader("starter packs", starters), SourceCapabilities(overridable=True)
        )
        toggles = Toggles(self._stores.toggles)
        members = () if self._members is None else (self._members,)
        toggled = (*local, *self._sources, *servers, overridable)
        return [toggles, *members, *(ToggledSource(source, toggles) for source in toggled)]
