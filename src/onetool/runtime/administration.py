"""Who may do what in a workspace: what its owners see and change."""

from typing import NamedTuple

from onetool.ports import (
    ApiKeyStore,
    ClientGrantStore,
    InvitationStore,
    MemberStore,
    OwnSecrets,
    WorkspaceSecrets,
)


class Administration(NamedTuple):
    """The members, invitations, API keys, secrets and allowed clients of a workspace."""

    members: MemberStore
    keys: ApiKeyStore
    invitations: InvitationStore
    secrets: WorkspaceSecrets
    own_secrets: OwnSecrets
    clients: ClientGrantStore
