"""Jobs in PostgreSQL: leases of processes, and jobs of processes that ended."""

import asyncio
import json
import secrets

import pytest

from onetool.domain.calls.question import CANCELLED
from onetool.domain.errors import StoreUnavailable
from onetool.domain.jobs.job import Job
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.threads import Threads
from support.postgres import set_fenced, waits_for_lock
from support.waiting import HANG_S, until

FAR_FUTURE = 1e12
SHORT_LEASE_S = 0.6


@pytest.fixture
async def opened(workspace, clock):
    """Return a function that opens a store as another process would."""
    stores = []

    def open_store(**options):
        stores.append(PostgresJobs(workspace, Threads(), now=clock, **options))
        return stores[-1]

    yield open_store
    for store in stores:
        await store.aclose()


async def put(store, **fields):
    job = Job(secrets.token_hex(16), "ann", "demo.tool", "d", store.owner, 5.0)._replace(**fields)
    await store.put(job)
    return job


def owners(workspace):
    """Return the ends of the leases of all owners."""
    with workspace.reading() as cursor:
        return dict(cursor.execute("select owner, lease_until from job_owners").fetchall())


async def until_ended(store, owner):
    async with asyncio.timeout(HANG_S):
        while await store.is_alive(owner):
            await asyncio.sleep(0.02)


async def test_lease_is_renewed_until_the_store_is_closed(opened, workspace):
    store, tasks = opened(lease_s=SHORT_LEASE_S), asyncio.all_tasks()
    await put(store)
    for _ in range(3):
        before = owners(workspace)[store.owner]
        await until(lambda before=before: owners(workspace)[store.owner] > before)
    await store.aclose()
    released = owners(workspace)[store.owner]
    assert not await store.is_alive(store.owner)
    assert asyncio.all_tasks() == tasks
    assert owners(workspace)[store.owner] == released


async def test_renewals_go_on_after_a_failure(opened, workspace, postgres_url, caplog):
    store = opened(lease_s=SHORT_LEASE_S)
    job = await put(store)
    set_fenced(postgres_url, workspace.workspace, True)
    await until(lambda: "cannot renew the lease" in caplog.text)
    set_fenced(postgres_url, workspace.workspace, False)
    before = owners(workspace)[store.owner]
    await until(lambda: owners(workspace)[store.owner] > before)
    assert await store.find(job.id) == job


async def test_lease_that_cannot_be_released_ends_by_itself(opened, workspace, postgres_url, caplog):
    store = opened(lease_s=SHORT_LEASE_S)
    await put(store)
    set_fenced(postgres_url, workspace.workspace, True)
    await store.aclose()
    assert "cannot release the lease" in caplog.text
    set_fenced(postgres_url, workspace.workspace, False)
    await until_ended(store, store.owner)


async def test_owner_that_lost_a_job_does_not_write_it(opened):
    first, second = opened(), opened()
    job = await put(first)
    await first.aclose()
    taken = await second.take_over(job.id, first.owner)
    with pytest.raises(StoreUnavailable, match="taken over"):
        await first.put(job._replace(status="failed"))
    assert await second.find(job.id) == taken == job._replace(owner=second.owner)


async def test_owner_that_comes_back_to_life_keeps_its_job(opened, workspace, postgres_url):
    """Its renewal and the attempt to take its job over wait for each other."""
    first, second = opened(), opened()
    job = await put(first)
    await first.aclose()
    renewal = "update job_owners set lease_until = clock_timestamp() + interval '1 hour' where owner = %s"
    with workspace.recording() as cursor:
        cursor.execute(renewal, (first.owner,))
        attempt = asyncio.create_task(second.take_over(job.id, first.owner))
        await until(lambda: waits_for_lock(postgres_url))
    assert await attempt is None
    assert await second.find(job.id) == job


async def test_reaps_and_answers_at_the_same_time_do_not_fail(opened):
    stores = [opened() for _ in range(6)]
    jobs = [await put(stores[0], status="succeeded", ended_at=1.0) for _ in range(20)]
    await asyncio.gather(
        *(store.reap(2.0) for store in stores),
        *(stores[0].answer(job.id, "q1", CANCELLED) for job in jobs),
    )
    await stores[0].reap(2.0)
    assert list(await stores[0].list("ann")) == []


async def test_job_with_fields_of_another_version_is_unknown_and_deleted_when_it_is_old(opened, workspace):
    store = opened()
    good, bad = await put(store), await put(store, status="succeeded", ended_at=6.0)
    body = json.dumps(bad.to_json() | {"unknown": 1})
    with workspace.recording() as cursor:
        cursor.execute("update jobs set body = %s where id = %s", (body, bad.id))
    assert await store.find(bad.id) is None
    assert list(await store.list("ann")) == [good]
    await store.reap(FAR_FUTURE)
    with workspace.reading() as cursor:
        assert cursor.execute("select id from jobs").fetchall() == [(good.id,)]


@pytest.mark.parametrize("character", ["\0", "\ud800"], ids=ascii)
async def test_principal_that_the_database_refuses_sees_no_jobs(opened, character):
    """Nor does the principal whose name is stored in its place."""
    store = opened()
    job = await put(store, principal=f"ann{character}")
    assert await store.find(job.id) == job
    assert list(await store.list(f"ann{character}")) == list(await store.list("ann\ufffd")) == []
