"""Who wants to know about updates of a server's resources."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from onetool.domain.errors import ExecutionError

from .calls import ServerCalls
from .errors import ServerUnavailable

if TYPE_CHECKING:
    from .session import ServerSession

Listener = Callable[[str], None]
"""Receives the URI of a resource that was updated."""


class ServerSubscriptions:
    """Counts the listeners of each resource: the server is asked once, and again after it restarted."""

    def __init__(self, calls: ServerCalls) -> None:
        self._calls = calls
        self._listeners: dict[str, list[Listener]] = {}

    async def add(self, uri: str, listener: Listener) -> None:
        """Report updates of a resource to a listener.

        Raises:
            ExecutionError: The server is unavailable or refuses.
        """
        self._listeners.setdefault(uri, []).append(listener)
        if len(self._listeners[uri]) > 1:
            return
        try:
            await self._calls.use(self.repeat)
        except BaseException:
            self._forget(uri, listener)
            raise

    async def remove(self, uri: str, listener: Listener) -> None:
        """Stop to report updates of a resource to a listener."""
        self._forget(uri, listener)
        if uri not in self._listeners:
            await self._calls.use_open(self.repeat)

    async def repeat(self, session: "ServerSession") -> None:
        """Ask a session for the updates that are wanted now."""
        await session.updates.want(list(self._listeners))

    async def repeat_after_start(self, session: "ServerSession") -> None:
        """Ask a new session for the updates; a server that refuses keeps running."""
        if self._listeners:
            try:
                await self.repeat(session)
            except (ExecutionError, ServerUnavailable):
                return

    def on_updated(self, uri: str) -> None:
        """Tell the listeners of a resource, and of those that contain it."""
        for subscribed, listeners in list(self._listeners.items()):
            if uri == subscribed or uri.startswith(f"{subscribed.rstrip('/')}/"):
                for listener in listeners:
                    listener(uri)

    def _forget(self, uri: str, listener: Listener) -> None:
        listeners = self._listeners.get(uri, [])
        if listener in listeners:
            listeners.remove(listener)
        if not listeners:
            self._listeners.pop(uri, None)
