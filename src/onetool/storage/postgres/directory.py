"""The workspaces of an installation, and their creation."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from uuid import UUID, uuid4

import orjson
import psycopg

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import SettingsError, StoreUnavailable
from onetool.domain.identity.workspace_limits import WorkspaceLimits

from .audit import record
from .database import NO_CHANGES, Database, Revisions, connect, store_errors
from .key_ring import KeyRing
from .sealer import add_data_key

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
KEY_CHECK = "key check"
"""What the installation seals to recognize its key ring."""


class Workspace(NamedTuple):
    """An entry of the directory."""

    id: UUID
    slug: str
    name: str
    revisions: Revisions = NO_CHANGES
    """When it was found."""


class Directory:
    """Finds workspaces. Blocks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, slug: str) -> Workspace | None:
        """Return the workspace with this name in URLs."""
        if SLUG.fullmatch(slug) is None:
            return None
        with store_errors(), self._database.transaction() as cursor:
            cursor.execute(
                "select workspaces.id, slug, name, contents, settings, keys"
                " from home.workspaces, onetool.revisions(array[workspaces.id])"
                " where slug = %s and deleted_at is null",
                (slug,),
            )
            row = cursor.fetchone()
        if row is None:
            return None
        id, slug, name, *revisions = row
        return Workspace(id, slug, name, Revisions(*revisions))

    def find_id(self, id: UUID) -> Workspace | None:
        """Return the workspace with this id, unless it is deleted."""
        with store_errors(), self._database.transaction() as cursor:
            cursor.execute(
                "select id, slug, name from home.workspaces where id = %s and deleted_at is null", (id,)
            )
            row = cursor.fetchone()
        return None if row is None else Workspace(*row)

    def ids(self) -> list[UUID]:
        """Return the ids of all workspaces that are not deleted."""
        with store_errors(), self._database.transaction() as cursor:
            rows = cursor.execute("select id from home.workspaces where deleted_at is null order by id")
            return [id for (id,) in rows.fetchall()]

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


class WorkspaceAdmin:
    """Creates, lists and deletes workspaces, with the owner's role. Blocks."""

    def __init__(self, url: str, ring: KeyRing) -> None:
        self._url, self._ring = url, ring

    def check_keys(self) -> None:
        """Check that the key ring is that of this installation. The first one is recorded.

        Raises:
            StoreUnavailable: It is another one, or the database cannot be reached.
        """
        with self._connect() as connection:
            self._check_keys(connection)

    def create(self, slug: str, name: str = "") -> Workspace:
        """Create a workspace with a data key.

        Raises:
            SettingsError: The slug is invalid or in use.
            StoreUnavailable: The database cannot be reached, or belongs to another key ring.
        """
        if SLUG.fullmatch(slug) is None:
            raise SettingsError(f"{slug!r} is no name for URLs. Use up to 63 letters a-z, digits and dashes.")
        workspace = Workspace(uuid4(), slug, name or slug)
        with self._connect() as connection, connection.cursor() as cursor:
            self._check_keys(connection)
            cursor.execute(
                "insert into home.workspaces (id, slug, name) values (%s, %s, %s)"
                " on conflict (slug) do nothing",
                workspace[:3],
            )
            if not cursor.rowcount:
                raise SettingsError(f"There is a workspace {slug!r} already, or there was one.")
            cursor.execute("insert into onetool.workspace_state (workspace_id) values (%s)", (workspace.id,))
            add_data_key(cursor, workspace.id, self._ring)
            record(cursor, workspace.id, AuditAction.WORKSPACE_CREATE, slug, {"name": workspace.name})
        return workspace

    def list(self) -> list[Workspace]:
        """Return all workspaces, by slug."""
        with self._connect() as connection:
            rows = connection.execute(
                "select id, slug, name from home.workspaces where deleted_at is null order by slug"
            ).fetchall()
        return [Workspace(*row) for row in rows]

    def delete(self, slug: str) -> bool:
        """Mark a workspace as deleted: its keys are invalid. Return False if there is none."""
        with self._connect() as connection:
            deleted = connection.execute(
                "update home.workspaces set deleted_at = now() where slug = %s and deleted_at is null"
                " returning id, onetool.begin_write(id, 'keys')",
                (slug,),
            ).fetchone()
            if deleted is not None:
                record(connection, deleted[0], AuditAction.WORKSPACE_DELETE, slug)
            return deleted is not None

    def change_limits(self, slug: str, changes: Mapping[str, int | None]) -> WorkspaceLimits | None:
        """Change limits of a workspace, which running servers follow. Return all of them.

        Returns None if there is no such workspace.

        Raises:
            SettingsError: A limit is out of range.
        """
        with self._connect() as connection:
            row = connection.execute(
                "select id, limits from home.workspaces where slug = %s and deleted_at is null for update",
                (slug,),
            ).fetchone()
            if row is None:
                return None
            stored = orjson.loads(row[1])
            limits = WorkspaceLimits.from_json(stored | changes)
            if changes:
                connection.execute("select onetool.begin_write(%s, 'settings')", (row[0],))
                connection.execute(
                    "update home.workspaces set limits = %s where id = %s",
                    (orjson.dumps(stored | changes).decode(), row[0]),
                )
                record(connection, row[0], AuditAction.WORKSPACE_LIMITS, slug, changes)
        return limits

    @contextmanager
    def _connect(self) -> Iterator[psycopg.Connection]:
        with connect(self._url) as connection:
            connection.execute("set role onetool_owner")
            yield connection

    def _check_keys(self, connection: psycopg.Connection) -> None:
        connection.execute(
            "insert into home.installation (key_check) values (%s) on conflict do nothing",
            (self._ring.seal(b"", KEY_CHECK),),
        )
        row = connection.execute("select key_check from home.installation").fetchone()
        self._ring.open(row[0] if row else b"", KEY_CHECK)
