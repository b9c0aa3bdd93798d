"""The person or program on whose behalf calls are made."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Principal(NamedTuple):
    """Whose calls, jobs and results these are. No one else can see or answer them."""

    id: str


LOCAL = Principal("local")
"""The user of a machine on which OneTool has one user."""
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
