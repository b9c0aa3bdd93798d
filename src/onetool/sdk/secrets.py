"""Access to secrets and clients that need them."""

import threading
from collections.abc import Callable
from typing import TypeVar

from onetool.runtime.active_call import current_call

T = TypeVar("T")


def get_secret(name: str) -> str | None:
    """Return the value of a secret, or None if it is not set. Do not log or return the value."""
    secret = current_call().runtime.state.configuration.secrets.get(name)
    return secret.value if secret else None


def api_headers(
    secret_name: str, header_name: str = "Authorization", prefix: str = "Bearer"
) -> dict[str, str]:
    """Return a header that authenticates with a secret, or an empty dict if the secret is not set."""
    value = get_secret(secret_name)
    if value is None:
        return {}
    return {header_name: f"{prefix} {value}" if prefix else value}


def lazy_client(factory: Callable[[], T], secret_name: str | None = None) -> Callable[[], T | None]:
    """Return a function that creates the client on its first call and then reuses it. Thread-safe.

    With `secret_name`, the function returns None while that secret is not set.
    """
    lock = threading.Lock()
    created: list[T] = []

    def client() -> T | None:
        if created:
            return created[0]
        if secret_name is not None and get_secret(secret_name) is None:
            return None
        with lock:
            if not created:
                created.append(factory())
        return created[0]

    return client
