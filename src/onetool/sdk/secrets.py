"""Access to secrets and clients that need them."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar
from weakref import WeakKeyDictionary

from onetool.domain.errors import NoActiveRuntime
from onetool.runtime.active_call import current_call
from onetool.runtime.runtime import Runtime

from .forwarding import in_runtime

T = TypeVar("T")
MAX_CLIENTS = 100
"""Clients of one `lazy_client` that are kept."""


@in_runtime
def get_secret(name: str) -> str | None:
    """Return the value of a secret, or None if it is not set. Do not log or return the value.

    In a hosted workspace, a caller's own secret is used in place of the workspace's.
    """
    active = current_call()
    own = active.invocation.caller.own_secrets
    secret = own.get(name) or active.runtime.state.configuration.secrets.get(name)
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

    With `secret_name`, the function returns None while that secret is not set. Callers with another value of
    the secret, or with secrets of their own, get another client.
    """
    lock = threading.Lock()
    outside: OrderedDict[Hashable, T] = OrderedDict()
    by_runtime: WeakKeyDictionary[Runtime, OrderedDict[Hashable, T]] = WeakKeyDictionary()

    def client() -> T | None:
        secret = None if secret_name is None else get_secret(secret_name)
        if secret_name is not None and secret is None:
            return None
        runtime, key = _runtime(), (secret_owner(), secret)
        with lock:
            created = outside if runtime is None else by_runtime.setdefault(runtime, OrderedDict())
            if key not in created:
                created[key] = factory()
            created.move_to_end(key)
            if len(created) > MAX_CLIENTS:
                created.popitem(last=False)
            return created[key]

    return client


@in_runtime
def secret_owner() -> str:
    """Return the principal of the call in progress, if it has secrets of its own; otherwise an empty text."""
    try:
        caller = current_call().invocation.caller
    except NoActiveRuntime:
        return ""
    return caller.principal.id if caller.own_secrets else ""


def _runtime() -> Runtime | None:
    try:
        return current_call().runtime
    except NoActiveRuntime:
        return None
