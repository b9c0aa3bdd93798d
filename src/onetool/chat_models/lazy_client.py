"""Clients of providers, created on first use on a thread, because their packages take seconds to import."""

import asyncio
import logging
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from onetool.domain.errors import SettingsError
from onetool.files.installation import extra_command
from onetool.threads import Threads

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
CONNECT_TIMEOUT_S = 10.0


class LazyClient(Generic[T]):
    """A client that is created once, on first use."""

    def __init__(self, create: Callable[[], T], threads: Threads) -> None:
        self._create, self._threads = create, threads
        self._client: T | None = None
        self._lock = asyncio.Lock()

    async def get(self) -> T:
        """Return the client. The first call creates it; concurrent calls wait for it."""
        async with self._lock:
            if self._client is None:
                self._client = await self._threads.run(self._create)
            return self._client

    def detach(self) -> T | None:
        """Return the client and drop the reference to it. Return None if it was never created."""
        client, self._client = self._client, None
        return client


def import_optional(module: str, extra: str) -> Any:
    """Import the package of a provider.

    Raises:
        SettingsError: The package is not installed. The message says how to install it.
    """
    logging.getLogger(f"{module}._base_client").setLevel(logging.INFO)  # else it logs whole requests
    try:
        return import_module(module)
    except ImportError:
        raise SettingsError(f"The package {module!r} is not installed. Run: {extra_command(extra)}") from None


def make_http_client() -> "httpx2.AsyncClient":
    """Create a pooled client that does not follow redirects, which could send the key to another host.

    Only connecting has a timeout. The deadline of a reply limits the rest.
    """
    import httpx2

    return httpx2.AsyncClient(timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S), follow_redirects=False)
