"""The OAuth configuration of a server."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from onetool.domain.http.urls import InvalidUrl, parse_url
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.ports import TokenStore
from onetool.settings.server_schema import ServerSettings
from onetool.threads import Threads


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthConfig:
    """What the login to a server and the token refresh need."""

    server: str
    url: str
    store: TokenStore = field(repr=False)
    threads: Threads = field(repr=False)
    allowed_hosts: Sequence[str] = ()
    """Private hosts that may be contacted."""
    credentials: CredentialSet = field(default_factory=CredentialSet, repr=False)
    """Where issued tokens are added, to be redacted."""
    login_page: str = ""
    """Where to log in; empty: with the command line."""

    @property
    def login_hint(self) -> str:
        """How to log in."""
        return self.login_page or f"onetool servers login {self.server}"


def oauth_config_for(
    server: str,
    settings: ServerSettings,
    store: TokenStore | None,
    threads: Threads,
    allowed_hosts: Sequence[str],
    *,
    credentials: CredentialSet | None = None,
    page: str = "",
) -> OAuthConfig | None:
    """Return the OAuth configuration of a server.

    page: where to log in; empty: with the command line.

    None if the server is a command, its URL is invalid, or the settings contain an Authorization header.
    """
    has_header = any(name.lower() == "authorization" for name in settings.headers)
    if settings.url is None or store is None or has_header:
        return None
    try:
        url = str(parse_url(settings.url))
    except InvalidUrl:  # reported when the session is opened
        return None
    return OAuthConfig(
        server=server,
        url=url,
        store=store,
        threads=threads,
        allowed_hosts=allowed_hosts,
        credentials=credentials or CredentialSet(),
        login_page=page,
    )
