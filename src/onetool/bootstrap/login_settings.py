"""How people log in to a hosted OneTool, as the environment says."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from onetool.domain.errors import SettingsError
from onetool.identity.oidc import OidcSettings
from onetool.identity.provider_documents import is_protected

ISSUER, CLIENT_ID, CLIENT_SECRET = (
    "ONETOOL_OIDC_ISSUER",
    "ONETOOL_OIDC_CLIENT_ID",
    "ONETOOL_OIDC_CLIENT_SECRET",
)
GROUPS_CLAIM, SCOPES = "ONETOOL_OIDC_GROUPS_CLAIM", "ONETOOL_OIDC_SCOPES"
TOKEN_ISSUERS = "ONETOOL_JWT_ISSUERS"  # noqa: S105 - no password
AUTHORIZATION_SERVER, CLIENT_REGISTRATION, CLIENT_HOSTS = (
    "ONETOOL_AUTHORIZATION_SERVER",
    "ONETOOL_CLIENT_REGISTRATION",
    "ONETOOL_CLIENT_HOSTS",
)
PUBLIC_URL = "ONETOOL_PUBLIC_URL"
DEFAULT_SCOPES = "openid profile email"
CALLBACK_PATH = "/auth/callback"
SCOPE_LIST = re.compile(r"[!#-\[\]-~]+( [!#-\[\]-~]+)*")
"""As RFC 6749 defines it."""


class ClientSettings(NamedTuple):
    """Which MCP clients can ask people for access at this server."""

    accepts_registration: bool = False
    """Whether any client may register itself. Otherwise it must publish a document about itself."""
    private_hosts: tuple[str, ...] = ()
    """Hosts of such documents that may have private addresses."""


class LoginSettings(NamedTuple):
    """How people log in, as the environment says."""

    public_url: str
    """Where browsers reach this server, without a path."""
    provider: OidcSettings
    token_issuers: tuple[str, ...] = ()
    """Those whose access tokens are accepted."""
    clients: ClientSettings | None = None
    """None: this server issues no tokens to MCP clients."""

    @property
    def host(self) -> str:
        """The name of the host, without the port."""
        name = urlsplit(self.public_url).hostname or ""
        return f"[{name}]" if ":" in name else name

    @property
    def is_https(self) -> bool:
        """Whether browsers reach this server by HTTPS."""
        return self.public_url.startswith("https://")


def login_settings(environment: Mapping[str, str]) -> LoginSettings | None:
    """Return how people log in; None if they do not.

    Raises:
        SettingsError: A variable is missing or invalid. The message does not quote a secret.
    """
    names = (
        *(ISSUER, CLIENT_ID, CLIENT_SECRET, GROUPS_CLAIM, SCOPES, TOKEN_ISSUERS, PUBLIC_URL),
        *(AUTHORIZATION_SERVER, CLIENT_REGISTRATION, CLIENT_HOSTS),
    )
    values = {name: environment.get(name, "").strip() for name in names}
    if all(values[name] in ("", "off") for name in names if name != PUBLIC_URL):
        return None
    for name in (ISSUER, CLIENT_ID, PUBLIC_URL):
        if not values[name]:
            raise SettingsError(f"Set {name}, which the login with OpenID Connect needs. See docs/hosted.md.")
    scopes = values[SCOPES] or DEFAULT_SCOPES
    if SCOPE_LIST.fullmatch(scopes) is None or "openid" not in scopes.split(" "):
        raise SettingsError(f"{SCOPES} is {scopes!r}. It must have 'openid'. Example: {DEFAULT_SCOPES}")
    if not is_protected(values[ISSUER]) or urlsplit(values[ISSUER]).query:
        raise SettingsError(f"{ISSUER} must be an https URL, such as https://login.example.com.")
    public_url = _check_public_url(values[PUBLIC_URL])
    return LoginSettings(
        public_url,
        OidcSettings(
            issuer=values[ISSUER],
            client_id=values[CLIENT_ID],
            client_secret=values[CLIENT_SECRET],
            redirect_uri=public_url + CALLBACK_PATH,
            scopes=scopes,
            groups_claim=values[GROUPS_CLAIM],
        ),
        _token_issuers(values[TOKEN_ISSUERS]),
        _client_settings(values, public_url),
    )


def public_url(environment: Mapping[str, str]) -> str:
    """Return where browsers reach this server; empty if it is not known.

    Raises:
        SettingsError: It is not the URL of a server.
    """
    url = environment.get(PUBLIC_URL, "").strip()
    return _check_public_url(url) if url else ""


def _client_settings(values: Mapping[str, str], public_url: str) -> ClientSettings | None:
    is_on, accepts_registration = _switch(values, AUTHORIZATION_SERVER), _switch(values, CLIENT_REGISTRATION)
    hosts = tuple(host.strip().lower() for host in values[CLIENT_HOSTS].split(",") if host.strip())
    if not is_on:
        if accepts_registration or hosts:
            raise SettingsError(f"{CLIENT_REGISTRATION} and {CLIENT_HOSTS} need {AUTHORIZATION_SERVER}=on.")
        return None
    if not is_protected(public_url):
        raise SettingsError(f"{AUTHORIZATION_SERVER}=on needs {PUBLIC_URL} to be an https URL.")
    return ClientSettings(accepts_registration, hosts)


def _switch(values: Mapping[str, str], name: str) -> bool:
    if values[name] not in ("", "on", "off"):
        raise SettingsError(f"{name} is {values[name][:100]!r}. Valid: on, off.")
    return values[name] == "on"


def _token_issuers(text: str) -> tuple[str, ...]:
    issuers = tuple(part.strip() for part in text.split(",") if part.strip())
    for issuer in issuers:
        if not is_protected(issuer) or urlsplit(issuer).query:
            raise SettingsError(f"{TOKEN_ISSUERS} has {issuer[:200]!r}, which is not an https URL.")
    return issuers


def _check_public_url(url: str) -> str:
    """Return the URL without a slash at the end."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, is_valid = urlsplit(""), False
    if not is_valid or "@" in parts.netloc or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise SettingsError(
            f"{PUBLIC_URL} must be the URL of this server without a path, such as https://tools.example.com."
        )
    return f"{parts.scheme}://{parts.netloc}"
