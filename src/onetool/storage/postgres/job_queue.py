"""Jobs that wait for a worker, and jobs whose process has ended before them."""

from collections.abc import Callable, Sequence

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.jobs.job import KEY_RETENTION_S, Job, is_job_id
from onetool.domain.jobs.queued_call import QueuedCall
from onetool.threads import Threads

from .database import Cursor, on_thread
from .jobs import PostgresJobs, to_job, to_text
from .sealer import Sealer
from .texts import to_storable
from .wake_ups import wake_worker
from .workspace_database import WorkspaceDatabase

MAX_QUEUED_PER_PRINCIPAL = 1_000
PUT = """
insert into jobs (workspace_id, id, principal, status, created_at, body, request, idempotency_key)
values (%s, %s, %s, 'queued', %s, %s, %s, %s)
on conflict (workspace_id, principal, idempotency_key) where idempotency_key is not null do nothing
"""
FIND_KEY = "select owner, body from jobs where principal = %s and idempotency_key = %s"
FORGET_KEY = """
update jobs set idempotency_key = null where principal = %s and idempotency_key = %s and created_at <= %s
"""
COUNT_QUEUED = """
select count(*) from (select from jobs where principal = %s and status = 'queued' limit %s) queued
"""
LOCK_QUEUED = "select body, request from jobs where id = %s and status = 'queued' for no key update"
CLAIM = "update jobs set status = 'running', owner = %s, body = %s, request = null where id = %s"
LOCK_LOST = """
select id, owner, body from jobs join job_owners using (workspace_id, owner)
where jobs.ended_at is null and lease_until <= clock_timestamp()
for update of jobs, job_owners skip locked
"""
"""While both rows are locked, the owner cannot come back to life."""
END_LOST = "update jobs set status = %s, ended_at = %s, body = %s, owner = null where id = %s"
"""Without an owner, no process can write the job again."""
AsLost = Callable[[Job], Job | None]
"""Returns the end of a job whose process has ended; None if another process can continue it."""


class PostgresJobQueue:
    """The queued jobs of a workspace. Their calls are sealed."""

    def __init__(
        self, workspace: WorkspaceDatabase, threads: Threads, sealer: Sealer, jobs: PostgresJobs
    ) -> None:
        """jobs: the store with the sign of life of this process."""
        self._workspace, self._threads, self._sealer, self._jobs = workspace, threads, sealer, jobs

    @on_thread
    def put(self, job: Job, call: QueuedCall) -> Job:
        """Store a queued job together with the wake-up call. Durable on return."""
        job.check_ids()
        principal, key = to_storable(job.principal), to_storable(job.idempotency_key) or None
        with self._workspace.recording() as cursor:
            request = self._sealer.seal(cursor, call.to_text(), "job", job.id)
            self._check_count(cursor, job, principal)
            if key is not None:
                cursor.execute(FORGET_KEY, (principal, key, job.created_at - KEY_RETENTION_S))
            values = (job.id, principal, job.created_at, to_text(job.to_json()), request, key)
            if cursor.execute(PUT, (self._workspace.workspace, *values)).rowcount:
                wake_worker(cursor, self._workspace.workspace, job.id)
                return job
            ((owner, body),) = cursor.execute(FIND_KEY, (principal, key)).fetchall()
        return to_job(owner, body) or job

    @on_thread
    def _claim(self, id: str) -> tuple[Job, QueuedCall] | None:
        with self._workspace.recording() as cursor:
            row = cursor.execute(LOCK_QUEUED, (id,)).fetchone()
            job = to_job(None, row[0]) if row else None
            if row is None or job is None:
                return None
            call = QueuedCall.from_text(self._sealer.open(cursor, row[1], "job", id))
            claimed = job._replace(status="running", owner=self._jobs.owner)
            self._jobs.lease.hold(cursor)
            cursor.execute(CLAIM, (claimed.owner, to_text(claimed.to_json()), id))
        return claimed, call

    async def claim(self, id: str) -> tuple[Job, QueuedCall] | None:
        """Claim a job while its row is locked. Durable on return."""
        if not is_job_id(id):
            return None
        claimed = await self._claim(id)
        if claimed is not None:
            self._jobs.lease.keep()
        return claimed

    def _check_count(self, cursor: Cursor, job: Job, principal: str) -> None:
        limit = MAX_QUEUED_PER_PRINCIPAL
        ((queued,),) = cursor.execute(COUNT_QUEUED, (principal, limit)).fetchall()
        if queued >= limit:
            message = f"{job.tool} was not started: {limit:,} jobs of {job.principal!r} wait for a worker."
            raise ExecutionError(Reason.BUSY, message)


class LostJobs:
    """The jobs of a workspace whose process has ended before them."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads

    @on_thread
    def end(self, as_lost: AsLost) -> Sequence[str]:
        """End them. Return their ids. Skip those that others are changing."""
        ended = []
        with self._workspace.recording() as cursor:
            for id, owner, body in cursor.execute(LOCK_LOST).fetchall():
                job = to_job(owner, body)
                lost = None if job is None else as_lost(job)
                if lost is not None:
                    values = (lost.status, lost.ended_at, to_text(lost._replace(owner="").to_json()), id)
                    cursor.execute(END_LOST, values)
                    ended.append(id)
        return ended
