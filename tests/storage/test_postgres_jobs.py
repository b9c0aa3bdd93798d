"""Jobs in PostgreSQL: leases of processes, and jobs of processes that ended."""

import asyncio
import json
import secrets
import subprocess
import sys

import psycopg
import pytest

from onetool.domain.calls.question import CANCELLED
from onetool.domain.errors import StoreUnavailable
from onetool.domain.jobs.job import ENDED, Job
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.threads import Threads
from support.waiting import HANG_S, until

FAR_FUTURE = 1e12
SHORT_LEASE_S = 0.6
OWNER = """
import asyncio, secrets, sys
from uuid import UUID
from onetool.domain.jobs.job import Job
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.threads import Threads

async def main():
    threads = Threads()
    workspace = WorkspaceDatabase(Database(sys.argv[1]), UUID(sys.argv[2]))
    jobs = PostgresJobs(workspace, threads, lease_s=float(sys.argv[3]))
    job = Job(secrets.token_hex(16), "ann", "demo.tool", "d", jobs.owner, 5.0)
    await jobs.put(job)
    print(job.id, job.owner, flush=True)
    await threads.run(sys.stdin.readline)

asyncio.run(main())
"""


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


def start(url, workspace, lease_s):
    command = [sys.executable, "-c", OWNER, url, str(workspace.workspace), str(lease_s)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


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
    set_fenced(postgres_url, workspace, True)
    await until(lambda: "cannot renew the lease" in caplog.text)
    set_fenced(postgres_url, workspace, False)
    before = owners(workspace)[store.owner]
    await until(lambda: owners(workspace)[store.owner] > before)
    assert await store.find(job.id) == job


async def test_lease_that_cannot_be_released_ends_by_itself(opened, workspace, postgres_url, caplog):
    store = opened(lease_s=SHORT_LEASE_S)
    await put(store)
    set_fenced(postgres_url, workspace, True)
    await store.aclose()
    assert "cannot release the lease" in caplog.text
    set_fenced(postgres_url, workspace, False)
    await until_ended(store, store.owner)


def set_fenced(url, workspace, is_fenced):
    with psycopg.connect(url) as connection:
        change = "update onetool.workspace_state set fenced = %s where workspace_id = %s"
        connection.execute(change, (is_fenced, workspace.workspace))


@pytest.mark.parametrize("ending", ["killed", "not closed"])
async def test_job_of_a_process_that_ends_is_seen_until_it_is_reaped(
    opened, workspace, postgres_url, clock, ending
):
    """The end of a process that did not close is the time at which the next one notices it."""
    store = opened()
    with start(postgres_url, workspace, lease_s=3.0) as child:
        id, owner = child.stdout.readline().split()
        job = Job(id, "ann", "demo.tool", "d", owner, 5.0)
        before = owners(workspace)[owner]
        await until(lambda: owners(workspace)[owner] > before)
        assert await store.find(id) == job
        if ending == "killed":
            child.kill()
            child.wait(HANG_S)
        else:
            child.communicate("\n", timeout=HANG_S)
            assert child.returncode == 0
    await until_ended(store, owner)
    await store.reap(clock.time)
    assert await store.find(id) == job
    clock.time += 10
    await store.reap(clock.time - 10)
    assert await store.find(id) == job
    await store.reap(clock.time)
    assert await store.find(id) is None
    assert owners(workspace) == {}


async def test_of_many_processes_one_takes_over_a_job(opened, workspace):
    ended, others = opened(), [opened() for _ in range(8)]
    job = await put(ended)
    assert [await store.take_over(job.id, ended.owner) for store in others] == [None] * 8, "it is alive"
    assert set(owners(workspace)) == {ended.owner}
    await ended.aclose()
    taken = await asyncio.gather(*(store.take_over(job.id, ended.owner) for store in others))
    assert sorted(item is not None for item in taken) == [False] * 7 + [True]
    (winner,) = [store for store, item in zip(others, taken, strict=True) if item]
    assert await winner.find(job.id) == job._replace(owner=winner.owner)
    assert set(owners(workspace)) == {ended.owner, winner.owner}
    assert await winner.is_alive(winner.owner)
    assert await ended.take_over(job.id, winner.owner) is None
    assert await others[0].take_over(job.id, ended.owner) is None, "it has another owner now"
    await winner.put(job._replace(owner=winner.owner, status="succeeded"))


async def test_owner_that_lost_a_job_does_not_write_it(opened):
    first, second = opened(), opened()
    job = await put(first)
    await first.aclose()
    taken = await second.take_over(job.id, first.owner)
    with pytest.raises(StoreUnavailable, match="taken over"):
        await first.put(job._replace(status="failed"))
    assert await second.find(job.id) == taken == job._replace(owner=second.owner)


async def test_owner_that_comes_back_to_life_keeps_its_job(opened, workspace):
    """Its renewal and the attempt to take its job over wait for each other."""
    first, second = opened(), opened()
    job = await put(first)
    await first.aclose()
    renewal = "update job_owners set lease_until = clock_timestamp() + interval '1 hour' where owner = %s"
    with workspace.recording() as cursor:
        cursor.execute(renewal, (first.owner,))
        attempt = asyncio.create_task(second.take_over(job.id, first.owner))
        await until(lambda: is_waiting(workspace))
    assert await attempt is None
    assert await second.find(job.id) == job


def is_waiting(workspace):
    with workspace.reading() as cursor:
        query = """
            select from pg_locks join pg_stat_activity using (pid)
            where not granted and datname = current_database()
        """
        return cursor.execute(query).rowcount > 0


@pytest.mark.parametrize("status", sorted(ENDED))
async def test_an_ended_job_is_not_taken_over(opened, status):
    first, second = opened(), opened()
    job = await put(first, status=status, ended_at=6.0)
    await first.aclose()
    assert await second.take_over(job.id, first.owner) is None


async def test_jobs_of_a_closed_owner_are_deleted_after_its_end(opened, clock, workspace):
    """Not after the last change of the job."""
    store, other = opened(), opened()
    job = await put(other, created_at=1.0)
    clock.time += 100
    await other.aclose()
    clock.time += 100
    await store.reap(1_100.0)
    assert await store.find(job.id) == job
    await store.reap(1_100.5)
    assert await store.find(job.id) is None
    assert owners(workspace) == {}


async def test_owners_with_jobs_or_alive_stay(opened, workspace):
    store, closed, living = opened(), opened(), opened()
    await put(closed, status="succeeded", ended_at=5_000.0)
    await put(living, status="succeeded", ended_at=1.0)
    await closed.aclose()
    await store.reap(2_000.0)
    assert set(owners(workspace)) == {closed.owner, living.owner}
    assert await store.is_alive(living.owner)
    await living.aclose()
    await store.reap(6_000.0)
    assert owners(workspace) == {}


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


async def test_owners_have_different_ids(opened, workspace):
    ids = {opened().owner for _ in range(3)}
    assert len(ids) == 3
    assert all(len(bytes.fromhex(id)) == 16 for id in ids)
    assert owners(workspace) == {}
