"""Credentials of REST clients: the token, and the cookie of the web UI."""

import hmac
from hashlib import sha256

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

COOKIE_NAME_MESSAGE, COOKIE_MESSAGE = b"onetool cookie name v1", b"onetool cookie value v1"
PROFILE_MESSAGE = "onetool profile v1 {}"


def profile_token(token: str, profile: str) -> str:
    """Return the token for clients with a profile. It is derived from the token and does not reveal it."""
    message = PROFILE_MESSAGE.format(profile).encode()
    return f"{profile}.{hmac.new(token.encode(), message, sha256).hexdigest()}"


class Credentials:
    """Verifies tokens and cookies. The cookie is derived from the token and does not reveal it."""

    def __init__(self, token: str) -> None:
        if not token:
            raise ValueError("A token is required.")
        self._token = token.encode()
        self.cookie = hmac.new(self._token, COOKIE_MESSAGE, sha256).hexdigest()
        self.cookie_name = f"onetool-{hmac.new(self._token, COOKIE_NAME_MESSAGE, sha256).hexdigest()[:8]}"
        """Depends on the token, because browsers send cookies to all ports of a host."""

    def is_token(self, text: str) -> bool:
        """Return whether this is the token."""
        return _is_equal(text.strip().encode("utf-8", "replace"), self._token)

    def has_token(self, headers: Headers) -> bool:
        """Return whether a request has the token."""
        return self.is_token(bearer(headers))

    def profile(self, headers: Headers) -> str:
        """Return the profile whose token a request has; empty if it has none."""
        token = bearer(headers).strip()
        name = token.partition(".")[0]
        expected = profile_token(self._token.decode(), name)
        return name if _is_equal(token.encode("utf-8", "replace"), expected.encode()) else ""

    def is_valid(self, headers: Headers) -> bool:
        """Return whether a request has the token or the cookie."""
        return self.has_token(headers) or self.has_cookie(headers)

    def is_given(self, headers: Headers) -> bool:
        """Return whether a request has any token or a cookie of this name, correct or not."""
        return "authorization" in headers or self.cookie_name in cookie_parser(headers.get("cookie", ""))

    def has_cookie(self, headers: Headers) -> bool:
        """Return whether a request has the cookie."""
        cookie = cookie_parser(headers.get("cookie", "")).get(self.cookie_name, "")
        return _is_equal(cookie.encode("utf-8", "replace"), self.cookie.encode())


def bearer(headers: Headers) -> str:
    """Return the token in the header; empty if there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else ""


def _is_equal(received: bytes, expected: bytes) -> bool:
    return hmac.compare_digest(received, expected)
