"""The authorization server for MCP clients: which clients there are, and what people have allowed them."""

import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

import orjson

from onetool.domain.errors import StoreUnavailable
from onetool.domain.identity.api_key import ApiKey
from onetool.domain.identity.client_grant import AllowedClient, ClientToken, ClientTokens, CodeProof
from onetool.domain.identity.oauth_client import MAX_ID_CHARS, InvalidClient, OAuthClient, parse_client
from onetool.identity.client_documents import ClientDocuments
from onetool.storage.postgres.client_grants import ACCESS_PREFIX, PostgresClientGrants
from onetool.storage.postgres.key_ring import KeyRing
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.workspace_database import WorkspaceDatabase

from .api_keys import ApiKeyAuthenticator
from .hosted import HostedParts
from .login_settings import ClientSettings

REGISTERED = "registered."
"""Start of the ids of clients that have registered themselves. No URL begins like this."""
PLACE = "registered client"
T = TypeVar("T")


class AuthorizationParts(NamedTuple):
    """What issues tokens to clients."""

    clients: "KnownClients"
    grants: "WorkspaceGrants"
    authenticator: "ClientTokenAuthenticator"
    seal: KeyRing
    """Seals what a browser keeps while a person is asked."""


def authorization_parts(parts: HostedParts, settings: ClientSettings) -> AuthorizationParts:
    """Return what issues tokens to clients."""
    return AuthorizationParts(
        clients=KnownClients(settings, parts.ring.derived("registered clients")),
        grants=WorkspaceGrants(parts),
        authenticator=ClientTokenAuthenticator(parts),
        seal=parts.ring.derived("consent of people"),
    )


class ClientTokenAuthenticator(ApiKeyAuthenticator):
    """Finds the person for whom an MCP client acts with an access token of this server."""

    prefix = ACCESS_PREFIX

    async def _read(self, workspace: WorkspaceDatabase, text: str) -> ApiKey | ClientToken | None:
        sealer = Sealer(workspace, self._parts.ring)
        return await PostgresClientGrants(workspace, self._parts.threads, sealer).find(text)


class KnownClients:
    """Finds clients by their ids. None is stored: the id of a client leads to, or is, what it says.

    A client that registers itself gets an id in which this is sealed, so that no one can fill a table.
    """

    def __init__(self, settings: ClientSettings, seal: KeyRing) -> None:
        self._documents = ClientDocuments(settings.private_hosts)
        self._accepts_registration, self._seal = settings.accepts_registration, seal

    async def find(self, slug: str, id: str) -> OAuthClient:
        """Return a client that may ask people of a workspace for access.

        Raises:
            InvalidClient: There is no such client.
        """
        if not id.startswith(REGISTERED):
            return await self._documents.find(id)
        text = id.removeprefix(REGISTERED).encode()
        try:
            sealed = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
            name, uris = orjson.loads(self._seal.open(sealed, PLACE, slug))
        except (StoreUnavailable, binascii.Error, ValueError):
            raise InvalidClient("The client is not registered here. Let it register again.") from None
        if not self._accepts_registration:
            raise InvalidClient("Clients cannot register themselves here any more.")
        return OAuthClient(id, name, tuple(uris))

    def register(self, slug: str, document: object) -> OAuthClient:
        """Return a new client with what it says about itself.

        Raises:
            InvalidClient: It cannot be used here.
        """
        said = document if isinstance(document, dict) else {}
        client = parse_client("", {**said, "token_endpoint_auth_method": "none"})  # whatever it has asked for
        sealed = self._seal.seal(orjson.dumps([client.name, client.redirect_uris]), PLACE, slug)
        id = REGISTERED + base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()
        if len(id) > MAX_ID_CHARS:
            raise InvalidClient("client_name and redirect_uris are too long together.")
        return client._replace(id=id)


class WorkspaceGrants:
    """What people have allowed in all workspaces."""

    def __init__(self, parts: HostedParts) -> None:
        self._parts = parts

    async def allow(self, slug: str, client: AllowedClient) -> str | None:
        """Return a code for a client that a person has allowed; None if there is no such workspace."""
        return await self._in(slug, lambda grants: grants.allow(client))

    async def redeem(self, slug: str, code: str, proof: CodeProof) -> ClientTokens | None:
        """Return tokens in place of a code; None if it is not valid."""
        return await self._in(slug, lambda grants: grants.redeem(code, proof))

    async def refresh(self, slug: str, token: str, client_id: str) -> ClientTokens | None:
        """Return tokens in place of a refresh token; None if it is not valid."""
        return await self._in(slug, lambda grants: grants.refresh(token, client_id))

    async def revoke(self, slug: str, token: str, client_id: str) -> None:
        """Revoke the grant of a token, if there is one."""
        await self._in(slug, lambda grants: grants.revoke_token(token, client_id))

    async def _in(self, slug: str, action: Callable[[PostgresClientGrants], Awaitable[T]]) -> T | None:
        parts = self._parts
        async with parts.lookups.slot(slug):
            found = await parts.threads.run(parts.directory.find, slug)
            if found is None:
                return None
            workspace = parts.notices.workspace(found)
            return await action(PostgresClientGrants(workspace, parts.threads, Sealer(workspace, parts.ring)))
