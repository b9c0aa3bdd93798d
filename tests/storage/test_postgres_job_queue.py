"""Queued jobs in PostgreSQL: put once, claimed once, sealed, cancelled and lost."""

import asyncio
import secrets

import psycopg
import pytest

from onetool.domain.errors import ExecutionError, StoreUnavailable
from onetool.domain.jobs.job import KEY_RETENTION_S, Job
from onetool.domain.jobs.queued_call import QueuedCall
from onetool.runtime.job_ends import as_lost
from onetool.storage.postgres import job_queue, wake_ups
from onetool.storage.postgres.job_queue import LostJobs, PostgresJobQueue
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.threads import Threads
from support.postgres import execute

CALL = QueuedCall("demo.tool", {"text": "Zoë \ud800 \0", "n": 2**70}, can_ask=True, profile="p")
SHORT_LEASE_S = 0.3
WAKE_UPS = "select args from queue.procrastinate_jobs where args ->> 'workspace' = %s order by id"


@pytest.fixture
async def opened(workspace, sealer, clock):
    """Return a function that opens the store and the queue as another process would."""
    stores = []

    def open_queue(**options):
        store = PostgresJobs(workspace, Threads(), now=clock, **options)
        stores.append(store)
        return store, PostgresJobQueue(workspace, Threads(), sealer, store)

    yield open_queue
    for store in stores:
        await store.aclose()


def queued(key="", *, at=5.0, principal="ann", digest="d"):
    return Job(
        secrets.token_hex(16), principal, "demo.tool", digest, "", at, status="queued", idempotency_key=key
    )


def wake_up_rows(url, workspace):
    rows = execute(url, WAKE_UPS, str(workspace.workspace))
    return [args for (args,) in rows]


async def test_queued_job_is_stored_with_its_wake_up_call(opened, workspace, postgres_url):
    store, queue = opened()
    job = queued()
    assert await queue.put(job, CALL) == job
    assert await store.find(job.id) == job
    assert list(await store.list("ann")) == [job]
    assert wake_up_rows(postgres_url, workspace) == [{"workspace": str(workspace.workspace), "job": job.id}]


async def test_job_that_is_not_stored_wakes_no_worker(opened, workspace, postgres_url, monkeypatch):
    store, queue = opened()
    job = queued()
    await queue.put(job, CALL)
    with pytest.raises(StoreUnavailable):
        await queue.put(job, CALL)  # the id exists
    monkeypatch.setattr(wake_ups, "CALLS", "q" * 200)  # longer than the column
    other = queued()
    with pytest.raises(StoreUnavailable):
        await queue.put(other, CALL)
    assert await store.find(other.id) is None
    assert len(wake_up_rows(postgres_url, workspace)) == 1


async def test_call_is_sealed_until_it_is_claimed_and_deleted_then(opened, workspace):
    def request():
        with workspace.reading() as cursor:
            return cursor.execute("select request, body from jobs").fetchone()

    store, queue = opened()
    job = queued()
    call = CALL._replace(args=CALL.args | {"secret": "canary-text"})
    await queue.put(job, call)
    sealed, body = request()
    assert b"canary" not in sealed
    assert "canary" not in body
    claimed, found = await queue.claim(job.id)
    assert claimed == job._replace(status="running", owner=store.owner) == await store.find(job.id)
    assert found == call
    assert request()[0] is None


async def test_of_many_processes_one_claims_a_job(opened):
    processes = [opened() for _ in range(8)]
    job = queued()
    await processes[0][1].put(job, CALL)
    claims = await asyncio.gather(*(queue.claim(job.id) for _, queue in processes))
    (winner,) = [store for (store, _), claim in zip(processes, claims, strict=True) if claim]
    assert (await winner.find(job.id)).owner == winner.owner
    assert await winner.is_alive(winner.owner)
    assert await processes[0][1].claim(job.id) is None
    assert await processes[0][1].claim("../x") is None


async def test_one_key_at_the_same_time_is_one_job(opened, workspace, postgres_url, size):
    _, queue = opened()
    jobs = [queued("key") for _ in range(50)]
    found = await asyncio.gather(*(queue.put(job, CALL) for job in jobs))
    assert len({job.id for job in found}) == 1
    assert found[0] in jobs
    assert [args["job"] for args in wake_up_rows(postgres_url, workspace)] == [found[0].id]


async def test_key_stands_for_a_job_of_its_principal_for_a_day(opened):
    store, queue = opened()
    first, late = queued("key"), queued("key", at=5.0 + KEY_RETENTION_S)
    await queue.put(first, CALL)
    assert await queue.put(queued("key", at=4.0 + KEY_RETENTION_S), CALL) == first
    assert (await queue.put(queued("key", principal="bob"), CALL)).principal == "bob"
    assert await queue.put(late, CALL) == late
    assert await queue.put(queued("key", at=6.0 + KEY_RETENTION_S), CALL) == late
    assert await store.find(first.id) == first
    begun, _ = await queue.claim(late.id)
    assert await queue.put(queued("key", at=6.0 + KEY_RETENTION_S, digest="other"), CALL) == begun
    assert (await queue.put(queued(), CALL)) != (await queue.put(queued(), CALL))


async def test_too_many_queued_jobs_are_refused(opened, monkeypatch):
    monkeypatch.setattr(job_queue, "MAX_QUEUED_PER_PRINCIPAL", 2)
    _, queue = opened()
    first = queued()
    for job in (first, queued()):
        await queue.put(job, CALL)
    with pytest.raises(ExecutionError, match="2 jobs of 'ann' wait for a worker"):
        await queue.put(queued(), CALL)
    await queue.put(queued(principal="bob"), CALL)
    await queue.claim(first.id)
    await queue.put(queued(), CALL)


async def test_cancelled_queued_job_ends_at_once_and_is_never_claimed(opened, clock):
    store, queue = opened()
    job = queued()
    await queue.put(job, CALL)
    await store.cancel(job.id)
    ended = await store.find(job.id)
    assert (ended.status, ended.ended_at) == ("cancelled", clock())
    assert "before it began" in ended.error
    assert await queue.claim(job.id) is None


async def test_cancelled_running_job_is_left_to_its_owner(opened):
    store, queue = opened()
    job = queued()
    await queue.put(job, CALL)
    await queue.claim(job.id)
    await store.cancel(job.id)
    assert (await store.find(job.id)).status == "running"
    assert (await store.messages(job.id)).is_cancelled


async def test_jobs_without_an_owner_are_reaped(opened):
    """Queued ones by their age, because no worker has claimed them; ended ones by their end."""
    store, queue = opened()
    old, young, cancelled = queued(at=1.0), queued(at=9.0), queued(at=1.0)
    for job in (old, young, cancelled):
        await queue.put(job, CALL)
    await store.cancel(cancelled.id)  # at 1,000
    await store.reap(5.0)
    assert [await store.find(job.id) is None for job in (old, young, cancelled)] == [True, False, False]
    await store.reap(1_001.0)
    assert list(await store.list("ann")) == []


async def test_job_of_an_ended_process_is_lost_and_stays_so(opened, workspace):
    ended, ended_queue = opened(lease_s=SHORT_LEASE_S)
    _, other_queue = opened()
    job, alive, waiting = queued(), queued(), queued()
    for item in (job, alive, waiting):
        await ended_queue.put(item, CALL)
    claimed, _ = await ended_queue.claim(job.id)
    await other_queue.claim(alive.id)
    lost = LostJobs(workspace, Threads())
    await ended.aclose()
    assert await lost.end(lambda item: None) == [], "another process can continue it"
    assert await lost.end(lambda item: as_lost(item, 7.0)) == [job.id]
    found = await ended.find(job.id)
    assert (found.status, found.ended_at, found.owner) == ("lost", 7.0, "")
    assert await lost.end(as_lost) == []
    with pytest.raises(StoreUnavailable, match="taken over"):
        await ended.put(claimed._replace(status="succeeded", ended_at=8.0))
    assert [(await ended.find(item.id)).status for item in (alive, waiting)] == ["running", "queued"]


def test_workspaces_with_lost_jobs_are_found_without_opening_them(opened, workspace, postgres_url):
    async def lose():
        store, queue = opened()
        job = queued()
        await queue.put(job, CALL)
        await queue.claim(job.id)
        assert workspaces() == set()
        await store.aclose()

    def workspaces():
        with psycopg.connect(postgres_url) as connection:
            connection.execute("set role onetool_worker")
            rows = connection.execute("select onetool.workspaces_with_lost_jobs()").fetchall()
        return {id for (id,) in rows} & {workspace.workspace}

    asyncio.run(lose())
    assert workspaces() == {workspace.workspace}
