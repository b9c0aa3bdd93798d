"""The person or program on whose behalf calls are made."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import Any, NamedTuple


class Principal(NamedTuple):
    """Whose calls, jobs and results these are. Only those who `may_read` its scope see or answer them."""

    id: str
    patterns: tuple[str, ...] = ()
    """Names or patterns of the only tools that may be called with the API key in use; empty: all."""
    key: str = ""
    """The id of this API key; empty for a person who has logged in."""
    profile: str = ""
    """The name of the profile that restricts the client; empty if none does."""

    @property
    def scope(self) -> str:
        """To whom its jobs and results belong: its id, and a digest of its patterns and profile, if any."""
        limits: Any = sorted(self.patterns)
        if self.profile:
            limits = (self.profile, limits)
        return f"{self.id}#{sha256(repr(limits).encode()).hexdigest()[:32]}" if limits else self.id

    def with_profile(self, profile: str) -> "Principal":
        """Return the principal as a client that a profile restricts; unchanged if the name is empty."""
        return self._replace(profile=profile or self.profile)

    @staticmethod
    def of_scope(scope: str, patterns: tuple[str, ...] = (), key: str = "", profile: str = "") -> "Principal":
        """Return the principal whose jobs have a scope. Ids of members contain no `#`."""
        return Principal(scope.partition("#")[0], patterns, key, profile)


def may_read(reader: str, owner: str) -> bool:
    """Return whether the principal with a scope reads what belongs to another scope.

    Without patterns and a profile it reads all that belongs to its id, otherwise only what belongs to the
    same limits.
    """
    return reader == owner or owner.startswith(f"{reader}#")


LOCAL = Principal("local")
"""The user of a machine on which OneTool has one user."""
OPERATOR = Principal("operator")
"""Who administers a hosted OneTool with `onetool admin`."""
_current = ContextVar("principal", default=LOCAL)


def current_principal() -> Principal:
    """Return the principal of the request in progress; LOCAL if there is no request of someone else."""
    return _current.get()


@contextmanager
def acting_as(principal: Principal) -> Iterator[None]:
    """Make this the principal of everything that the block does."""
    token = _current.set(principal)
    try:
        yield
    finally:
        _current.reset(token)
