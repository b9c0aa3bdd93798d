"""Transactions of workspaces in PostgreSQL: rows are separate, and the application has a limited role."""

import asyncio
import threading
import time
from contextlib import closing
from uuid import uuid4

import psycopg
import pytest

from onetool.domain.errors import StoreUnavailable, WorkspaceReadOnly
from onetool.storage.postgres.database import Database, on_thread
from onetool.storage.postgres.migrate import migrate, migrations
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.settings import PostgresSettings
from onetool.storage.postgres.workspace_database import Revisions, WorkspaceDatabase
from onetool.threads import Threads
from support.postgres import RING, execute, set_fenced, waits_for_lock
from support.waiting import HANG_S, until


def test_functions_with_the_rights_of_their_owner_look_for_temporary_tables_last(postgres_url):
    """Otherwise a temporary table, which anyone may create, takes the place of one of ours."""
    found = execute(
        postgres_url,
        "select proname, proconfig from pg_proc where prosecdef and pronamespace in"
        " (select oid from pg_namespace where nspname in ('onetool', 'home', 'queue', 'public'))",
    )
    assert len(found) >= 7
    for name, settings in found:
        assert any(each.startswith("search_path=") and each.endswith(", pg_temp") for each in settings), name


def test_changed_migration_is_refused(postgres_url):
    first = migrations()[0]
    change = "update public.onetool_migrations set checksum = %s where number = 1"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(change, ("",))
        try:
            with pytest.raises(StoreUnavailable, match="another text"):
                migrate(postgres_url)
        finally:
            connection.execute(change, (first.checksum,))


def test_every_table_of_workspaces_is_protected(postgres_url):
    """Its primary key begins with the workspace, and row-level security is forced, for the owner too."""
    tables = execute(
        postgres_url,
        "select relname, relrowsecurity and relforcerowsecurity,"
        " (select attname from pg_attribute, pg_index where indrelid = pg_class.oid and indisprimary"
        "  and attrelid = indrelid and attnum = indkey[0])"
        " from pg_class where relnamespace = 'onetool'::regnamespace and relkind in ('r', 'p')",
    )
    assert [table for table in tables if table[1:] != (True, "workspace_id")] == []
    assert "workspace_state" in {table[0] for table in tables}


@pytest.mark.parametrize(
    "statement",
    [
        "create table onetool.mine (id int)",
        "update home.workspaces set slug = slug",
        "call onetool.protect('onetool.workspace_state')",
    ],
)
def test_application_cannot(workspace, statement):
    with pytest.raises(psycopg.errors.InsufficientPrivilege), workspace.reading() as cursor:
        cursor.execute(statement)


def test_transaction_without_a_workspace_sees_no_rows(postgres, workspace):
    """Also on a connection that was in a workspace before."""
    with workspace.reading():
        pass
    with pytest.raises(psycopg.Error), postgres.transaction() as cursor:
        cursor.execute("select * from workspace_state")


def test_generation_changes_with_each_change(workspace):
    before = workspace.generation
    with workspace.writing():
        pass
    assert workspace.generation == before + 1
    with pytest.raises(RuntimeError), workspace.writing():
        raise RuntimeError
    with workspace.recording():
        pass
    assert workspace.generation == before + 1


def test_number_of_a_change_that_was_undone_belongs_to_another_process(workspace):
    def fail():
        with workspace.writing():
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    workspace.note(Revisions(1))
    assert workspace.generation == 1


def test_own_change_is_known_when_it_is_announced(workspace):
    with workspace.writing("settings"):
        pass
    before = workspace.generation, workspace.settings_changes
    workspace.note(Revisions(1, 1, 0))
    assert (workspace.generation, workspace.settings_changes) == before == (1, 1)


def test_own_change_does_not_hide_the_one_before_it(workspace, postgres):
    """The settings were changed elsewhere, and that is announced after a later change here."""
    other = WorkspaceDatabase(postgres, workspace.workspace)
    with other.writing("settings"):
        pass
    with workspace.writing():
        pass
    workspace.note(Revisions(1, 1, 0))
    assert (workspace.generation, workspace.settings_changes) == (1, 1)


def test_announcement_that_is_older_than_what_is_known_is_no_news(workspace):
    for revision in (2, 1, 2):
        workspace.note(Revisions(revision))
    assert workspace.generation == 1


class Store:
    """A store whose methods are those of a test."""

    _threads = Threads()

    @on_thread
    def read(self, workspace, query):
        with workspace.reading() as cursor:
            cursor.execute(query)

    @on_thread
    def change(self, workspace, action=lambda: None):
        with workspace.writing():
            action()


async def test_failures_of_the_database_are_store_errors(postgres, postgres_url, workspace):
    with pytest.raises(StoreUnavailable, match="DivisionByZero"):
        await Store().read(workspace, "select 1 / 0")
    set_fenced(postgres_url, workspace.workspace)
    for unusable in (workspace, WorkspaceDatabase(postgres, uuid4())):
        with pytest.raises(WorkspaceReadOnly):
            await Store().change(unusable)


async def test_process_that_hangs_during_a_change_does_not_stop_the_changes_of_others(
    workspace, postgres, postgres_url
):
    """Its transactions end before theirs have waited for so long that they fail.

    A second one, which waits for the first, gets the lock before the others.
    """
    began, goes_on = threading.Event(), threading.Event()

    def hang():
        began.set()
        goes_on.wait(HANG_S)

    def change(action=lambda: None):
        return Store().change(WorkspaceDatabase(postgres, workspace.workspace), action)

    hanging = [asyncio.create_task(change(hang))]
    await until(began.is_set)
    hanging.append(asyncio.create_task(change(hang)))
    await until(lambda: waits_for_lock(postgres_url))
    try:
        await asyncio.gather(change(), change())
    finally:
        goes_on.set()
    for outcome in await asyncio.gather(*hanging, return_exceptions=True):
        assert isinstance(outcome, StoreUnavailable)


async def test_database_that_was_away_is_available_only_since_its_return(postgres_url):
    """Processes renew their leases then: a job without a renewed lease is not lost at once."""
    with closing(Database(postgres_url)) as database:

        def fail(connection):
            raise psycopg.OperationalError("away")

        await until(lambda: database.available_s > 0.5)
        with pytest.raises(psycopg.OperationalError):
            database.try_connection(fail, HANG_S, HANG_S)
        assert database.available_s == 0.0
        before = time.monotonic()
        database.note_return()
        assert database.available_s <= time.monotonic() - before


@pytest.fixture
def away():
    database = Database("postgresql://onetool@127.0.0.1:1/nothing", wait_s=0.2)
    yield WorkspaceDatabase(database, uuid4())
    database.close()


async def test_server_that_is_away_is_reported(away):
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await asyncio.wait_for(Store().read(away, "select 1"), 30)


def test_configuration_that_cannot_be_read_is_an_error_of_the_store(away, threads):
    """Also for those who read it on a thread of their own."""
    for store in (PostgresSettings(away, threads), PostgresSecrets(away, threads, Sealer(away, RING))):
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            store.read()
