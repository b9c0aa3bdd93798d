"""Sealing of a workspace's values with its own data keys."""

import hmac
import os
import threading
from uuid import UUID

from .database import Cursor, WorkspaceDatabase
from .key_ring import KEY_BYTES, KeyRing

DATA_KEY = "data key"
"""What a sealed data key is, as part of its place."""


class Sealer:
    """Seals and opens values of one workspace. Its data keys stay in memory."""

    def __init__(self, workspace: WorkspaceDatabase, ring: KeyRing) -> None:
        self._workspace, self._ring = workspace, ring
        self._lock = threading.Lock()
        self._keys: KeyRing | None = None

    def seal(self, cursor: Cursor, text: str, *place: str) -> bytes:
        """Seal a text for a place in the workspace."""
        return self._data_keys(cursor).seal(text.encode(), str(self._workspace.workspace), *place)

    def open(self, cursor: Cursor, sealed: bytes, *place: str) -> str:
        """Return the text that was sealed for this place.

        Raises:
            StoreUnavailable: The key is missing, or the value was changed or moved.
        """
        return self._data_keys(cursor).open(sealed, str(self._workspace.workspace), *place).decode()

    def derived_key(self, cursor: Cursor, purpose: str) -> bytes:
        """Return a key for a purpose: the same one in all processes, for the lifetime of the workspace."""
        cursor.execute(
            "select id, sealed from onetool.data_keys where workspace_id = %s order by created_at limit 1",
            (self._workspace.workspace,),
        )
        ((name, sealed),) = cursor.fetchall()
        key = self._ring.open(sealed, DATA_KEY, str(self._workspace.workspace), name)
        return hmac.digest(key, purpose.encode(), "sha256")

    def _data_keys(self, cursor: Cursor) -> KeyRing:
        with self._lock:
            if self._keys is None:
                self._keys = _open_keys(cursor, self._workspace.workspace, self._ring)
            return self._keys


def add_data_key(cursor: Cursor, workspace: UUID, ring: KeyRing) -> None:
    """Give a workspace a new data key, which seals from now on. Needs the owner's role."""
    name = os.urandom(8).hex()
    sealed = ring.seal(os.urandom(KEY_BYTES), DATA_KEY, str(workspace), name)
    cursor.execute(
        "insert into onetool.data_keys (workspace_id, id, sealed, ring_key) values (%s, %s, %s, %s)",
        (workspace, name, sealed, ring.current),
    )


def _open_keys(cursor: Cursor, workspace: UUID, ring: KeyRing) -> KeyRing:
    cursor.execute(
        "select id, sealed from onetool.data_keys where workspace_id = %s order by created_at desc",
        (workspace,),
    )
    return KeyRing(
        {name: ring.open(sealed, DATA_KEY, str(workspace), name) for name, sealed in cursor.fetchall()}
    )
