"""Invitations: links with which people become members of a workspace."""

from datetime import datetime
from typing import NamedTuple

from onetool.domain.identity.roles import Role


class Invitation(NamedTuple):
    """What is known about an invitation, but not its secret."""

    id: str
    role: Role
    patterns: tuple[str, ...]
    """Names or patterns of the tools that the member may call; empty: all."""
    note: str
    """For whom it is."""
    created_by: str
    created_at: datetime
    expires_at: datetime
    accepted_by: str | None = None
    """The id of the person who has become a member with it."""
    accepted_at: datetime | None = None


class NewInvitation(NamedTuple):
    """An invitation that was just created, with its secret, which is shown once."""

    secret: str
    invitation: Invitation
