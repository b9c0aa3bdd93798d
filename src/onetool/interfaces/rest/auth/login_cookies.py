"""The cookies of people who log in: one for the time at their provider, and one with their session."""

import base64
import binascii
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import orjson
from starlette.responses import Response

from onetool.domain.errors import SignInFailed, StoreUnavailable
from onetool.domain.identity.person import LoginAttempt

ATTEMPT_S = 600
"""Seconds in which a person must log in at the provider."""
SESSION_S = 12 * 3600
"""Seconds after which a person must log in again. What the provider says about them is then asked anew."""
PLACE = "login attempt"


class AttemptSeal(Protocol):
    """Encrypts what a browser keeps, so that every process of the installation can open it."""

    def seal(self, plain: bytes, *place: str) -> bytes:
        """Encrypt a value."""
        ...

    def open(self, sealed: bytes, *place: str) -> bytes:
        """Decrypt a value.

        Raises:
            StoreUnavailable: The value was changed, or sealed with an unknown key.
        """
        ...


class BegunLogin(NamedTuple):
    """A login in progress."""

    attempt: LoginAttempt
    next: str
    """Where to go afterwards; empty: to the person's workspace."""


class LoginCookies:
    """Reads and sets the cookies. Scripts cannot read them; browsers send them when they come from a link."""

    def __init__(self, seal: AttemptSeal, *, is_https: bool, clock: Callable[[], float] = time.time) -> None:
        """is_https: whether browsers reach this server by HTTPS."""
        self._seal, self._clock, self._is_https = seal, clock, is_https
        prefix = "__Host-" if is_https else ""  # no other host can set a cookie with this prefix
        self.attempt_name = f"{prefix}onetool-login"
        self.session_name = f"{prefix}onetool" if is_https else "onetool-session"

    def session(self, cookies: Mapping[str, str]) -> str:
        """Return the secret of the session in the cookies of a request; empty if there is none."""
        return cookies.get(self.session_name, "")

    def set_session(self, response: Response, secret: str) -> None:
        """Set the cookie with a session."""
        self._set(response, self.session_name, secret, SESSION_S)

    def delete_session(self, response: Response) -> None:
        """Delete the cookie with the session."""
        self._set(response, self.session_name, "", 0)

    def set_attempt(self, response: Response, begun: BegunLogin) -> None:
        """Let the browser keep a login in progress, which it cannot read."""
        plain = orjson.dumps([*begun.attempt, begun.next, self._clock() + ATTEMPT_S])
        sealed = base64.urlsafe_b64encode(self._seal.seal(plain, PLACE))
        self._set(response, self.attempt_name, sealed.rstrip(b"=").decode(), ATTEMPT_S)

    def delete_attempt(self, response: Response) -> None:
        """Delete the cookie with the login in progress."""
        self._set(response, self.attempt_name, "", 0)

    def attempt(self, cookies: Mapping[str, str]) -> BegunLogin:
        """Return the login in progress.

        Raises:
            SignInFailed: The browser has begun none, the cookie was changed, or too much time has passed.
        """
        text = cookies.get(self.attempt_name, "")
        try:
            sealed = base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
            state, nonce, verifier, next, expires = orjson.loads(self._seal.open(sealed, PLACE))
        except (StoreUnavailable, binascii.Error, ValueError):
            raise _no_attempt() from None
        if expires < self._clock():
            raise _no_attempt()
        return BegunLogin(LoginAttempt(state, nonce, verifier), next)

    def _set(self, response: Response, name: str, value: str, max_age: int) -> None:
        response.set_cookie(
            name,
            value,
            max_age=max_age,
            path="/",
            secure=self._is_https,
            httponly=True,
            samesite="lax",  # the provider sends the browser back from another site
        )


def _no_attempt() -> SignInFailed:
    minutes = ATTEMPT_S // 60
    return SignInFailed(f"This browser has begun no login here in the last {minutes} minutes. Log in again.")
