"""Sessions with a server: for all members, or for one of them."""

import logging
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onetool.settings.secrets import Secrets
from onetool.settings.server_schema import ServerSettings
from onetool.threads import Threads

from .member_sessions import MemberAccess
from .oauth.config import OAuthConfig
from .session_tools import SessionTools

if TYPE_CHECKING:
    from .session import ServerSession
    from .transport.startup import Startup

Attach = Callable[[str], Awaitable[tuple[StreamReader, StreamWriter] | None]]


class SessionOpener:
    """Opens sessions of one server."""

    def __init__(
        self,
        server: str,
        settings: ServerSettings,
        log: logging.Logger,
        *,
        threads: Threads,
        home: Path,
        protected: tuple[Path, ...],
        attach: Attach | None,
    ) -> None:
        """attach: connects to the server if another process of the user runs it."""
        self._server, self._settings, self._log, self._threads = server, settings, log, threads
        self._home, self._protected, self._attach = home, protected, attach

    async def open(
        self,
        declared: Mapping[str, Any],
        on_notice: Callable[[Any], object],
        secrets: Secrets,
        oauth: OAuthConfig | None,
    ) -> "tuple[Startup, ServerSession]":
        """Return a session that is about to start, and what is known about its start.

        Raises:
            ServerUnavailable: The URL is invalid or a secret is missing.
        """
        create_startup, open_session = await self._threads.run(_import_session_factory)
        startup = create_startup()
        session = open_session(
            self._settings,
            secrets,
            self._log,
            on_notice,
            startup=startup,
            home=self._home,
            protected=self._protected,
            threads=self._threads,
            oauth=oauth,
            attach=self._attach,
            declared=declared,
        )
        return startup, session

    async def open_for_member(self, access: MemberAccess, declared: Mapping[str, Any]) -> "ServerSession":
        """Start a session with the credentials of a member. What the server logs is not for others.

        Raises:
            ServerUnavailable: The URL is not encrypted, or the server does not start.
        """
        await self._threads.run(_check_encrypted, self._settings.url or "")
        notices = list[Callable[[Any], None]]()
        _, session = await self.open(
            declared, lambda notice: [note(notice) for note in notices], access.secrets, access.oauth
        )
        tools = SessionTools(self._server, session, access.credentials)
        session.check_tool, session.own_credentials = tools.check, access.credentials
        notices.append(tools.on_notice)
        try:
            await session.start()
        except BaseException:
            await session.close()
            raise
        return session


def _import_session_factory() -> Any:
    """Import the MCP SDK on a thread: it takes a while to load."""
    from .session_factory import open_session
    from .transport.startup import Startup

    return Startup, open_session


def _check_encrypted(url: str) -> None:
    from .oauth.metadata_client import check_scheme

    check_scheme(url)
