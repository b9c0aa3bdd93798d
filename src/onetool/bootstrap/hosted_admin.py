"""Administration of a hosted OneTool: migrations, workspaces and API keys."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from onetool.domain.errors import SettingsError
from onetool.domain.identity.api_key import NewApiKey
from onetool.domain.identity.principal import current_principal
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind, check_patterns
from onetool.settings.documents import parse_settings
from onetool.settings.hosted_profile import check_hosted
from onetool.settings.schema import Settings
from onetool.storage.postgres.api_keys import PostgresApiKeys
from onetool.storage.postgres.audit import PostgresAudit
from onetool.storage.postgres.cluster_admin import ClusterAdmin
from onetool.storage.postgres.clusters import HOME, Clusters
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.directory import Directory, WorkspaceAdmin
from onetool.storage.postgres.installation_check import InstallationCheck, check_installation
from onetool.storage.postgres.invitations import PostgresInvitations
from onetool.storage.postgres.key_ring import KeyRing, new_key
from onetool.storage.postgres.key_rotation import RotatedKeys, rotate_keys
from onetool.storage.postgres.members import PostgresMembers
from onetool.storage.postgres.migrate import check_migrated, pending_migrations
from onetool.storage.postgres.migrate import migrate as migrate_database
from onetool.storage.postgres.moves import WorkspaceMoves
from onetool.storage.postgres.people import PostgresPeople
from onetool.storage.postgres.rewrap import rewrap_keys
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.settings import PostgresSettings, SettingsVersion
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads

__all__ = [
    "ClusterAdmin",
    "PostgresPeople",
    "WorkspaceAdmin",
    "WorkspaceContents",
    "WorkspaceMoves",
    "check",
    "cluster_admin",
    "migrate_database",
    "new_key",
    "open_contents",
    "open_people",
    "pending_migrations",
    "rewrap",
    "rotate",
    "workspace_admin",
    "workspace_moves",
]


Others = Mapping[str, str]
"""The URLs of the clusters other than `home`, by name."""
NO_OTHERS: Others = MappingProxyType({})


def workspace_admin(url: str, keys: str, others: Others = NO_OTHERS) -> WorkspaceAdmin:
    """Return what manages workspaces.

    Raises:
        SettingsError: The keys or the URL are invalid.
        StoreUnavailable: The database cannot be reached, or lacks tables.
    """
    ring = KeyRing.parse(keys)
    check_migrated(url)
    return WorkspaceAdmin(url, ring, others)


def check(url: str, keys: str, others: Others = NO_OTHERS) -> InstallationCheck:
    """Check the tables, the keys and the sealed values of an installation.

    Raises:
        SettingsError: The keys or a URL are invalid.
        StoreUnavailable: A database cannot be reached, does not fit this version, or has other keys.
    """
    return check_installation(url, KeyRing.parse(keys), others)


def rewrap(url: str, keys: str, others: Others = NO_OTHERS) -> int:
    """Seal the keys of all workspaces with the first key. Return how many were sealed with another one.

    Raises:
        SettingsError: The keys or the URL are invalid.
        StoreUnavailable: The database cannot be reached, lacks tables, or needs a key that is missing.
    """
    ring = KeyRing.parse(keys)
    check_migrated(url)
    return rewrap_keys(url, ring, others)


def rotate(
    url: str,
    keys: str,
    slug: str | None,
    older_than: timedelta | None,
    report: Callable[[str], None],
    *,
    others: Others = NO_OTHERS,
) -> Sequence[RotatedKeys]:
    """Replace the data key of a workspace, or of all of them.

    Raises:
        SettingsError: The keys or the URL are invalid, or there is no such workspace.
        StoreUnavailable: The database cannot be reached, lacks tables, or needs a key that is missing.
    """
    ring = KeyRing.parse(keys)
    check_migrated(url)
    return rotate_keys(url, ring, slug, others=others, older_than=older_than, report=report)


def cluster_admin(url: str, others: Others) -> ClusterAdmin:
    """Return what manages clusters.

    Raises:
        StoreUnavailable: The database cannot be reached, or lacks tables.
    """
    check_migrated(url)
    return ClusterAdmin({HOME: url, **others})


def workspace_moves(
    url: str, others: Others, report: Callable[[str], None], *, ignore_away: bool = False
) -> WorkspaceMoves:
    """Return what moves workspaces between clusters.

    report: is given a line about each step. ignore_away: clusters that are away have no newer rows.

    Raises:
        StoreUnavailable: The database cannot be reached, or lacks tables.
    """
    check_migrated(url)
    return WorkspaceMoves({HOME: url, **others}, report, ignore_away=ignore_away)


class WorkspaceContents:
    """The members, API keys, settings, secrets and audit log of a workspace, for an operator."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads, ring: KeyRing) -> None:
        self.keys, self.members = PostgresApiKeys(workspace, threads), PostgresMembers(workspace, threads)
        self.audit = PostgresAudit(workspace, threads)
        self.invitations = PostgresInvitations(workspace, threads)
        self.secrets = PostgresSecrets(workspace, threads, Sealer(workspace, ring))
        self._settings, self._threads = PostgresSettings(workspace, threads), threads

    async def create_key(
        self,
        owner: str,
        name: str,
        lifetime: timedelta,
        patterns: Sequence[str] = (),
        *,
        role: Role = Role.CALLER,
    ) -> NewApiKey:
        """Create a key. An owner that is not a member yet becomes a service with this role.

        Raises:
            MemberError: The owner is no name for a service, or a pattern is invalid.
        """
        check_patterns(patterns)
        if owner not in {member.id for member in await self.members.list()}:
            await self.members.put(Member(MemberKind.SERVICE, owner, role, added_by=current_principal().id))
        return await self.keys.create(owner, name, lifetime, patterns)

    async def settings(self) -> SettingsVersion:
        """Return the settings."""
        return await self._threads.run(self._settings.read)

    async def secret_names(self) -> list[str]:
        """Return the names of the secrets."""
        return list(await self._threads.run(self.secrets.read))

    async def replace_settings(self, document: dict[str, Any], changed_by: str) -> int:
        """Check and store settings. Return their version.

        Raises:
            SettingsError: They are invalid, use something of the server, or were changed meanwhile.
        """
        check_hosted(parse_settings(Settings, document, lambda path: "settings"))
        current = await self.settings()
        if not await self._settings.put(current._replace(document=document), changed_by):
            raise SettingsError("The settings were changed by someone else at the same time. Try again.")
        return current.version + 1


@asynccontextmanager
async def open_people(url: str) -> AsyncIterator[PostgresPeople]:
    """Open the people of an installation.

    Raises:
        StoreUnavailable: The database cannot be reached, or lacks tables.
    """
    threads, database = Threads(), Database(url)
    try:
        await threads.run(check_migrated, url)
        yield PostgresPeople(database, threads)
    finally:
        await threads.run(database.close)
        threads.close()


@asynccontextmanager
async def open_contents(
    url: str, keys: str, slug: str, others: Others = NO_OTHERS
) -> AsyncIterator[WorkspaceContents]:
    """Open what a workspace contains, without running it.

    Raises:
        SettingsError: There is no such workspace, or the keys are invalid.
        StoreUnavailable: The database cannot be reached.
    """
    ring, threads = KeyRing.parse(keys), Threads()
    clusters = Clusters(Database(url), {name: Database(other) for name, other in others.items()})
    directory = Directory(clusters.home, clusters)
    try:
        await threads.run(check_migrated, url)
        found = await threads.run(directory.find, slug)
        if found is None:
            raise SettingsError(f"There is no workspace {slug!r}.")
        yield WorkspaceContents(directory.rows(found), threads, ring)
    finally:
        await threads.run(clusters.close)
        threads.close()
