"""How a server is reached, by what the operator wrote: a program, or a URL."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from onetool.domain.hosts import BadUrl, parse_url
from onetool.settings.schema import Server
from onetool.settings.secrets import Secrets

from .account import Account
from .credentials import fill_environment, fill_headers
from .failure import Down
from .http import open_http
from .process import start
from .session import Session
from .stdio import open_stdio
from .streams import TransportStreams


def open_session(
    settings: Server,
    secrets: Secrets,
    log: logging.Logger,
    on_change: Callable[[], None],
    account: Account | None = None,
) -> Session:
    """Begin a session with a server; account: as a person who has logged in there.

    Raises Down when its settings cannot be used.
    """
    if settings.url is not None:
        try:
            url = parse_url(settings.url)
        except BadUrl as error:
            raise Down(f"its URL cannot be used: {error}") from None
        headers = fill_headers(settings.headers, secrets, url.host)
        return Session(lambda end: open_http(str(url), headers, account), log, on_change)
    command, args = settings.command or "", settings.args
    env = fill_environment(settings.env, secrets)

    def program(end: Callable[[str], None]) -> AbstractAsyncContextManager[TransportStreams]:
        return open_stdio(lambda: start(command, args, env), log, end)

    return Session(program, log, on_change)
