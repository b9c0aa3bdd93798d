"""Hosted mode: runtimes of many workspaces in one process, with their stores in PostgreSQL."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple
from uuid import UUID

from onetool.domain.errors import StoreUnavailable, UnknownWorkspace, WorkspaceUnavailable
from onetool.domain.identity.member_pages import MemberPages
from onetool.domain.policy.rights import Rights
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.logs import open_logs
from onetool.pipeline.fair_slots import FairSlots
from onetool.ports import CallLeases, RateLimiter
from onetool.runtime.administration import Administration
from onetool.runtime.runtime import Runtime
from onetool.runtime.server_connections import ServerConnections
from onetool.sandbox.monty import MontySandbox
from onetool.settings.configuration import Configuration, ConfiguredTool, PackDirectory
from onetool.settings.documents import parse_settings
from onetool.settings.hosted_profile import OMITTED_PACKS, check_hosted
from onetool.settings.paths import Paths
from onetool.settings.schema import PromptSettings, Settings
from onetool.settings.secrets import Secrets
from onetool.sources.members import Members
from onetool.sources.python_packs.index import PackIndex
from onetool.storage.memory.rate_limits import MemoryRateLimiter, RateShare
from onetool.storage.postgres.api_keys import PostgresApiKeys
from onetool.storage.postgres.begun_logins import PostgresBegunLogins
from onetool.storage.postgres.client_grants import PostgresClientGrants
from onetool.storage.postgres.cluster_notices import ClusterNotices
from onetool.storage.postgres.clusters import HOME, Clusters
from onetool.storage.postgres.database import Database, store_errors
from onetool.storage.postgres.directory import Directory
from onetool.storage.postgres.invitations import PostgresInvitations
from onetool.storage.postgres.jobs import LEASE_S
from onetool.storage.postgres.key_ring import KeyRing
from onetool.storage.postgres.limits import read_limits
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.migrate import check_migrated
from onetool.storage.postgres.own_secrets import PostgresOwnSecrets
from onetool.storage.postgres.reload_signal import WorkspaceReloadSignal
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.settings import PostgresSettings
from onetool.storage.postgres.startup import wait_for_database
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.telemetry.call_meter import CallMeter
from onetool.threads import Threads

from .hosted_stores import hosted_stores
from .lifespan import SharedParts, open_runtime
from .lookup_slots import LookupSlots
from .telemetry import open_telemetry

if TYPE_CHECKING:
    from onetool.storage.redis.connection import RedisConnection

log = logging.getLogger(__name__)
DEGRADED_S = 6.0
"""Seconds after which changes should have been asked for at least twice."""
MAX_AGE_S = 60.0
"""Seconds for which known keys are accepted although the database is away, which may have revoked them."""
CALL_SLOTS = 64
"""Calls and runs of all workspaces together in one process, unless each of very many uses its share."""
REDIS_PREFIX = "onetool:"
"""Of all keys in Redis."""
SECRETS_PLACE = "the workspace"
ADD_SECRETS_WITH = "to the secrets of the workspace: PUT /secrets/NAME"
NO_DIRECTORY = Path("/dev/null/onetool")
"""In place of a user's directories, which workspaces do not have. It cannot be created, not even by root."""


class HostedWorkspace(NamedTuple):
    """An open workspace."""

    runtime: Runtime
    credentials: CredentialSet
    """What is redacted in results and log records of this workspace."""
    rights: Callable[[str], Awaitable[Rights]]
    """Returns the current rights of a principal."""
    administration: Administration


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedParts:
    """What all workspaces of a process share."""

    clusters: Clusters
    directory: Directory
    ring: KeyRing
    threads: Threads
    sandbox: MontySandbox
    credentials: CredentialSet
    notices: ClusterNotices
    urls: Mapping[str, str]
    """The addresses of the clusters."""
    pack_dirs: tuple[PackDirectory, ...] = ()
    """Packs of the operator, for all workspaces."""
    packs: PackIndex = field(default_factory=lambda: PackIndex(None))
    redis: "RedisConnection | None" = None
    """None: each replica admits its share of the rates, and counts its own calls."""
    slots: FairSlots = field(default_factory=lambda: FairSlots(CALL_SLOTS))
    lease_s: float = LEASE_S
    """Seconds after its last sign of life for which a process counts as alive."""
    public_url: str = ""
    """Where browsers reach this server, without a path; empty if it is not known."""
    lookups: LookupSlots = field(default_factory=LookupSlots)
    meter: CallMeter = field(default_factory=CallMeter)
    """Counts the calls of all workspaces."""

    @property
    def database(self) -> Database:
        """The home cluster: the directory, people and groups."""
        return self.clusters.home

    def pages(self, slug: str) -> MemberPages:
        """Return the pages of a workspace."""
        return MemberPages(f"{self.public_url}/w/{slug}" if self.public_url else "")

    def rate_limiter(self, workspace: UUID) -> RateLimiter:
        """Return what limits the rates of a workspace."""
        share = RateShare(MemoryRateLimiter(), self.notices.replicas)
        if self.redis is None:
            return share
        from onetool.storage.redis.rate_limits import RedisRateLimiter

        return RedisRateLimiter(self.redis, f"{REDIS_PREFIX}{workspace}:rate:", share)

    def call_leases(self, workspace: UUID) -> CallLeases | None:
        """Return what counts calls of a workspace at all replicas; None: each of them counts its own."""
        if self.redis is None:
            return None
        from onetool.storage.redis.call_leases import RedisCallLeases

        return RedisCallLeases(self.redis, f"{REDIS_PREFIX}{workspace}:calls:")

    def status(self) -> Literal["ok", "degraded", "unavailable"]:
        """Return whether requests can be served; "degraded": only with what is known in this process."""
        if self.notices.age_s() >= MAX_AGE_S:
            return "unavailable"
        return "ok" if self.notices.oldest_s() < DEGRADED_S else "degraded"

    def check_known(self, workspace: WorkspaceDatabase) -> None:
        """Check that changes to a workspace, and to the rights of people, are known.

        Raises:
            StoreUnavailable: A database has been away for so long that a known key may be revoked.
        """
        if self.notices.age_of(workspace) >= MAX_AGE_S:
            raise StoreUnavailable("The database is away. Whether rights were revoked is not known.")


@asynccontextmanager
async def open_hosted(
    url: str,
    keys: str,
    *,
    log_level: str = "warning",
    pack_dirs: tuple[PackDirectory, ...] = (),
    clusters: Mapping[str, str] = MappingProxyType({}),
    pooled_url: str = "",
    redis_url: str = "",
    lease_s: float = LEASE_S,
    public_url: str = "",
) -> AsyncIterator[HostedParts]:
    """Open the databases and what all workspaces share.

    pack_dirs: packs of the operator, for all workspaces.
    clusters: the URLs of the clusters other than `home`, by name.
    pooled_url: of a PgBouncer in transaction mode before the same database; empty: none.
    redis_url: a Redis server, which need not respond; empty: none.
    lease_s: seconds after its last sign of life for which this process counts as alive.
    public_url: where browsers reach this server.

    Raises:
        SettingsError: The keys, or a URL, are invalid, or a cluster has no URL.
        StoreUnavailable: The database cannot be reached for a minute, lacks migrations, or belongs to other
            keys.
    """
    ring, threads, credentials = KeyRing.parse(keys), Threads(), CredentialSet()
    with open_logs(stderr=log_level, file=None, credentials=credentials, owns_process=True):
        urls = {HOME: url, **clusters}
        others = {name: Database(other) for name, other in clusters.items()}
        opened = Clusters(Database(pooled_url or url), others)
        directory = Directory(opened.home, opened)
        notices = ClusterNotices(urls, opened, directory)
        sandbox, redis = MontySandbox(threads), None
        try:
            redis = await _open_redis(redis_url)
            for each in filter(None, (url, pooled_url)):
                await wait_for_database(each, threads)
            await threads.run(check_migrated, url)
            await threads.run(directory.check_clusters)
            await threads.run(directory.check_keys, ring)
            for name, other in clusters.items():
                await threads.run(_check_cluster, name, other)
            notices.start()
            parts = HostedParts(
                clusters=opened,
                directory=directory,
                ring=ring,
                threads=threads,
                sandbox=sandbox,
                credentials=credentials,
                notices=notices,
                urls=urls,
                pack_dirs=pack_dirs,
                redis=redis,
                lease_s=lease_s,
                public_url=public_url,
            )
            async with open_telemetry(threads, owns_process=True):
                yield parts
        finally:
            sandbox.close()
            if redis is not None:
                await redis.aclose()
            await threads.run(notices.stop)
            await threads.run(opened.close)
            threads.close()


@asynccontextmanager
async def open_workspace(parts: HostedParts, slug: str) -> AsyncIterator[HostedWorkspace]:
    """Open the runtime of a workspace.

    Raises:
        UnknownWorkspace: There is no such workspace.
        StoreUnavailable: The database cannot be reached.
        SettingsError: The stored settings are invalid.
    """
    threads = parts.threads
    found = await threads.run(parts.directory.find, slug)
    if found is None:
        raise UnknownWorkspace(f"There is no workspace {slug!r}.")
    workspace = parts.notices.workspace(found)
    sealer = Sealer(workspace, parts.ring)
    settings, secrets = PostgresSettings(workspace, threads), PostgresSecrets(workspace, threads, sealer)
    credentials = CredentialSet(parts.credentials)
    members, keys = PostgresMembers(workspace, threads), PostgresApiKeys(workspace, threads)
    rights, own_secrets = Members(members), PostgresOwnSecrets(workspace, threads, sealer)
    invitations = PostgresInvitations(workspace, threads)
    rates = parts.rate_limiter(found.id)
    clients = PostgresClientGrants(workspace, threads, sealer)
    shared = SharedParts(
        threads=threads,
        credentials=credentials,
        stores=hosted_stores(workspace, threads, sealer, parts.packs, lease_s=parts.lease_s),
        sandbox=parts.sandbox,
        omitted_packs=OMITTED_PACKS,
        request_key=await threads.run(_request_key, workspace, sealer),
        signal=WorkspaceReloadSignal(workspace),
        rates=rates,
        leases=parts.call_leases(found.id),
        slots=parts.slots.workspace(),
        members=rights,
        own_secrets=own_secrets,
        pages=parts.pages(slug),
        meter=parts.meter,
    )
    try:
        async with open_runtime(
            lambda: _configuration(workspace, settings, secrets, parts.pack_dirs),
            shared=shared,
            asks_users=True,
        ) as runtime:
            begun = PostgresBegunLogins(workspace, threads, sealer)
            logins = ServerConnections(runtime, begun, parts.pages(slug).callback)
            administration = Administration(
                members, keys, invitations, secrets, own_secrets, rates, logins, clients
            )
            yield HostedWorkspace(runtime, credentials, rights.current, administration)
    finally:
        await shared.stores.aclose()


def _check_cluster(name: str, url: str) -> None:
    """Check that another cluster has the tables of this version. One that is away is used when it is back.

    Raises:
        StoreUnavailable: It has other tables.
    """
    try:
        check_migrated(url)
    except WorkspaceUnavailable as error:
        log.warning("cluster %s is away: %s", name, error)


async def _open_redis(url: str) -> "RedisConnection | None":
    """Return the connections to Redis. One that is away is used when it is back."""
    if not url:
        return None
    from onetool.storage.redis.connection import RedisConnection

    redis = RedisConnection(url)
    await redis.check()  # logs a line if it is away
    return redis


def _request_key(workspace: WorkspaceDatabase, sealer: Sealer) -> bytes:
    with store_errors(), workspace.reading() as cursor:
        return sealer.derived_key(cursor, "requests of MCP clients")


def _configuration(
    workspace: WorkspaceDatabase,
    settings: PostgresSettings,
    secrets: PostgresSecrets,
    pack_dirs: tuple[PackDirectory, ...],
) -> Configuration:
    """Read the configuration of a workspace. Blocks.

    Raises:
        SettingsError: The settings are invalid, or use something of the server.
        StoreUnavailable: The database has failed.
    """
    with store_errors(), workspace.reading() as cursor:
        limits = read_limits(cursor, workspace.workspace)
    stored = settings.read()
    parsed = parse_settings(Settings, stored.document, lambda path: "settings")
    check_hosted(parsed)
    tools = stored.document.get("tools", ())
    return Configuration(
        paths=Paths(config=NO_DIRECTORY, data=NO_DIRECTORY, state=NO_DIRECTORY, cwd=NO_DIRECTORY),
        settings=parsed,
        secrets=Secrets(secrets.read(), place=SECRETS_PLACE, add_with=ADD_SECRETS_WITH),
        prompts=parse_settings(PromptSettings, stored.prompts, lambda path: "prompts"),
        configured_tools=tuple(ConfiguredTool("settings", value) for value in tools),
        pack_dirs=pack_dirs,
        environment={},
        limits=limits,
    )
