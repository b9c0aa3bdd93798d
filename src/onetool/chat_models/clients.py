"""Makes a client when it is first needed, on a thread: providers' packages take seconds to import."""

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from onetool.domain.errors import SettingsError
from onetool.threads import Threads

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
CONNECT_SECONDS = 10.0


class LazyClient(Generic[T]):
    """Holds one thing for all who ask for it."""

    def __init__(self, make: Callable[[], T], threads: Threads) -> None:
        self._make, self._threads = make, threads
        self._made: T | None = None
        self._lock = asyncio.Lock()

    async def get(self) -> T:
        """Return it; the first to ask waits until it is made."""
        async with self._lock:
            if self._made is None:
                self._made = await self._threads.run(self._make)
            return self._made

    def take(self) -> T | None:
        """Return it for the last time, or None where it was never made."""
        made, self._made = self._made, None
        return made


def import_extra(module: str, extra: str) -> Any:
    """Import a provider's own package.

    Raises SettingsError that says how to install it.
    """
    try:
        return import_module(module)
    except ImportError:
        raise SettingsError(
            f"The package {module!r} is not installed. Run: pip install 'onetool[{extra}]'"
        ) from None


def make_http_client() -> "httpx2.AsyncClient":
    """Make a pooled client that verifies certificates and follows no redirect: that would take the key along.

    Only connecting has a time of its own; for the rest there is the deadline of each reply.
    """
    import httpx2

    return httpx2.AsyncClient(timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS), follow_redirects=False)
