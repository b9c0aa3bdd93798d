"""The person or program on whose behalf calls are made."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import NamedTuple


class Principal(NamedTuple):
    """Whose calls, jobs and results these are. No one else can see or answer them."""

    id: str
    patterns: tuple[str, ...] = ()
    """Names or patterns of the only tools that may be called with the API key in use; empty: all."""
    key: str = ""
    """The id of this API key; empty for a person who has logged in."""

    @property
    def scope(self) -> str:
        """Whose jobs it sees: those of its id, or, with patterns, only those of keys with the same ones."""
        if not self.patterns:
            return self.id
        return f"{self.id}#{sha256(repr(sorted(self.patterns)).encode()).hexdigest()[:32]}"

    @staticmethod
    def of_scope(scope: str, patterns: tuple[str, ...] = (), key: str = "") -> "Principal":
        """Return the principal whose jobs have a scope. Ids of members contain no `#`."""
        return Principal(scope.partition("#")[0], patterns, key)


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
