"""The logins of members to one server of a hosted OneTool, and whose credentials a call uses."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Literal

from onetool.domain.calls.caller import Caller
from onetool.domain.errors import LoginFailed, LoginRequired
from onetool.domain.http.placeholders import MalformedTemplate, placeholder_names
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.ports import MemberTokens, ServerLoginPage, TokenStore
from onetool.settings.server_schema import ServerSettings

from .errors import ServerUnavailable
from .member_sessions import NO_LOGIN, KnownLogins, MemberAccess, StoredLogin, secrets_access
from .oauth.config import OAuthConfig

WORKSPACE = ""
"""The owner of the login of the workspace."""
UNNAMED = "unnamed"
"""Identifies a login that was stored without an id."""
Credentials = Literal["workspace", "person", "either"]


class MemberLogins:
    """Logs members in to a server, and finds the login or the secrets that a member's calls use."""

    def __init__(
        self,
        server: str,
        settings: ServerSettings,
        oauth: OAuthConfig | None,
        tokens: MemberTokens | None,
        page: str,
        *,
        credentials: CredentialSet,
    ) -> None:
        """Find credentials. A server whose headers contain secrets of members has no login for them.

        oauth: None if the server has no login.
        page: the URL on which members log in.
        credentials: what is redacted for all.
        """
        self._server, self._settings, self._tokens, self._page = server, settings, tokens, page
        self._credentials = credentials
        self.secret_names = _secret_names(settings) if oauth is None or self.are_personal else ()
        """The secrets of a member that are used in place of a login."""
        self._oauth = None if self.secret_names else oauth
        self._known = KnownLogins(tokens, self._read) if tokens is not None else None

    @property
    def credentials(self) -> Credentials:
        """Whose credentials calls use."""
        return self._settings.credentials

    @property
    def are_kept(self) -> bool:
        """Whether members have logins of their own: not, if OneTool has one user."""
        return self._tokens is not None

    @property
    def are_personal(self) -> bool:
        """Whether calls may use credentials of single members."""
        return self.are_kept and self.credentials != "workspace"

    @property
    def exist(self) -> bool:
        """Whether members can log in to the server."""
        return self.are_kept and self._oauth is not None

    async def access_of(self, caller: Caller) -> MemberAccess | None:
        """Return what the sessions of a caller are opened with; None if there is nothing.

        Raises:
            ExecutionError: The login of the caller cannot be read.
        """
        if self._oauth is None:
            return secrets_access(self.secret_names, caller, CredentialSet(self._credentials))
        owner = caller.principal.id
        login, config = await self.login_of(owner), self._config(owner)
        return MemberAccess(login, config.credentials, oauth=config) if login and config else None

    async def login_of(self, owner: str) -> str:
        """Return what identifies the login of a member, or of the workspace; empty if there is none.

        Raises:
            ExecutionError: It cannot be read.
        """
        return await self._known.of(owner) if self._known is not None else ""

    def check_shared(self) -> None:
        """Check that callers without credentials of their own may use those of the workspace.

        Raises:
            LoginRequired: They may not.
        """
        if self.credentials == "either":
            return
        what, problem = "the login", "and you have none."
        if names := self.secret_names:
            what, problem = "secrets", f"and you must have these: {', '.join(names)}."
        message = f"Server {self._server!r} is called with {what} of each member, {problem}"
        raise LoginRequired(message, self._page)

    async def begin(self, redirect_uri: str) -> ServerLoginPage:
        """Find the page on which a member logs in.

        Raises:
            LoginFailed: The server has no login, or does not respond.
        """
        from .oauth.web_login import begin_login

        try:
            page = await begin_login(self._config_or_fail(WORKSPACE), redirect_uri)
        except ServerUnavailable as error:
            raise self._failed(error) from None
        return ServerLoginPage(page.url, page.state, page.begun.model_dump_json(exclude_none=True))

    async def finish(self, owner: str, begun: str, response: Mapping[str, str]) -> None:
        """Store the tokens of a login whose browser came back.

        begun: what `begin` returned, as it was kept.

        Raises:
            LoginFailed: The login was denied, or the response belongs to another one.
        """
        from .oauth.web_login import StartedLogin, finish_login

        config = self._config_or_fail(owner)
        try:
            tokens = await finish_login(config, StartedLogin.model_validate_json(begun), response)
        except ServerUnavailable as error:
            raise self._failed(error) from None
        await self._replace(config, tokens.text)

    async def delete(self, owner: str) -> bool:
        """Delete the login of a member, or of the workspace. Return False if there is none."""
        config = self._config_or_fail(owner)
        if not await config.store.read(self._server):
            return False
        await self._replace(config, None)
        return True

    async def _replace(self, config: OAuthConfig, text: str | None) -> None:
        async with config.store.exclusive(self._server) as stored:
            await stored.replace(text)

    async def _read(self, owner: str) -> StoredLogin:
        """Return the stored login of a member, if it is for this server."""
        from .oauth.tokens import StoredTokens

        if self._oauth is None:
            return NO_LOGIN
        tokens = StoredTokens.read(await self._store(owner).read(self._server), self._oauth.url)
        if tokens is None:
            return NO_LOGIN
        is_final = tokens.expires_at is not None and not tokens.can_refresh
        return StoredLogin(tokens.login or UNNAMED, (tokens.expires_at or inf) if is_final else inf)

    def _config_or_fail(self, owner: str) -> OAuthConfig:
        config = self._config(owner)
        if config is None:
            valid = "Logins need a url and no Authorization header."
            raise LoginFailed(f"Server {self._server!r} has no login. {valid}")
        return config

    def _config(self, owner: str) -> OAuthConfig | None:
        if self._oauth is None or self._tokens is None:
            return None
        if owner == WORKSPACE:
            return replace(self._oauth, store=self._store(owner))
        # A provider chooses the tokens: in calls of others, it must not choose what is redacted.
        own = CredentialSet(self._credentials)
        return replace(self._oauth, store=self._store(owner), credentials=own)

    def _store(self, owner: str) -> TokenStore:
        if self._tokens is None:
            raise AssertionError
        return self._tokens.of(owner)

    def _failed(self, error: Exception) -> LoginFailed:
        return LoginFailed(f"Login to server {self._server!r} failed: {error}.")


def _secret_names(settings: ServerSettings) -> tuple[str, ...]:
    try:
        return tuple(placeholder_names(list(settings.headers.values())))
    except MalformedTemplate:  # reported when a session is opened
        return ()
