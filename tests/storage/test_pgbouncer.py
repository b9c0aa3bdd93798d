"""Transactions behind a PgBouncer in transaction mode: each may have another connection."""

import threading
from contextlib import ExitStack, contextmanager
from functools import partial
from uuid import uuid4

import psycopg
import pytest

from onetool.domain.errors import WorkspaceUnavailable
from onetool.storage.postgres import database as database_module
from onetool.storage.postgres.database import SETTINGS, Database
from onetool.storage.postgres.directory import Workspace
from onetool.storage.postgres.notices import ChangeNotices
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from support.pgbouncer import SERVER_CONNECTIONS, PgBouncer
from support.postgres import execute, new_workspace
from support.processes import wait_until
from support.waiting import HANG_S

CLIENTS = 6
STATE = """
select current_user, current_setting('onetool.workspace', true), current_setting('search_path'),
    current_setting('plan_cache_mode'), current_setting('enable_seqscan'), current_setting('jit'),
    current_setting('max_parallel_workers_per_gather'), current_setting('lock_timeout'),
    current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')
"""
PIDS = "select pg_backend_pid()"


@contextmanager
def opened(url, **options):
    database = Database(url, **options)
    try:
        yield database
    finally:
        database.close()


@pytest.fixture
def pooled(pgbouncer):
    with opened(pgbouncer.url) as database:
        yield database


@pytest.fixture
def login(postgres_url):
    """Return the name of a new login that row-level security does not apply to."""
    name = f"onetool_test_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"create role {name} login bypassrls")
        connection.execute(f"grant usage on schema onetool, home to {name}")
        connection.execute(f"grant select on all tables in schema onetool to {name}")
        yield name
        connection.execute(f"drop owned by {name}")
        connection.execute(f"drop role {name}")


def state(cursor):
    return cursor.execute(STATE).fetchone()


def run_threads(functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def on_all_connections(url, statement):
    """Execute a statement on every connection of the pooler to the database, outside of transactions."""
    barrier, pids = threading.Barrier(SERVER_CONNECTIONS), set()

    def run():
        with psycopg.connect(url, prepare_threshold=None) as client:
            pids.add(client.execute(PIDS).fetchone())
            barrier.wait(HANG_S)
            client.execute(statement)

    run_threads([run] * SERVER_CONNECTIONS)
    assert len(pids) == SERVER_CONNECTIONS


def test_transactions_of_many_clients_share_few_connections(pgbouncer, postgres_url):
    """Each has its own workspace, its role and all settings, and leaves nothing behind."""
    with psycopg.connect(postgres_url) as connection:
        connection.execute(SETTINGS.encode())
        expected = state(connection)
    before = plain_state(pgbouncer)
    found, pids = [], set()
    with ExitStack() as stack:

        def use(workspace):
            for _ in range(20):
                for begin in (workspace.reading, workspace.writing, workspace.recording):
                    with begin() as cursor:
                        found.append((str(workspace.workspace), state(cursor)))
                        pids.add(cursor.execute(PIDS).fetchone())

        databases = [stack.enter_context(opened(pgbouncer.url)) for _ in range(2)]
        workspaces = [new_workspace(databases[n % 2], postgres_url) for n in range(CLIENTS)]
        run_threads([partial(use, workspace) for workspace in workspaces])
    assert len(found) == CLIENTS * 60
    assert len(pids) <= SERVER_CONNECTIONS
    for workspace, seen in found:
        assert seen == (expected[0], workspace, *expected[2:])
    assert plain_state(pgbouncer) == before


def plain_state(pgbouncer):
    with psycopg.connect(pgbouncer.url, prepare_threshold=None) as client:
        user, workspace, *settings = state(client)
    return user, workspace or "", *settings


@pytest.mark.parametrize("left", ["reset role", "set role onetool_owner", "set search_path = queue"])
def test_what_another_client_has_left_on_a_connection_does_not_matter(pgbouncer, pooled, postgres_url, left):
    workspace, other = (new_workspace(pooled, postgres_url) for _ in range(2))
    on_all_connections(pgbouncer.url, left)
    with workspace.reading() as cursor:
        assert state(cursor)[0] == "onetool_app"
        cursor.execute("select workspace_id from workspace_state")
        assert cursor.fetchall() == [(workspace.workspace,)]
        cursor.execute("select * from workspace_state where workspace_id = %s", (other.workspace,))
        assert cursor.fetchall() == []


def test_login_that_could_see_all_rows_sees_those_of_its_transaction(postgres_url, login):
    """Without a workspace it sees none."""
    execute(postgres_url, f"grant onetool_app to {login}")
    with PgBouncer(postgres_url, login) as pooler:
        url = psycopg.conninfo.make_conninfo(pooler.url, user=login)
        with opened(url) as database:
            workspace = new_workspace(database, postgres_url)
            assert execute(url, "select count(*) from onetool.workspace_state")[0][0] > 0
            with workspace.reading() as cursor:
                cursor.execute("select workspace_id from workspace_state")
                assert cursor.fetchall() == [(workspace.workspace,)]
            with pytest.raises(psycopg.Error), database.transaction() as cursor:
                cursor.execute("select * from workspace_state")


def test_login_that_cannot_take_the_role_reads_nothing(postgres_url, login):
    """It could see all rows, but a transaction without the role does not begin."""
    with ExitStack() as stack:
        pooler = stack.enter_context(PgBouncer(postgres_url, login))
        url = psycopg.conninfo.make_conninfo(pooler.url, user=login)
        database = stack.enter_context(opened(url))
        workspace = WorkspaceDatabase(database, uuid4())
        for begin in (database.transaction, workspace.reading, workspace.writing, workspace.recording):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), begin():
                pytest.fail("the transaction has begun")


def test_restart_of_the_pooler_fails_one_transaction(pgbouncer, pooled):
    """The other idle connections are lost too, and are replaced then."""
    barrier = threading.Barrier(SERVER_CONNECTIONS)

    def use():
        with pooled.transaction():
            barrier.wait(HANG_S)

    run_threads([use] * SERVER_CONNECTIONS)
    pgbouncer.restart()
    with pytest.raises(psycopg.OperationalError), pooled.transaction():
        pass
    for _ in range(8):
        with pooled.transaction() as cursor:
            assert state(cursor)[0] == "onetool_app"


def test_transactions_fail_at_once_while_the_pooler_is_away(pgbouncer, postgres_url, monkeypatch):
    """The connection to listen on is not affected. When the pooler is back, all goes on."""
    monkeypatch.setattr(database_module, "RECONNECT_S", 0.2)
    with opened(pgbouncer.url, wait_s=1.0) as database:
        workspace = new_workspace(database, postgres_url)
        notices = ChangeNotices(postgres_url, database)
        notices.workspace(Workspace(workspace.workspace, "slug", "name"))
        notices.start()
        try:
            assert notices.is_listening.wait(HANG_S)
            pgbouncer.kill()

            def is_away():
                with pytest.raises((psycopg.Error, WorkspaceUnavailable)), workspace.reading():
                    pass
                return database.is_away

            assert wait_until(is_away)
            with pytest.raises(WorkspaceUnavailable, match="away"), workspace.reading():
                pass
            assert notices.is_listening.is_set()
            pgbouncer.start()
            assert wait_until(lambda: not database.is_away)
            with workspace.reading() as cursor:
                assert state(cursor)[0] == "onetool_app"
        finally:
            notices.stop()
