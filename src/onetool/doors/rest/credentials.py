"""What lets somebody in: the token, or the cookie that a page is given for it."""

import hmac
from hashlib import sha256

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

NAME, VALUE = b"the cookie's name, 1", b"the cookie of OneTool's screens, 1"


class Credentials:
    """Knows the token, and tells nobody: the cookie is made from it, and leads to no way back."""

    def __init__(self, token: str) -> None:
        if not token:
            raise ValueError("a server needs a token")
        self._token = token.encode()
        self.cookie = hmac.new(self._token, VALUE, sha256).hexdigest()
        self.cookie_name = f"onetool-{hmac.new(self._token, NAME, sha256).hexdigest()[:8]}"
        """A browser sends cookies to all ports of a host: servers with other tokens have other names."""

    def is_token(self, given: str) -> bool:
        """Whether this is the token."""
        return _is_same(given.strip().encode("utf-8", "replace"), self._token)

    def has_token(self, headers: Headers) -> bool:
        """Whether a request brings the token."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return self.is_token(given) and scheme.lower() == "bearer"

    def has_cookie(self, headers: Headers) -> bool:
        """Whether a request brings the cookie."""
        given = cookie_parser(headers.get("cookie", "")).get(self.cookie_name, "")
        return _is_same(given.encode("utf-8", "replace"), self.cookie.encode())


def _is_same(given: bytes, known: bytes) -> bool:
    return hmac.compare_digest(given, known)
