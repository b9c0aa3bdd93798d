"""What the tests of the screens share: one server and one browser for each worker."""

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser, Page
from pytest_asyncio import fixture as async_fixture
from web_site import Site, chromium, open_page

from rest_server import shared_upstream

__all__ = ["shared_upstream"]


@pytest.fixture(scope="session")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server that the tests of one worker share."""
    with Site(tmp_path_factory.mktemp("site")) as site:
        yield site  # type: ignore[misc]


@pytest.fixture
def site(shared_site: Site) -> Iterator[Site]:
    """The shared server, without what a test has stored in it."""
    yield shared_site
    shared_site.clear()


@async_fixture(scope="session", loop_scope="session")
async def shared_browser() -> AsyncIterator[Browser]:
    """One browser for the tests of one worker."""
    async with chromium() as launched:
        yield launched


@async_fixture(loop_scope="session")
async def browser(shared_browser: Browser) -> AsyncIterator[Browser]:
    """The shared browser, without what a test has opened in it."""
    yield shared_browser
    for context in shared_browser.contexts:
        await context.close()


@async_fixture(loop_scope="session")
async def page(site: Site, browser: Browser) -> AsyncIterator[Page]:
    """A page that is logged in; whatever it complains about fails the test."""
    opened = await open_page(browser, site)
    yield opened
    assert not opened.complaints, opened.complaints  # type: ignore[attr-defined]
