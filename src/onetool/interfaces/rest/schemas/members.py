"""Schemas of the routes for members, grants and API keys."""

from typing import Annotated, Literal

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel
from onetool.domain.policy.member import MAX_PATTERN_LENGTH, MAX_PATTERNS

from .fields import Name, ResponseModel, Seconds

Kind = Literal["person", "group", "service"]
RoleName = Literal["owner", "maker", "caller", "auditor"]
Pattern = Annotated[str, Field(min_length=1, max_length=MAX_PATTERN_LENGTH)]
Patterns = Annotated[
    list[Pattern],
    Field(
        max_length=MAX_PATTERNS,
        description="Names or patterns of the only tools that may be called, such as `github.*`; empty: all.",
    ),
]


class MemberBody(StrictModel):
    """The role of a member."""

    role: RoleName
    patterns: Patterns = Field(default_factory=list)


class MemberResponse(ResponseModel):
    """A member of the workspace."""

    kind: Kind
    id: str
    name: str = Field(description="Of a person or group.")
    email: str = Field(description="Of a person, as the issuer reports it.")
    role: RoleName
    patterns: Patterns
    addedBy: str
    addedAt: Seconds | None


class MemberList(ResponseModel):
    """All members of the workspace."""

    members: list[MemberResponse]


class GrantBody(StrictModel):
    """An exception for the tools that match a pattern."""

    kind: Kind
    member: Name
    effect: Literal["allow", "ask", "deny"] = Field(
        description="`allow`: called without approval. `ask`: only after approval. `deny`: never called."
    )
    pattern: Pattern


class GrantResponse(ResponseModel):
    """A grant."""

    id: str
    kind: Kind
    member: str
    effect: Literal["allow", "ask", "deny"]
    pattern: str
    addedBy: str
    addedAt: Seconds | None


class GrantList(ResponseModel):
    """All grants of the workspace."""

    grants: list[GrantResponse]


class KeyBody(StrictModel):
    """A new API key."""

    name: Name
    days: Annotated[int, Field(ge=1, le=3650, description="Lifetime.")] = 90
    patterns: Patterns = Field(default_factory=list)
    service: str | None = Field(default=None, description="The service that it acts for; default: yourself.")


class KeyResponse(ResponseModel):
    """An API key, without its text."""

    id: str
    owner: str
    name: str
    prefix: str = Field(description="The start of the key.")
    patterns: Patterns
    createdAt: Seconds
    expiresAt: Seconds
    revokedAt: Seconds | None


class NewKeyResponse(KeyResponse):
    """A new API key. Its text is shown once."""

    key: str


class KeyList(ResponseModel):
    """API keys, newest first."""

    keys: list[KeyResponse]


class MeResponse(ResponseModel):
    """Who makes the request, and what they may do."""

    principal: str
    roles: list[RoleName]
    rights: list[str]
    patterns: Patterns
