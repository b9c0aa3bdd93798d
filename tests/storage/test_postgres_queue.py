"""The tables of the queue of jobs: created once, extended by later versions of the package, and closed."""

import psycopg
import pytest

from onetool.domain.errors import StoreUnavailable
from onetool.storage.postgres.database import SETTINGS
from onetool.storage.postgres.migrate import check_migrated, migrate, pending_migrations
from onetool.storage.postgres.queue_schema import migration_files
from support.postgres import empty_database, execute, new_database

LAST_FILES = 2
FUNCTIONS = """
select proname, pg_get_function_identity_arguments(oid), prosrc from pg_proc
where pronamespace = 'queue'::regnamespace order by 1, 2
"""
COLUMNS = """
select relname, attname, format_type(atttypid, atttypmod), attnotnull from pg_attribute
join pg_class on attrelid = pg_class.oid
where relnamespace = 'queue'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped order by 1, 2
"""
ALL_NAMES = "select name from public.onetool_queue_migrations order by name"
DEFER = """
select procrastinate_defer_jobs_v1(
    array[row('calls', 'task', 0, null, null, '{}', null)::procrastinate_job_to_defer_v1])
"""
DENIED = [
    "select args from queue.procrastinate_jobs",
    "update queue.procrastinate_jobs set status = 'todo'",
    "delete from queue.procrastinate_jobs",
    "select * from queue.procrastinate_events",
    "select * from queue.procrastinate_fetch_job_v2(null, 1)",
    "create table queue.own (id int)",
    "select * from onetool.workspaces_with_lost_jobs()",
]


def test_migrate_creates_the_queue_once():
    with empty_database() as url:
        assert "the queue of jobs" in migrate(url)
        assert migrate(url) == []
        check_migrated(url)
        assert [name for (name,) in execute(url, ALL_NAMES)] == list(migration_files())


def test_migrations_that_a_newer_package_adds_are_applied_in_order():
    """All files one after the other create what the complete schema creates."""
    with new_database() as url, new_database() as fresh:
        files, reported = migration_files(), []
        last = list(files)[-LAST_FILES:]
        with psycopg.connect(url) as connection:
            connection.execute("set role onetool_owner")
            connection.execute("drop schema queue cascade")
            connection.execute("create schema queue")
            connection.commit()
            for name in list(files)[:-LAST_FILES]:
                connection.execute("set local search_path = queue")
                connection.execute(files[name].read_bytes())
                connection.commit()
            connection.execute("reset role")
            connection.execute("delete from public.onetool_queue_migrations where name = any(%s)", (last,))
        with pytest.raises(StoreUnavailable, match=f"lacks {last[0]}. Run: onetool migrate"):
            check_migrated(url)
        assert [item.name for item in pending_migrations(url)] == last[:1]
        assert migrate(url, reported.append) == last[:1]
        check_migrated(url)
        assert migrate(url, reported.append, is_last_step=True) == last[1:]
        assert reported == [f"Applying {name} of the queue" for name in last]
        check_migrated(url)
        with psycopg.connect(url) as migrated, psycopg.connect(fresh) as created:
            assert set(created.execute(FUNCTIONS)) <= set(migrated.execute(FUNCTIONS))
            assert migrated.execute(COLUMNS).fetchall() == created.execute(COLUMNS).fetchall()


def test_queue_of_a_newer_package_is_refused_unless_the_one_before_can_work_with_it():
    add = "insert into public.onetool_queue_migrations values (%s)"
    with new_database() as url:
        execute(url, add, "99.00.00_01_pre_new")
        check_migrated(url)
        assert migrate(url) == []
        execute(url, add, "99.00.00_50_post_new")
        for check in (check_migrated, migrate):
            with pytest.raises(StoreUnavailable, match=r"99.00.00_50_post_new, with which the installed pro"):
                check(url)


@pytest.mark.parametrize("statement", DENIED)
def test_application_can_only_add_to_the_queue(postgres_url, statement):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(SETTINGS.encode())
        connection.execute("set search_path = onetool, queue, public")
        assert connection.execute(DEFER).fetchone()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)


def test_worker_sees_rows_only_in_the_workspace_of_its_transaction(workspace, postgres_url):
    with psycopg.connect(postgres_url) as connection:
        connection.execute("set role onetool_worker")
        connection.execute("select count(*) from queue.procrastinate_jobs")
        connection.execute("select onetool.workspaces_with_lost_jobs()")
        connection.execute("select onetool.begin_read(%s)", (workspace.workspace,))
        rows = connection.execute("select workspace_id from onetool.workspace_state").fetchall()
        assert rows == [(workspace.workspace,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("create table onetool.own (id int)")
