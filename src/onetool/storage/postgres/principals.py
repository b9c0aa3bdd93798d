"""Who has the roles of the members of a workspace. People and groups are read in the home cluster."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple
from uuid import UUID

from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import MemberKind, is_id

from .database import Cursor
from .people import MAX_GROUPS_AGE, read_groups
from .workspace_database import WorkspaceDatabase

MEMBERS = "select kind, id, role, patterns from members where workspace_id = %s order by kind, id"
PEOPLE = "select id::text from home.people where id = any(%s) and disabled_at is null"
GROUP_PEOPLE = """
select group_id::text, groups.name, person_id::text,
    case when seen_at > now() - %(age)s then extract(epoch from seen_at + %(age)s - now())::float8 end
from home.group_people
join home.groups on groups.id = group_id
join home.people on people.id = person_id
where group_id = any(%(groups)s) and disabled_at is null
"""
IS_MEMBER = """
select from members where workspace_id = %s
    and ((kind <> 'group' and id = %s) or (kind = 'group' and id = any(%s)))
"""
IS_ENABLED = "select from home.people where id = %s and disabled_at is null"


def is_owner(workspace: WorkspaceDatabase, cursor: Cursor, principal: str) -> bool:
    """Return whether someone has the role of an owner now."""
    members = read_members(cursor, workspace.workspace)
    found = memberships(read_principals(workspace, cursor, members), members)
    return any((id, role) == (principal, Role.OWNER) for id, _, role, _ in found)


def is_member(workspace: WorkspaceDatabase, cursor: Cursor, principal: str, *, lock: bool = False) -> bool:
    """Return whether a service or person is a member, in person or by a group.

    lock: a membership that is being removed is waited for, and is gone then.
    """
    groups: list[str] = []
    if is_id(principal):
        with workspace.home(cursor) as home:
            groups = read_groups(home, UUID(principal))
    query = f"{IS_MEMBER} for key share" if lock else IS_MEMBER
    return cursor.execute(query.encode(), (workspace.workspace, principal, groups)).rowcount > 0


class MemberPrincipal(NamedTuple):
    """Someone who has the role of a member: the member, or a person of a group."""

    member: tuple[str, str]
    """Kind and id."""
    id: str
    group: str = ""
    """Its name."""
    left_s: float = inf
    """Seconds until the role ends; 0 if it has ended."""


StoredMembers = Mapping[tuple[str, str], tuple[str, Sequence[str]]]
"""Roles and patterns by kind and id."""


def read_members(cursor: Cursor, workspace: UUID) -> StoredMembers:
    """Return the members of a workspace."""
    rows = cursor.execute(MEMBERS, (workspace,)).fetchall()
    return {(kind, id): (role, patterns) for kind, id, role, patterns in rows}


def read_principals(
    workspace: WorkspaceDatabase, cursor: Cursor, members: StoredMembers
) -> list[MemberPrincipal]:
    """Return who has the role of a member, or had it until it ended, by id and group."""
    found = [MemberPrincipal(member, member[1]) for member in members if member[0] == MemberKind.SERVICE]
    people = [UUID(id) for kind, id in members if kind == MemberKind.PERSON]
    groups = [UUID(id) for kind, id in members if kind == MemberKind.GROUP]
    if people or groups:
        with workspace.home(cursor) as home:
            for (id,) in home.execute(PEOPLE, (people,)).fetchall():
                found.append(MemberPrincipal((MemberKind.PERSON, id), id))
            values = {"age": MAX_GROUPS_AGE, "groups": groups}
            for group, name, id, left_s in home.execute(GROUP_PEOPLE, values).fetchall():
                found.append(MemberPrincipal((MemberKind.GROUP, group), id, name, left_s or 0))
    return sorted(found, key=lambda each: (each.id, each.group))


def memberships(
    principals: Sequence[MemberPrincipal], members: StoredMembers
) -> list[tuple[str, str, str, Sequence[str]]]:
    """Return who has a role now, with the group through which they do, the role and its patterns."""
    return [(each.id, each.group, *members[each.member]) for each in principals if each.left_s > 0]


def is_enabled_member(workspace: WorkspaceDatabase, cursor: Cursor, person: UUID) -> bool:
    """Return whether a person is a member and not disabled."""
    with workspace.home(cursor) as home:
        is_enabled = home.execute(IS_ENABLED, (person,)).rowcount > 0
    return is_enabled and is_member(workspace, cursor, str(person))
