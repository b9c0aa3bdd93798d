"""Secrets for the services that a pack talks to."""

import threading
from collections.abc import Callable
from typing import TypeVar

from onetool.runtime import current

T = TypeVar("T")


def get_secret(name: str) -> str | None:
    """Return the value of a secret, or None. Never print it; hand it to what needs it."""
    secret = current().runtime.configuration.secrets.get(name)
    return secret.value if secret else None


def api_headers(
    secret_name: str, header_name: str = "Authorization", prefix: str = "Bearer"
) -> dict[str, str]:
    """Return the header that authenticates with a secret; no header at all where the secret is missing."""
    value = get_secret(secret_name)
    if value is None:
        return {}
    return {header_name: f"{prefix} {value}" if prefix else value}


def lazy_client(factory: Callable[[], T], secret_name: str | None = None) -> Callable[[], T | None]:
    """Return a function that makes the client when it is first called, once, whichever thread calls.

    With `secret_name` it returns None, and makes nothing, as long as that secret is missing.
    """
    lock = threading.Lock()
    made: list[T] = []

    def client() -> T | None:
        if made:
            return made[0]
        if secret_name is not None and get_secret(secret_name) is None:
            return None
        with lock:
            if not made:
                made.append(factory())
        return made[0]

    return client
