"""The result of a login: tokens, the registered client, and the metadata needed to refresh the tokens."""

import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Self

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, field_validator

from onetool.version import __version__

TOKEN_CHARS = re.compile(r"[!-~]+")
REFRESH_MARGIN_S, REFRESH_MARGIN_RATIO = 30.0, 0.1
"""A token is refreshed this many seconds before expiry, or in the last tenth of a shorter lifetime."""


class StoredTokens(BaseModel):
    """The tokens of one login. They are valid for one URL, not for another server with the same name."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    url: str
    expires_at: float | None = None
    tokens: OAuthToken = Field(repr=False)
    client: OAuthClientInformationFull = Field(repr=False)
    issuer: OAuthMetadata = Field(repr=False)
    resource: ProtectedResourceMetadata | None = Field(default=None, repr=False)
    login: str = ""
    """Differs from that of every other login, and stays when the tokens are refreshed."""

    @classmethod
    def issue(
        cls,
        url: str,
        tokens: OAuthToken,
        client: OAuthClientInformationFull,
        issuer: OAuthMetadata,
        resource: ProtectedResourceMetadata | None,
    ) -> "StoredTokens":
        """Return the result of a login that has just completed."""
        return cls(
            url=url,
            expires_at=expiry(tokens),
            tokens=tokens,
            client=client,
            issuer=issuer,
            resource=resource,
            login=secrets.token_hex(8),
        )

    @field_validator("tokens")
    @classmethod
    def _check(cls, tokens: OAuthToken) -> OAuthToken:
        """Reject tokens that no header can hold: the HTTP client's error message would contain them."""
        if not TOKEN_CHARS.fullmatch(tokens.access_token):
            raise ValueError("Invalid access token.")
        return tokens

    @classmethod
    def read(cls, text: str | None, url: str) -> "StoredTokens | None":
        """Parse stored tokens; None if they are missing, invalid or for another URL."""
        try:
            tokens = cls.model_validate_json(text or "")
        except ValueError:
            return None
        return tokens if tokens.url == url else None

    @property
    def text(self) -> str:
        """The JSON text to store."""
        return self.model_dump_json(exclude_none=True)

    @property
    def values(self) -> tuple[str, ...]:
        """The access token, the refresh token and the secret of the client, as far as there are any."""
        secrets = (self.tokens.access_token, self.tokens.refresh_token, self.client.client_secret)
        return tuple(filter(None, secrets))

    @property
    def can_refresh(self) -> bool:
        """Whether there is a refresh token."""
        return bool(self.tokens.refresh_token)

    @property
    def is_expired(self) -> bool:
        """Whether the access token is expired."""
        return self.expires_at is not None and time.time() >= self.expires_at

    @property
    def needs_refresh(self) -> bool:
        """Whether to refresh now: some time before expiry, because clocks differ and requests take time."""
        if self.expires_at is None or not self.can_refresh:
            return False
        return time.time() >= self.expires_at - min(
            REFRESH_MARGIN_S, REFRESH_MARGIN_RATIO * (self.tokens.expires_in or 0)
        )

    def with_tokens(self, tokens: OAuthToken) -> Self:
        """Return a copy with tokens that were just issued."""
        issued = {"tokens": tokens, "expires_at": expiry(tokens)}
        return type(self).model_validate({**dict(self), **issued})


def expiry(tokens: OAuthToken) -> float | None:
    """Return the time at which tokens that were just issued expire."""
    return None if tokens.expires_in is None else time.time() + tokens.expires_in


class PendingTokens:
    """The SDK's token storage during a login or refresh. Only a complete login replaces stored tokens."""

    def __init__(self, stored: StoredTokens | None = None) -> None:
        self.tokens = stored.tokens if stored else None
        self.client = stored.client if stored else None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Set new tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the registered client."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Set a newly registered client."""
        self.client = client_info


def make_provider(
    url: str,
    pending: PendingTokens,
    redirect_uri: str = "http://127.0.0.1/callback",
    *,
    redirect_handler: Callable[[str], Awaitable[None]] | None = None,
    callback_handler: Callable[[], Awaitable[AuthorizationCodeResult]] | None = None,
) -> OAuthClientProvider:
    """Return the SDK's OAuth flow. Without the two handlers it can only refresh tokens."""
    logging.getLogger("mcp.client.auth.oauth2").addFilter(_drop_record)
    client = OAuthClientMetadata(
        redirect_uris=[AnyUrl(redirect_uri)],
        token_endpoint_auth_method="none",  # noqa: S106 - a public client has no secret
        client_name="OneTool",
        software_version=__version__,
    )
    return OAuthClientProvider(url, client, pending, redirect_handler, callback_handler)


def _drop_record(record: logging.LogRecord) -> bool:
    """Drop all log records: they contain tokens, and the SDK also raises what it logs."""
    return False
