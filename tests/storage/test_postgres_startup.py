"""A process that starts waits for its database, unless waiting is useless."""

import asyncio

import psycopg
import pytest

from onetool.domain.errors import SettingsError, StoreUnavailable
from onetool.storage.postgres import startup
from onetool.storage.postgres.startup import wait_for_database
from support.postgres_cluster import PostgresCluster
from support.waiting import HANG_S

STARTING = """Cannot use the database: connection failed: Multiple connection attempts failed.
- host: 'a': connection failed: connection to server at "10.0.0.1", port 5432 failed: FATAL:  no such user
- host: 'b': connection failed: connection to server at "10.0.0.2", port 5432 failed: FATAL:  \
the database system is not yet accepting connections"""


async def test_process_starts_when_its_database_has_started(threads, caplog):
    with PostgresCluster() as cluster:
        cluster.kill()
        waiting = asyncio.create_task(wait_for_database(cluster.url, threads))
        while not caplog.messages:
            await asyncio.sleep(0.05)
        await asyncio.to_thread(cluster.start)
        await asyncio.wait_for(waiting, HANG_S)
    assert len(caplog.messages) == 1
    assert "Connection refused" in caplog.text
    assert "trying again for 60 s: Cannot use the database" in caplog.text


async def test_database_that_stays_away_is_reported_in_the_end(threads, monkeypatch):
    monkeypatch.setattr(startup, "START_WAIT_S", 0.1)
    with pytest.raises(StoreUnavailable, match="Connection refused"):
        await wait_for_database("postgresql://127.0.0.1:1/x", threads)


async def test_unknown_database_and_invalid_urls_are_reported_at_once(threads, postgres_url, caplog):
    unknown = psycopg.conninfo.make_conninfo(postgres_url, dbname="no_such_database")
    with pytest.raises(StoreUnavailable, match="no_such_database"):
        await wait_for_database(unknown, threads)
    with pytest.raises(SettingsError):
        await wait_for_database("postgresql://x:y z@[", threads)
    assert not caplog.messages


def test_one_server_of_several_that_starts_is_waited_for():
    assert not startup.is_refused(STARTING)
    assert startup.is_refused(STARTING.rpartition("\n")[0])
