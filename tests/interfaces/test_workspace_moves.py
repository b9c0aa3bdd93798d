"""Servers and workers with two clusters: during moves of workspaces, and while one cluster is away."""

import asyncio

import psycopg
import pytest

from interfaces.served_clusters import ECHO, move, put_bundle, serving, using
from onetool.bootstrap.hosted import open_hosted
from onetool.bootstrap.hosted_admin import workspace_admin
from onetool.bootstrap.worker import Worker
from onetool.domain.errors import SettingsError
from onetool.domain.identity.principal import Principal, acting_as
from onetool.domain.jobs.queued_call import QueuedCall
from onetool.storage.postgres import timed_connection, workspace_database
from onetool.storage.postgres.cluster_admin import ClusterAdmin
from onetool.storage.postgres.clusters import HOME
from onetool.storage.postgres.migrate import migrate
from support.hosted_server import RING
from support.postgres_cluster import PostgresCluster
from support.rest_process import new_id
from support.two_clusters import WEST, two_databases
from support.waiting import HANG_S, until


@pytest.fixture(scope="module")
def urls():
    with two_databases() as urls:
        yield urls


@pytest.fixture
async def server(urls):
    async with serving(urls) as server:
        yield server


async def stored(server, slug, cluster, query):
    """Return the first column of rows of a workspace in a cluster. The value of the query is its id."""
    found = await server.parts.threads.run(server.parts.directory.find, slug)
    with psycopg.connect(server.parts.urls[cluster]) as connection:
        return [row[0] for row in connection.execute(query, (found.id,)).fetchall()]


async def bundle_ids(server, slug, cluster):
    return await stored(server, slug, cluster, "select id from onetool.bundles where workspace_id = %s")


@pytest.mark.parametrize("cluster", [HOME, WEST])
async def test_workspace_can_be_used_at_every_cluster(server, cluster):
    async with using(server, cluster) as client:
        assert (await client.post("/tools/call", json=ECHO)).json()["value"] == "hi"
        id = new_id()
        assert (await put_bundle(client, id)).status_code == 201
        assert await bundle_ids(server, client.slug, cluster) == [id]
        assert (await client.get("/members")).status_code == 200
        assert [entry["action"] for entry in (await client.get("/audit")).json()["entries"]][-1:] == [
            "workspace.create"
        ]


@pytest.mark.guards("tenant-moves")
async def test_no_acknowledged_change_is_lost_while_a_workspace_is_moved_and_called(server):
    """Changes wait for the end of a move. Calls go on."""
    async with using(server, HOME) as client, using(server, HOME) as other:
        acknowledged, stop, calls = set(), asyncio.Event(), 0

        async def write():
            while not stop.is_set():
                id = new_id()
                response = await put_bundle(client, id)
                if response.status_code == 201:
                    acknowledged.add(id)
                else:
                    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")

        async def call():
            nonlocal calls
            while not stop.is_set():
                for each in (client, other):
                    assert (await each.post("/tools/call", json=ECHO)).json()["value"] == "hi"
                calls += 1

        tasks = [asyncio.create_task(each()) for each in (write, write, call)]
        try:
            for target in (WEST, HOME, WEST):
                seen, called = len(acknowledged), calls
                await until(lambda seen=seen, called=called: len(acknowledged) > seen + 2 and calls > called)
                await move(server, client.slug, target)
        finally:
            stop.set()
            async with asyncio.timeout(HANG_S):
                await asyncio.gather(*tasks)
        assert set(await bundle_ids(server, client.slug, WEST)) == acknowledged
        await recorded(server, client.slug, WEST, calls)


async def recorded(server, slug, cluster, calls):
    """Wait until all calls of a workspace are recorded in a cluster."""
    query = "select count(*) from onetool.calls where workspace_id = %s"
    async with asyncio.timeout(HANG_S):
        while await stored(server, slug, cluster, query) != [calls]:
            await asyncio.sleep(0.1)


async def test_change_of_a_workspace_that_stays_read_only_is_refused_with_retry_after(server, monkeypatch):
    monkeypatch.setattr(workspace_database, "MOVE_WAIT_S", 0.2)
    async with using(server, HOME) as client:
        fence = """
            update onetool.workspace_state set fenced = true
            where workspace_id = (select id from home.workspaces where slug = %s)
        """
        with psycopg.connect(server.url) as connection:
            connection.execute(fence, (client.slug,))
        assert (await client.post("/tools/call", json=ECHO)).json()["value"] == "hi"
        response = await put_bundle(client, new_id())
        assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
        assert response.json()["detail"] == (
            "The store cannot be used: The workspace is read-only for a moment, because it is being moved. "
            "Try again."
        )
        response = await client.post("/tools/call", json=ECHO, headers={"Prefer": "respond-async"})
        assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
        await move(server, client.slug, HOME)
        assert (await put_bundle(client, new_id())).status_code == 201


async def test_queued_jobs_of_a_moved_workspace_run_at_the_target(server):
    async with using(server, HOME) as client:
        async with server.workspaces.use(client.slug) as opened:
            with acting_as(Principal("anna", key=client.key_id)):
                job = await opened.runtime.submitted.submit(QueuedCall("tools.echo", {"message": "hi"}))
        await move(server, client.slug, WEST)
        with psycopg.connect(server.url) as connection:  # so that only the wake-up at the target remains
            connection.execute("set search_path = queue")
            connection.execute("delete from procrastinate_jobs where queue_name = 'calls'")
        stop = asyncio.Event()
        worker = Worker(server.parts, server.url, server.workspaces.use)
        running = asyncio.create_task(worker.run(stop))
        try:
            async with asyncio.timeout(HANG_S):
                while (found := (await client.get(f"/jobs/{job.id}")).json())["status"] != "succeeded":
                    assert found["status"] in ("queued", "running"), found
                    await asyncio.sleep(0.05)
        finally:
            stop.set()
            await running
        owners = "select owner from onetool.job_owners where workspace_id = %s"
        assert await stored(server, client.slug, WEST, owners)
        assert not await stored(server, client.slug, HOME, owners)


async def test_process_without_the_url_of_a_cluster_does_not_start(urls):
    workspace_admin(urls[HOME], RING).check_keys()
    with pytest.raises(SettingsError, match="Set ONETOOL_CLUSTER_WEST_URL"):
        async with open_hosted(urls[HOME], RING):
            pass


@pytest.mark.guards("tenant-moves")
async def test_cluster_that_is_away_harms_only_its_workspaces(postgres_server):
    """A process can start meanwhile, and uses the cluster when it is back."""
    with postgres_server() as home, PostgresCluster() as west:
        urls = {HOME: home, WEST: west.url}
        migrate(west.url)
        ClusterAdmin(urls).add(WEST)
        async with serving(urls) as server, using(server, HOME) as here, using(server, WEST) as there:
            for client in (here, there):
                assert (await client.post("/tools/call", json=ECHO)).status_code == 200
            west.kill()
            await until(lambda: server.parts.clusters[WEST].is_away)
            assert (await there.post("/tools/call", json=ECHO)).json()["value"] == "hi"  # known key and tool
            assert (await put_bundle(there, new_id())).status_code == 503
            assert (await there.get("/audit")).status_code == 503
            assert (await put_bundle(here, new_id())).status_code == 201
            ready = await here.get("http://localhost/readyz")
            assert ready.status_code == 200
            async with serving(urls) as other:
                other_here = await other.new_key(here.slug)
                async with other.client(here.slug, other_here.text) as client:
                    assert (await put_bundle(client, new_id())).status_code == 201
                async with other.client(there.slug, "otk_unknown") as client:
                    assert (await client.post("/tools/call", json=ECHO)).status_code == 503
            west.start()
            await until(lambda: not server.parts.clusters[WEST].is_away)
            assert (await put_bundle(there, new_id())).status_code == 201


async def test_server_starts_although_another_cluster_hangs(urls, server, monkeypatch, caplog):
    monkeypatch.setattr(timed_connection, "ANSWER_S", 3.0)
    async with using(server, HOME) as client:
        key = await server.new_key(client.slug)
        with psycopg.connect(urls[WEST]) as connection:
            connection.execute("lock table public.onetool_migrations")
            async with serving(urls) as other, other.client(client.slug, key.text) as here:
                assert (await here.post("/tools/call", json=ECHO)).json()["value"] == "hi"
    assert "cluster west is away" in caplog.text


async def test_known_keys_of_a_cluster_that_is_away_are_accepted_for_a_minute(server, monkeypatch):
    async with using(server, HOME) as here, using(server, WEST) as there:
        for client in (here, there):
            assert (await client.post("/tools/call", json=ECHO)).status_code == 200
        found = await server.parts.threads.run(server.parts.directory.find, there.slug)
        rows = server.parts.notices.workspace(found)
        ages = {server.parts.clusters[WEST]: 61.0}
        monkeypatch.setattr(server.parts.notices, "_other_ages", lambda database: [ages.get(database, 0.0)])
        assert rows.database in ages
        assert (await here.post("/tools/call", json=ECHO)).status_code == 200
        assert (await there.post("/tools/call", json=ECHO)).status_code == 503
