"""A hosted server in the process of the test, with two clusters, and clients of its workspaces."""

from contextlib import asynccontextmanager

from onetool.bootstrap.hosted import open_hosted
from onetool.bootstrap.hosted_admin import workspace_admin
from onetool.storage.postgres.clusters import HOME
from onetool.storage.postgres.moves import WorkspaceMoves
from support.hosted_server import RING, HostedServer
from support.two_clusters import WEST

ECHO = {"name": "tools.echo", "args": {"message": "hi"}}
BUNDLE = {"displayName": "Probes", "description": "Probes.", "isEnabled": True}


@asynccontextmanager
async def serving(urls):
    workspace_admin(urls[HOME], RING).check_keys()
    async with open_hosted(urls[HOME], RING, clusters={WEST: urls[WEST]}) as parts:
        server = HostedServer(parts, urls[HOME])
        yield server
        await server.workspaces.aclose()


@asynccontextmanager
async def using(server, cluster):
    """Create a workspace in a cluster, and a client of it."""
    slug = await server.new_workspace(cluster)
    key = await server.new_key(slug)
    async with server.client(slug, key.text) as client:
        client.slug, client.key_id = slug, key.key.id
        yield client


def move(server, slug, target):
    return server.parts.threads.run(WorkspaceMoves(server.parts.urls).move, slug, target)


async def put_bundle(client, id):
    return await client.put(f"/tools/bundles/{id}", json=BUNDLE | {"slug": f"b{id}"})
