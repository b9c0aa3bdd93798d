"""The workspaces of an installation, and their creation."""

import re
from typing import NamedTuple
from uuid import UUID, uuid4

import psycopg

from onetool.domain.errors import SettingsError, StoreUnavailable

from .database import Database, store_errors
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
                "select id, slug, name from home.workspaces where slug = %s and deleted_at is null", (slug,)
            )
            row = cursor.fetchone()
        return None if row is None else Workspace._make(row)

    def check_keys(self, ring: KeyRing) -> None:
        """Check that the key ring is that of this installation.

        Raises:
            StoreUnavailable: It is another one, or the database was never set up.
        """
        with store_errors(), self._database.transaction() as cursor:
            row = cursor.execute("select key_check from home.installation").fetchone()
        if row is None:
            raise StoreUnavailable(
                "The installation has no workspace. Run: onetool admin workspace create NAME"
            )
        ring.open(row[0], KEY_CHECK)


class WorkspaceAdmin:
    """Creates, lists and deletes workspaces, with the owner's role. Blocks."""

    def __init__(self, url: str, ring: KeyRing) -> None:
        self._url, self._ring = url, ring

    def create(self, slug: str, name: str = "") -> Workspace:
        """Create a workspace with a data key. The first one also records which key ring is used.

        Raises:
            SettingsError: The slug is invalid or in use.
            StoreUnavailable: The database cannot be reached, or belongs to another key ring.
        """
        if SLUG.fullmatch(slug) is None:
            raise SettingsError(f"{slug!r} is no name for URLs. Use up to 63 letters a-z, digits and dashes.")
        workspace = Workspace(uuid4(), slug, name or slug)
        with store_errors(), self._connect() as connection, connection.cursor() as cursor:
            self._check_keys(connection)
            cursor.execute(
                "insert into home.workspaces (id, slug, name) values (%s, %s, %s)"
                " on conflict (slug) do nothing",
                workspace,
            )
            if not cursor.rowcount:
                raise SettingsError(f"There is a workspace {slug!r} already, or there was one.")
            cursor.execute("insert into onetool.workspace_state (workspace_id) values (%s)", (workspace.id,))
            add_data_key(cursor, workspace.id, self._ring)
        return workspace

    def list(self) -> list[Workspace]:
        """Return all workspaces, by slug."""
        with store_errors(), self._connect() as connection:
            rows = connection.execute(
                "select id, slug, name from home.workspaces where deleted_at is null order by slug"
            ).fetchall()
        return [Workspace._make(row) for row in rows]

    def delete(self, slug: str) -> bool:
        """Mark a workspace as deleted: it cannot be opened any more. Return False if there is none."""
        with store_errors(), self._connect() as connection:
            changed = connection.execute(
                "update home.workspaces set deleted_at = now() where slug = %s and deleted_at is null",
                (slug,),
            )
            return changed.rowcount > 0

    def _connect(self) -> psycopg.Connection:
        connection = psycopg.connect(self._url)
        connection.execute("set role onetool_owner")
        return connection

    def _check_keys(self, connection: psycopg.Connection) -> None:
        connection.execute(
            "insert into home.installation (key_check) values (%s) on conflict do nothing",
            (self._ring.seal(b"", KEY_CHECK),),
        )
        row = connection.execute("select key_check from home.installation").fetchone()
        self._ring.open(row[0] if row else b"", KEY_CHECK)
