"""The interface through which the request in progress came."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

PROCESS = "process"
"""In place of an interface, for what a process does by itself."""
_current = ContextVar("interface", default=PROCESS)


def current_interface() -> str:
    """Return the interface of the request in progress, such as `rest`; PROCESS if there is no request."""
    return _current.get()


@contextmanager
def acting_through(interface: str) -> Iterator[None]:
    """Make this the interface of everything that the block does."""
    token = _current.set(interface)
    try:
        yield
    finally:
        _current.reset(token)
