"""Counts of the HTTP requests of a process, for its operator."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Literal

Interface = Literal["mcp", "rest", "health", "other"]
INTERFACES: tuple[Interface, ...] = ("mcp", "rest", "health", "other")
LoginMethod = Literal["key", "oidc"]
LOGIN_METHODS: tuple[LoginMethod, ...] = ("key", "oidc")
LOGIN_OUTCOMES = ("ok", "refused", "failed")
STATUSES = frozenset(status.value for status in HTTPStatus)


class RequestMeter:
    """Counts requests by interface and status, and logins. Has no paths and no names."""

    def __init__(self) -> None:
        self.statuses: Counter[tuple[str, str]] = Counter({(name, "200"): 0 for name in INTERFACES})
        """By interface and HTTP status."""
        self.in_progress: Counter[str] = Counter(dict.fromkeys(INTERFACES, 0))
        """By interface. Includes open streams."""
        self.logins: Counter[tuple[str, str]] = Counter(
            {(method, outcome): 0 for method in LOGIN_METHODS for outcome in LOGIN_OUTCOMES}
        )
        """By method and outcome."""

    @contextmanager
    def running(self, interface: Interface) -> Iterator[None]:
        """Count a request as in progress for the block."""
        self.in_progress[interface] += 1
        try:
            yield
        finally:
            self.in_progress[interface] -= 1

    def count(self, interface: Interface, status: int, login: LoginMethod | None) -> None:
        """Count a response, and the login if it is one."""
        self.statuses[interface, str(status) if status in STATUSES else "other"] += 1
        if login is not None:
            self.logins[login, _login_outcome(status)] += 1


def _login_outcome(status: int) -> str:
    if status < HTTPStatus.BAD_REQUEST:
        return "ok"
    return "refused" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "failed"
