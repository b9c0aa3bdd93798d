"""`onetool serve --hosted`, and the environment of all commands of a hosted OneTool."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from onetool.domain.errors import MemberError, SettingsError, StoreUnavailable
from onetool.files.installation import extra_command
from onetool.settings.configuration import operator_packs
from onetool.telemetry.request_meter import RequestMeter

from .command import current_paths, stdout
from .metrics_listener import serving_metrics
from .reaper import reap
from .stop_signals import on_stop_signals

if TYPE_CHECKING:
    from onetool.bootstrap.hosted import HostedParts
    from onetool.bootstrap.hosted_admin import WorkspaceContents
    from onetool.bootstrap.login_settings import ClientSettings, LoginSettings
    from onetool.bootstrap.people import PeopleParts
    from onetool.bootstrap.worker import Worker
    from onetool.bootstrap.workspaces import OpenWorkspaces
    from onetool.interfaces.rest.current_workspace import MountedWorkspace
    from onetool.interfaces.rest.hosted import HostedApp
    from onetool.interfaces.rest.hosted_credentials import HostedPeople

T = TypeVar("T")
DATABASE_URL, REDIS_URL, KEYS = "ONETOOL_DATABASE_URL", "ONETOOL_REDIS_URL", "ONETOOL_KEYS"
OWNER_URL = "ONETOOL_OWNER_DATABASE_URL"
POOLED_URL = "ONETOOL_POOLED_DATABASE_URL"
FIRST_REAP_S = 60.0
"""Seconds after a workspace was opened. One that is seldom used is closed long before the interval ends."""


def serve_hosted(
    sock: socket.socket,
    hosts: tuple[str, ...],
    log_level: str,
    reap_interval: float,
    *,
    with_worker: bool,
    metrics: tuple[str, int] | None,
    proxies: tuple[str, ...],
) -> None:
    """Serve all workspaces until a signal arrives.

    with_worker: whether to run queued jobs too.
    metrics: where to serve the metrics of the process.
    proxies: addresses and networks of proxies that say which address a client has.
    """
    options: Any = {"with_worker": with_worker, "metrics": metrics, "proxies": proxies}
    with exit_on_hosted_error():
        asyncio.run(_serve(sock, hosts, log_level, reap_interval, **options))


async def _serve(
    sock: socket.socket,
    hosts: tuple[str, ...],
    log_level: str,
    reap_interval: float,
    *,
    with_worker: bool,
    metrics: tuple[str, int] | None,
    proxies: tuple[str, ...],
) -> None:
    from onetool.bootstrap.login_settings import login_settings
    from onetool.bootstrap.workspaces import OpenWorkspaces
    from onetool.interfaces.rest.connections import hosted_limits
    from onetool.interfaces.rest.counted_requests import CountedRequests
    from onetool.interfaces.rest.server import BACKLOG, create_server

    login = login_settings(os.environ)
    async with open_parts(log_level=log_level) as parts:
        workspaces: OpenWorkspaces[MountedWorkspace] = OpenWorkspaces(
            lambda slug: _mounted(parts, slug, reap_interval)
        )
        limits = hosted_limits()
        app = _app(parts, workspaces, hosts, login, max_requests=limits.max_connections // 2)
        requests, loop = RequestMeter(), asyncio.get_running_loop()
        server = create_server(CountedRequests(app, requests), limits, proxies)

        def stop() -> None:
            app.drain()
            server.stop()

        on_stop_signals(stop)
        sock.listen(BACKLOG)
        address, port = sock.getsockname()[:2]
        click.echo(f"OneTool listens on http://{address}:{port}/w/WORKSPACE/", file=stdout())
        stdout().flush()
        watch = loop.create_task(workspaces.watch())
        try:
            worker = _worker(parts, workspaces) if with_worker else None
            measured: Any = {"requests": requests, "worker": worker}
            async with (
                serving_metrics(metrics, parts, app.status, workspaces, **measured),
                _working(worker),
            ):
                await server.serve(sockets=[sock])
        finally:
            watch.cancel()
            await workspaces.aclose()


def _app(
    parts: "HostedParts",
    workspaces: "OpenWorkspaces[MountedWorkspace]",
    hosts: tuple[str, ...],
    login: "LoginSettings | None",
    *,
    max_requests: int,
) -> "HostedApp":
    from onetool.bootstrap.api_keys import ApiKeyAuthenticator
    from onetool.interfaces.rest.hosted import MAX_REQUESTS, HostedApp
    from onetool.interfaces.web.static import StaticApp

    return HostedApp(
        workspaces,
        authenticate=ApiKeyAuthenticator(parts).authenticate,
        status=parts.status,
        threads=parts.threads,
        hosts=hosts if login is None else (*hosts, login.host),
        web_ui=StaticApp(),
        max_requests=min(MAX_REQUESTS, max_requests),
        people=None if login is None else hosted_people(parts, login),
    )


def hosted_people(parts: "HostedParts", settings: "LoginSettings") -> "HostedPeople":
    """Return how people log in."""
    from onetool.bootstrap.people import people_parts
    from onetool.interfaces.rest.auth.login_cookies import LoginCookies
    from onetool.interfaces.rest.hosted_credentials import HostedPeople
    from onetool.interfaces.rest.people_invitation import PeopleInvitation
    from onetool.interfaces.rest.people_login import PeopleLogin
    from onetool.interfaces.rest.resource_metadata import ResourceMetadata

    people = people_parts(parts, settings)
    cookies = LoginCookies(people.seal, is_https=settings.is_https)
    hosted = HostedPeople(
        login=PeopleLogin(people.provider, people.sessions, cookies),
        cookies=cookies,
        authenticate=people.authenticator.authenticate,
        end_session=people.sessions.end,
        invitation=PeopleInvitation(people.sessions.find, people.invitations, cookies),
        tokens=people.tokens.authenticate if people.tokens else None,
        metadata=ResourceMetadata(
            settings.public_url, settings.token_issuers, is_issuer=settings.clients is not None
        )
        if people.tokens or settings.clients
        else None,
    )
    if settings.clients is None:
        return hosted
    return _with_authorization(hosted, parts, settings.public_url, settings.clients, people)


def _with_authorization(
    hosted: "HostedPeople", parts: "HostedParts", url: str, clients: "ClientSettings", people: "PeopleParts"
) -> "HostedPeople":
    """Return how people log in, and let MCP clients act for them."""
    from onetool.bootstrap.authorization import authorization_parts
    from onetool.interfaces.rest.auth.wrong_tokens import WrongTokens
    from onetool.interfaces.rest.oauth.authorize import Authorize
    from onetool.interfaces.rest.oauth.consent import Consents
    from onetool.interfaces.rest.oauth.server import AuthorizationServer
    from onetool.interfaces.rest.oauth.tokens import TokenEndpoints

    own, wrong_tokens = authorization_parts(parts, clients), WrongTokens()
    authorize = Authorize(
        public_url=url,
        find_client=own.clients.find,
        allow=own.grants.allow,
        sessions=people.sessions,
        cookies=hosted.cookies,
        consents=Consents(own.seal),
        wrong_tokens=wrong_tokens,
    )
    register = own.clients.register if clients.accepts_registration else None
    return hosted._replace(
        authorization=AuthorizationServer(
            url,
            authorize,
            TokenEndpoints(url, own.grants, register, wrong_tokens),
            accepts_registration=clients.accepts_registration,
        ),
        client_tokens=own.authenticator.authenticate,
    )


def _worker(parts: "HostedParts", workspaces: "OpenWorkspaces[MountedWorkspace]") -> "Worker":
    from onetool.bootstrap.worker import Worker

    return Worker(parts, variable(DATABASE_URL), workspaces.use)


@asynccontextmanager
async def _working(worker: "Worker | None") -> AsyncIterator[None]:
    """Run queued jobs during the block, if there is a worker."""
    if worker is None:
        yield
        return
    stop = asyncio.Event()
    working = asyncio.create_task(worker.run(stop))
    try:
        yield
    finally:
        stop.set()
        await working


@asynccontextmanager
async def _mounted(
    parts: "HostedParts", slug: str, reap_interval: float
) -> AsyncIterator["MountedWorkspace"]:
    from onetool.bootstrap.hosted import open_workspace
    from onetool.interfaces.mcp.transports import NamedApps
    from onetool.interfaces.rest.current_workspace import MountedWorkspace

    async with open_workspace(parts, slug) as opened:
        mcp = NamedApps(opened.runtime)
        delay = min(reap_interval, FIRST_REAP_S)
        reaper = asyncio.get_running_loop().create_task(reap(opened.runtime, reap_interval, delay=delay))
        try:
            yield MountedWorkspace(
                opened.runtime, opened.credentials, mcp, opened.rights, opened.administration
            )
        finally:
            reaper.cancel()
            await mcp.close()


def open_parts(**options: Any) -> AbstractAsyncContextManager["HostedParts"]:
    """Open what the environment names, with the packs of the operator."""
    from onetool.bootstrap.hosted import open_hosted
    from onetool.bootstrap.login_settings import public_url

    return open_hosted(
        variable(DATABASE_URL),
        variable(KEYS),
        clusters=other_clusters(),
        pooled_url=os.environ.get(POOLED_URL, "").strip(),
        redis_url=os.environ.get(REDIS_URL, "").strip(),
        pack_dirs=operator_packs(current_paths()),
        public_url=public_url(os.environ),
        **options,
    )


@contextmanager
def exit_on_hosted_error() -> Iterator[None]:
    """Print what is wrong with the configuration or the database, and exit."""
    try:
        yield
    except (MemberError, SettingsError, StoreUnavailable) as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
    except ModuleNotFoundError as error:
        click.echo(f"Error: {error.name} is not installed. Run: {extra_command('hosted')}", err=True)
        raise SystemExit(2) from None


def variable(name: str) -> str:
    """Return the value of an environment variable that must be set."""
    value = os.environ.get(name, "").strip()
    if not value:
        raise SettingsError(f"Set {name}. See docs/hosted.md.")
    return value


def owner_url() -> str:
    """Return the URL of the role that owns the tables."""
    return os.environ.get(OWNER_URL) or variable(DATABASE_URL)


def other_clusters(*, is_owner: bool = False) -> dict[str, str]:
    """Return the URLs of the clusters other than `home`, by name.

    is_owner: those of the role that owns the tables.
    """
    from onetool.bootstrap.cluster_urls import cluster_urls

    return cluster_urls(os.environ, is_owner=is_owner)


def with_contents(slug: str, action: Callable[["WorkspaceContents"], Awaitable[T]]) -> T:
    """Open a workspace and do something with what it contains."""
    from onetool.bootstrap.hosted_admin import open_contents

    async def run() -> T:
        url, keys = variable(DATABASE_URL), variable(KEYS)
        async with open_contents(url, keys, slug, other_clusters()) as contents:
            return await action(contents)

    return asyncio.run(run())
