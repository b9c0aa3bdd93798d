"""The rights of the member who makes the current request."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from onetool.domain.identity.principal import current_principal
from onetool.domain.identity.roles import Right
from onetool.domain.policy.rights import Rights

_rights: ContextVar[Rights | None] = ContextVar("rights of the request", default=None)


@contextmanager
def with_rights(rights: Rights) -> Iterator[None]:
    """Make these the rights of the request that the block serves."""
    token = _rights.set(rights)
    try:
        yield
    finally:
        _rights.reset(token)


def request_rights() -> Rights | None:
    """Return the rights of the member who makes the request; None if there is only one user."""
    return _rights.get()


def request_may(right: Right) -> bool:
    """Return whether the request may do something. A single user may do everything."""
    rights = request_rights()
    return rights is None or rights.may(right)


def visible_calls() -> str | None:
    """Return the principal whose recorded calls the request may see; None: those of all members."""
    rights = request_rights()
    sees_all = rights is not None and rights.may(Right.SEE_ALL_CALLS)
    return None if sees_all else current_principal().id
