"""Logins of the members of a hosted OneTool to MCP servers."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, Protocol


class ServerLoginPage(NamedTuple):
    """The page of a server's provider on which a member logs in."""

    url: str
    state: str
    """A secret in the URL, which the browser brings back."""
    begun: str
    """What is needed when it comes back. It contains secrets."""


class ServerLogins(Protocol):
    """The logins of members to a server of a hosted OneTool."""

    @property
    def credentials(self) -> Literal["workspace", "person", "either"]:
        """Whose credentials calls use."""
        ...

    @property
    def exist(self) -> bool:
        """Whether members can log in to the server."""
        ...

    @property
    def secret_names(self) -> Sequence[str]:
        """The secrets of a member that are used in place of a login."""
        ...

    async def login_of(self, owner: str) -> str:
        """Return what identifies the login of a member, or with an empty id of the workspace; empty: none.

        Raises:
            ExecutionError: It cannot be read.
        """
        ...

    async def begin(self, redirect_uri: str) -> ServerLoginPage:
        """Find the page on which to log in. It sends the browser to `redirect_uri` afterwards.

        Raises:
            LoginFailed: The server has no login, or does not respond.
        """
        ...

    async def finish(self, owner: str, begun: str, response: Mapping[str, str]) -> None:
        """Store the tokens of a login whose browser came back with this response.

        Raises:
            LoginFailed: The login was denied, or the response belongs to another one.
        """
        ...

    async def delete(self, owner: str) -> bool:
        """Delete a login. Return False if there is none.

        Raises:
            LoginFailed: The server has no login.
        """
        ...


class BegunServerLogin(NamedTuple):
    """A login whose page is shown in a browser."""

    server: str
    owner: str
    """Whose login it will be: the id of a principal; empty: the workspace."""
    begun: str
    """What is needed when the browser comes back."""


class BegunLoginStore(Protocol):
    """Keeps logins that have begun until their browser comes back, for some minutes. Nothing blocks."""

    async def put(self, state: str, principal: str, login: BegunServerLogin) -> None:
        """Keep a login of a principal under a secret. The oldest ones are forgotten if there are many.

        Raises:
            StoreUnavailable: It cannot be stored.
        """
        ...

    async def take(self, state: str, principal: str) -> BegunServerLogin | None:
        """Return the login of a principal with this secret, once; None if there is none.

        Raises:
            StoreUnavailable: It cannot be read.
        """
        ...
