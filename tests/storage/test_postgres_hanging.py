"""A database that hangs: its connections stay open, and nothing arrives."""

import asyncio
from contextlib import ExitStack

import psycopg
import pytest

from onetool.domain.errors import StoreUnavailable, WorkspaceUnavailable
from onetool.storage.postgres import moves, notices, timed_connection
from onetool.storage.postgres.cluster_admin import ClusterAdmin
from onetool.storage.postgres.clusters import HOME
from onetool.storage.postgres.database import Database, connect, on_thread
from onetool.storage.postgres.directory import Workspace
from onetool.storage.postgres.migrate import migrate
from onetool.storage.postgres.moves import WorkspaceMoves
from onetool.storage.postgres.notices import ChangeNotices
from onetool.storage.postgres.queue_worker import QueueWorker
from onetool.storage.postgres.workspace_database import Revisions, WorkspaceDatabase
from onetool.threads import Threads
from support.postgres import new_database, new_workspace
from support.postgres_cluster import PostgresCluster, url_of
from support.two_clusters import WEST, TwoClusters
from support.waiting import HANG_S, until

COUNT = "select count(*) from onetool.workspace_state"
CAN_LISTEN = "select rolcanlogin from pg_roles where rolname = 'listener'"
WAITING_FOR_STANDBY = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"


@pytest.fixture(scope="module")
def cluster():
    with PostgresCluster() as cluster:
        migrate(cluster.url)
        yield cluster


@pytest.fixture
def database(cluster):
    database = Database(cluster.url)
    yield database
    cluster.thaw()
    database.close()


class Store:
    _threads = Threads()

    def __init__(self, workspace):
        self._workspace = workspace

    @on_thread
    def change(self):
        with self._workspace.writing() as cursor:
            return cursor.execute("select 1").fetchone()


async def test_request_to_a_database_that_hangs_ends(cluster, database, monkeypatch):
    store = Store(new_workspace(database, cluster.url))
    assert await store.change() == (1,)
    cluster.freeze()
    monkeypatch.setattr(timed_connection, "ANSWER_S", 0.5)
    with pytest.raises(StoreUnavailable, match="does not respond"):
        await asyncio.wait_for(store.change(), HANG_S)
    monkeypatch.undo()
    cluster.thaw()
    assert await store.change() == (1,)


async def test_database_that_hangs_is_away_until_it_responds(cluster, database, monkeypatch):
    monkeypatch.setattr(notices, "ANSWER_S", 2.0)
    store, changes = Store(new_workspace(database, cluster.url)), ChangeNotices(cluster.url, database)
    assert await store.change() == (1,)
    changes.start()
    try:
        await until(changes.is_listening.is_set)
        cluster.freeze()
        await until(lambda: database.is_away)
        with pytest.raises(StoreUnavailable, match="away"):
            await store.change()
        monkeypatch.undo()
        cluster.thaw()
        await until(lambda: not database.is_away)
        assert await store.change() == (1,)
    finally:
        cluster.thaw()
        await asyncio.wait_for(asyncio.to_thread(changes.stop), HANG_S)


async def test_return_of_a_database_does_not_wait_for_connections_to_a_server_that_hangs(cluster, database):
    """They are those to a primary whose standby was promoted: each would be waited for."""
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(database.transaction())
    cluster.freeze()
    await asyncio.wait_for(asyncio.to_thread(database.note_return), timed_connection.ANSWER_S / 2)
    cluster.thaw()
    with database.transaction() as cursor:
        assert cursor.execute("select 1").fetchone() == (1,)


def test_administration_of_a_database_that_hangs_ends(cluster, database):
    with pytest.raises(WorkspaceUnavailable), connect(cluster.url, answer_s=0.5) as connection:  # noqa: PT012
        cluster.freeze()
        connection.execute("select 1")


def test_move_to_a_cluster_that_hangs_is_undone(monkeypatch):
    """The workspace is not read-only for as long as the cluster hangs."""
    with new_database() as home, PostgresCluster() as west:
        migrate(west.url)
        urls = {HOME: home, WEST: west.url}
        ClusterAdmin(urls).add(WEST)
        two = TwoClusters(home, west.url)
        workspace = two.new_workspace()
        rows = two.rows(workspace)

        def report(line):
            if line == "The workspace is read-only.":
                monkeypatch.setattr(moves, "ANSWER_S", 30.0)  # of the connection that undoes it
                west.freeze()

        monkeypatch.setattr(moves, "ANSWER_S", 3.0)
        with pytest.raises(StoreUnavailable, match="has not responded"):
            WorkspaceMoves(urls, report).move(workspace.slug, WEST)
        with rows.writing() as cursor:
            assert cursor.execute("select fenced from workspace_state").fetchall() == [(False,)]
        west.thaw()
        two.close()


async def test_commits_that_wait_for_a_standby_do_not_stay_at_the_server(monkeypatch):
    """Each attempt would occupy a connection there, until there are none."""
    monkeypatch.setattr(timed_connection, "ANSWER_S", 1.0)
    with PostgresCluster() as cluster:
        migrate(cluster.url)
        database = Database(cluster.url)
        store = Store(new_workspace(database, cluster.url))
        cluster.execute("alter system set synchronous_standby_names = 'nobody'")
        cluster.execute("select pg_reload_conf()")
        try:
            for _ in range(2):
                with pytest.raises(StoreUnavailable, match="does not respond"):
                    await store.change()
            await until(lambda: cluster.select(WAITING_FOR_STANDBY) == 0)
        finally:
            database.close()


async def test_queue_of_a_database_that_hangs_ends(monkeypatch):
    """A worker that is told to end does so, and one whose standby was promoted continues there."""
    monkeypatch.setattr(timed_connection, "ANSWER_S", 2.0)
    with PostgresCluster() as cluster:
        migrate(cluster.url)
        queue = QueueWorker(cluster.url, run_no_call, {}, stalled_s=30)
        running = asyncio.create_task(queue.run())
        await until(lambda: cluster.select("select count(*) from queue.procrastinate_workers") == 2)
        cluster.freeze()
        running.cancel()
        await asyncio.wait([running], timeout=HANG_S)
        assert running.done()


async def run_no_call(workspace, job):
    raise AssertionError("There are no jobs.")


@pytest.mark.parametrize("can_listen", [True, False])
async def test_changes_that_a_promotion_has_lost_do_not_hide_those_after_it(can_listen):
    """Their numbers are used again: a revoked key would go on being accepted.

    After a promotion there may be too many connections, and none to listen on. Then processes only poll.
    """
    with PostgresCluster() as primary:
        migrate(primary.url)
        primary.execute("create role listener superuser login")
        with PostgresCluster(primary=primary) as standby:
            url = url_of(primary, standby)
            database = Database(url)
            notices = ChangeNotices(psycopg.conninfo.make_conninfo(url, user="listener"), database)
            created = new_workspace(database, primary.url).workspace
            rows = notices.workspace(Workspace(created, "team", "Team"))
            other = Store(WorkspaceDatabase(database, created))
            notices.start()
            try:
                await until(notices.is_listening.is_set)
                rows.note(Revisions(1_000, 1_000, 1_000))  # of changes that do not reach the standby
                known = rows.keys_changes
                if not can_listen:
                    primary.execute("alter role listener nologin")
                await until(lambda: standby.select(COUNT) == 1)
                await until(lambda: standby.select(CAN_LISTEN) == can_listen)
                primary.kill()
                await asyncio.to_thread(standby.promote)
                await until(lambda: rows.keys_changes > known)
                await until(lambda: notices.is_listening.is_set() >= can_listen and not database.is_away)
                known = rows.generation
                await other.change()
                await until(lambda: rows.generation > known)
            finally:
                await asyncio.to_thread(notices.stop)
                database.close()
