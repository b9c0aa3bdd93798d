"""Who may do what in a workspace: what its owners see and change."""

from typing import NamedTuple

from onetool.ports import ApiKeyStore, InvitationStore, MemberStore, OwnSecrets, RateLimiter, WorkspaceSecrets


class Administration(NamedTuple):
    """The members, invitations, API keys and secrets of a workspace."""

    members: MemberStore
    keys: ApiKeyStore
    invitations: InvitationStore
    secrets: WorkspaceSecrets
    own_secrets: OwnSecrets
    rates: RateLimiter
    """Of the workspace."""
