"""Access tokens, and the refresh token that was issued last, as they are stored."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

REFRESH_MARGIN_S, REFRESH_MARGIN_RATIO = 30.0, 0.1
"""A token is refreshed this many seconds before expiry, or in the last tenth of a shorter lifetime."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """An access token and its expiry."""

    value: str = field(repr=False)
    lifetime_s: float
    expires_at: float
    """Seconds since the epoch."""

    def is_fresh(self, now: float) -> bool:
        """Whether to use the token, because it is not about to expire."""
        margin_s = min(REFRESH_MARGIN_S, REFRESH_MARGIN_RATIO * self.lifetime_s)
        return now < self.expires_at - margin_s


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenChain:
    """The tokens that began with one configured refresh token.

    Each refresh token replaces the one before it, so all scopes and all processes share one chain.
    """

    refresh_token: str = field(default="", repr=False)
    """The refresh token that was issued last; empty if that is still the configured one."""
    tokens: Mapping[str, IssuedToken] = field(default_factory=dict)
    """Access tokens by scope."""

    @classmethod
    def read(cls, text: str | None) -> "TokenChain":
        """Parse a stored chain. A missing or invalid one is empty."""
        try:
            data = json.loads(text or "{}")
            tokens = {scope: IssuedToken(**token) for scope, token in data["tokens"].items()}
            return cls(refresh_token=data["refresh_token"], tokens=tokens)
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls()

    @property
    def text(self) -> str:
        """The JSON text to store."""
        tokens = {scope: asdict(token) for scope, token in self.tokens.items()}
        return json.dumps({"refresh_token": self.refresh_token, "tokens": tokens})

    @property
    def values(self) -> tuple[str, ...]:
        """All tokens."""
        tokens = (token.value for token in self.tokens.values())
        return (*((self.refresh_token,) if self.refresh_token else ()), *tokens)

    def with_token(self, scope: str, token: IssuedToken, refresh_token: str) -> "TokenChain":
        """Return the chain after a refresh. Without a new refresh token, the one before stays valid."""
        return TokenChain(
            refresh_token=refresh_token or self.refresh_token, tokens={**self.tokens, scope: token}
        )
