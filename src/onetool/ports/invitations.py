"""The invitations of a workspace."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from onetool.domain.identity.roles import Role
from onetool.domain.policy.invitation import Invitation, NewInvitation


class InvitationStore(Protocol):
    """Stores the invitations of a workspace. No method blocks the event loop."""

    async def create(
        self, role: Role, patterns: Sequence[str], note: str, lifetime: timedelta, created_by: str
    ) -> NewInvitation:
        """Create an invitation.

        Raises:
            MemberError: A pattern is invalid, or there are too many invitations.
        """
        ...

    async def list(self) -> Sequence[Invitation]:
        """Return all invitations, newest first."""
        ...

    async def revoke(self, id: str) -> bool:
        """Delete an invitation that no one has accepted. Return False if there is none."""
        ...
