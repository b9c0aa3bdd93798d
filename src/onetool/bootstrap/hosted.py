"""Hosted mode: runtimes of many workspaces in one process, with their stores in PostgreSQL."""

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from onetool.domain.identity.api_key import ApiKey
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.logs import RotatingFile, open_logs
from onetool.runtime.runtime import Runtime
from onetool.sandbox.monty import MontySandbox
from onetool.settings.configuration import Configuration, ConfiguredTool, PackDirectory, parse_settings
from onetool.settings.hosted_profile import OMITTED_PACKS, check_hosted
from onetool.settings.paths import Paths
from onetool.settings.schema import PromptSettings, Settings
from onetool.settings.secrets import Secrets
from onetool.sources.python_packs.index import PackIndex
from onetool.storage.postgres.activity import PostgresActivity
from onetool.storage.postgres.api_keys import PostgresApiKeys
from onetool.storage.postgres.bundles.store import PostgresBundles
from onetool.storage.postgres.client_sessions import PostgresClientSessions
from onetool.storage.postgres.database import Database, WorkspaceDatabase
from onetool.storage.postgres.directory import Directory
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.storage.postgres.key_ring import KeyRing
from onetool.storage.postgres.manifests import PostgresManifests
from onetool.storage.postgres.migrate import check_migrated
from onetool.storage.postgres.notices import ChangeNotices
from onetool.storage.postgres.reload_signal import WorkspaceReloadSignal
from onetool.storage.postgres.results import PostgresResults
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.sessions import PostgresSessions
from onetool.storage.postgres.settings import PostgresSettings
from onetool.storage.postgres.toggles import PostgresToggles
from onetool.storage.postgres.tokens import PostgresTokens
from onetool.threads import Threads

from .lifespan import SharedParts, open_runtime
from .stores import Stores

KEY_TTL_S = 30.0
"""Seconds for which a key that was found is not looked up again."""
MAX_VERIFIED = 10_000
NO_DIRECTORY = Path("/dev/null/onetool")
"""In place of a user's directories, which workspaces do not have. It cannot be created, not even by root."""


class HostedWorkspace(NamedTuple):
    """An open workspace."""

    slug: str
    runtime: Runtime
    keys: PostgresApiKeys
    settings: PostgresSettings
    secrets: PostgresSecrets
    credentials: CredentialSet
    """What is redacted in results and log records of this workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedParts:
    """What all workspaces of a process share."""

    database: Database
    directory: Directory
    ring: KeyRing
    threads: Threads
    sandbox: MontySandbox
    credentials: CredentialSet
    notices: ChangeNotices
    pack_dirs: tuple[PackDirectory, ...] = ()
    """Packs of the operator, for all workspaces."""
    packs: PackIndex = field(default_factory=lambda: PackIndex(None))

    async def check_ready(self) -> None:
        """Check that the database responds.

        Raises:
            StoreUnavailable: It does not.
        """
        await self.threads.run(self.directory.check_keys, self.ring)


@asynccontextmanager
async def open_hosted(
    url: str, keys: str, *, log_level: str = "warning", pack_dirs: tuple[PackDirectory, ...] = ()
) -> AsyncIterator[HostedParts]:
    """Open the database and what all workspaces share.

    pack_dirs: packs of the operator, for all workspaces.

    Raises:
        SettingsError: The keys are invalid.
        StoreUnavailable: The database cannot be reached, lacks migrations, or belongs to other keys.
    """
    ring, threads, credentials = KeyRing.parse(keys), Threads(), CredentialSet()
    no_file: RotatingFile | None = None
    with open_logs(stderr=log_level, file=no_file, credentials=credentials, owns_process=True):
        database, notices = Database(url), ChangeNotices(url)
        sandbox = MontySandbox(threads)
        try:
            directory = Directory(database)
            await threads.run(check_migrated, url)
            await threads.run(directory.check_keys, ring)
            notices.start()
            yield HostedParts(
                database=database,
                directory=directory,
                ring=ring,
                threads=threads,
                sandbox=sandbox,
                credentials=credentials,
                notices=notices,
                pack_dirs=pack_dirs,
            )
        finally:
            sandbox.close()
            await threads.run(notices.stop)
            await threads.run(database.close)
            threads.close()


@asynccontextmanager
async def open_workspace(parts: HostedParts, slug: str) -> AsyncIterator[HostedWorkspace]:
    """Open the runtime of a workspace.

    Raises:
        LookupError: There is no such workspace.
        StoreUnavailable: The database cannot be reached.
        SettingsError: The stored settings are invalid.
    """
    threads = parts.threads
    found = await threads.run(parts.directory.find, slug)
    if found is None:
        raise LookupError(f"There is no workspace {slug!r}.")
    workspace = WorkspaceDatabase(parts.database, found.id)
    parts.notices.add(workspace)
    sealer = Sealer(workspace, parts.ring)
    settings, secrets = PostgresSettings(workspace, threads), PostgresSecrets(workspace, threads, sealer)
    credentials = CredentialSet(parts.credentials)
    shared = SharedParts(
        threads=threads,
        credentials=credentials,
        stores=hosted_stores(workspace, threads, sealer, parts.packs),
        sandbox=parts.sandbox,
        omitted_packs=OMITTED_PACKS,
        request_key=await threads.run(_request_key, workspace, sealer),
        signal=WorkspaceReloadSignal(workspace),
    )
    try:
        async with open_runtime(
            lambda: _configuration(settings, secrets, parts.pack_dirs), shared=shared, asks_users=True
        ) as runtime:
            keys = PostgresApiKeys(workspace, threads)
            yield HostedWorkspace(slug, runtime, keys, settings, secrets, credentials)
    finally:
        await shared.stores.aclose()


class ApiKeyAuthenticator:
    """Finds the principal of an API key. Valid keys stay in memory for a while."""

    def __init__(self, parts: HostedParts, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._parts, self._clock = parts, clock
        self._verified: OrderedDict[tuple[str, bytes], tuple[float, ApiKey]] = OrderedDict()

    async def authenticate(self, slug: str, text: str) -> str | None:
        """Return the principal of a key of a workspace; None if there is no such key, or no such workspace.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        place, now = (slug, sha256(text.encode("utf-8", "replace")).digest()), self._clock()
        until, key = self._verified.get(place, (now, None))
        if key is None or now >= until:
            self._verified.pop(place, None)
            key = await self._find(slug, text)
            if key is None:
                return None
            self._verified[place] = now + KEY_TTL_S, key
            if len(self._verified) > MAX_VERIFIED:
                self._verified.popitem(last=False)
        is_usable = key.is_valid(datetime.now(UTC)) and not key.patterns
        return key.owner if is_usable else None

    async def _find(self, slug: str, text: str) -> ApiKey | None:
        threads = self._parts.threads
        found = await threads.run(self._parts.directory.find, slug)
        if found is None:
            return None
        return await PostgresApiKeys(WorkspaceDatabase(self._parts.database, found.id), threads).find(text)


def hosted_stores(workspace: WorkspaceDatabase, threads: Threads, sealer: Sealer, packs: PackIndex) -> Stores:
    """Return the stores of one workspace."""
    return Stores(
        activity=PostgresActivity(workspace, threads),
        results=PostgresResults(workspace, threads),
        bundles=PostgresBundles(workspace, threads),
        toggles=PostgresToggles(workspace, threads),
        manifests=PostgresManifests(workspace, threads),
        tokens=PostgresTokens(workspace, threads, sealer, "server"),
        http_tokens=PostgresTokens(workspace, threads, sealer, "http"),
        sessions=PostgresSessions(workspace, threads),
        jobs=PostgresJobs(workspace, threads),
        client_sessions=PostgresClientSessions(workspace, threads),
        packs=packs,
        has_files=False,
    )


def _request_key(workspace: WorkspaceDatabase, sealer: Sealer) -> bytes:
    with workspace.reading() as cursor:
        return sealer.derived_key(cursor, "requests of MCP clients")


def _configuration(
    settings: PostgresSettings, secrets: PostgresSecrets, pack_dirs: tuple[PackDirectory, ...]
) -> Configuration:
    """Read the configuration of a workspace. Blocks.

    Raises:
        SettingsError: The settings are invalid, or use something of the server.
    """
    stored = settings.read()
    document = dict(stored.document)
    parsed = parse_settings(Settings, document, lambda path: "settings")
    check_hosted(parsed)
    no_environment: Mapping[str, str] = {}
    return Configuration(
        paths=Paths(config=NO_DIRECTORY, data=NO_DIRECTORY, state=NO_DIRECTORY, cwd=NO_DIRECTORY),
        settings=parsed,
        secrets=Secrets(secrets.read()),
        prompts=parse_settings(PromptSettings, stored.prompts, lambda path: "prompts"),
        configured_tools=tuple(ConfiguredTool("settings", value) for value in document.get("tools", ())),
        pack_dirs=pack_dirs,
        environment=no_environment,
    )
