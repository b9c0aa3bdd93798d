"""The workspaces of an installation, and their creation."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import orjson
import psycopg

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import SettingsError, StoreUnavailable
from onetool.domain.identity.workspace_limits import WorkspaceLimits

from .audit import record
from .clusters import HOME, Clusters, not_configured
from .database import Database, connect, store_errors
from .key_ring import KeyRing
from .sealer import add_data_key
from .workspace_database import NO_CHANGES, Revisions, WorkspaceDatabase

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
KEY_CHECK = "key check"
"""What the installation seals to recognize its key ring."""
MOVED = "moved"
"""How the announcement of a changed entry begins."""
LIMITS = "select limits from onetool.workspace_state where workspace_id = %s"
FEWEST = """
select clusters.name from home.clusters
left join home.workspaces on cluster = clusters.name and deleted_at is null
where accepts_new and (clusters.name = %(name)s or %(name)s::text is null)
group by clusters.name order by count(workspaces.id), clusters.name limit 1
"""


class Workspace(NamedTuple):
    """An entry of the directory."""

    id: UUID
    slug: str
    name: str
    revisions: Revisions = NO_CHANGES
    """When it was found."""
    cluster: str = HOME
    """Where its rows are."""
    epoch: int = 1
    """How often the entry was changed."""


class Directory:
    """Finds workspaces, and the clusters with their rows. Blocks."""

    def __init__(self, home: Database, clusters: Clusters | None = None) -> None:
        """clusters: all of them. None: there is only the home cluster."""
        self._database, self._clusters = home, clusters or Clusters(home)

    def find(self, slug: str) -> Workspace | None:
        """Return the workspace with this name in URLs."""
        if SLUG.fullmatch(slug) is None:
            return None
        with store_errors(), self._database.transaction() as cursor:
            cursor.execute(
                "select workspaces.id, slug, name, cluster, epoch, contents, settings, keys"
                " from home.workspaces left join onetool.revisions(array[workspaces.id]) on true"
                " where slug = %s and deleted_at is null",
                (slug,),
            )
            row = cursor.fetchone()
        if row is None:
            return None
        id, slug, name, cluster, epoch, *revisions = row
        if cluster != HOME:
            revisions = self._revisions(id, cluster)
        return Workspace(id, slug, name, Revisions(*(each or 0 for each in revisions)), cluster, epoch)

    def find_id(self, id: UUID) -> Workspace | None:
        """Return the workspace with this id, unless it is deleted."""
        with store_errors(), self._database.transaction() as cursor:
            cursor.execute(
                "select id, slug, name, cluster, epoch from home.workspaces"
                " where id = %s and deleted_at is null",
                (id,),
            )
            row = cursor.fetchone()
        return None if row is None else _workspace(row)

    def ids(self, cluster: str = HOME) -> list[UUID]:
        """Return the ids of all workspaces of a cluster that are not deleted."""
        with store_errors(), self._database.transaction() as cursor:
            rows = cursor.execute(
                "select id from home.workspaces where deleted_at is null and cluster = %s order by id",
                (cluster,),
            )
            return [id for (id,) in rows.fetchall()]

    def rows(self, found: Workspace) -> WorkspaceDatabase:
        """Return the rows of a workspace, also after it was moved."""
        return WorkspaceDatabase(
            self._clusters[found.cluster],
            found.id,
            found.revisions,
            home=self._database,
            epoch=found.epoch,
            relocate=self.relocate,
        )

    def relocate(self, rows: WorkspaceDatabase) -> None:
        """Find out where the rows of a workspace are now."""
        if (found := self.find_id(rows.workspace)) is not None:
            self.place(rows, found)

    def place(self, rows: WorkspaceDatabase, found: Workspace) -> None:
        """Use the rows where an entry says that they are, if it is newer than the one known so far."""
        rows.move_to(self._clusters[found.cluster], found.epoch)

    def check_clusters(self) -> None:
        """Check that every cluster of the installation is configured.

        Raises:
            SettingsError: One is not.
        """
        with store_errors(), self._database.transaction() as cursor:
            names = cursor.execute("select name from home.clusters order by name").fetchall()
        for (name,) in names:
            if name not in self._clusters:
                raise SettingsError(not_configured(name))

    def check_keys(self, ring: KeyRing) -> None:
        """Check that the key ring is that of this installation.

        Raises:
            StoreUnavailable: It is another one, or the database was never set up.
        """
        with store_errors(), self._database.transaction() as cursor:
            row = cursor.execute("select key_check from home.installation").fetchone()
        if row is None:
            raise StoreUnavailable("The database has never seen these keys. Run: onetool migrate")
        ring.open(row[0], KEY_CHECK)

    def _revisions(self, id: UUID, cluster: str) -> list[int]:
        with store_errors(), self._clusters[cluster].transaction() as cursor:
            row = cursor.execute("select * from onetool.revisions(array[%s])", (id,)).fetchone()
        return list(row[1:]) if row else []


class WorkspaceAdmin:
    """Creates, lists and deletes workspaces, with the owner's role. Blocks."""

    def __init__(self, url: str, ring: KeyRing, others: Mapping[str, str] = MappingProxyType({})) -> None:
        """others: the URLs of the clusters other than `home`."""
        self._urls, self._ring = {HOME: url, **others}, ring

    def check_keys(self) -> None:
        """Check that the key ring is that of this installation. The first one is recorded.

        Raises:
            StoreUnavailable: It is another one, or the database cannot be reached.
        """
        with self._connect() as connection:
            self._check_keys(connection)

    def create(self, slug: str, name: str = "", cluster: str | None = None) -> Workspace:
        """Create a workspace with a data key.

        cluster: by default, the one with the fewest workspaces that accepts new ones.

        Raises:
            SettingsError: The slug is invalid or in use, or the cluster does not accept new workspaces.
            StoreUnavailable: The database cannot be reached, or belongs to another key ring.
        """
        if SLUG.fullmatch(slug) is None:
            raise SettingsError(f"{slug!r} is no name for URLs. Use up to 63 letters a-z, digits and dashes.")
        with self._connect() as connection:
            self._check_keys(connection)
            place = _open_cluster(connection, cluster)
            workspace = Workspace(uuid4(), slug, name or slug, cluster=place)
            added = connection.execute(
                "insert into home.workspaces (id, slug, name, cluster) values (%s, %s, %s, %s)"
                " on conflict (slug) do nothing",
                (workspace.id, slug, workspace.name, place),
            )
            if not added.rowcount:
                raise SettingsError(f"There is a workspace {slug!r} already, or there was one.")
            with self._at(connection, place) as rows:  # committed before the directory names them
                rows.execute(
                    "insert into onetool.workspace_state (workspace_id) values (%s)", (workspace.id,)
                )
                add_data_key(rows, workspace.id, self._ring)
                record(rows, workspace.id, AuditAction.WORKSPACE_CREATE, slug, {"name": workspace.name})
        return workspace

    def list(self) -> list[Workspace]:
        """Return all workspaces, by slug."""
        with self._connect() as connection:
            rows = connection.execute(
                "select id, slug, name, cluster, epoch from home.workspaces"
                " where deleted_at is null order by slug"
            ).fetchall()
        return [_workspace(row) for row in rows]

    def delete(self, slug: str) -> bool:
        """Mark a workspace as deleted: its keys are invalid. Return False if there is none."""
        with self._connect() as connection:
            deleted = connection.execute(
                "update home.workspaces set deleted_at = now(), epoch = epoch + 1"
                " where slug = %s and deleted_at is null returning id, cluster, epoch",
                (slug,),
            ).fetchone()
            if deleted is not None:
                id, cluster, epoch = deleted
                announce_entry(connection, id, cluster, epoch)
                with self._at(connection, cluster) as rows:
                    rows.execute("select onetool.begin_write(%s, 'keys')", (id,))
                    record(rows, id, AuditAction.WORKSPACE_DELETE, slug)
            return deleted is not None

    def change_limits(self, slug: str, changes: Mapping[str, int | None]) -> WorkspaceLimits | None:
        """Change limits of a workspace, which running servers follow. Return all of them.

        Returns None if there is no such workspace.

        Raises:
            SettingsError: A limit is out of range.
        """
        with self._connect() as connection:
            row = connection.execute(
                "select id, cluster from home.workspaces where slug = %s and deleted_at is null for update",
                (slug,),
            ).fetchone()
            if row is None:
                return None
            id, cluster = row
            with self._at(connection, cluster) as rows:
                if changes:
                    rows.execute("select onetool.begin_write(%s, 'settings')", (id,))
                ((text,),) = rows.execute(LIMITS, (id,)).fetchall()
                stored = orjson.loads(text)
                limits = WorkspaceLimits.from_json(stored | changes)
                if changes:
                    rows.execute(
                        "update onetool.workspace_state set limits = %s where workspace_id = %s",
                        (orjson.dumps(stored | changes).decode(), id),
                    )
                    record(rows, id, AuditAction.WORKSPACE_LIMITS, slug, changes)
        return limits

    @contextmanager
    def _at(self, home: psycopg.Connection, cluster: str) -> Iterator[psycopg.Connection]:
        """Open a transaction in a cluster; the one that is open if it is the home cluster."""
        if cluster == HOME:
            yield home
        else:
            with self._connect(cluster) as connection:
                yield connection

    @contextmanager
    def _connect(self, cluster: str = HOME) -> Iterator[psycopg.Connection]:
        if cluster not in self._urls:
            raise SettingsError(not_configured(cluster))
        with connect(self._urls[cluster]) as connection:
            connection.execute("set role onetool_owner")
            yield connection

    def _check_keys(self, connection: psycopg.Connection) -> None:
        connection.execute(
            "insert into home.installation (key_check) values (%s) on conflict do nothing",
            (self._ring.seal(b"", KEY_CHECK),),
        )
        row = connection.execute("select key_check from home.installation").fetchone()
        self._ring.open(row[0] if row else b"", KEY_CHECK)


def announce_entry(connection: psycopg.Connection, id: UUID, cluster: str, epoch: int) -> None:
    """Tell all processes, at the commit in the home cluster, that an entry of the directory has changed."""
    connection.execute("select pg_notify('onetool', %s)", (f"{MOVED} {id} {cluster} {epoch}",))


def _workspace(row: Sequence[Any]) -> Workspace:
    id, slug, name, cluster, epoch = row
    return Workspace(id, slug, name, cluster=cluster, epoch=epoch)


def _open_cluster(connection: psycopg.Connection, name: str | None) -> str:
    """Return the cluster for a new workspace.

    Raises:
        SettingsError: It does not exist, or accepts no new workspaces.
    """
    row = connection.execute(FEWEST, {"name": name}).fetchone()
    if row is not None:
        return str(row[0])
    if name is None:
        raise SettingsError("No cluster accepts new workspaces. Run: onetool admin cluster open NAME")
    raise SettingsError(f"Cluster {name!r} is not part of the installation, or accepts no new workspaces.")
