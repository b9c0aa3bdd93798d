"""An OpenID provider that signs what a test tells it to: wrong keys, wrong claims, wrong documents."""

import secrets
import time
from collections.abc import Callable
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from onetool.domain.identity.person import Identity, LoginStart
from onetool.identity.oidc import OidcProvider, OidcSettings
from onetool.testing.http_stub import HttpStub, RecordedRequest, StubResponse

DISCOVERY = "/.well-known/openid-configuration"
CLIENT_ID = "onetool"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def public_jwk(key: Any, algorithm: str, **fields: Any) -> dict[str, Any]:
    """Return the public part of a key as a provider publishes it."""
    return jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True) | fields  # type: ignore


class OpenIdStub:
    """A provider whose documents, keys and claims can be changed."""

    def __init__(self) -> None:
        self.responses: dict[str, StubResponse] = {}
        """Responses by path that replace those of the provider."""
        self.keys = [public_jwk(RSA_KEY, "RS256", kid="rsa"), public_jwk(EC_KEY, "ES256", kid="ec")]
        self.claims: dict[str, Any] = {"email": "anna@example.com", "name": "Anna"}
        """What ID tokens say besides what is right; None removes a claim."""
        self.access_token = "an access token"
        self.sign: Callable[[dict[str, Any]], str] = sign
        self._nonce = ""

    def __enter__(self) -> "OpenIdStub":
        paths = {DISCOVERY: "_metadata", "/keys": "_keys", "/token": "_token", "/userinfo": "_userinfo"}
        self._server = HttpStub({path: self._responder(path, name) for path, name in paths.items()})
        self._server.__enter__()
        url = self.issuer = self._server.url
        self.metadata: dict[str, Any] = {
            "issuer": url,
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
            "jwks_uri": f"{url}/keys",
            "userinfo_endpoint": f"{url}/userinfo",
        }
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__(None, None, None)

    def provider(self, **fields: Any) -> OidcProvider:
        """Return a client of this provider."""
        values = {
            "client_id": CLIENT_ID,
            "client_secret": "a secret",
            "redirect_uri": "http://localhost/auth/callback",
        }
        return OidcProvider(OidcSettings(issuer=self.issuer, **values | fields))

    def response(self, start: LoginStart) -> dict[str, str]:
        """Log in at once, and return the parameters of the redirect."""
        self._nonce = start.attempt.nonce
        return {"state": start.attempt.state, "code": secrets.token_urlsafe()}

    async def log_in(self, provider: OidcProvider | None = None) -> Identity:
        """Log in."""
        provider = provider or self.provider()
        start = await provider.begin()
        return await provider.finish(start.attempt, self.response(start))

    def requests(self, path: str) -> list[RecordedRequest]:
        """Return the requests for a path."""
        return [request for request in self._server.requests if request.path == path]

    def count(self, path: str) -> int:
        """Return how many requests there were for a path."""
        return len(self.requests(path))

    def _responder(self, path: str, name: str) -> Callable[[RecordedRequest], StubResponse]:
        return lambda request: self.responses.get(path) or getattr(self, name)()

    def _metadata(self) -> StubResponse:
        return StubResponse(self.metadata)

    def _keys(self) -> StubResponse:
        return StubResponse({"keys": self.keys})

    def _userinfo(self) -> StubResponse:
        return StubResponse({"sub": "anna-1"})

    def _token(self) -> StubResponse:
        now = int(time.time())
        right = {
            "iss": self.issuer,
            "sub": "anna-1",
            "aud": CLIENT_ID,
            "nonce": self._nonce,
            "iat": now,
            "exp": now + 300,
        }
        claims = {name: value for name, value in (right | self.claims).items() if value is not None}
        return StubResponse(
            {"access_token": self.access_token, "id_token": self.sign(claims), "token_type": "Bearer"}
        )


def sign(
    claims: dict[str, Any], key: Any = RSA_KEY, algorithm: str = "RS256", kid: str | None = "rsa"
) -> str:
    """Return an ID token."""
    return jwt.encode(claims, key, algorithm, headers={"kid": kid} if kid else None)
