"""Servers that the tests of a module share, if they change nothing there that another test sees."""

from contextlib import asynccontextmanager

import pytest
from pytest_asyncio import fixture as async_fixture

from interfaces.rest.oauth_world import OAuthWorld
from onetool.bootstrap.hosted import open_hosted
from onetool.bootstrap.hosted_admin import workspace_admin
from onetool.interfaces.rest.auth.wrong_tokens import WrongTokens
from onetool.testing import memory_runtime
from support.hosted_server import RING, HostedServer
from support.rest_in_process import serve_rest
from support.rest_process import SETTINGS


@async_fixture(scope="module", loop_scope="module")
async def ot():
    async with memory_runtime() as ot:
        yield ot


@async_fixture(scope="module", loop_scope="module")
async def client(ot):
    """Return a client of the runtime, whose wrong tokens are not delayed."""
    async with serve_rest(ot.runtime, wrong_tokens=WrongTokens(max_delay_s=0)) as client:
        yield client


@pytest.fixture(scope="session")
def hosted_url(postgres_server):
    """Return a database of its own: an installation has one key ring."""
    with postgres_server() as url:
        workspace_admin(url, RING).check_keys()
        yield url


@pytest.fixture
def view(open_hosted):
    """Return a workspace of a running server."""
    return open_hosted(SETTINGS)


@asynccontextmanager
async def opened(url, create=HostedServer, *args, **options):
    async with open_hosted(url, RING, **options) as parts:
        server = create(parts, url, *args)
        yield server
        await server.workspaces.aclose()


@async_fixture(scope="module", loop_scope="module")
async def server(hosted_url):
    async with opened(hosted_url) as server:
        yield server


@async_fixture(loop_scope="module")
async def own_server(hosted_url):
    """Return a server that a test may cut off from its database."""
    async with opened(hosted_url) as server:
        yield server


@asynccontextmanager
async def opened_oauth(url):
    async with opened(url, OAuthWorld, "https://login.example") as world:
        with world.stub:
            yield world


@async_fixture(scope="module", loop_scope="module")
async def issuing_server(hosted_url):
    async with opened_oauth(hosted_url) as world:
        yield world


@async_fixture(loop_scope="module")
async def oauth(issuing_server):
    """Return a server that issues tokens, with a new workspace and a client that it has not seen yet."""
    await issuing_server.renew()
    return issuing_server


@async_fixture(loop_scope="module")
async def own_oauth(hosted_url):
    """Return such a server that a test may cut off from its database."""
    async with opened_oauth(hosted_url) as world:
        await world.renew()
        yield world
