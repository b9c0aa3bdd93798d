"""Schemas of the routes for invitations."""

from typing import Annotated

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel

from .fields import ResponseModel, Seconds
from .members import Patterns, RoleName

MAX_DAYS, DEFAULT_DAYS = 30, 7


class InvitationBody(StrictModel):
    """A new invitation."""

    role: RoleName = "caller"
    patterns: Patterns = Field(default_factory=list)
    note: Annotated[str, Field(max_length=200, description="For whom it is.")] = ""
    days: Annotated[int, Field(ge=1, le=MAX_DAYS, description="Lifetime.")] = DEFAULT_DAYS


class InvitationResponse(ResponseModel):
    """An invitation, without its secret."""

    id: str
    role: RoleName
    patterns: Patterns
    note: str
    createdBy: str
    createdAt: Seconds
    expiresAt: Seconds
    acceptedBy: str | None = Field(description="The id of the person who has become a member with it.")
    acceptedAt: Seconds | None


class NewInvitationResponse(InvitationResponse):
    """A new invitation. Its secret is shown once."""

    secret: str


class InvitationList(ResponseModel):
    """All invitations, newest first."""

    invitations: list[InvitationResponse]
