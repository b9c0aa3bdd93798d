"""The members of a workspace, and the grants for single tools."""

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from onetool.domain.calls.effect import Effect
from onetool.domain.errors import MemberError
from onetool.domain.identity.roles import Role

SERVICE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
RESERVED = frozenset({"local", "migration", "operator", "process"})
"""Names that stand for others in records."""
MAX_PATTERNS, MAX_PATTERN_LENGTH = 100, 200


class MemberKind(StrEnum):
    """What a member is."""

    PERSON = "person"
    GROUP = "group"
    """Of people, as the issuer of their identities names it."""
    SERVICE = "service"
    """A program, which acts through API keys."""


class Member(NamedTuple):
    """A person, group or service with a role in a workspace."""

    kind: MemberKind
    id: str
    role: Role
    patterns: tuple[str, ...] = ()
    """Names or patterns of the tools that may be called; empty: all."""
    added_by: str = ""
    added_at: datetime | None = None
    name: str = ""
    """Of a person or group, for people."""
    email: str = ""


class StoredGrant(NamedTuple):
    """An exception for the tools that match a pattern, of one member."""

    id: str
    kind: MemberKind
    member: str
    effect: Effect
    pattern: str
    added_by: str = ""
    added_at: datetime | None = None


def check_role(role: Role, patterns: Sequence[str]) -> None:
    """Check a role with patterns.

    Raises:
        MemberError: The patterns are invalid, or do not limit the role.
    """
    check_patterns(patterns)
    if patterns and role is not Role.CALLER:
        raise MemberError(
            f"Patterns do not limit the role {role}: who makes tools can give any function a name."
            " Use the role caller."
        )


def check_member(member: Member) -> None:
    """Check a member that is to be stored.

    Raises:
        MemberError: Its id or its patterns are invalid.
    """
    check_role(member.role, member.patterns)
    if member.kind is MemberKind.SERVICE:
        if SERVICE_NAME.fullmatch(member.id) is None or is_id(member.id) or member.id in RESERVED:
            raise MemberError(
                f"{member.id[:100]!r} is not a name for a service. Use up to 100 letters, digits,"
                " and . _ @ -, such as ci-deploy."
            )
    elif not is_id(member.id):
        raise MemberError(f"{member.id[:100]!r} is not the id of a {member.kind}.")


def check_patterns(patterns: Sequence[str]) -> None:
    """Check the patterns of a member, grant or key.

    Raises:
        MemberError: There are too many, or one is empty or too long.
    """
    if len(patterns) > MAX_PATTERNS:
        raise MemberError(f"{len(patterns)} patterns are too many. Use at most {MAX_PATTERNS}.")
    for pattern in patterns:
        if not pattern.strip() or len(pattern) > MAX_PATTERN_LENGTH or not pattern.isprintable():
            raise MemberError(
                f"{pattern[:100]!r} is not a pattern. Use up to {MAX_PATTERN_LENGTH} characters,"
                " such as github.*."
            )


def is_id(text: str) -> bool:
    """Whether a text is the id of a person or group."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
