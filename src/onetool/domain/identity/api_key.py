"""An API key: what a program sends to call tools on behalf of a principal."""

from datetime import datetime
from typing import NamedTuple


class ApiKey(NamedTuple):
    """What is known about a key, but not the key itself."""

    id: str
    owner: str
    """The id of the principal on whose behalf calls are made."""
    name: str
    prefix: str
    """The start of the key, by which a person recognizes it."""
    patterns: tuple[str, ...]
    """Names or patterns of the tools that may be called; empty: all."""
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether the key can be used at a time."""
        return self.revoked_at is None and now < self.expires_at


class NewApiKey(NamedTuple):
    """A key that was just created, with its text, which is shown once."""

    text: str
    key: ApiKey
