"""A code that logs in to the web UI once, for the link that `onetool serve` prints."""

import hmac
import time
from collections.abc import Callable
from secrets import token_urlsafe

LIFETIME_S = 600.0


class LoginCode:
    """A code in place of the token, which `/login` accepts once and only for some minutes."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.value = token_urlsafe(32)
        self._now, self._ends, self._is_used = now, now() + LIFETIME_S, False

    def redeem(self, text: str) -> bool:
        """Return whether this is the code, it has not expired, and it was not used before."""
        is_code = hmac.compare_digest(text.strip().encode("utf-8", "replace"), self.value.encode())
        is_accepted = is_code and not self._is_used and self._now() < self._ends
        self._is_used |= is_accepted
        return is_accepted
