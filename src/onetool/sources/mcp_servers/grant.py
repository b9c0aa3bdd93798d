"""What a login has brought: tokens, the client that was registered for them, and where they are renewed."""

import logging
import re
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

SENDABLE = re.compile(r"[!-~]+")
EARLY, EARLY_PART = 30.0, 0.1
"""A token is renewed so many seconds before its end, but not before the last tenth of its life."""


class Grant(BaseModel):
    """One login. Bound to the server's URL: another server of the same name never gets its tokens."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    url: str
    ends_at: float | None = None
    tokens: OAuthToken = Field(repr=False)
    client: OAuthClientInformationFull = Field(repr=False)
    issuer: OAuthMetadata = Field(repr=False)
    resource: ProtectedResourceMetadata | None = Field(default=None, repr=False)

    @field_validator("tokens")
    @classmethod
    def _check(cls, tokens: OAuthToken) -> OAuthToken:
        """Refuse what no header can hold: the error of the one who sends it would repeat it."""
        if not SENDABLE.fullmatch(tokens.access_token):
            raise ValueError("not a token")
        return tokens

    @classmethod
    def read(cls, text: str | None, url: str) -> "Grant | None":
        """Read what is kept; what cannot be read, or belongs to another URL, is none."""
        try:
            grant = cls.model_validate_json(text or "")
        except ValueError:
            return None
        return grant if grant.url == url else None

    @property
    def text(self) -> str:
        """What is kept."""
        return self.model_dump_json(exclude_none=True)

    @property
    def can_renew(self) -> bool:
        """Whether there is something to renew it with."""
        return bool(self.tokens.refresh_token)

    @property
    def is_over(self) -> bool:
        """Whether its time has passed."""
        return self.ends_at is not None and time.time() >= self.ends_at

    @property
    def is_due(self) -> bool:
        """Whether it is to be renewed: before it ends, because clocks differ and answers take a while."""
        if self.ends_at is None or not self.can_renew:
            return False
        return time.time() >= self.ends_at - min(EARLY, EARLY_PART * (self.tokens.expires_in or 0))

    def with_tokens(self, tokens: OAuthToken) -> Self:
        """Return the same login with tokens that were given just now."""
        given = {"tokens": tokens, "ends_at": end_of(tokens)}
        return type(self).model_validate({**dict(self), **given})


def end_of(tokens: OAuthToken) -> float | None:
    """When tokens that were given just now end."""
    return None if tokens.expires_in is None else time.time() + tokens.expires_in


class Kept:
    """Holds what a flow brings until all of it is there: half a login must not replace a whole one."""

    def __init__(self, grant: Grant | None = None) -> None:
        self.tokens = grant.tokens if grant else None
        self.client = grant.client if grant else None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Take new tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Take a client that was registered."""
        self.client = client_info


def make_provider(
    url: str,
    kept: Kept,
    redirect_uri: str = "http://127.0.0.1/callback",
    *,
    go: Callable[[str], Awaitable[None]] | None = None,
    come_back: Callable[[], Awaitable[AuthorizationCodeResult]] | None = None,
) -> OAuthClientProvider:
    """Make what knows the protocol; without `go` and `come_back` it can renew, and nothing else."""
    logging.getLogger("mcp.client.auth.oauth2").addFilter(_is_never_logged)
    client = OAuthClientMetadata(
        redirect_uris=[AnyUrl(redirect_uri)],
        token_endpoint_auth_method="none",  # noqa: S106 - a program on a person's machine keeps no secret
        client_name="OneTool",
        software_version=__version__,
    )
    return OAuthClientProvider(url, client, kept, go, come_back)


def _is_never_logged(record: logging.LogRecord) -> bool:
    """It logs answers that hold tokens; all that it logs it also raises, and we say that in our words."""
    return False
