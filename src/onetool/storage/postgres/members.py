"""Members and grants of a workspace in PostgreSQL."""

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from onetool.domain.audit.entry import AuditAction
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import MemberError
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import (
    Member,
    MemberKind,
    StoredGrant,
    check_member,
    check_patterns,
)
from onetool.domain.policy.rights import NO_RIGHTS, Grant, Membership, Rights
from onetool.threads import Threads

from .audit import record
from .client_grants import revoke_grants
from .database import Cursor, on_thread
from .principals import is_member, memberships, read_members, read_principals
from .workspace_database import WorkspaceDatabase

GRANTS = """
select kind, member, effect, pattern from grants where workspace_id = %s order by kind, member, pattern
"""
LIST = """
select kind, id, role, patterns, added_by, added_at from members where workspace_id = %s order by kind, id
"""
NAMES = {
    MemberKind.PERSON: "select id::text, name, email from home.people where id = any(%s)",
    MemberKind.GROUP: "select id::text, name, '' from home.groups where id = any(%s)",
}
EXISTS = {
    MemberKind.PERSON: "select from home.people where id = %s",
    MemberKind.GROUP: "select from home.groups where id = %s",
}
PUT = """
insert into members (workspace_id, kind, id, role, patterns, added_by) values (%s, %s, %s, %s, %s, %s)
on conflict (workspace_id, kind, id) do update set role = excluded.role, patterns = excluded.patterns
"""
REVOKE_KEYS = """
update api_keys set revoked_at = now() where workspace_id = %s and owner = %s and revoked_at is null
"""
DELETE_OWN = (
    "delete from own_secrets where workspace_id = %s and owner = %s",
    "delete from credentials where workspace_id = %s and owner = %s",
    "delete from begun_logins where workspace_id = %s and principal = %s",
)
PUT_GRANT = """
insert into grants (workspace_id, id, kind, member, effect, pattern, added_by)
values (%s, %s, %s, %s, %s, %s, %s)
on conflict (workspace_id, kind, member, pattern) do update set effect = excluded.effect,
    added_by = excluded.added_by, added_at = now()
returning id, added_at
"""


class PostgresMembers:
    """The members and grants of one workspace. Every change is announced like a revoked key."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads
        self._next_end, self._ends = inf, 0
        """When the next role that was read ends, on the monotonic clock, and how many times one has ended."""

    def generation(self) -> Hashable:
        """Return the numbers of changes that are known, and of times at which a role has ended."""
        if time.monotonic() >= self._next_end:
            self._next_end, self._ends = inf, self._ends + 1
        return self._workspace.keys_changes, self._ends

    @on_thread
    def rights(self) -> Mapping[str, Rights]:
        """Return the rights of every principal that has some."""
        rights: dict[str, Rights] = {}
        with self._workspace.reading() as cursor:
            members = read_members(cursor, self._workspace.workspace)
            grants = cursor.execute(GRANTS, (self._workspace.workspace,)).fetchall()
            principals = read_principals(self._workspace, cursor, members)
        ends = [each.left_s for each in principals if 0 < each.left_s < inf]
        self._next_end = time.monotonic() + min(ends) if ends else inf
        for principal, group, role, patterns in memberships(principals, members):
            known = rights.get(principal, NO_RIGHTS)
            membership = Membership(Role(role), tuple(patterns), group)
            rights[principal] = replace(known, memberships=(*known.memberships, membership))
        for each in principals:
            known = rights.get(each.id, NO_RIGHTS)
            own = tuple(
                Grant(Effect[effect.upper()], pattern, each.group)
                for kind, member, effect, pattern in grants
                if (kind, member) == each.member and (each.left_s > 0 or effect != "allow")
            )  # what a group is denied stays denied, also after its role has ended
            if own:
                rights[each.id] = replace(known, grants=(*known.grants, *own))
        return rights

    @on_thread
    def is_member(self, person: UUID) -> bool:
        """Return whether someone is a member, in person or by a group."""
        with self._workspace.reading() as cursor:
            return is_member(self._workspace, cursor, str(person))

    @on_thread
    def list(self) -> Sequence[Member]:
        """Return all members."""
        with self._workspace.reading() as cursor:
            rows = cursor.execute(LIST, (self._workspace.workspace,)).fetchall()
            with self._workspace.home(cursor) as home:
                names = _read_names(home, [(kind, id) for kind, id, *_ in rows])
        return [_member((*row, *names.get(row[:2], ("", "")))) for row in rows]

    @on_thread
    def put(self, member: Member) -> None:
        """Add a member, or change its role and patterns."""
        check_member(member)
        with self._workspace.writing("keys") as cursor:
            put_member(self._workspace, cursor, member)

    @on_thread
    def remove(self, kind: MemberKind, id: str) -> bool:
        """Remove a member with its grants, its secrets and its logins to servers.

        Its API keys, and the clients it has allowed, are revoked.
        """
        with self._workspace.writing("keys") as cursor:
            _check_other_owner(self._workspace, cursor, kind, id)
            cursor.execute(
                "delete from members where workspace_id = %s and kind = %s and id = %s",
                (self._workspace.workspace, kind, id),
            )
            if not cursor.rowcount:
                return False
            keys = clients = 0
            if kind is not MemberKind.GROUP:
                keys = cursor.execute(REVOKE_KEYS, (self._workspace.workspace, id)).rowcount
                for deletion in DELETE_OWN:  # a later service may have the same name
                    cursor.execute(deletion, (self._workspace.workspace, id))
            if kind is MemberKind.PERSON:
                clients = revoke_grants(cursor, self._workspace.workspace, id)
            detail = {"revokedKeys": keys, "revokedClients": clients}
            record(cursor, self._workspace.workspace, AuditAction.MEMBER_REMOVE, _target(kind, id), detail)
            return True

    @on_thread
    def grants(self) -> Sequence[StoredGrant]:
        """Return all grants."""
        with self._workspace.reading() as cursor:
            rows = cursor.execute(
                "select id, kind, member, effect, pattern, added_by, added_at from grants"
                " where workspace_id = %s order by kind, member, pattern",
                (self._workspace.workspace,),
            ).fetchall()
        return [
            StoredGrant(str(id), MemberKind(kind), member, Effect[effect.upper()], *rest)
            for id, kind, member, effect, *rest in rows
        ]

    @on_thread
    def put_grant(
        self, kind: MemberKind, member: str, effect: Effect, pattern: str, added_by: str
    ) -> StoredGrant:
        """Add a grant, or replace the one of a member with this pattern."""
        check_patterns((pattern,))
        workspace = self._workspace.workspace
        with self._workspace.writing("keys") as cursor:
            if not _is_member(cursor, workspace, kind, member):
                raise MemberError(f"The {kind} {member[:100]!r} is not a member of the workspace.")
            row = (workspace, uuid7(), kind, member, str(effect), pattern, added_by)
            ((id, added_at),) = cursor.execute(PUT_GRANT, row).fetchall()
            detail = {"effect": str(effect), "pattern": pattern}
            record(cursor, workspace, AuditAction.GRANT_PUT, _target(kind, member), detail)
        return StoredGrant(str(id), kind, member, effect, pattern, added_by, added_at)

    @on_thread
    def remove_grant(self, id: str) -> bool:
        """Remove a grant."""
        try:
            grant_id = UUID(id)
        except ValueError:
            return False
        with self._workspace.writing("keys") as cursor:
            row = cursor.execute(
                "delete from grants where workspace_id = %s and id = %s"
                " returning kind, member, effect, pattern",
                (self._workspace.workspace, grant_id),
            ).fetchone()
            if row is None:
                return False
            kind, member, effect, pattern = row
            detail = {"effect": effect, "pattern": pattern}
            record(cursor, self._workspace.workspace, AuditAction.GRANT_REMOVE, _target(kind, member), detail)
            return True


def put_member(workspace: WorkspaceDatabase, cursor: Cursor, member: Member) -> None:
    """Add a member, or change its role and patterns, in a transaction of the workspace.

    Raises:
        MemberError: The person or group does not exist, or it is the last owner.
    """
    id, query = workspace.workspace, EXISTS.get(member.kind)
    with workspace.home(cursor) as home:
        if query is not None and not home.execute(query, (UUID(member.id),)).rowcount:
            raise MemberError(f"There is no {member.kind} {member.id!r}.")
    if member.role is not Role.OWNER:
        _check_other_owner(workspace, cursor, member.kind, member.id)
    patterns = list(member.patterns)
    cursor.execute(PUT, (id, member.kind, member.id, str(member.role), patterns, member.added_by))
    detail = {"role": str(member.role), "patterns": patterns}
    record(cursor, id, AuditAction.MEMBER_PUT, _target(member.kind, member.id), detail)


def _read_names(home: Cursor, members: Sequence[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the names and addresses of people and groups, by kind and id."""
    names = {}
    for kind, query in NAMES.items():
        ids = [UUID(id) for of, id in members if of == kind]
        for id, *name in home.execute(query, (ids,)).fetchall():
            names[str(kind), id] = name[0], name[1]
    return names


def _check_other_owner(workspace: WorkspaceDatabase, cursor: Cursor, kind: MemberKind, id: str) -> None:
    """Refuse to change the only owner. A workspace that never had one may stay without.

    Owners are those who can act: neither groups without people nor people who are disabled.
    """
    members = read_members(cursor, workspace.workspace)
    if members.get((kind, id), ("",))[0] != Role.OWNER:
        return
    principals = read_principals(workspace, cursor, members)
    if not any(
        each.left_s > 0 and members[each.member][0] == Role.OWNER and each.member != (kind, id)
        for each in principals
    ):
        raise MemberError(f"{id!r} is the last owner of the workspace. Make someone else an owner first.")


def _is_member(cursor: Cursor, workspace: UUID, kind: MemberKind, id: str) -> bool:
    query = "select from members where workspace_id = %s and kind = %s and id = %s"
    return cursor.execute(query, (workspace, kind, id)).rowcount > 0


def _target(kind: str, id: str) -> str:
    return f"{kind}/{id}"


def _member(row: Sequence[Any]) -> Member:
    kind, id, role, patterns, *rest = row
    return Member(MemberKind(kind), id, Role(role), tuple(patterns), *rest)
