"""A hosted server for the tests of its routes."""

from uuid import uuid4

import pytest

from interfaces.rest.oauth_world import OAuthWorld
from onetool.bootstrap.hosted import open_hosted
from onetool.bootstrap.hosted_admin import workspace_admin
from support.hosted_server import RING, HostedServer


@pytest.fixture(scope="session")
def hosted_url(postgres_server):
    """Return a database of its own: an installation has one key ring."""
    with postgres_server() as url:
        yield url


@pytest.fixture
async def server(hosted_url):
    slug = f"first-{uuid4().hex[:8]}"
    workspace_admin(hosted_url, RING).create(slug)
    async with open_hosted(hosted_url, RING) as parts:
        server = HostedServer(parts, hosted_url)
        yield server
        await server.workspaces.aclose()


@pytest.fixture
async def oauth(hosted_url):
    """Return a server that issues tokens to MCP clients, with a workspace."""
    workspace_admin(hosted_url, RING).check_keys()
    async with open_hosted(hosted_url, RING) as parts:
        world = OAuthWorld(parts, hosted_url, "https://login.example")
        with world.stub:
            world.slug = await world.new_workspace()
            yield world
        await world.workspaces.aclose()
