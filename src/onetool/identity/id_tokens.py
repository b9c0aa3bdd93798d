"""Validation of ID tokens (OpenID Connect Core 1.0, section 3.1.3.7)."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from .signed_tokens import Keys, SignedTokens


class IdTokens:
    """Validates the ID tokens that one issuer makes for one client."""

    def __init__(self, issuer: str, client_id: str, keys: Keys) -> None:
        self._client_id = client_id
        self._tokens = SignedTokens(issuer, client_id, keys, "The ID token of the provider")

    async def validate(self, token: str, *, nonce: str, access_token: str) -> dict[str, Any]:
        """Return the claims of a token that was made for this client and this login.

        access_token: the one that came with it; empty: none.

        Raises:
            SignInFailed: The token is invalid. The message does not quote it.
            SignInUnavailable: The keys of the provider cannot be read.
        """
        signed = await self._tokens.validate(token)
        self._check_client(signed.claims)
        self._check_login(signed.claims, signed.algorithm, nonce, access_token)
        return signed.claims

    def _check_client(self, claims: Mapping[str, Any]) -> None:
        audience, party = claims["aud"], claims.get("azp")
        has_others = isinstance(audience, list) and len(audience) > 1
        if (has_others or party is not None) and party != self._client_id:
            raise self._tokens.invalid("it was made for another client (azp)")

    def _check_login(self, claims: Mapping[str, Any], algorithm: str, nonce: str, access_token: str) -> None:
        if not _is_equal(claims.get("nonce"), nonce):
            raise self._tokens.invalid("it belongs to another login (nonce)")
        at_hash = claims.get("at_hash")
        if at_hash is not None and not _is_equal(at_hash, token_hash(access_token, algorithm)):
            raise self._tokens.invalid("it belongs to another access token (at_hash)")


def token_hash(token: str, algorithm: str) -> str:
    """Return the hash of an access token as ID tokens that are signed with an algorithm contain it."""
    size = algorithm[-3:] if algorithm[-3:].isdigit() else "512"  # EdDSA: Ed25519 uses SHA-512
    digest = hashlib.new(f"sha{size}", token.encode()).digest()
    return base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()


def _is_equal(received: object, expected: str) -> bool:
    if not isinstance(received, str):
        return False
    return hmac.compare_digest(received.encode("utf-8", "replace"), expected.encode())
