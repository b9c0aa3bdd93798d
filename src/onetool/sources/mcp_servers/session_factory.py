"""Sessions created from the settings of a server: stdio for a command, streamable HTTP for a URL."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from onetool.domain.http.urls import InvalidUrl, parse_url
from onetool.settings.secrets import Secrets
from onetool.settings.server_schema import MAX_MESSAGE_BYTES, MAX_MESSAGE_VALUES, ServerSettings
from onetool.threads import Threads

from .errors import ServerUnavailable, as_fragment
from .oauth.config import OAuthConfig
from .sandbox.policy import PathGrant, SandboxPolicy
from .session import ServerSession
from .transport.message_gate import MessageLimits
from .transport.notification_limit import NotificationLimit
from .transport.program import ServerProgram
from .transport.secret_values import resolve_env, resolve_headers
from .transport.start import start
from .transport.startup import Startup
from .transport.stdio import StreamConnection, open_connection, open_stdio
from .transport.streamable_http import open_http
from .transport.streams import TransportStreams

Attach = Callable[[str], Awaitable[StreamConnection | None]]
"""Returns a connection to a server with this digest, or None if no other process runs it."""


def open_session(
    settings: ServerSettings,
    secrets: Secrets,
    log: logging.Logger,
    on_notice: Callable[[Any], None],
    *,
    startup: Startup,
    home: Path,
    protected: tuple[Path, ...],
    threads: Threads,
    oauth: OAuthConfig | None = None,
    attach: Attach | None = None,
    declared: Mapping[str, Any] | None = None,
) -> ServerSession:
    """Start a session with a server, with the user's tokens if `oauth` is given.

    declared: what the server may ask its caller, as MCP clients declare it.
    home: the server's own directory, for a server with a command.
    attach: connects to the server if another process of the user runs it.

    Raises:
        ServerUnavailable: The URL is invalid or a secret is missing.
    """
    notifications = NotificationLimit(log)
    limits = MessageLimits(
        settings.max_message_bytes or MAX_MESSAGE_BYTES,
        settings.max_message_values or MAX_MESSAGE_VALUES,
        notifications,
    )
    create = partial(
        ServerSession,
        log=log,
        on_notice=on_notice,
        startup=startup,
        threads=threads,
        notifications=notifications,
        declared=declared or {},
    )
    if settings.url is not None:
        try:
            url = parse_url(settings.url)
        except InvalidUrl as error:
            raise ServerUnavailable(f"invalid url: {as_fragment(error)}") from None
        headers = resolve_headers(settings.headers, secrets, url.host)
        return create(lambda on_end: open_http(str(url), headers, limits, oauth), newest_first=True)
    program = server_program(settings, secrets, home, protected)

    @asynccontextmanager
    async def open_streams(on_end: Callable[[str], None]) -> AsyncIterator[TransportStreams]:
        connection = await attach(program.digest) if attach else None
        if connection is not None:
            startup.add_step("attached", "runs in OneTool in the background")
            opened = open_connection(connection, log, on_end, limits)
        else:
            opened = open_stdio(lambda: start(program, log, threads, startup), log, on_end, limits, startup)
        async with opened as streams:
            yield streams

    return create(open_streams)


def server_program(
    settings: ServerSettings, secrets: Secrets, home: Path, protected: tuple[Path, ...]
) -> ServerProgram:
    """Return the program of a server with a command.

    protected: directories of OneTool that the program must not see.

    Raises:
        ServerUnavailable: A secret is missing.
    """
    return ServerProgram(
        command=settings.command or "",
        args=tuple(settings.args),
        env=resolve_env(settings.env, secrets),
        policy=sandbox_policy(settings, home, protected),
        is_restricted=settings.sandbox,
        image=settings.image or "",
    )


def sandbox_policy(settings: ServerSettings, home: Path, protected: tuple[Path, ...]) -> SandboxPolicy:
    """Return what the program of a server may access."""
    return SandboxPolicy(
        home=home,
        cwd=Path(settings.cwd) if settings.cwd else home,
        paths=tuple(PathGrant(path=Path(grant.path), write=grant.write) for grant in settings.paths),
        network=settings.network,
        secret_places=protected,
    )
