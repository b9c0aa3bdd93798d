"""The primary of the database is killed and its standby promoted, while a hosted OneTool is used."""

from contextlib import ExitStack

import psycopg
import pytest

from interfaces.request_load import RequestLoad
from onetool.domain.errors import StoreUnavailable
from onetool.storage.postgres.clusters import HOME, Clusters
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.interrupted_moves import InterruptedMoves
from onetool.storage.postgres.migrate import check_migrated, migrate
from support.hosted_process import HostedProcess, Installation, WorkspaceView
from support.postgres import ClusterUrls
from support.postgres_cluster import PostgresCluster, url_of
from support.processes import wait_until
from support.rest_process import new_slug
from support.worker_process import WorkerProcess

ECHO = {"name": "tools.echo", "args": {"message": "x"}}
UNKNOWN = {"name": "tools.unknown", "args": {}}
ASYNC = {"Prefer": "respond-async"}
LISTENING = "select count(*) from pg_stat_activity where application_name = 'onetool-replica'"
STORED = "select count(*) from onetool.bundles"
TERMINATE = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
PROCESSES = 3
"""Two servers and a worker."""


def call(server, body=ECHO, **headers):
    return server.client.post("/tools/call", json=body, headers=headers)


class Team:
    """Two servers and a worker, whose URL names a primary and its standby."""

    def __init__(self, root, stack):
        self.primary = stack.enter_context(PostgresCluster())
        self.standby = stack.enter_context(PostgresCluster(primary=self.primary))
        self.primary.wait_for_commits()
        url = url_of(self.primary, self.standby)
        migrate(url)
        self.installation = Installation(ClusterUrls(url))
        stack.callback(self.installation.close)
        known, changed = self.installation.create_workspace(), self.installation.create_workspace()
        fields = {"installation": self.installation, "workspace": known}
        self.servers = [stack.enter_context(HostedProcess(root / name, **fields)) for name in "ab"]
        self.changed = [stack.enter_context(WorkspaceView(server, changed)) for server in self.servers]
        stack.enter_context(WorkerProcess(root / "worker", self.installation))
        self.acknowledged, self.refusals = [], []
        for server in (*self.servers, *self.changed):
            assert call(server).status_code == 200

    def change(self, server):
        slug = new_slug()
        response = server.put_bundle(slug=slug)
        if response.status_code == 201:
            self.acknowledged.append(slug)
        else:
            self.refusals.append(response)
        return response

    def run_job(self):
        """Run a job, which is queued at one server and read at the other one."""
        response = call(self.servers[0], **ASYNC)
        assert response.status_code == 202
        path = response.headers["location"].removeprefix(self.servers[0].path)
        job = self.servers[1].client.get(path, headers={"Prefer": "wait=30"}).json()
        while job["status"] in ("queued", "running"):
            job = self.servers[1].client.get(path, headers={"Prefer": "wait=30"}).json()
        return job["status"]


@pytest.fixture
def team(tmp_path):
    with ExitStack() as stack:
        yield Team(tmp_path, stack)


def test_promoted_standby_is_used_and_the_old_primary_is_not(team, size):
    """Known calls never fail, changes are refused for the moment, and no acknowledged change is lost."""
    known = [lambda server=server: call(server) for server in team.servers]
    unknown = [lambda server=server: call(server, UNKNOWN) for server in team.changed]
    changes = [lambda server=server: team.change(server) for server in team.changed]
    with RequestLoad(*known) as calls, RequestLoad(*unknown) as lookups, RequestLoad(*changes):
        assert wait_until(lambda: len(team.acknowledged) > 5)
        lookups.wait_for(2)
        team.primary.kill()
        assert wait_until(lambda: team.refusals)
        calls.wait_for(size(100, 5_000))
        team.standby.promote()
        before = len(team.acknowledged)
        assert wait_until(lambda: len(team.acknowledged) > before)
        assert wait_until(lambda: all(call(server, UNKNOWN).status_code == 404 for server in team.changed))
        assert wait_until(lambda: team.standby.select(LISTENING) == PROCESSES)
        assert team.run_job() == "succeeded"
    assert set(calls.statuses) == {200}
    assert set(lookups.statuses) <= {404, 503}
    assert {response.status_code for response in team.refusals} == {503}
    assert all(int(response.headers["retry-after"]) > 0 for response in team.refusals)
    for comes_back in (team.primary.start_as_standby, team.primary.start):
        check_old_primary_is_not_used(team, comes_back)
    bundles = team.changed[0].list_all("/tools/bundles", includeDisabled="true")
    assert set(team.acknowledged) <= {bundle["slug"] for bundle in bundles}


def check_old_primary_is_not_used(team, comes_back):
    """It comes back read-only, or accepts changes by mistake. All connections are opened again then."""
    comes_back()
    stored, before = team.primary.select(STORED), len(team.acknowledged)
    team.standby.execute(TERMINATE)
    assert wait_until(lambda: team.standby.select(LISTENING) == PROCESSES)
    for server in team.changed:
        assert wait_until(lambda server=server: team.change(server).status_code == 201)
    assert team.run_job() == "succeeded"
    assert len(team.acknowledged) > before
    assert team.primary.select(STORED) == stored
    team.primary.kill()


def test_connection_to_a_standby_or_an_earlier_primary_is_refused():
    with PostgresCluster() as primary, PostgresCluster(primary=primary) as standby:
        migrate(url_of(standby, primary))
        check_migrated(url_of(standby, primary))
        database = Database(primary.url)
        with ExitStack() as stack:
            stack.callback(database.close)
            with database.transaction() as cursor:
                cursor.execute("select 1")
            with psycopg.connect(standby.url) as connection, pytest.raises(psycopg.Error, match="recovery"):
                database.check_primary(connection)
            standby.promote()
            with psycopg.connect(standby.url) as connection:
                database.check_primary(connection)
            with psycopg.connect(primary.url) as connection, pytest.raises(psycopg.Error, match="timeline 1"):
                database.check_primary(connection)
            moves = InterruptedMoves({HOME: primary.url}, Clusters(database))
            with pytest.raises(StoreUnavailable):  # it does not know which moves are in progress
                moves.end(HOME)
