"""The connections of members to MCP servers: who has logged in where, and how to log in and out."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from onetool.domain.calls.caller import Caller
from onetool.domain.errors import LoginFailed
from onetool.domain.identity.principal import Principal
from onetool.domain.text.suggestions import did_you_mean
from onetool.ports import BegunLoginStore, BegunServerLogin, ServerLogins, ServerSource

from .runtime import Runtime

WORKSPACE = ""
"""The owner of the login of the workspace."""


class ServerConnection(NamedTuple):
    """A server that is called with credentials of members, or with a login of the workspace."""

    server: str
    credentials: Literal["workspace", "person", "either"]
    """Whose credentials calls use."""
    can_log_in: bool
    """Whether the server has a login. Otherwise, secrets are sent to it."""
    is_own: bool
    """Whether the member has logged in, or has all secrets."""
    is_shared: bool
    """Whether the workspace has logged in."""
    secrets: Sequence[str]
    """Names of the member's secrets that are sent to the server."""
    missing: Sequence[str]
    """Those that the member does not have."""
    is_listed: bool
    """Whether the tools of the server are known."""


class UnknownServer(LookupError):
    """There is no such server, or it is disabled."""


class ServerConnections:
    """The connections of one workspace."""

    def __init__(self, runtime: Runtime, begun: BegunLoginStore, callback: str) -> None:
        """callback: where providers send browsers after a login; empty: the operator has not set it."""
        self._runtime, self._begun, self._callback = runtime, begun, callback

    async def list(self, principal: Principal, own_secrets: Sequence[str]) -> list[ServerConnection]:
        """Return the servers to which members or the workspace can connect.

        own_secrets: the names of the member's secrets.
        """
        await self._runtime.reload_if_changed()
        servers = [self._runtime.state.servers[name] for name in self._runtime.state.servers]
        found = [(server, server.logins) for server in servers if server.logins is not None]
        return [
            await self._describe(server, logins, principal, own_secrets)
            for server, logins in found
            if logins.exist or logins.credentials != "workspace"
        ]

    async def begin(self, server: str, principal: Principal, *, for_workspace: bool) -> str:
        """Begin a login and return the URL of its page.

        Raises:
            UnknownServer: There is no such server.
            LoginFailed: The server has no login, or does not respond.
        """
        if not self._callback:
            raise LoginFailed("Logins need the URL of this server. The operator sets ONETOOL_PUBLIC_URL.")
        _, logins = await self._find(server)
        owner = WORKSPACE if for_workspace else principal.id
        page = await logins.begin(self._callback)
        await self._begun.put(page.state, principal.id, BegunServerLogin(server, owner, page.begun))
        return page.url

    async def finish(self, principal: Principal, response: Mapping[str, str], *, may_share: bool) -> str:
        """Complete the login with which a browser came back, and return the name of the server.

        may_share: whether the principal may still log in for the workspace.

        Raises:
            LoginFailed: The principal has begun no such login, or it was denied.
        """
        begun = await self._begun.take(response.get("state", ""), principal.id)
        if begun is None or (begun.owner == WORKSPACE and not may_share):
            raise LoginFailed("You have begun no such login, or it took too long. Begin again.")
        try:
            _, logins = await self._find(begun.server)
        except UnknownServer as error:
            raise LoginFailed(str(error)) from None
        await logins.finish(begun.owner, begun.begun, response)
        return begun.server

    async def delete(self, server: str, principal: Principal, *, for_workspace: bool) -> bool:
        """Delete a login. Return False if there is none.

        Raises:
            UnknownServer: There is no such server.
            LoginFailed: The server has no login.
        """
        _, logins = await self._find(server)
        return await logins.delete(WORKSPACE if for_workspace else principal.id)

    async def list_tools(self, server: str, caller: Caller) -> None:
        """List the tools of a server with the caller's own credentials, for all members.

        Raises:
            UnknownServer: There is no such server.
            ExecutionError: The caller has no credentials, or the server is unavailable.
        """
        source, _ = await self._find(server)
        await source.list_with_login(caller)

    async def _find(self, name: str) -> tuple[ServerSource, ServerLogins]:
        await self._runtime.reload_if_changed()
        servers = self._runtime.state.servers
        source = servers.get(name)
        if source is None or source.logins is None:
            raise UnknownServer(f"There is no server {name!r}.{did_you_mean(name, list(servers))}")
        return source, source.logins

    async def _describe(
        self, server: ServerSource, logins: ServerLogins, principal: Principal, own_secrets: Sequence[str]
    ) -> ServerConnection:
        secrets = logins.secret_names
        missing = [name for name in secrets if name not in own_secrets]
        has_secrets = bool(secrets) and not missing
        return ServerConnection(
            server=server.name,
            credentials=logins.credentials,
            can_log_in=logins.exist,
            is_own=bool(await logins.login_of(principal.id)) if logins.exist else has_secrets,
            is_shared=logins.exist and bool(await logins.login_of(WORKSPACE)),
            secrets=secrets,
            missing=missing,
            is_listed=not server.status().needs_start,
        )
