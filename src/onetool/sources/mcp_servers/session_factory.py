"""Sessions created from the settings of a server: stdio for a command, streamable HTTP for a URL."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from onetool.domain.http.urls import InvalidUrl, parse_url
from onetool.settings.schema import ServerSettings
from onetool.settings.secrets import Secrets

from .errors import ServerUnavailable, as_fragment
from .oauth.config import OAuthConfig
from .session import ServerSession
from .transport.message_gate import MessageLimits
from .transport.process import start
from .transport.secret_values import resolve_env, resolve_headers
from .transport.stdio import open_stdio
from .transport.streamable_http import open_http
from .transport.streams import TransportStreams


def open_session(
    settings: ServerSettings,
    secrets: Secrets,
    log: logging.Logger,
    on_change: Callable[[], None],
    oauth: OAuthConfig | None = None,
) -> ServerSession:
    """Start a session with a server, with the user's tokens if `oauth` is given.

    Raises:
        ServerUnavailable: The URL is invalid or a secret is missing.
    """
    limits = MessageLimits(settings.max_message_bytes, settings.max_message_values)
    if settings.url is not None:
        try:
            url = parse_url(settings.url)
        except InvalidUrl as error:
            raise ServerUnavailable(f"invalid url: {as_fragment(error)}") from None
        headers = resolve_headers(settings.headers, secrets, url.host)
        return ServerSession(lambda on_end: open_http(str(url), headers, limits, oauth), log, on_change)
    command, args = settings.command or "", settings.args
    env = resolve_env(settings.env, secrets)

    def open_streams(on_end: Callable[[str], None]) -> AbstractAsyncContextManager[TransportStreams]:
        return open_stdio(lambda: start(command, args, env), log, on_end, limits)

    return ServerSession(open_streams, log, on_change)
