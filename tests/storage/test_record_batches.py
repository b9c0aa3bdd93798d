"""Records of many workspaces share transactions, and no workspace holds up or loses those of others."""

import asyncio
import threading
from contextlib import contextmanager

import psycopg
import pytest

from onetool.domain.activity.record import ActivityFilter
from onetool.domain.errors import WorkspaceReadOnly, WorkspaceUnavailable
from onetool.storage.postgres import record_batches
from onetool.storage.postgres.activity import PostgresActivity
from onetool.storage.postgres.record_batches import RecordBatches
from support.activity import add, record
from support.postgres import new_workspace, set_fenced
from support.waiting import HANG_S

NOW = 1_794_700_000.0
ALL = ActivityFilter()
COUNT = 8


@pytest.fixture
def workspaces(postgres, postgres_url):
    """Several workspaces of one process."""
    return [new_workspace(postgres, postgres_url) for _ in range(COUNT)]


@pytest.fixture
def stores(workspaces, threads):
    return [PostgresActivity(workspace, threads) for workspace in workspaces]


async def ids(store):
    return [item.id for item in (await store.page(ALL, None, 100)).items]


async def test_batches_that_wait_share_a_transaction(postgres, stores, monkeypatch):
    """While the first is written, all others come, and are written together."""
    opened, others_wait = [], threading.Event()
    original = postgres.transaction

    @contextmanager
    def transaction(first):
        opened.append(1)
        if len(opened) == 1:
            others_wait.wait(HANG_S)
        with original(first) as cursor:
            yield cursor

    batches = RecordBatches(transaction)
    monkeypatch.setattr(postgres, "records", batches)
    writes = [asyncio.create_task(add(store, record("a.b", NOW, id="1"))) for store in stores]
    async with asyncio.timeout(HANG_S):
        while batches.waiting < COUNT - 1:
            await asyncio.sleep(0.01)
    others_wait.set()
    await asyncio.gather(*writes)
    assert len(opened) == 2
    assert [await ids(store) for store in stores] == [["1"]] * COUNT


async def test_a_workspace_that_is_locked_does_not_hold_up_others(postgres_url, workspaces, stores):
    slow, *others = stores
    with psycopg.connect(postgres_url) as connection:
        connection.execute(
            "select from onetool.workspace_state where workspace_id = %s for update",
            (workspaces[0].workspace,),
        )
        waiting = asyncio.create_task(add(slow, record("a.b", NOW, id="slow")))
        await asyncio.gather(*(add(store, record("a.b", NOW, id="1")) for store in others))
        assert [await ids(store) for store in others] == [["1"]] * len(others)
        assert not waiting.done()
    await waiting
    assert await ids(slow) == ["slow"]


async def test_a_read_only_workspace_fails_alone(postgres_url, workspaces, stores):
    _, *others = stores
    set_fenced(postgres_url, workspaces[0].workspace)
    results = await asyncio.gather(
        *(add(store, record("a.b", NOW, id="1")) for store in stores), return_exceptions=True
    )
    assert isinstance(results[0], WorkspaceReadOnly)
    assert results[1:] == [None] * len(others)
    assert [await ids(store) for store in others] == [["1"]] * len(others)


async def test_batch_that_was_refused_is_not_written_later(stores, monkeypatch, postgres):
    """Its writer writes it again: it would be counted twice."""
    monkeypatch.setattr(record_batches, "MAX_BATCHES", 1)

    def transaction(first):
        raise WorkspaceUnavailable("The database is away.")

    batches = RecordBatches(transaction)
    monkeypatch.setattr(postgres, "records", batches)
    writes = (add(store, record("a.b", NOW, id="1")) for store in stores)
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert {type(result) for result in results} == {WorkspaceUnavailable}
    assert batches.waiting == 0


@pytest.mark.parametrize("error", [psycopg.OperationalError, psycopg.errors.ProtocolViolation])
async def test_batch_that_may_have_been_written_is_not_written_again(stores, monkeypatch, postgres, error):
    """The connection, or that of PgBouncer, is lost at the end of a shared transaction.

    Its writers look before they try again.
    """
    original, others_wait = postgres.transaction, threading.Event()

    @contextmanager
    def transaction(first):
        others_wait.wait(HANG_S)
        with original(first) as cursor:
            yield cursor
        raise error("the connection is lost")

    batches = RecordBatches(transaction)
    monkeypatch.setattr(postgres, "records", batches)
    writes = [asyncio.create_task(add(store, record("a.b", NOW, id="1"))) for store in stores]
    async with asyncio.timeout(HANG_S):
        while batches.waiting < COUNT - 1:
            await asyncio.sleep(0.01)
    others_wait.set()
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert {type(result) for result in results} == {WorkspaceUnavailable}
    assert [await ids(store) for store in stores] == [["1"]] * COUNT
