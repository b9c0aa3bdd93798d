"""`onetool serve`: the REST door, and the screens."""

import asyncio
import os
import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from onetool.files.atomic import write_new
from onetool.runtime import Runtime
from onetool.settings.places import Places

from .session import answers, find, with_runtime

LOOPBACK = "127.0.0.1"
SHORTEST_TOKEN = 20
BACKLOG = 2048


@click.command()
@click.option("--host", default=LOOPBACK, show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8765,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 for any that is free.",
)
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Another name of this server.")
@click.option("--reap-interval", default=3600.0, hidden=True, type=click.FloatRange(min=0.01))
def serve(host: str, port: int, hosts: tuple[str, ...], reap_interval: float) -> None:
    """Serve tools over REST and as web screens, to this machine alone unless you say otherwise.

    The token comes from ONETOOL_TOKEN, or is made at the first start, kept in a file and shown once.

    \b
    Examples:
      onetool serve
      onetool serve --port 9000
      curl -H "Authorization: Bearer $ONETOOL_TOKEN" localhost:8765/tools/tools
    """
    listening = _bind(host, port)  # before a token is shown that would never be seen again
    token, where = _token(find())
    own = f"[{host}]" if ":" in host else host
    names = (*hosts, *([] if host in ("0.0.0.0", "::") else [own]))  # noqa: S104 - compared, not bound

    async def run(runtime: Runtime) -> None:
        from onetool.doors.mcp.server import create_server
        from onetool.doors.mcp.transports import http_app
        from onetool.doors.rest.app import create_app
        from onetool.doors.web.static import Screens

        server = create_server(runtime, runtime.configuration.settings.expose)
        reaping = asyncio.get_running_loop().create_task(_reap(runtime, reap_interval))
        try:
            async with http_app(server) as mcp:
                beside: dict[str, Any] = {"others": {"/mcp": mcp}, "screens": Screens()}
                app = create_app(runtime, token=token, hosts=names, **beside)
                await _listen(app, listening, where)
        finally:
            reaping.cancel()

    with_runtime(run)


async def _listen(app: Any, listening: socket.socket, token: str) -> None:
    """Serve until a signal comes; `token` says where the token is, never what it is."""
    from onetool.doors.rest.listening import make_server

    server = make_server(app)
    listening.listen(BACKLOG)  # whoever reads the next line may call at once
    where, bound = listening.getsockname()[:2]
    shown = f"[{where}]" if ":" in where else where
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with _unsupported():
            loop.add_signal_handler(number, server.end)
    click.echo(f"OneTool listens on http://{shown}:{bound}", file=answers())
    click.echo(f"Screens: http://{shown}:{bound}/ (log in with the token {token})", file=answers())
    answers().flush()
    await server.serve(sockets=[listening])


def _bind(host: str, port: int) -> socket.socket:
    """Bind a TCP socket, said to be one: otherwise asyncio lets small answers wait for 40 ms."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name != "nt":
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        click.echo(
            f"Error: cannot listen on {host}:{port}: {error.strerror}. Choose another --port.", err=True
        )
        raise SystemExit(1) from None
    return bound


async def _reap(runtime: Runtime, interval: float) -> None:
    """Remove, from time to time, bundles that were deleted long ago."""
    while True:
        await asyncio.sleep(interval)
        try:
            await runtime.bundles.reap()
        except Exception as error:  # noqa: BLE001 - the root of a background task
            click.echo(f"Deleted bundles could not be removed: {error}", err=True)


def _token(places: Places) -> tuple[str, str]:
    """The token, and where it is kept."""
    given = os.environ.get("ONETOOL_TOKEN", "").strip()
    if given:
        return given, "in ONETOOL_TOKEN"  # the operator's own choice, however short
    file: Path = places.state / "token"
    made = secrets.token_urlsafe(32)
    if write_new(file, made.encode()):
        click.echo(f"Your token, shown only now and kept in {file}:\n  {made}", err=True)
        return made, f"in {file}"
    kept = file.read_text(encoding="ascii").strip()
    if len(kept) < SHORTEST_TOKEN:
        click.echo(f"Error: {file} holds no token. Remove it, and a new one is made.", err=True)
        raise SystemExit(1)
    return kept, f"in {file}"


@contextmanager
def _unsupported() -> Iterator[None]:
    """Event loops on Windows know no signal handlers; Ctrl-C raises there."""
    try:
        yield
    except NotImplementedError:  # pragma: no cover - Windows
        signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
