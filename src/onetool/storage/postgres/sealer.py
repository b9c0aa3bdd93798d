"""Sealing of a workspace's values with its own data keys."""

import hmac
import os
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar
from uuid import UUID

from psycopg import Connection

from onetool.domain.errors import StoreUnavailable

from .database import Cursor
from .key_ring import KEY_BYTES, KeyRing, key_name
from .sealed_columns import PLACES
from .workspace_database import WorkspaceDatabase

DATA_KEY = "data key"
"""What a sealed data key is, as part of its place."""
NEWEST = "select id from onetool.data_keys where workspace_id = %s order by created_at desc limit 1"
ALL = "select id, sealed from onetool.data_keys where workspace_id = %s order by created_at desc"
ADD = """
insert into onetool.data_keys (workspace_id, id, sealed, ring_key, created_at)
select %s, %s, %s, %s, greatest(clock_timestamp(), max(created_at) + interval '1 microsecond')
from onetool.data_keys where workspace_id = %s
"""
"""The new key is the newest one, even if the clock was set back."""
P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class DataKeys(NamedTuple):
    """The data keys of a workspace, and what stays the same when they are rotated."""

    ring: KeyRing
    """The newest key is the first one."""
    root: bytes
    """From which keys for other purposes are derived. It seals nothing in the database."""


class Sealer:
    """Seals and opens values of one workspace. Its data keys stay in memory, until there is a new one."""

    def __init__(self, workspace: WorkspaceDatabase, ring: KeyRing) -> None:
        self._workspace, self._ring = workspace, ring
        self._keys: KeyRing | None = None

    def seal(self, cursor: Cursor, text: str, place: str, *keys: str) -> bytes:
        """Seal a text for a place in the workspace, in a transaction that writes.

        Such a transaction waits while a data key is added. So after that, no value is sealed with another.

        place: one of `SEALED_COLUMNS`.

        Raises:
            ValueError: It is another one, whose values a rotation would lose.
        """
        if place not in PLACES:
            raise ValueError(f"Values of {place!r} are not in SEALED_COLUMNS.")
        row = cursor.execute(NEWEST, (self._workspace.workspace,)).fetchone()
        ring = self._keys
        if ring is None or row is None or ring.current != row[0]:
            ring = self._load(cursor)
        return ring.seal(text.encode(), str(self._workspace.workspace), place, *keys)

    def open(self, cursor: Cursor, sealed: bytes, *place: str) -> str:
        """Return the text that was sealed for this place.

        Raises:
            StoreUnavailable: The key is missing, or the value was changed or moved.
        """
        ring = self._keys
        if ring is None or key_name(sealed) not in ring:
            ring = self._load(cursor)
        return ring.open(sealed, str(self._workspace.workspace), *place).decode()

    def derived_key(self, cursor: Cursor, purpose: str) -> bytes:
        """Return a key for a purpose: the same one in all processes, for the lifetime of the workspace."""
        root = open_data_keys(cursor, self._workspace.workspace, self._ring).root
        return hmac.digest(root, purpose.encode(), "sha256")

    def _load(self, cursor: Cursor) -> KeyRing:
        self._keys = ring = open_data_keys(cursor, self._workspace.workspace, self._ring).ring
        return ring


def reads_sealed(
    method: Callable[Concatenate[S, Cursor, P], T],
) -> Callable[Concatenate[S, Cursor, P], T]:
    """Let a method that reads and opens values do so again if it fails.

    Between the two, a rotation may have sealed the values again and deleted the key. The second attempt, in
    the same transaction, reads them as they are now.
    """

    @wraps(method)
    def run(self: S, cursor: Cursor, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, cursor, *args, **kwargs)
        except StoreUnavailable:
            return method(self, cursor, *args, **kwargs)

    return run


def add_data_key(
    cursor: Cursor | Connection[Any], workspace: UUID, ring: KeyRing, root: bytes | None = None
) -> None:
    """Give a workspace a new data key, which seals from now on. Needs the owner's role.

    root: that of the earlier keys.
    """
    name = os.urandom(8).hex()
    plain = os.urandom(KEY_BYTES) + (root or os.urandom(KEY_BYTES))
    sealed = ring.seal(plain, DATA_KEY, str(workspace), name)
    cursor.execute(ADD, (workspace, name, sealed, ring.current, workspace))


def open_data_keys(cursor: Cursor | Connection[Any], workspace: UUID, ring: KeyRing) -> DataKeys:
    """Return the data keys of a workspace.

    Raises:
        StoreUnavailable: One is sealed with a key that is missing, or was changed.
    """
    rows = cursor.execute(ALL, (workspace,)).fetchall()
    opened = {name: ring.open(sealed, DATA_KEY, str(workspace), name) for name, sealed in rows}
    if not opened:
        raise StoreUnavailable(f"Workspace {workspace} has no data key.")
    newest = next(iter(opened.values()))
    keys = KeyRing({name: plain[:KEY_BYTES] for name, plain in opened.items()})
    # a key of an earlier version has no root
    return DataKeys(keys, newest[KEY_BYTES:] or hmac.digest(newest, b"root", "sha256"))
