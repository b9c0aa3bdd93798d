"""Fixtures for browser tests: each worker has one server and one browser."""

import socket
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from playwright.async_api import Browser, Page
from pytest_asyncio import fixture as async_fixture

from support.hosted_process import HostedProcess, Installation, WorkspaceView
from support.oidc_provider import OidcServer, login_variables
from support.rest_process import SETTINGS, shared_upstream
from support.web_app import WebApp, chromium, open_page
from web.hosted_pages import view_as

__all__ = ["shared_upstream"]


@pytest.fixture(scope="session")
def shared_web_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebApp]:
    """Run a server that the tests of one worker share."""
    with WebApp(tmp_path_factory.mktemp("web_app")) as web_app:
        yield web_app  # type: ignore[misc]


@pytest.fixture
def web_app(shared_web_app: WebApp) -> Iterator[WebApp]:
    """Return the shared server, and delete the test's bundles afterwards."""
    yield shared_web_app
    shared_web_app.delete_bundles()


@async_fixture(scope="session", loop_scope="session")
async def shared_browser() -> AsyncIterator[Browser]:
    """Run a browser that the tests of one worker share."""
    async with chromium() as browser:
        yield browser


@async_fixture(loop_scope="session")
async def browser(shared_browser: Browser) -> AsyncIterator[Browser]:
    """Return the shared browser, and close the test's contexts afterwards. Errors on a page fail the test."""
    yield shared_browser
    errors, shared_browser.errors = shared_browser.errors, []  # type: ignore[attr-defined]
    for context in shared_browser.contexts:
        await context.close()
    assert not errors


@async_fixture(loop_scope="session")
async def page(web_app: WebApp, browser: Browser) -> Page:
    """Open a page with a logged-in user."""
    return await open_page(browser, web_app)


@pytest.fixture
def workspace(open_hosted: Callable[[str], WorkspaceView]) -> WorkspaceView:
    """Return a new workspace of a hosted server. Its owner is anna."""
    return open_hosted(SETTINGS)


@pytest.fixture
def carl(workspace: WorkspaceView) -> Iterator[WorkspaceView]:
    """Return the workspace as a caller uses it."""
    with view_as(workspace, "carl") as view:
        yield view


@pytest.fixture
def mia(workspace: WorkspaceView) -> Iterator[WorkspaceView]:
    """Return the workspace as a maker uses it."""
    with view_as(workspace, "mia", "maker") as view:
        yield view


@pytest.fixture
def aude(workspace: WorkspaceView) -> Iterator[WorkspaceView]:
    """Return the workspace as an auditor uses it."""
    with view_as(workspace, "aude", "auditor") as view:
        yield view


@async_fixture(loop_scope="session")
async def owner_page(workspace: WorkspaceView, browser: Browser) -> Page:
    """Open a page as the owner of the workspace."""
    return await open_page(browser, workspace)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, installation: Installation) -> Iterator[HostedProcess]:
    """Return a hosted server at which people log in. The provider sends browsers back to its address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url, root = f"http://127.0.0.1:{port}", tmp_path_factory.mktemp("people")
    with OidcServer(url) as oidc:
        variables = login_variables(oidc.issuer, url)
        options = ("--port", str(port))
        with HostedProcess(root, *options, installation=installation, **variables) as server:
            server.issuer = oidc.issuer  # type: ignore[attr-defined]
            yield server


@pytest.fixture
def new_workspace(site: HostedProcess, installation: Installation) -> Iterator[Callable[..., WorkspaceView]]:
    """Return a function that creates workspaces. Their owner is anna, with an API key."""
    views: list[WorkspaceView] = []

    def create(settings: str = SETTINGS) -> WorkspaceView:
        view = WorkspaceView(site, installation.create_workspace(settings)).__enter__()
        view.issuer = site.issuer  # type: ignore[attr-defined]
        views.append(view)
        return view

    yield create
    for view in views:
        view.client.close()
