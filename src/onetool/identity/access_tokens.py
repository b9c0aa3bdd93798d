"""Access tokens that other issuers make for a workspace (RFC 9068)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jwt

from .provider_documents import ProviderDocuments
from .signed_tokens import MAX_TOKEN_CHARS, SignedTokens

TYPES = frozenset({"at+jwt", "application/at+jwt", "jwt", ""})
"""Values of `typ`. An ID token must not be one: it is made for a client, which its audience shows."""


class TokenSubject(NamedTuple):
    """Whom a valid token stands for."""

    issuer: str
    subject: str
    expires_at: float


class AccessTokens:
    """Validates the access tokens of listed issuers."""

    def __init__(self, issuers: Sequence[str]) -> None:
        self._documents: Mapping[str, ProviderDocuments] = {
            issuer: ProviderDocuments(issuer) for issuer in issuers
        }

    async def validate(self, token: str, resource: str) -> TokenSubject | None:
        """Return whom a token stands for; None if it is not of a listed issuer.

        resource: the URL of what it must be made for.

        Raises:
            SignInFailed: The token is invalid. The message does not quote it.
            SignInUnavailable: The keys of the issuer cannot be read.
        """
        issuer = _issuer(token)
        if issuer not in self._documents:
            return None
        tokens = SignedTokens(issuer, resource, self._documents[issuer].keys, "The access token")
        claims, header = await tokens.validate(token)
        if str(header.get("typ") or "").lower() not in TYPES:
            raise tokens.invalid("it is no access token (typ)")
        if "nonce" in claims or "at_hash" in claims:
            raise tokens.invalid("it is an ID token")
        return TokenSubject(issuer, str(claims["sub"]), float(claims["exp"]))


def _issuer(token: str) -> str:
    """Return the issuer that a token names, which is not verified; empty if it names none."""
    if len(token) > MAX_TOKEN_CHARS:
        return ""
    try:
        claims = jwt.decode(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError):
        return ""
    issuer = claims.get("iss")
    return issuer if isinstance(issuer, str) else ""
