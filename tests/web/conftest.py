"""Fixtures for browser tests: each worker has one server and one browser."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from playwright.async_api import Browser, Page
from pytest_asyncio import fixture as async_fixture

from support.hosted_pages import view_as
from support.hosted_process import WorkspaceView
from support.rest_process import SETTINGS, shared_upstream
from support.web_app import WebApp, chromium, open_page

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
    """Return the shared browser, and close the test's contexts afterwards."""
    yield shared_browser
    for context in shared_browser.contexts:
        await context.close()


@async_fixture(loop_scope="session")
async def page(web_app: WebApp, browser: Browser) -> AsyncIterator[Page]:
    """Open a page with a logged-in user. Errors on the page fail the test."""
    page = await open_page(browser, web_app)
    yield page
    assert not page.errors, page.errors  # type: ignore[attr-defined]


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
async def owner_page(workspace: WorkspaceView, browser: Browser) -> AsyncIterator[Page]:
    """Open a page as the owner of the workspace. Errors on the page fail the test."""
    page = await open_page(browser, workspace)
    yield page
    assert not page.errors, page.errors  # type: ignore[attr-defined]
