"""Invitations to a workspace. The database has only the hashes of their secrets."""

import re
import secrets
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import MemberError
from onetool.domain.identity.principal import OPERATOR
from onetool.domain.identity.roles import Role
from onetool.domain.policy.invitation import Invitation, NewInvitation
from onetool.domain.policy.member import Member, MemberKind, check_role
from onetool.threads import Threads

from .audit import record
from .database import Cursor, on_thread
from .members import put_member
from .principals import is_owner
from .texts import is_storable
from .workspace_database import WorkspaceDatabase

PREFIX = "oti_"
SECRET = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
MAX_OPEN, MAX_NOTE_CHARS = 1_000, 200
COLUMNS = "id, role, patterns, note, created_by, created_at, expires_at, accepted_by, accepted_at"
ACCEPT = """
update invitations set accepted_by = %s, accepted_at = now()
where workspace_id = %s and hash = %s and accepted_at is null and expires_at > now()
returning id, role, patterns, created_by
"""
FIND = f"select {COLUMNS} from invitations where workspace_id = %s and hash = %s"
IS_OPEN = "select from invitations where workspace_id = %s and hash = %s and accepted_at is null"
IS_MEMBER = "select from members where workspace_id = %s and kind = 'person' and id = %s"


class PostgresInvitations:
    """The invitations of one workspace."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads

    @on_thread
    def create(
        self, role: Role, patterns: Sequence[str], note: str, lifetime: timedelta, created_by: str
    ) -> NewInvitation:
        """Create an invitation. Those that have expired are deleted."""
        check_role(role, patterns)
        if len(note) > MAX_NOTE_CHARS or not is_storable(note):
            raise MemberError(f"The note is not a text of up to {MAX_NOTE_CHARS} characters.")
        secret = PREFIX + secrets.token_urlsafe(32)
        workspace = self._workspace.workspace
        with self._workspace.recording() as cursor:
            cursor.execute(
                "delete from invitations where workspace_id = %s and accepted_at is null"
                " and expires_at <= now()",
                (workspace,),
            )
            _check_number(cursor, workspace)
            cursor.execute(
                "insert into invitations"
                " (workspace_id, hash, id, role, patterns, note, created_by, expires_at)"
                f" values (%s, %s, %s, %s, %s, %s, %s, now() + %s) returning {COLUMNS}",
                (workspace, _hash(secret), uuid7(), role, list(patterns), note, created_by, lifetime),
            )
            (row,) = cursor.fetchall()
            invitation = _invitation(row)
            detail = {"role": str(role), "patterns": list(patterns), "note": note}
            record(cursor, workspace, AuditAction.INVITATION_CREATE, invitation.id, detail)
        return NewInvitation(secret, invitation)

    @on_thread
    def list(self) -> Sequence[Invitation]:
        """Return all invitations, newest first."""
        with self._workspace.reading() as cursor:
            cursor.execute(
                f"select {COLUMNS} from invitations where workspace_id = %s order by created_at desc, id",
                (self._workspace.workspace,),
            )
            return [_invitation(row) for row in cursor.fetchall()]

    @on_thread
    def revoke(self, id: str) -> bool:
        """Delete an invitation that no one has accepted. Return False if there is none."""
        try:
            invitation = UUID(id)
        except ValueError:
            return False
        with self._workspace.recording() as cursor:
            cursor.execute(
                "delete from invitations where workspace_id = %s and id = %s and accepted_at is null",
                (self._workspace.workspace, invitation),
            )
            if not cursor.rowcount:
                return False
            record(cursor, self._workspace.workspace, AuditAction.INVITATION_REVOKE, str(invitation))
            return True

    @on_thread
    def find(self, secret: str) -> Invitation | None:
        """Return the invitation with a secret, also one that was accepted or has expired.

        None if there is none, or if its creator may not manage members any more.
        """
        if SECRET.fullmatch(secret) is None:
            return None
        with self._workspace.reading() as cursor:
            row = cursor.execute(FIND, (self._workspace.workspace, _hash(secret))).fetchone()
            found = None if row is None else _invitation(row)
            is_valid = found is not None and _may_invite(self._workspace, cursor, found.created_by)
        return found if is_valid else None

    @on_thread
    def accept(self, secret: str, person: str) -> Role | None:
        """Make a person a member, once, and return the role; None if the invitation is not valid.

        It is valid until it expires, and only as long as its creator may manage members.

        Raises:
            MemberError: The person is a member already. The invitation stays valid.
        """
        if SECRET.fullmatch(secret) is None or not self._is_open(secret):
            return None
        try:
            with self._workspace.writing("keys") as cursor:
                return _accept(self._workspace, cursor, secret, person)
        except _NotValid:  # nothing has changed
            return None

    def _is_open(self, secret: str) -> bool:
        """Return whether there is such an invitation, without waiting for other changes of the workspace."""
        with self._workspace.reading() as cursor:
            cursor.execute(IS_OPEN, (self._workspace.workspace, _hash(secret)))
            return cursor.rowcount > 0


class _NotValid(Exception):
    """An invitation cannot be accepted."""


def _accept(rows: WorkspaceDatabase, cursor: Cursor, secret: str, person: str) -> Role:
    workspace = rows.workspace
    row = cursor.execute(ACCEPT, (person, workspace, _hash(secret))).fetchone()
    if row is None:
        raise _NotValid
    id, role, patterns, created_by = row
    if not _may_invite(rows, cursor, created_by):
        raise _NotValid
    if cursor.execute(IS_MEMBER, (workspace, person)).rowcount:
        raise MemberError("You are a member of the workspace already.")
    member = Member(MemberKind.PERSON, person, Role(role), tuple(patterns), created_by)
    put_member(rows, cursor, member)
    record(cursor, workspace, AuditAction.INVITATION_ACCEPT, str(id), {"person": person, "role": role})
    return member.role


def _check_number(cursor: Cursor, workspace: UUID) -> None:
    cursor.execute(
        "select count(*) from invitations where workspace_id = %s and accepted_at is null", (workspace,)
    )
    ((number,),) = cursor.fetchall()
    if number >= MAX_OPEN:
        raise MemberError(f"There are {number:,} open invitations. Revoke some of them first.")


def _may_invite(workspace: WorkspaceDatabase, cursor: Cursor, principal: str) -> bool:
    """Return whether someone is still an owner. Else they could come back by an invitation of their own."""
    return principal == OPERATOR.id or is_owner(workspace, cursor, principal)


def _hash(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "replace")).digest()


def _invitation(row: Sequence[Any]) -> Invitation:
    id, role, patterns, *rest = row
    return Invitation(str(id), Role(role), tuple(patterns), *rest)
