"""Clients that are created on first use, once."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import nullcontext
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary, ref

from onetool.domain.calls.forwarding import FORWARDER
from onetool.domain.errors import NoActiveRuntime
from onetool.runtime.active_call import current_runtime, is_in_call, running_for
from onetool.runtime.runtime import Runtime

from .forwarding import on_event_loop
from .secrets import get_secret, secret_owner

T = TypeVar("T")
Key = tuple[str, str | None]
"""The owner of the secrets, and the value of the secret."""
MAX_CLIENTS = 100
"""Clients of one `lazy_client` that are kept."""
LOOP_WAIT_S = 1.0
"""Time for which the event loop waits for a client that another thread creates, in seconds."""


def lazy_client(factory: Callable[[], T], secret_name: str | None = None) -> Callable[[], T | None]:
    """Return a function that creates the client on its first call and then reuses it. Thread-safe.

    With `secret_name`, the function returns None while that secret is not set. Callers with another value of
    the secret, or with secrets of their own, get another client. A thread that belongs to no call gets the
    client of the runtime that loaded the pack.
    """
    return _FactoryClients(factory, secret_name).get


class _FactoryClients(Generic[T]):
    """The clients of one pack: one for each runtime, value of the secret and owner of secrets.

    Several runtimes may use one module, so their clients are kept apart: a client contains secrets. A thread
    that no call has started has no runtime. Packs are loaded by a runtime, so the one in which this object is
    created is remembered for such threads; if it is created elsewhere, the only runtime that uses it.
    """

    def __init__(self, factory: Callable[[], T], secret_name: str | None) -> None:
        self._factory, self._secret_name = factory, secret_name
        self._lock, self._creator = threading.Lock(), 0
        self._outside: OrderedDict[Key, T] = OrderedDict()
        """Clients that were created for no runtime: they contain no secret of one."""
        self._by_runtime: WeakKeyDictionary[Runtime, OrderedDict[Key, T]] = WeakKeyDictionary()
        runtime = _active_runtime()
        self._loaded_by = None if runtime is None else ref(runtime)

    def get(self) -> T | None:
        """Return the client of the current call, or of the runtime that loaded the pack."""
        if is_in_call() or FORWARDER.get() is not None:
            return self._get(_active_runtime())
        runtime = _active_runtime() or self._remembered_runtime()
        if runtime is None and self._secret_name is not None:
            shared = [client for (owner, _), client in list(self._outside.items()) if not owner]
            if shared:  # of a worker process, in which only calls can read secrets
                return shared[-1]
        with nullcontext() if runtime is None else running_for(runtime):
            return self._get(runtime)

    def _remembered_runtime(self) -> Runtime | None:
        if self._loaded_by is not None:
            return self._loaded_by()
        users = list(self._by_runtime)
        return users[0] if len(users) == 1 else None

    def _get(self, runtime: Runtime | None) -> T | None:
        secret = None if self._secret_name is None else get_secret(self._secret_name)
        if self._secret_name is not None and not secret:
            return None
        key = secret_owner(), secret
        self._acquire()
        try:
            self._creator = threading.get_ident()
            return self._find_or_create(runtime, key)
        finally:
            self._creator = 0
            self._lock.release()

    def _find_or_create(self, runtime: Runtime | None, key: Key) -> T:
        clients = self._outside
        if runtime is not None:
            clients = self._by_runtime.setdefault(runtime, OrderedDict())
            if key not in clients and key in self._outside:
                clients[key] = self._outside[key]
        if key not in clients:
            clients[key] = self._factory()
        clients.move_to_end(key)
        if len(clients) > MAX_CLIENTS:
            clients.popitem(last=False)
        return clients[key]

    def _acquire(self) -> None:
        if self._creator == threading.get_ident():
            raise RuntimeError("The factory of a lazy_client uses the client that it creates.")
        if not self._lock.acquire(timeout=LOOP_WAIT_S if on_event_loop() else -1):
            raise RuntimeError(
                "lazy_client() would block the event loop until another thread has created the client. "
                "In an async tool, use: await to_thread(client)"
            )


def _active_runtime() -> Runtime | None:
    try:
        return current_runtime()
    except NoActiveRuntime:
        return None
