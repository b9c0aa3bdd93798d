"""Who may do what in a workspace: what its owners see and change."""

from typing import NamedTuple

from onetool.ports import (
    ApiKeyStore,
    ClientGrantStore,
    InvitationStore,
    MemberStore,
    OwnSecrets,
    RateLimiter,
    WorkspaceSecrets,
)

from .server_connections import ServerConnections


class Administration(NamedTuple):
    """The members, invitations, API keys, secrets, logins and allowed clients of a workspace."""

    members: MemberStore
    keys: ApiKeyStore
    invitations: InvitationStore
    secrets: WorkspaceSecrets
    own_secrets: OwnSecrets
    rates: RateLimiter
    """Of the workspace."""
    connections: ServerConnections
    clients: ClientGrantStore
