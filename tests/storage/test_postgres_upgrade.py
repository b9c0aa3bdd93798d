"""Which versions can work with a database, and migrations of tables that are in use."""

import threading

import psycopg
import pytest

from onetool.domain.errors import StoreUnavailable
from onetool.storage.postgres import short_locks
from onetool.storage.postgres.database import connect
from onetool.storage.postgres.migrate import check_migrated, migrate, migrations, pending_migrations
from onetool.storage.postgres.replicas import APPLICATION
from support.postgres import empty_database, execute, new_database, waits_for_lock
from support.processes import wait_until

ADD = "insert into public.onetool_migrations values (%s, %s, '', now(), %s)"
NEED = "update public.onetool_migrations set compatible_from = %s where number = 9999"
LAST = migrations()[-1]


def test_newer_database_is_accepted_if_its_migrations_say_so():
    message = rf"9999_later\.sql, with which .* its last one is {LAST.number:04}, and \d+ is needed"
    with new_database() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(ADD, (9998, "9998_adds.sql", LAST.number))
        connection.execute(ADD, (9999, "9999_later.sql", 1))
        check_migrated(url)
        assert migrate(url) == []
        for needed in (LAST.number + 1, None):
            connection.execute(NEED, (needed,))
            for check in (check_migrated, migrate, pending_migrations):
                with pytest.raises(StoreUnavailable, match=message):
                    check(url)


def test_older_database_is_refused_and_says_what_is_pending():
    with empty_database() as url:
        with pytest.raises(StoreUnavailable, match=r"lacks 0001_base\.sql\. Run: onetool migrate"):
            check_migrated(url)
        assert not next(iter(pending_migrations(url))).is_compatible
        migrate(url)
        assert pending_migrations(url) == []
        execute(url, "delete from public.onetool_migrations where number = %s", LAST.number)
        with pytest.raises(StoreUnavailable, match=f"lacks {LAST.name}"):
            check_migrated(url)
        assert [item.name for item in pending_migrations(url)] == [LAST.name]


def test_database_that_an_earlier_version_has_migrated_is_accepted():
    """It has not recorded with which versions its migrations are compatible."""
    with new_database() as url:
        execute(url, "alter table public.onetool_migrations drop column compatible_from")
        check_migrated(url)
        assert migrate(url) == []


def test_migration_that_servers_cannot_work_with_waits_until_they_are_stopped():
    """They would fail, or write what the new tables do not hold."""
    lack = "delete from public.onetool_migrations where number = 1"
    with new_database() as url:
        with psycopg.connect(url, application_name=APPLICATION), psycopg.connect(url) as connection:
            assert migrate(url) == []
            connection.execute(lack)
            connection.commit()
            with pytest.raises(
                StoreUnavailable, match=r"\(1\), and 0001_base\.sql changes what they need\. Stop"
            ):
                migrate(url)
        # Without them it is tried, and the tables are there already.
        with pytest.raises(StoreUnavailable, match="already exists"):
            migrate(url)


def test_compatibility_is_in_the_first_line():
    text = "-- compatible from 0016\nalter table onetool.tools add column later int;\n"
    assert LAST._replace(number=17, sql=text).compatible_from == 16
    assert LAST._replace(number=17, sql=text.upper()).compatible_from == 17


def test_change_of_a_table_in_use_lets_requests_pass_between_its_attempts():
    """A long transaction reads the table. Requests after the change must not wait for that transaction."""
    reported = []
    with new_database() as url, psycopg.connect(url) as long, connect(url, autocommit=True) as owner:
        long.execute("select count(*) from home.workspaces")

        def change():
            owner.execute("alter table home.workspaces add column later int")

        words = (owner, "9999_later.sql", change, reported.append)
        thread = threading.Thread(target=short_locks.with_short_locks, args=words)
        thread.start()
        with psycopg.connect(url, autocommit=True) as request:
            assert wait_until(lambda: waits_for_lock(url))
            request.execute("select count(*) from home.workspaces")
        long.rollback()
        thread.join()
        assert owner.execute("select count(later) from home.workspaces").fetchone() == (0,)
    assert set(reported) == {"9999_later.sql waits for other transactions"}


def test_change_of_a_table_that_stays_in_use_is_given_up(monkeypatch):
    monkeypatch.setattr(short_locks, "ATTEMPTS", 1)
    with new_database() as url, psycopg.connect(url) as long, psycopg.connect(url, autocommit=True) as owner:
        long.execute("select count(*) from home.workspaces")
        with pytest.raises(StoreUnavailable, match=r"9999_later\.sql was not applied.*onetool migrate"):
            short_locks.with_short_locks(
                owner, "9999_later.sql", lambda: owner.execute("drop table home.workspaces"), print
            )
