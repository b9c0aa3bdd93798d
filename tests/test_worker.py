"""Workers of a hosted OneTool: which jobs they run when, and what they delete in all workspaces."""

import asyncio
import json
import time
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from onetool.bootstrap import worker
from onetool.bootstrap.hosted import open_hosted
from onetool.bootstrap.hosted_admin import open_contents, workspace_admin
from onetool.bootstrap.worker import Worker, open_workspaces
from onetool.domain.activity.rollup import RollUp
from onetool.domain.bundles.bundle import Bundle
from onetool.domain.identity.principal import Principal, acting_as
from onetool.domain.jobs.job import Job
from onetool.domain.jobs.queued_call import QueuedCall
from onetool.settings.configuration import operator_packs
from onetool.settings.paths import Paths
from onetool.storage.postgres import queue_worker
from onetool.storage.postgres.activity import PostgresActivity
from onetool.storage.postgres.jobs import PostgresJobs
from onetool.storage.postgres.key_ring import new_key
from onetool.storage.postgres.results import PostgresResults
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads
from support.activity import record
from support.postgres import new_database
from support.rest_process import PROBES, write_private
from support.waiting import HANG_S, until

RING = new_key("worker")
ANNA = Principal("anna")
LEASE_S = 3.0
ECHO = QueuedCall("tools.echo", {"message": "hi"})


class Team:
    """A hosted installation in this process, with a worker that can be started and stopped."""

    def __init__(self, parts, url, workspaces, folder):
        self.parts, self.url, self.workspaces, self.folder = parts, url, workspaces, folder
        self.keys = {}
        """The id of the API key for each workspace."""

    async def new_workspace(self):
        slug = f"w{uuid4().hex}"
        created = await self.parts.threads.run(workspace_admin(self.url, RING).create, slug)
        async with open_contents(self.url, RING, slug) as contents:
            key = await contents.create_key(ANNA.id, "tests", timedelta(days=1))
            self.keys[created.id] = key.key.id
        return created

    def stored(self, workspace):
        return WorkspaceDatabase(self.parts.database, workspace.id)

    async def submit(self, workspace, call=ECHO):
        async with self.workspaces.use(workspace.slug) as opened:
            with acting_as(ANNA._replace(key=self.keys[workspace.id])):
                return await opened.runtime.submitted.submit(call)

    async def status(self, workspace, job):
        found = await PostgresJobs(self.stored(workspace), self.parts.threads).find(job.id)
        return found.status if found else None

    async def until_status(self, workspace, job, status):
        async with asyncio.timeout(HANG_S):
            while (found := await self.status(workspace, job)) != status:
                assert found not in ("failed", "lost"), found
                await asyncio.sleep(0.02)

    def gated(self):
        """Return a call that runs until a file exists, and the file."""
        gate = self.folder / uuid4().hex
        return QueuedCall("probes.stepwise", {"gate": str(gate)}), gate

    @asynccontextmanager
    async def working(self, **options):
        stop = asyncio.Event()
        self.worker = Worker(self.parts, self.url, self.workspaces.use, **options)
        running = asyncio.create_task(self.worker.run(stop))
        try:
            yield running
        finally:
            stop.set()
            async with asyncio.timeout(HANG_S):
                await running

    def execute(self, statement, *values):
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("set search_path = queue, public")
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []


@pytest.fixture(scope="module")
def database_url():
    with new_database() as url:
        workspace_admin(url, RING).create("first")
        yield url


@pytest.fixture
async def team(database_url, tmp_path):
    write_private(tmp_path / "config" / "tools" / "probes.py", PROBES)
    paths = Paths(config=tmp_path / "config", data=tmp_path, state=tmp_path, cwd=tmp_path)
    packs = operator_packs(paths)
    async with (
        open_hosted(database_url, RING, pack_dirs=packs, lease_s=LEASE_S) as parts,
        open_workspaces(parts) as workspaces,
    ):
        yield Team(parts, database_url, workspaces, tmp_path)


@pytest.mark.guards("tenant-jobs")
async def test_job_is_run_for_its_principal_and_leaves_nothing_in_the_queue(team):
    workspace = await team.new_workspace()
    job = await team.submit(workspace)
    assert (job.status, job.principal, job.owner) == ("queued", "anna", "")
    async with team.working():
        await team.until_status(workspace, job, "succeeded")
        rows = "select args from queue.procrastinate_jobs where queue_name = 'calls'"
        await until(lambda: not team.execute(rows))
    async with team.workspaces.use(workspace.slug) as opened:
        found = await opened.runtime.jobs.find(job.id, ANNA)
        assert (await opened.runtime.jobs.outcome(found)).data == "hi"


@pytest.mark.guards("tenant-jobs")
async def test_job_of_a_revoked_key_makes_no_call_although_its_owner_has_another_key(team):
    workspace = await team.new_workspace()
    job = await team.submit(workspace)
    async with open_contents(team.url, RING, workspace.slug) as contents:
        assert await contents.keys.revoke(team.keys[workspace.id])
        other = await contents.create_key(ANNA.id, "other", timedelta(days=1))
    team.keys[workspace.id] = other.key.id
    later = await team.submit(workspace)
    async with team.working():
        await team.until_status(workspace, later, "succeeded")
        await team.until_status(workspace, job, "failed")
    async with team.workspaces.use(workspace.slug) as opened:
        outcome = await opened.runtime.jobs.outcome(await opened.runtime.jobs.find(job.id, ANNA))
    assert "the API key of 'anna' that started it is not valid any more" in outcome.error.message


async def test_worker_claims_no_more_jobs_than_it_runs_at_a_time(team):
    workspace = await team.new_workspace()
    first, gate = team.gated()
    running, waiting = await team.submit(workspace, first), await team.submit(workspace)
    async with team.working(concurrency=1):
        await team.until_status(workspace, running, "running")
        assert await team.status(workspace, waiting) == "queued"
        gate.touch()
        await team.until_status(workspace, waiting, "succeeded")
        assert await team.status(workspace, running) == "succeeded"


async def test_worker_counts_the_calls_that_wait(team):
    workspace = await team.new_workspace()
    first, gate = team.gated()
    running = await team.submit(workspace, first)
    async with team.working(concurrency=1) as task:
        await team.until_status(workspace, running, "running")
        jobs = [await team.submit(workspace) for _ in range(2)]
        counting = asyncio.create_task(team.worker.count_queued())
        await until(lambda: "home" in team.worker.queued)
        counting.cancel()
        waiting, retrying, oldest_s = team.worker.queued["home"]
        assert (waiting, retrying, team.worker.running) == (2, 0, 1)
        assert 0 < oldest_s < HANG_S
        assert not task.done()
        gate.touch()
        await team.until_status(workspace, jobs[1], "succeeded")


async def test_full_worker_ends_at_once_when_it_is_told_to(team):
    workspace = await team.new_workspace()
    call, gate = team.gated()
    jobs = [await team.submit(workspace, call), await team.submit(workspace)]
    async with team.working(concurrency=1, grace_s=0.0):
        await team.until_status(workspace, jobs[0], "running")
    gate.touch()
    assert [await team.status(workspace, job) for job in jobs] == ["lost", "queued"]


@pytest.mark.guards("tenant-jobs")
async def test_job_of_a_deleted_workspace_is_not_run(team):
    deleted, other = await team.new_workspace(), await team.new_workspace()
    job = await team.submit(deleted)
    await team.parts.threads.run(workspace_admin(team.url, RING).delete, deleted.slug)
    later = await team.submit(other)
    async with team.working():
        await team.until_status(other, later, "succeeded")
    assert await team.status(deleted, job) == "queued"


async def test_job_waits_until_its_workspace_can_be_opened(team, monkeypatch):
    monkeypatch.setattr(queue_worker, "MAX_RETRY_S", 1)
    workspace, other = await team.new_workspace(), await team.new_workspace()
    job = await team.submit(workspace)
    valid, invalid = json.dumps({}), json.dumps({"execution": {"timeout_s": "x"}})
    insert = "insert into onetool.settings values (%s, %s, %s, '{}', 'tests')"
    team.execute(insert, workspace.id, 1, invalid)
    await team.workspaces.aclose()
    async with team.working():
        await team.until_status(other, await team.submit(other), "succeeded")
        attempts = "select attempts from queue.procrastinate_jobs where args ->> 'job' = %s"
        await until(lambda: team.execute(attempts, job.id)[0][0] > 0)
        assert await team.status(workspace, job) == "queued"
        team.execute(insert, workspace.id, 2, valid)
        await team.until_status(workspace, job, "succeeded")


async def test_worker_goes_on_after_the_database_was_gone(team, caplog):
    workspace = await team.new_workspace()
    call, gate = team.gated()
    async with team.working():
        running = await team.submit(workspace, call)
        await team.until_status(workspace, running, "running")
        team.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
            " and query like '%%procrastinate%%'"
        )
        later = await team.submit(workspace)
        await team.until_status(workspace, later, "succeeded")
        gate.touch()
        await team.until_status(workspace, running, "succeeded")


async def test_tasks_of_a_killed_worker_are_given_to_others(team):
    """A call that it had claimed is not made again; one that it had not claimed is."""
    workspace = await team.new_workspace()
    claimed, unclaimed = await team.submit(workspace), await team.submit(workspace)
    async with team.workspaces.use(workspace.slug) as opened:
        store = PostgresJobs(team.stored(workspace), team.parts.threads, lease_s=LEASE_S)
        await store.put(Job("0" * 32, "x", "x", "x", store.owner, time.time()))
        assert opened
    change = "update onetool.jobs set status = 'running', owner = %s, request = null where id = %s"
    team.execute(change, store.owner, claimed.id)
    team.execute("update queue.procrastinate_jobs set status = 'doing' where queue_name = 'calls'")
    team.execute(
        "insert into queue.procrastinate_jobs (queue_name, task_name, status, queueing_lock)"
        " values ('maintenance', 'onetool.reap', 'doing', 'onetool.reap')"
    )
    await store.aclose()  # its lease ends
    async with team.working():
        await team.until_status(workspace, claimed, "lost")
        await team.until_status(workspace, unclaimed, "succeeded")
        rows = "select from queue.procrastinate_jobs where status = 'doing' and worker_id is null"
        await until(lambda: not team.execute(rows))


async def test_no_job_is_lost_before_its_process_could_renew_its_lease(database_url):
    """The database was away until now, and processes notice that it is back one after the other."""
    lease_s = 12.0
    async with (
        open_hosted(database_url, RING, lease_s=lease_s) as parts,
        open_workspaces(parts) as workspaces,
    ):
        created = workspace_admin(database_url, RING).create(f"w{uuid4().hex}")
        rows, stop = parts.directory.rows(created), asyncio.Event()
        ended = PostgresJobs(rows, parts.threads, lease_s=lease_s)
        await ended.put(Job("1" * 32, "x", "x", "x", ended.owner, time.time(), status="running"))
        await ended.aclose()
        parts.database.note_return()
        worker = Worker(parts, database_url, workspaces.use)
        running = asyncio.create_task(worker.run(stop))
        await until(lambda: worker.lost)
        assert parts.database.available_s >= lease_s / 2
        stop.set()
        await asyncio.wait_for(running, HANG_S)


async def test_queued_job_is_tried_again_although_this_could_not_be_stored_at_first(
    team, monkeypatch, caplog
):
    """Otherwise its wake-up would belong to a living worker, so no other worker would take it."""
    monkeypatch.setattr(queue_worker, "RETRY_S", 0.1)
    workspace = await team.new_workspace()
    job = await team.submit(workspace)
    team.execute("alter function queue.procrastinate_retry_job_v2 rename to away")
    async with team.working():
        try:
            with psycopg.connect(team.url) as connection:
                connection.execute("select from onetool.jobs where id = %s for update", (job.id,))
                await until(lambda: "cannot store the end of a task yet" in caplog.text)
        finally:
            team.execute("alter function queue.away rename to procrastinate_retry_job_v2")
        await team.until_status(workspace, job, "succeeded")


async def test_worker_ends_a_move_that_was_interrupted_and_runs_the_queued_jobs(team, monkeypatch):
    """A move copies jobs without what wakes workers."""
    monkeypatch.setattr(worker, "MOVES_INTERVAL_S", 1)
    workspace = await team.new_workspace()
    job = await team.submit(workspace)
    team.execute("delete from queue.procrastinate_jobs where args ->> 'job' = %s", job.id)
    team.execute("update onetool.workspace_state set fenced = true where workspace_id = %s", workspace.id)
    async with team.working():
        await team.until_status(workspace, job, "succeeded")


async def test_expired_things_are_deleted_in_workspaces_that_are_not_open(team):
    workspace = await team.new_workspace()
    stored, threads, old = team.stored(workspace), Threads(), 1_000_000.0
    results = PostgresResults(stored, threads, now=lambda: old)
    handle = (await results.put("text", "demo.tool", owner="local")).handle
    jobs = PostgresJobs(stored, threads)
    job = Job(uuid4().hex, "anna", "demo.tool", "d", jobs.owner, old, "succeeded", old)
    await jobs.put(job)
    await PostgresActivity(stored, threads).add([record("demo.tool", ended=old)], RollUp())
    bundle = "insert into onetool.bundles values (%s, %s, 'b', 'b', true, true, %s)"
    deleted = Bundle(id="b1", slug="b", soft_deleted_at="2020-01-01T00:00:00Z")
    team.execute(bundle, workspace.id, deleted.id, json.dumps(deleted.to_json()))
    counts = "select (select count(*) from onetool.{}  where workspace_id = %s)"
    tables = ("results", "jobs", "calls", "bundles")

    def rows():
        return [team.execute(counts.format(table), workspace.id)[0][0] for table in tables]

    assert rows() == [1, 1, 1, 1]
    assert handle
    async with team.working(reap_interval_s=1):
        await until(lambda: rows() == [0, 0, 0, 0])
    await jobs.aclose()


async def test_workspace_that_cannot_be_cleaned_up_does_not_stop_the_others(team, caplog):
    broken, other = await team.new_workspace(), await team.new_workspace()
    team.execute(
        "insert into onetool.settings values (%s, 1, %s, '{}', 'tests')", broken.id, '{"execution": 1}'
    )
    for workspace in (broken, other):
        await PostgresActivity(team.stored(workspace), Threads()).add(
            [record("demo.tool", ended=1_000.0)], RollUp()
        )
    count = "select count(*) from onetool.calls where workspace_id = %s"
    async with team.working(reap_interval_s=1):
        await until(lambda: team.execute(count, other.id) == [(0,)])
    assert team.execute(count, broken.id) == [(1,)]


def test_only_workers_import_the_queue():
    """It takes long, and most processes need no queue."""
    root = Path(queue_worker.__file__).parents[2]
    users = {
        file.relative_to(root).as_posix()
        for file in root.rglob("*.py")
        if "\nfrom procrastinate" in file.read_text(encoding="utf-8")
    }
    assert users == {"storage/postgres/queue_worker.py"}
