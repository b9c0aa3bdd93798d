"""Validation of tokens that an issuer has signed (RFC 7519)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import jwt

from onetool.domain.errors import SignInFailed

from .provider_documents import Jwk

KEY_TYPES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
        **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
        "EdDSA": "OKP",
    }
)
"""The algorithms that are accepted, with the type of their keys. All are asymmetric."""
REQUIRED = ("iss", "sub", "aud", "exp", "iat")
LEEWAY_S = 60.0
"""Seconds by which clocks may differ."""
MAX_TOKEN_CHARS = 100_000

Keys = Callable[..., Awaitable[Sequence[Jwk]]]
"""Returns the issuer's keys; `again=True`: newer ones."""


class SignedToken(NamedTuple):
    """A token whose signature, issuer, audience and time are valid."""

    claims: dict[str, Any]
    header: dict[str, Any]

    @property
    def algorithm(self) -> str:
        """The algorithm of the signature."""
        return str(self.header["alg"])


class SignedTokens:
    """Validates the tokens that one issuer makes for one audience."""

    def __init__(self, issuer: str, audience: str, keys: Keys, what: str) -> None:
        """what: the words for a token in messages."""
        self._issuer, self._audience, self._keys, self._what = issuer, audience, keys, what

    async def validate(self, token: str) -> SignedToken:
        """Return what a token says.

        Raises:
            SignInFailed: The token is invalid. The message does not quote it.
            SignInUnavailable: The keys of the issuer cannot be read.
        """
        if len(token) > MAX_TOKEN_CHARS:
            raise self.invalid(f"it has more than {MAX_TOKEN_CHARS} characters")
        try:
            header = jwt.get_unverified_header(token)
            algorithm = header.get("alg")
            if not isinstance(algorithm, str) or algorithm not in KEY_TYPES:
                raise self.invalid(f"its algorithm is not one of {', '.join(KEY_TYPES)}")
            key = jwt.PyJWK(dict(await self._key(algorithm, header.get("kid"))), algorithm)
            return SignedToken(self._decode(token, key), header)
        except (jwt.PyJWTError, ValueError, TypeError) as error:  # the last two: keys that cannot be used
            raise self.invalid(str(error)[:200] or type(error).__name__) from None

    def invalid(self, reason: str) -> SignInFailed:
        """Return the error for a token that is not accepted."""
        return SignInFailed(f"{self._what} is not valid: {reason.rstrip('.')}.")

    async def _key(self, algorithm: str, kid: object) -> Jwk:
        """Return the key with an id; without an id, the only one that fits."""
        found = _fitting(await self._keys(), algorithm, kid)
        if not found:
            found = _fitting(await self._keys(again=True), algorithm, kid)
        if len(found) != 1:
            raise self.invalid("the provider has no such key" if not found else "several keys fit")
        return found[0]

    def _decode(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        return jwt.decode(
            token,
            key,
            algorithms=list(KEY_TYPES),
            audience=self._audience,
            issuer=self._issuer,
            leeway=LEEWAY_S,
            options={"require": list(REQUIRED), "enforce_minimum_key_length": True},
        )


def _fitting(keys: Sequence[Jwk], algorithm: str, kid: object) -> list[Jwk]:
    return [
        key
        for key in keys
        if key.get("kty") == KEY_TYPES[algorithm]
        and key.get("use") in (None, "sig")
        and key.get("alg") in (None, algorithm)
        and (kid is None or key.get("kid") == kid)
    ]
