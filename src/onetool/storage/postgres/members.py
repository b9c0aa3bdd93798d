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
from onetool.domain.policy.member import Member, MemberKind, StoredGrant, check_member, check_patterns
from onetool.domain.policy.rights import NO_RIGHTS, Grant, Membership, Rights
from onetool.threads import Threads

from .audit import record
from .client_grants import revoke_grants
from .database import Cursor, WorkspaceDatabase, on_thread
from .people import MAX_GROUPS_AGE

PRINCIPALS = """
select kind, id as member, id as principal, '' as group_name, 'infinity'::timestamptz as until from members
    where workspace_id = %(workspace)s and kind = 'service'
union all
select kind, members.id, members.id, '', 'infinity' from members
    join home.people on people.id = case kind when 'person' then members.id::uuid end
    where workspace_id = %(workspace)s and kind = 'person' and disabled_at is null
union all
select kind, members.id, person_id::text, groups.name, seen_at + %(age)s from members
    join home.groups on groups.id = case kind when 'group' then members.id::uuid end
    join home.group_people on group_id = groups.id
    join home.people on people.id = person_id
    where workspace_id = %(workspace)s and kind = 'group' and disabled_at is null
"""
"""The principals that have the role of a member, and until when: the member, or the people of a group."""
MEMBERSHIPS = f"""
select principal, group_name, role, patterns from ({PRINCIPALS}) principals
join members using (kind) where members.id = member and workspace_id = %(workspace)s and until > now()
order by principal, group_name
"""
GRANTS = f"""
select principal, group_name, effect, pattern from ({PRINCIPALS}) principals
join grants using (kind, member)
where workspace_id = %(workspace)s and (until > now() or effect <> 'allow')
order by principal, group_name, pattern
"""
"""What a group is denied stays denied, also after its role has ended."""
NEXT_END = f"""
select extract(epoch from min(until) - now()) from ({PRINCIPALS}) principals
where until > now() and until < 'infinity'
"""
LIST = """
select kind, members.id, role, patterns, added_by, added_at,
    coalesce(people.name, groups.name, ''), coalesce(people.email, '')
from members
left join home.people on people.id = case kind when 'person' then members.id::uuid end
left join home.groups on groups.id = case kind when 'group' then members.id::uuid end
where workspace_id = %s order by kind, members.id
"""
EXISTS = {
    MemberKind.PERSON: "select from home.people where id = %s",
    MemberKind.GROUP: "select from home.groups where id = %s",
}
PUT = """
insert into members (workspace_id, kind, id, role, patterns, added_by) values (%s, %s, %s, %s, %s, %s)
on conflict (workspace_id, kind, id) do update set role = excluded.role, patterns = excluded.patterns
"""
OTHER_OWNERS = f"""
select from ({PRINCIPALS}) principals
join members using (kind) where members.id = member and workspace_id = %(workspace)s and until > now()
    and role = 'owner' and (kind, member) <> (%(kind)s, %(id)s) limit 1
"""
"""Those who can act: neither groups without people nor people who are disabled."""
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
        values = {"workspace": self._workspace.workspace, "age": MAX_GROUPS_AGE}
        rights: dict[str, Rights] = {}
        with self._workspace.reading() as cursor:
            memberships = read_memberships(cursor, self._workspace.workspace)
            grants = cursor.execute(GRANTS, values).fetchall()
            ((left_s,),) = cursor.execute(NEXT_END, values).fetchall()
        self._next_end = inf if left_s is None else time.monotonic() + float(left_s)
        for principal, group, role, patterns in memberships:
            known = rights.get(principal, NO_RIGHTS)
            membership = Membership(Role(role), tuple(patterns), group)
            rights[principal] = replace(known, memberships=(*known.memberships, membership))
        for principal, group, effect, pattern in grants:
            known = rights.get(principal, NO_RIGHTS)
            grant = Grant(Effect[effect.upper()], pattern, group)
            rights[principal] = replace(known, grants=(*known.grants, grant))
        return rights

    @on_thread
    def list(self) -> Sequence[Member]:
        """Return all members."""
        with self._workspace.reading() as cursor:
            return [_member(row) for row in cursor.execute(LIST, (self._workspace.workspace,)).fetchall()]

    @on_thread
    def put(self, member: Member) -> None:
        """Add a member, or change its role and patterns."""
        check_member(member)
        with self._workspace.writing("keys") as cursor:
            put_member(cursor, self._workspace.workspace, member)

    @on_thread
    def remove(self, kind: MemberKind, id: str) -> bool:
        """Remove a member with its grants, its secrets and its logins to servers.

        Its API keys, and the clients it has allowed, are revoked.
        """
        with self._workspace.writing("keys") as cursor:
            _check_other_owner(cursor, self._workspace.workspace, kind, id)
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


def put_member(cursor: Cursor, workspace: UUID, member: Member) -> None:
    """Add a member, or change its role and patterns, in a transaction of the workspace.

    Raises:
        MemberError: The person or group does not exist, or it is the last owner.
    """
    query = EXISTS.get(member.kind)
    if query is not None and not cursor.execute(query, (UUID(member.id),)).rowcount:
        raise MemberError(f"There is no {member.kind} {member.id!r}.")
    if member.role is not Role.OWNER:
        _check_other_owner(cursor, workspace, member.kind, member.id)
    patterns = list(member.patterns)
    cursor.execute(PUT, (workspace, member.kind, member.id, str(member.role), patterns, member.added_by))
    detail = {"role": str(member.role), "patterns": patterns}
    record(cursor, workspace, AuditAction.MEMBER_PUT, _target(member.kind, member.id), detail)


def read_memberships(cursor: Cursor, workspace: UUID) -> list[tuple[str, str, str, list[str]]]:
    """Return the principals that have a role now, with the group through which they do, and its patterns."""
    return cursor.execute(MEMBERSHIPS, {"workspace": workspace, "age": MAX_GROUPS_AGE}).fetchall()


def _check_other_owner(cursor: Cursor, workspace: UUID, kind: MemberKind, id: str) -> None:
    """Refuse to change the only owner. A workspace that never had one may stay without."""
    own = "select from members where workspace_id = %s and role = 'owner' and kind = %s and id = %s"
    if not cursor.execute(own, (workspace, kind, id)).rowcount:
        return
    values = {"workspace": workspace, "kind": kind, "id": id, "age": MAX_GROUPS_AGE}
    if not cursor.execute(OTHER_OWNERS, values).rowcount:
        raise MemberError(f"{id!r} is the last owner of the workspace. Make someone else an owner first.")


def _is_member(cursor: Cursor, workspace: UUID, kind: MemberKind, id: str) -> bool:
    query = "select from members where workspace_id = %s and kind = %s and id = %s"
    return cursor.execute(query, (workspace, kind, id)).rowcount > 0


def _target(kind: str, id: str) -> str:
    return f"{kind}/{id}"


def _member(row: Sequence[Any]) -> Member:
    kind, id, role, patterns, *rest = row
    return Member(MemberKind(kind), id, Role(role), tuple(patterns), *rest)
