"""What a person has allowed an MCP client to do in their name, and the tokens of the client."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

SCOPE = "mcp"
"""The only scope: to use the MCP endpoint of the workspace as the person."""


class ClientGrant(NamedTuple):
    """A client that a person has allowed."""

    id: str
    client_id: str
    client_name: str
    created_at: datetime
    used_at: datetime
    """When the client last got a token."""
    expires_at: datetime


class AllowedClient(NamedTuple):
    """What a person has just allowed."""

    id: UUID
    """Chosen when the person was asked, so that one answer creates one grant."""
    person: UUID
    client_id: str
    client_name: str
    redirect_uri: str
    challenge: str
    """The SHA-256 of a secret of the client (PKCE)."""


class CodeProof(NamedTuple):
    """With what a client shows that a code was made for it."""

    client_id: str
    redirect_uri: str
    challenge: str
    """Of the secret that it has sent."""


class ClientTokens(NamedTuple):
    """New tokens of a client."""

    access: str
    refresh: str
    lifetime_s: int
    """Of the access token."""


class ClientToken(NamedTuple):
    """A valid access token of a client."""

    owner: str
    """The id of the person as whom the client acts."""
    expires_at: datetime
    patterns: tuple[str, ...] = ()
    id: str = ""
    """It is no API key."""

    def is_valid(self, now: datetime) -> bool:
        """Whether the token can be used at a time."""
        return now < self.expires_at
