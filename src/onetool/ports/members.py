"""The members of a workspace."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol

from onetool.domain.calls.effect import Effect
from onetool.domain.policy.member import Member, MemberKind, StoredGrant
from onetool.domain.policy.rights import Rights


class MemberStore(Protocol):
    """Stores members and grants of a workspace. No method blocks the event loop."""

    def generation(self) -> Hashable:
        """Return a value that changes when rights may have changed. Does no I/O."""
        ...

    async def rights(self) -> Mapping[str, Rights]:
        """Return the rights of every principal that has some, with those of its groups."""
        ...

    async def list(self) -> Sequence[Member]:
        """Return all members."""
        ...

    async def put(self, member: Member) -> None:
        """Add a member, or change its role and patterns.

        Raises:
            MemberError: The member is invalid, does not exist, or is the last owner.
        """
        ...

    async def remove(self, kind: MemberKind, id: str) -> bool:
        """Remove a member with its grants, and revoke its API keys. Return False if there is none.

        Raises:
            MemberError: It is the last owner.
        """
        ...

    async def grants(self) -> Sequence[StoredGrant]:
        """Return all grants."""
        ...

    async def put_grant(
        self, kind: MemberKind, member: str, effect: Effect, pattern: str, added_by: str
    ) -> StoredGrant:
        """Add a grant, or replace the one of a member with this pattern.

        Raises:
            MemberError: The pattern is invalid, or there is no such member.
        """
        ...

    async def remove_grant(self, id: str) -> bool:
        """Remove a grant. Return False if there is none."""
        ...
