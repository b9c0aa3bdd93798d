"""API keys of a workspace. The database has only their hashes."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from uuid_utils.compat import uuid7

from onetool.domain.identity.api_key import ApiKey
from onetool.threads import Threads

from .database import WorkspaceDatabase, on_thread

PREFIX = "otk_"
PREFIX_LENGTH = len(PREFIX) + 6
"""Characters of a key that are stored, so that a person recognizes it."""
COLUMNS = "id, owner, name, prefix, patterns, created_at, expires_at, revoked_at"


class NewApiKey(NamedTuple):
    """A key that was just created, with its text, which is shown once."""

    text: str
    key: ApiKey


class PostgresApiKeys:
    """The API keys of one workspace."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads

    @on_thread
    def create(self, owner: str, name: str, lifetime: timedelta, patterns: Sequence[str] = ()) -> NewApiKey:
        """Create a key for calls on behalf of an owner."""
        text = PREFIX + secrets.token_urlsafe(32)
        now = datetime.now(UTC)
        id, prefix, expires = str(uuid7()), text[:PREFIX_LENGTH], now + lifetime
        key = ApiKey(id, owner, name, prefix, tuple(patterns), now, expires)
        with self._workspace.recording() as cursor:
            cursor.execute(
                f"insert into api_keys (workspace_id, hash, {COLUMNS})"
                " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
                (
                    self._workspace.workspace,
                    _hash(text),
                    *(list(value) if isinstance(value, tuple) else value for value in key),
                ),
            )
        return NewApiKey(text, key)

    @on_thread
    def find(self, text: str) -> ApiKey | None:
        """Return the key with this text, also one that has expired or was revoked."""
        if not text.startswith(PREFIX):
            return None
        with self._workspace.reading() as cursor:
            cursor.execute(
                f"select {COLUMNS} from api_keys where workspace_id = %s and hash = %s",
                (self._workspace.workspace, _hash(text)),
            )
            row = cursor.fetchone()
        return None if row is None else _key(row)

    @on_thread
    def list(self) -> Sequence[ApiKey]:
        """Return all keys, newest first."""
        with self._workspace.reading() as cursor:
            cursor.execute(
                f"select {COLUMNS} from api_keys where workspace_id = %s order by created_at desc, id",
                (self._workspace.workspace,),
            )
            return [_key(row) for row in cursor.fetchall()]

    @on_thread
    def revoke(self, id: str) -> bool:
        """Revoke a key. Return False if there is no such key, or if it was revoked before."""
        try:
            key_id = UUID(id)
        except ValueError:
            return False
        with self._workspace.writing() as cursor:
            cursor.execute(
                "update api_keys set revoked_at = now()"
                " where workspace_id = %s and id = %s and revoked_at is null",
                (self._workspace.workspace, key_id),
            )
            return cursor.rowcount > 0


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()


def _key(row: tuple[object, ...]) -> ApiKey:
    key = ApiKey._make(row)
    return key._replace(id=str(key.id), patterns=tuple(key.patterns))
