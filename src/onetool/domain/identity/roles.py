"""What the members of a workspace may do there."""

from collections.abc import Mapping
from enum import StrEnum


class Role(StrEnum):
    """The role of a member."""

    OWNER = "owner"
    MAKER = "maker"
    CALLER = "caller"
    AUDITOR = "auditor"


class Right(StrEnum):
    """What a role allows."""

    READ = "read"
    """See tools, bundles, servers and usage."""
    CALL = "call"
    """Call tools, and see one's own calls, jobs and sessions."""
    MAKE = "make"
    """Change bundles, tools and servers."""
    MANAGE = "manage"
    """Change members, grants and everyone's API keys."""
    AUDIT = "audit"
    """See the audit log."""
    SEE_ALL_CALLS = "see all calls"
    """See the calls of all members, with recorded arguments and results."""


RIGHTS: Mapping[Role, frozenset[Right]] = {
    Role.OWNER: frozenset({Right.READ, Right.CALL, Right.MAKE, Right.MANAGE, Right.AUDIT}),
    Role.MAKER: frozenset({Right.READ, Right.CALL, Right.MAKE}),
    Role.CALLER: frozenset({Right.READ, Right.CALL}),
    Role.AUDITOR: frozenset({Right.AUDIT, Right.SEE_ALL_CALLS}),
}


def roles_with(right: Right) -> list[Role]:
    """Return the roles that allow something."""
    return [role for role in Role if right in RIGHTS[role]]
