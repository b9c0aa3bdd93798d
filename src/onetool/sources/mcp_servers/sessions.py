"""The sessions of a server: one that may ask its callers, and one that may not, if both are needed.

A session of the protocol before 2026-07-28 declares once what the server may ask. Callers that cannot be
asked share the asking session until the server asks for the first time; then they get one of their own.
Callers that can show apps never share a session with those that cannot.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from .connection import Connection

if TYPE_CHECKING:
    from .session import ServerSession

OpenSession = Callable[[Mapping[str, Any]], Awaitable["ServerSession"]]
"""Opens a session that declares these capabilities."""


class ServerSessions:
    """Holds at most two sessions, and two more for callers that support extensions.

    The listing is read from the asking one of the first two, if there is one.
    """

    def __init__(
        self, open_session: OpenSession, first: Mapping[str, Any], *, with_extensions: bool = True
    ) -> None:
        """first: what a session declares that is opened before a call; empty if no user can be asked.

        with_extensions: whether callers that support extensions get sessions of their own.
        """
        self._first = first
        self._declared = first
        self._plain = Connection(lambda: open_session({}))
        self._asking = Connection(lambda: open_session(self._declared))
        self._has_asked = False
        self._extensions: Mapping[str, Any] = {}
        self._extended = (
            ServerSessions(
                lambda asked: open_session({**asked, "extensions": self._extensions}),
                {},
                with_extensions=False,
            )
            if with_extensions
            else None
        )

    @property
    def opening(self) -> "asyncio.Task[ServerSession] | None":
        """The attempt in progress, if any."""
        return self._main.opening

    @property
    def is_open(self) -> bool:
        """Whether there is a live session."""
        return self._main.is_open

    @property
    def is_used(self) -> bool:
        """Whether any of the sessions is open or opening."""
        return any(each.is_open or each.opening is not None for each in (self._plain, self._asking))

    @property
    def failure(self) -> str:
        """Why the last attempt failed; empty if it succeeded."""
        return self._main.failure

    async def session(self, *, ignore_backoff: bool = False) -> "ServerSession":
        """Return a session, opened if necessary, for what is not a call.

        Raises:
            ServerUnavailable: It cannot be opened, or the next attempt is not due yet.
        """
        return await self._main.session(ignore_backoff=ignore_backoff)

    async def current(self) -> "ServerSession":
        """Return the session that is open or opening, without starting one.

        Raises:
            ServerUnavailable: There is no session.
        """
        return await self._main.current()

    async def for_call(
        self, capabilities: Mapping[str, Any], extensions: Mapping[str, Any]
    ) -> "ServerSession":
        """Return the session for a call, opened if necessary.

        capabilities: what the caller can be asked.
        extensions: those of the protocol that the caller supports and the server uses.

        Raises:
            ServerUnavailable: It cannot be opened, or the next attempt is not due yet.
        """
        if extensions and self._extended is not None and not (await self.session()).is_modern:
            if not self._extended.is_used:
                self._extensions = extensions
            return await self._extended.for_call(capabilities, {})
        if self.is_open and (await self.current()).is_modern:
            return await self.session()
        if not capabilities:
            return await (self._plain if self._needs_plain() else self._asking).session()
        if not self._is_asking:
            self._declared = capabilities
        elif capabilities.keys().isdisjoint(self._declared):
            return await self._plain.session()
        session = await self._asking.session()
        await self._close_unused_plain()
        return session

    def end(self, reason: str) -> None:
        """End the sessions that are open. The next request opens another one."""
        for connection in (self._plain, self._asking):
            if connection.open_session is not None:
                connection.open_session.end(reason)
        if self._extended is not None:
            self._extended.end(reason)

    async def close(self) -> None:
        """Close the sessions or cancel the attempts in progress, and wait until that is done."""
        extended = [self._extended.close()] if self._extended is not None else []
        await asyncio.gather(self._plain.close(), self._asking.close(), *extended)

    @property
    def _is_asking(self) -> bool:
        return self._asking.is_open or self._asking.opening is not None

    @property
    def _main(self) -> Connection:
        is_plain = self._plain.is_open or self._plain.opening is not None
        return self._asking if self._is_asking or (self._first and not is_plain) else self._plain

    def _needs_plain(self) -> bool:
        """Return whether a caller that cannot be asked must not use the asking session."""
        session = self._asking.open_session
        self._has_asked = self._has_asked or (session is not None and session.asking.has_asked)
        return self._has_asked or self._plain.is_open or self._main is self._plain

    async def _close_unused_plain(self) -> None:
        """Close a session that has only read the listing, so that the server does not run twice."""
        session = self._plain.open_session
        if session is not None and not session.asking.has_calls:
            session.end("a session that can ask has replaced it")
            await session.close()
