"""API keys of a workspace. The database has only their hashes."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID

from uuid_utils.compat import uuid7

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import MemberError
from onetool.domain.identity.api_key import ApiKey, NewApiKey
from onetool.threads import Threads

from .audit import record
from .database import on_thread
from .principals import is_member
from .texts import is_storable
from .workspace_database import WorkspaceDatabase

PREFIX = "otk_"
PREFIX_LENGTH = len(PREFIX) + 6
"""Characters of a key that are stored, so that a person recognizes it."""
MAX_KEYS = 100
"""Valid keys of one owner."""
COUNT = """
select count(*) from api_keys
where workspace_id = %s and owner = %s and revoked_at is null and expires_at > now()
"""
COLUMNS = "id, owner, name, prefix, patterns, created_at, expires_at, revoked_at"


class PostgresApiKeys:
    """The API keys of one workspace."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads

    @on_thread
    def create(self, owner: str, name: str, lifetime: timedelta, patterns: Sequence[str] = ()) -> NewApiKey:
        """Create a key for calls on behalf of an owner.

        Raises:
            MemberError: The owner is not a member, or has MAX_KEYS valid keys.
        """
        text = PREFIX + secrets.token_urlsafe(32)
        now = datetime.now(UTC)
        id, prefix, expires = str(uuid7()), text[:PREFIX_LENGTH], now + lifetime
        key = ApiKey(id, owner, name, prefix, tuple(patterns), now, expires)
        with self._workspace.recording() as cursor:
            if not is_member(self._workspace, cursor, owner, lock=True):
                raise MemberError(f"{owner!r} is not a member of the workspace.")
            ((count,),) = cursor.execute(COUNT, (self._workspace.workspace, owner)).fetchall()
            if count >= MAX_KEYS:
                raise MemberError(f"{owner!r} has {count} valid API keys. Revoke some of them first.")
            cursor.execute(
                f"insert into api_keys (workspace_id, hash, {COLUMNS})"
                " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
                (
                    self._workspace.workspace,
                    _hash(text),
                    *(list(value) if isinstance(value, tuple) else value for value in key),
                ),
            )
            detail = {
                "name": name,
                "owner": owner,
                "patterns": list(patterns),
                "expires": expires.isoformat(timespec="seconds"),
            }
            record(cursor, self._workspace.workspace, AuditAction.KEY_CREATE, id, detail)
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
    def is_valid(self, id: str, owner: str) -> bool:
        """Return whether the key with an id can be used, and acts for an owner."""
        key_id = _key_id(id)
        if key_id is None or not is_storable(owner):
            return False
        with self._workspace.reading() as cursor:
            cursor.execute(
                "select from api_keys where workspace_id = %s and id = %s and owner = %s"
                " and revoked_at is null and expires_at > now()",
                (self._workspace.workspace, key_id, owner),
            )
            return cursor.rowcount > 0

    @on_thread
    def list(self, owner: str | None = None) -> Sequence[ApiKey]:
        """Return the keys of an owner, or all, newest first."""
        with self._workspace.reading() as cursor:
            cursor.execute(
                f"select {COLUMNS} from api_keys where workspace_id = %s and (owner = %s or %s::text is null)"
                " order by created_at desc, id",
                (self._workspace.workspace, owner, owner),
            )
            return [_key(row) for row in cursor.fetchall()]

    @on_thread
    def revoke(self, id: str, owner: str | None = None) -> bool:
        """Revoke a key, of an owner if one is given. Return False if there is no such valid key."""
        key_id = _key_id(id)
        if key_id is None:
            return False
        with self._workspace.writing("keys") as cursor:
            cursor.execute(
                "update api_keys set revoked_at = now()"
                " where workspace_id = %s and id = %s and revoked_at is null"
                " and (owner = %s or %s::text is null)",
                (self._workspace.workspace, key_id, owner, owner),
            )
            is_revoked = cursor.rowcount > 0
            if is_revoked:
                record(cursor, self._workspace.workspace, AuditAction.KEY_REVOKE, str(key_id))
            return is_revoked


def _key_id(id: str) -> UUID | None:
    try:
        return UUID(id)
    except ValueError:
        return None


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()


def _key(row: tuple[object, ...]) -> ApiKey:
    key = ApiKey._make(row)
    return key._replace(id=str(key.id), patterns=tuple(key.patterns))
