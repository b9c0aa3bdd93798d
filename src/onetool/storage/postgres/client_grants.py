"""MCP clients that people have allowed, with their codes and tokens, of which only hashes are stored."""

import base64
import hmac
import secrets
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import MemberError
from onetool.domain.identity.client_grant import (
    AllowedClient,
    ClientGrant,
    ClientToken,
    ClientTokens,
    CodeProof,
)
from onetool.domain.identity.principal import Principal, acting_as
from onetool.threads import Threads

from .audit import record
from .database import Cursor, on_thread
from .principals import is_enabled_member
from .sealer import Sealer
from .workspace_database import WorkspaceDatabase

CODE_PREFIX, ACCESS_PREFIX, REFRESH_PREFIX = "otc_", "ota_", "otr_"
CODE_S, ACCESS_S, REFRESH_S = 60, 3600, 30 * 86_400
"""Seconds for which a code, an access token and a refresh token are valid."""
GRACE_S = 60
"""Seconds in which a used refresh token may be sent again, because the response was lost."""
MAX_GRANTS, MAX_PERSON_GRANTS = 10_000, 50
"""Grants of a workspace, and of one person in it. A new one replaces the person's least recently used."""
MAX_ACCESS_TOKENS, MAX_REFRESH_TOKENS = 5, 1_000
"""Tokens of a grant that are stored. Older ones are unknown."""
SUCCESSORS = "refresh tokens of clients"
"""Purpose of the key from which the successor of a refresh token is derived."""
FIND = """
select grant_id, person_id, client_id, challenge, redirect_uri,
    oauth_tokens.expires_at, oauth_tokens.expires_at > now(),
    replaced_at is not null, replaced_at > now() - %s * interval '1 second'
from oauth_tokens
join oauth_grants on oauth_grants.workspace_id = oauth_tokens.workspace_id and oauth_grants.id = grant_id
where oauth_tokens.workspace_id = %s and hash = %s and kind = %s
"""
LOCK = """
select from oauth_grants where workspace_id = %s
    and id = (select grant_id from oauth_tokens where workspace_id = %s and hash = %s) for update
"""
"""A statement of its own: only a later one sees what was changed while this one waited."""
INSERT = """
insert into oauth_tokens (workspace_id, hash, grant_id, kind, challenge, redirect_uri, expires_at)
values (%s, %s, %s, %s, %s, %s, now() + %s * interval '1 second') on conflict do nothing
"""
TRIM = """
delete from oauth_tokens where workspace_id = %(workspace)s and grant_id = %(grant)s and kind = %(kind)s
    and created_at < (
        select created_at from oauth_tokens
        where workspace_id = %(workspace)s and grant_id = %(grant)s and kind = %(kind)s
        order by created_at desc offset %(keep)s - 1 limit 1)
"""
LEAST_USED = """
delete from oauth_grants where workspace_id = %(workspace)s and id in (
    select id from oauth_grants where workspace_id = %(workspace)s and person_id = %(person)s
    order by used_at desc offset %(keep)s)
"""


class PostgresClientGrants:
    """The clients that people have allowed in one workspace."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads, sealer: Sealer) -> None:
        self._workspace, self._threads, self._sealer = workspace, threads, sealer

    @on_thread
    def allow(self, client: AllowedClient) -> str:
        """Let a client act for a person, and return a code with which it gets tokens, once.

        Raises:
            MemberError: There are too many grants, or this one exists.
        """
        code = CODE_PREFIX + secrets.token_urlsafe(32)
        workspace = self._workspace.workspace
        with self._workspace.writing("keys") as cursor:
            own = {"workspace": workspace, "person": client.person, "keep": MAX_PERSON_GRANTS - 1}
            replaced = cursor.execute(LEAST_USED, own).rowcount
            _check_number(cursor, workspace)
            row = (workspace, client.id, client.person, client.client_id, client.client_name, CODE_S)
            cursor.execute(
                "insert into oauth_grants"
                " (workspace_id, id, person_id, client_id, client_name, expires_at)"
                " values (%s, %s, %s, %s, %s, now() + %s * interval '1 second') on conflict do nothing",
                row,
            )
            if not cursor.rowcount:
                raise MemberError("The client was allowed already. Let it ask again.")
            token = (workspace, _hash(code), client.id, "code", client.challenge, client.redirect_uri, CODE_S)
            cursor.execute(INSERT, token)
            detail = {"client": client.client_id, "name": client.client_name, "replaced": replaced}
            record(cursor, workspace, AuditAction.CLIENT_ALLOW, str(client.id), detail)
        return code

    @on_thread
    def redeem(self, code: str, proof: CodeProof) -> ClientTokens | None:
        """Return the first tokens of a client; None if the code is not valid, or not for this client.

        A code that is used twice may be stolen: the grant is revoked.
        """
        with self._workspace.recording() as cursor:
            found = self._find(cursor, code, "code")
            if found is None:
                return None
            if not found.is_replaced:
                is_valid = found.is_current and found.is_member and found.proof == proof
                return self._issue(cursor, found, code) if is_valid else None
        self._note_replay(found, "code")
        return None

    @on_thread
    def refresh(self, token: str, client_id: str) -> ClientTokens | None:
        """Return new tokens; None if the refresh token is not valid, or not of this client.

        A token that was used more than GRACE_S ago may be stolen: the grant is revoked. Before, its response
        may be lost: there is a new access token, and the same next refresh token. If that one was used, the
        response has arrived.
        """
        with self._workspace.recording() as cursor:
            found = self._find(cursor, token, "refresh")
            if found is None or found.proof.client_id != client_id:
                return None
            if not found.is_replaced or (found.is_recent and not self._is_next_used(cursor, token)):
                is_valid = found.is_current and found.is_member
                return self._issue(cursor, found, token) if is_valid else None
        self._note_replay(found, "refresh token")
        return None

    @on_thread
    def revoke_token(self, token: str, client_id: str) -> None:
        """Revoke the grant to which an access or refresh token of a client belongs, if there is one."""
        kind = "refresh" if token.startswith(REFRESH_PREFIX) else "access"
        with self._workspace.reading() as cursor:
            found = self._find(cursor, token, kind, lock=False)
        if found is not None and found.proof.client_id == client_id:
            with acting_as(Principal(str(found.person))):
                self._revoke(found.grant, found.person, AuditAction.CLIENT_REVOKE, {"by": "client"})

    @on_thread
    def find(self, token: str) -> ClientToken | None:
        """Return a valid access token; None if it is not, or if its person is not a member any more."""
        if not token.startswith(ACCESS_PREFIX):
            return None
        with self._workspace.reading() as cursor:
            found = self._find(cursor, token, "access", lock=False)
        if found is None or not (found.is_current and found.is_member):
            return None
        return ClientToken(str(found.person), found.expires_at)

    @on_thread
    def list(self, person: str) -> Sequence[ClientGrant]:
        """Return the clients that a person has allowed and that can still be used, newest first."""
        if (owner := _uuid(person)) is None:
            return []
        with self._workspace.reading() as cursor:
            cursor.execute(
                "select id, client_id, client_name, created_at, used_at, expires_at from oauth_grants"
                " where workspace_id = %s and person_id = %s and expires_at > now()"
                " order by created_at desc, id",
                (self._workspace.workspace, owner),
            )
            return [ClientGrant(str(id), *rest) for id, *rest in cursor.fetchall()]

    @on_thread
    def revoke(self, id: str, person: str) -> bool:
        """Take back what a person has allowed, with all tokens. Return False if there is no such grant."""
        grant, owner = _uuid(id), _uuid(person)
        if grant is None or owner is None:
            return False
        return self._revoke(grant, owner, AuditAction.CLIENT_REVOKE, {})

    @on_thread
    def reap(self) -> None:
        """Delete what has expired."""
        workspace = self._workspace.workspace
        with self._workspace.recording() as cursor:
            for table in ("oauth_grants", "oauth_tokens"):
                cursor.execute(
                    f"delete from {table} where workspace_id = %s and expires_at <= now() - interval '1 day'",
                    (workspace,),
                )

    def _find(self, cursor: Cursor, text: str, kind: str, *, lock: bool = True) -> "_FoundToken | None":
        """Return a code or token. Others who use the grant wait until the transaction ends."""
        workspace, hash = self._workspace.workspace, _hash(text)
        if lock:
            cursor.execute(LOCK, (workspace, workspace, hash))
        row = cursor.execute(FIND, (GRACE_S, workspace, hash, kind)).fetchone()
        if row is None:
            return None
        return _FoundToken.of((*row, is_enabled_member(self._workspace, cursor, row[1])))

    def _issue(self, cursor: Cursor, found: "_FoundToken", used: str) -> ClientTokens:
        """Return new tokens in place of a code or a refresh token, which is then used."""
        workspace, refresh = self._workspace.workspace, self._next(cursor, used)
        access = ACCESS_PREFIX + secrets.token_urlsafe(32)
        for text, kind, lifetime_s, keep in (
            (access, "access", ACCESS_S, MAX_ACCESS_TOKENS),
            (refresh, "refresh", REFRESH_S, MAX_REFRESH_TOKENS),
        ):
            cursor.execute(INSERT, (workspace, _hash(text), found.grant, kind, "", "", lifetime_s))
            cursor.execute(TRIM, {"workspace": workspace, "grant": found.grant, "kind": kind, "keep": keep})
        cursor.execute(
            "update oauth_tokens set replaced_at = coalesce(replaced_at, now())"
            " where workspace_id = %s and hash = %s",
            (workspace, _hash(used)),
        )
        cursor.execute(
            "update oauth_grants set used_at = now(), expires_at = now() + %s * interval '1 second'"
            " where workspace_id = %s and id = %s",
            (REFRESH_S, workspace, found.grant),
        )
        return ClientTokens(access, refresh, ACCESS_S)

    def _next(self, cursor: Cursor, used: str) -> str:
        """Return the refresh token that follows a code or a refresh token."""
        key = self._sealer.derived_key(cursor, SUCCESSORS)
        digest = hmac.digest(key, used.encode(), "sha256")
        return REFRESH_PREFIX + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def _is_next_used(self, cursor: Cursor, used: str) -> bool:
        place = self._workspace.workspace, _hash(self._next(cursor, used))
        query = "select from oauth_tokens where workspace_id = %s and hash = %s and replaced_at is not null"
        return cursor.execute(query, place).rowcount > 0

    def _note_replay(self, found: "_FoundToken", what: str) -> None:
        detail = {"replayed": what, "person": str(found.person)}
        self._revoke(found.grant, found.person, AuditAction.CLIENT_REPLAY, detail)

    def _revoke(self, grant: UUID, person: UUID, action: AuditAction, detail: dict[str, Any]) -> bool:
        workspace = self._workspace.workspace
        with self._workspace.writing("keys") as cursor:
            row = cursor.execute(
                "delete from oauth_grants where workspace_id = %s and id = %s and person_id = %s"
                " returning client_id, client_name",
                (workspace, grant, person),
            ).fetchone()
            if row is None:
                return False
            client, name = row
            record(cursor, workspace, action, str(grant), {"client": client, "name": name, **detail})
            return True


class _FoundToken(NamedTuple):
    """A code or token with its grant."""

    grant: UUID
    person: UUID
    proof: CodeProof
    expires_at: Any
    is_current: bool
    is_replaced: bool
    is_recent: bool
    """Whether it was replaced only a moment ago."""
    is_member: bool

    @staticmethod
    def of(row: Sequence[Any]) -> "_FoundToken":
        grant, person, client, challenge, redirect_uri, *rest = row
        return _FoundToken(grant, person, CodeProof(client, redirect_uri, challenge), *rest)


def revoke_grants(cursor: Cursor, workspace: UUID, person: str) -> int:
    """Revoke all grants of a person in a transaction of the workspace. Return how many there were."""
    query = "delete from oauth_grants where workspace_id = %s and person_id = %s"
    return cursor.execute(query, (workspace, UUID(person))).rowcount


def _check_number(cursor: Cursor, workspace: UUID) -> None:
    query = "select count(*) from oauth_grants where workspace_id = %s and expires_at > now()"
    ((number,),) = cursor.execute(query, (workspace,)).fetchall()
    if number >= MAX_GRANTS:
        raise MemberError(f"The workspace has {number:,} allowed clients. Revoke some of them first.")


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "replace")).digest()
