"""Faults of a hosted OneTool while it is used: what is known goes on, and nothing that was stored is lost."""

import threading
from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
import redis

from interfaces.request_load import RequestLoad
from onetool.bootstrap.hosted_admin import workspace_admin
from onetool.storage.postgres.database import MAX_CONNECTIONS
from onetool.storage.postgres.migrate import migrate
from support.hosted_process import HostedProcess, Installation, WorkspaceView
from support.loopback_proxy import LoopbackProxy
from support.postgres import ClusterUrls
from support.postgres_cluster import PostgresCluster
from support.processes import wait_until
from support.redis_server import RedisServer
from support.rest_process import RestReply, http_tool, new_id, new_slug
from support.rest_process import shared_upstream as shared_upstream
from support.scraped_metrics import LISTEN, ScrapedMetrics
from support.waiting import HANG_S

CALLERS = 4
TRANSACTIONS = """
    select (pid, xact_start)::text from pg_stat_activity
    where state = 'idle in transaction' and xact_start is not null
"""
WAITING = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
LISTENERS = "pg_stat_activity where application_name = 'onetool-replica'"
LISTENING = f"select count(*) from {LISTENERS}"


@pytest.fixture(scope="module")
def cluster():
    with PostgresCluster() as cluster:
        migrate(cluster.url)
        yield cluster


@pytest.fixture(scope="module")
def installation(cluster):
    installation = Installation(ClusterUrls(cluster.url))
    yield installation
    installation.close()


@pytest.fixture(scope="module")
def redis_server():
    server = RedisServer()
    server.start()
    yield server
    server.close()


@pytest.fixture(scope="module")
def team(installation, redis_server, tmp_path_factory):
    """Two workspaces, and a server for both."""
    root = tmp_path_factory.mktemp("faults")
    with HostedProcess(
        root, *LISTEN, installation=installation, ONETOOL_REDIS_URL=redis_server.url
    ) as process:
        process.metrics = ScrapedMetrics(process)
        process.other = WorkspaceView(process, installation.create_workspace())
        with process.other:
            yield process


@pytest.fixture
def server(team):
    call(team)
    return team


def call(server, name="tools.echo"):
    return server.client.post("/tools/call", json={"name": name, "args": {"message": "x"}})


def callers(server, count=CALLERS):
    return [lambda: call(server) for _ in range(count)]


def status(server):
    return httpx2.get(f"{server.origin}/readyz", trust_env=False, verify=False).json()["status"]


def recorded(cluster, server):
    """Return the number of calls that are recorded, after those that wait were written."""
    assert server.client.get("/activity").status_code == 200
    query = "select count(*) from onetool.calls where workspace_id = %s"
    return select_one(cluster, query, server.workspace.stored.workspace)


def select_one(cluster, query, *values):
    with psycopg.connect(cluster.url) as connection:
        return connection.execute(query, values).fetchone()[0]


def transactions(cluster):
    """Return the transactions that are open and wait for OneTool."""
    with psycopg.connect(cluster.url) as connection:
        return {name for (name,) in connection.execute(TRANSACTIONS)}


def test_database_that_is_killed_and_comes_back(server, cluster, size):
    """Known calls go on, changes are refused, and what was acknowledged is there afterwards, records too.

    Tools of a workspace that was just changed are not known: one of them may have been disabled.
    """
    acknowledged, recorded_before = [], recorded(cluster, server)

    def change():
        slug = new_slug()
        response = server.other.put_bundle(slug=slug)
        if response.status_code == 201:
            acknowledged.append(slug)
        return response

    with RequestLoad(*callers(server)) as calls, RequestLoad(change) as changes:
        changes.wait_for(5)
        cluster.kill()
        assert wait_until(lambda: changes.statuses[503] > 0)
        assert wait_until(lambda: server.metrics.value("onetool_database_away", cluster="home") == 1)
        assert server.metrics.value("onetool_changes_listening", cluster="home") == 0
        calls.wait_for(size(100, 8_000))
        assert wait_until(lambda: size(True, status(server) == "degraded"))
        cluster.start()
        before = len(acknowledged)
        assert wait_until(lambda: len(acknowledged) > before + 3)
    assert set(calls.statuses) == {200}
    assert set(changes.statuses) == {201, 503}
    bundles = server.other.list_all("/tools/bundles", includeDisabled="true")
    assert set(acknowledged) <= {bundle["slug"] for bundle in bundles}
    assert recorded(cluster, server) == recorded_before + calls.statuses.total()
    assert wait_until(lambda: status(server) == "ok")
    assert server.metrics.value("onetool_database_away", cluster="home") == 0
    assert server.metrics.value("onetool_records_dropped_total") == 0


def test_lost_connections_to_listen_on_lose_no_change(server, cluster, size):
    with RequestLoad(*callers(server)) as calls, psycopg.connect(cluster.url, autocommit=True) as operator:
        for number in range(size(3, 50)):
            assert wait_until(lambda: select_one(cluster, LISTENING) > 0)
            operator.execute(f"select pg_terminate_backend(pid) from {LISTENERS}")
            server.workspace.write_settings(f"aliases: {{say{number}: tools.echo}}")
            assert wait_until(lambda name=f"say{number}": call(server, name).status_code == 200)
    assert set(calls.statuses) == {200}


def test_workspace_whose_writers_wait_leaves_connections_to_others(server, cluster):
    """More writers than the server has connections wait for a lock that a move holds, for example."""
    with ExitStack() as stack, psycopg.connect(cluster.url) as mover:
        workspace = server.workspace.stored.workspace
        mover.execute("select from onetool.workspace_state where workspace_id = %s for update", (workspace,))
        statuses = []

        def change():
            statuses.append(server.put_bundle(slug=new_slug()).status_code)

        threads = [threading.Thread(target=change) for _ in range(2 * MAX_CONNECTIONS)]
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
        assert wait_until(lambda: select_one(cluster, WAITING) > 0)
        for _ in range(5):
            server.other.create_bundle()
        assert call(server).status_code == 200
        assert statuses == []
        mover.rollback()
        stack.close()
    assert set(statuses) == {201}


def test_redis_that_is_killed_fails_no_call(server, installation, redis_server, size):
    """Each call asks for the rate of the workspace. Afterwards, Redis is used again."""
    admin = workspace_admin(installation.url, installation.keys)
    assert admin.change_limits(server.workspace.slug, {"calls_per_minute": 1_000_000}) is not None
    with RequestLoad(*callers(server)) as calls:
        assert wait_until(lambda: uses(redis_server))
        for _ in range(size(2, 20)):
            redis_server.kill()
            assert wait_until(lambda: server.metrics.value("onetool_redis_away") == 1)
            calls.wait_for(size(100, 1_000))
            redis_server.start()
            assert wait_until(lambda: uses(redis_server))
    assert set(calls.statuses) == {200}


def test_redis_that_is_killed_is_noticed_without_a_call(server, redis_server):
    """An alert is about a process that does not use it, too, and ends when Redis is back."""
    redis_server.kill()
    assert wait_until(lambda: server.metrics.value("onetool_redis_away") == 1)
    redis_server.start()
    assert wait_until(lambda: server.metrics.value("onetool_redis_away") == 0)


def uses(redis_server):
    """Return whether Redis has keys, which are those of rates."""
    with redis.Redis.from_url(redis_server.url) as client:
        return client.dbsize() > 0


def test_upstream_that_hangs_occupies_only_the_slots_of_its_workspace(server, cluster, upstream, size):
    """No transaction stays open, calls of others go on, and every call ends."""
    may_respond, count = threading.Event(), size(100, 500)

    def respond(request):
        may_respond.wait(HANG_S)
        return RestReply(body={"fine": True})

    tool = server.other.create_tool(**http_tool(upstream.url + upstream.script(respond)))
    statuses = []
    threads = [
        threading.Thread(target=lambda: statuses.append(server.other.invoke(tool).status_code))
        for _ in range(count)
    ]
    try:
        for thread in threads:
            thread.start()
        assert wait_until(lambda: upstream.requests_to(urlsplit(tool_url(tool)).path))
        with RequestLoad(*callers(server)) as calls:
            calls.wait_for(50)
            open_before = transactions(cluster)
            calls.wait_for(100)
            assert not open_before & transactions(cluster)
        assert set(calls.statuses) == {200}
    finally:
        may_respond.set()
        for thread in threads:
            thread.join()
    assert len(statuses) == count
    assert set(statuses) <= {200, 429}


def tool_url(tool):
    return tool["httpImpl"]["request"]["urlTemplate"]


def test_replica_that_is_killed_loses_no_acknowledged_change(installation, tmp_path, size):
    """Requests that it was serving break off. The others succeed, at the replica that is left."""
    workspace = installation.create_workspace()
    replicas = [
        HostedProcess(tmp_path / name, installation=installation, workspace=workspace) for name in "ab"
    ]
    acknowledged = []
    with ExitStack() as stack:
        first, second = [stack.enter_context(replica) for replica in replicas]
        proxy = stack.enter_context(LoopbackProxy([first.port, second.port]))
        client = httpx2.Client(
            base_url=f"{proxy.url}{workspace.path}",
            headers=workspace.headers,
            trust_env=False,
            verify=False,
            timeout=HANG_S,
        )
        stack.enter_context(client)

        def change():
            slug = new_slug()
            body = {"slug": slug, "displayName": "B", "description": "", "isEnabled": True}
            response = client.put(f"/tools/bundles/{new_id()}", json=body)
            if response.status_code == 201:
                acknowledged.append(slug)
            return response

        with RequestLoad(*[change] * CALLERS) as changes:
            changes.wait_for(20)
            first.process.kill()
            first.process.wait()
            broken = changes.statuses[0]
            changes.wait_for(size(20, 500))
        assert set(changes.statuses) <= {201, 0}
        assert changes.statuses[0] <= broken + CALLERS, "only those that were in progress"
        bundles = second.list_all("/tools/bundles", includeDisabled="true")
    assert set(acknowledged) <= {bundle["slug"] for bundle in bundles}
