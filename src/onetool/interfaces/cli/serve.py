"""`onetool serve`: serve the REST API, the MCP endpoint and the web UI."""

import asyncio
import os
import secrets
import socket
import sys
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import click

from onetool.files.atomic import write_new
from onetool.runtime.runtime import Runtime
from onetool.settings.paths import Paths

from .command import chosen_log_level, current_paths, stdout, with_runtime
from .listening import bind
from .login_link import login_link, show_link
from .metrics_listener import check_is_hosted, metrics_option
from .proxies import proxies_option
from .reaper import reap
from .stop_signals import on_stop_signals

LOOPBACK = "127.0.0.1"
MIN_TOKEN_LENGTH = 20


@click.command()
@click.option("--host", default=LOOPBACK, show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8765,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on. 0 selects a free port.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Additional host name that clients may use in requests. Repeatable.",
)
@click.option(
    "--edit-servers/--no-edit-servers",
    default=None,
    help="Let clients with the token change settings and MCP servers, which run as you. "
    "Default: only if it listens on this machine's own address.",
)
@click.option(
    "--hosted",
    is_flag=True,
    help="Serve the workspaces of a team, stored in PostgreSQL, at /w/WORKSPACE/. "
    "Needs ONETOOL_DATABASE_URL and ONETOOL_KEYS; ONETOOL_REDIS_URL is optional.",
)
@click.option(
    "--with-worker", is_flag=True, help="With --hosted: run queued jobs too, as `onetool worker` does."
)
@metrics_option
@proxies_option
@click.option(
    "--open/--no-open",
    "opens",
    default=None,
    help="Open the web UI in your browser, logged in. Default: offer it on a terminal.",
)
@click.option("--reap-interval", default=3600.0, hidden=True, type=click.FloatRange(min=0.01))
def serve(
    *,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    edit_servers: bool | None,
    hosted: bool,
    with_worker: bool,
    metrics: tuple[str, int] | None,
    proxies: tuple[str, ...],
    opens: bool | None,
    reap_interval: float,
) -> None:
    """Serve the REST API and the web UI. Listens on 127.0.0.1 by default.

    Set ONETOOL_TOKEN to choose the token. Otherwise, a token is generated the first time the server runs,
    stored in a file, and on a terminal shown once. On a terminal, a link is printed that logs a browser in:
    it works once, and for 10 minutes.

    \b
    Examples:
      onetool serve
      onetool serve --open
      onetool serve --port 9000
      curl -H "Authorization: Bearer $ONETOOL_TOKEN" localhost:8765/tools/tools
    """
    check_is_hosted(metrics, is_hosted=hosted)
    sock = bind(host, port)  # first, because a new token is shown only once
    names = (*hosts, *host_header(host))
    if hosted:
        from .hosted import serve_hosted

        serve_hosted(
            sock,
            names,
            chosen_log_level() or "warning",
            reap_interval,
            with_worker=with_worker,
            metrics=metrics,
            proxies=proxies,
        )
        return
    paths = current_paths()
    token, token_location = load_token(paths)
    if edit_servers is None:
        edit_servers = ip_address(sock.getsockname()[0]).is_loopback

    async def run(runtime: Runtime) -> None:
        from onetool.interfaces.mcp.server import create_server
        from onetool.interfaces.mcp.transports import ONLY_PATH, PROFILE_PATH, NamedApps, http_app
        from onetool.interfaces.rest.app import create_app
        from onetool.interfaces.rest.auth.login_code import LoginCode
        from onetool.interfaces.web.static import StaticApp

        server = create_server(runtime, runtime.state.configuration.settings.expose)
        reaper = asyncio.get_running_loop().create_task(reap(runtime, reap_interval))
        named, code = NamedApps(runtime), LoginCode()
        link = login_link(sock.getsockname()[0], sock.getsockname()[1], code.value)
        try:
            async with http_app(server) as mcp:
                app = create_app(
                    runtime,
                    token=token,
                    hosts=names,
                    mounts={"/mcp": mcp, ONLY_PATH: named, PROFILE_PATH: named},
                    web_ui=StaticApp(),
                    edit_servers=edit_servers,
                    login_code=code,
                )
                await _serve(app, sock, token_location, proxies, partial(show_link, link, paths.state, opens))
        finally:
            reaper.cancel()
            await named.close()

    with_runtime(run, waits_for_servers=False, waits_for_libraries=False)


async def _serve(
    app: Any,
    sock: socket.socket,
    token_location: str,
    proxies: tuple[str, ...],
    on_ready: Callable[[], None],
) -> None:
    """Serve until a signal arrives. Prints the location of the token, not the token."""
    from onetool.interfaces.rest.server import BACKLOG, create_server

    server = create_server(app, proxies=proxies)
    sock.listen(BACKLOG)  # clients may connect as soon as the URL is printed
    address, port = sock.getsockname()[:2]
    host = f"[{address}]" if ":" in address else address
    on_stop_signals(server.stop)
    click.echo(f"OneTool listens on http://{host}:{port}", file=stdout())
    click.echo(f"Web UI: http://{host}:{port}/ (log in with the token {token_location})", file=stdout())
    stdout().flush()
    on_ready()
    await server.serve(sockets=[sock])


def host_header(host: str) -> list[str]:
    """Return the address as it appears in a Host header; nothing for an address that stands for all."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return []
    return [f"[{host}]" if ":" in host else host]


def load_token(paths: Paths) -> tuple[str, str]:
    """Return the token and a phrase with its location. Generates a token on the first start."""
    configured = os.environ.get("ONETOOL_TOKEN", "").strip()
    if configured:
        return configured, "in ONETOOL_TOKEN"  # the operator may choose a short one
    file: Path = paths.state / "token"
    generated = secrets.token_urlsafe(32)
    if write_new(file, generated.encode()):
        if sys.stderr.isatty():
            click.echo(f"Your token, shown only once and stored in {file}:\n  {generated}", err=True)
        else:  # stderr may be a log that others can read
            click.echo(f"A new token is stored in {file}", err=True)
        return generated, f"in {file}"
    stored = file.read_text(encoding="ascii").strip()
    if len(stored) < MIN_TOKEN_LENGTH:
        click.echo(f"Error: {file} contains no valid token. Delete it to generate a new one.", err=True)
        raise SystemExit(1)
    return stored, f"in {file}"
