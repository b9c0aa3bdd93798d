"""Jobs in PostgreSQL.

jobs            the job as JSON, and what is looked for
job_answers     the answers, one for each question
job_owners      the processes, and until when each one is alive
"""

import json
import secrets
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from onetool.domain.calls.question import Answer
from onetool.domain.identity.principal import may_read
from onetool.domain.jobs.job import ENDED, Job, is_job_id, is_question_id
from onetool.domain.jobs.job_errors import JobTakenOver
from onetool.ports import Messages
from onetool.threads import Threads

from .database import Cursor, on_thread
from .owners import OwnerLease
from .texts import is_storable, to_storable
from .workspace_database import WorkspaceDatabase

OWNER_ID_BYTES = 16
POLL_INTERVAL_S = 2.0
"""Seconds after which a change of a job is looked for that was not announced."""
LEASE_S = 90.0
"""Seconds after its last sign of life for which a process counts as alive."""
ENDED_STATUSES = sorted(ENDED)
PUT = """
insert into jobs (workspace_id, id, principal, status, owner, created_at, ended_at, body)
values (%s, %s, %s, %s, %s, %s, %s, %s)
on conflict (workspace_id, id) do update set principal = excluded.principal, status = excluded.status,
created_at = excluded.created_at, ended_at = excluded.ended_at, body = excluded.body
where jobs.owner = excluded.owner
"""
LIST = """
select owner, body from jobs where principal = %(reader)s or starts_with(principal, %(reader)s || '#')
order by created_at desc, id desc
"""
ANSWER = """
insert into job_answers (workspace_id, job_id, question, body)
select workspace_id, id, %s, %s from jobs where id = %s for key share
on conflict do nothing
"""
MESSAGES = """
select is_cancelled, question, job_answers.body
from jobs left join job_answers on job_answers.workspace_id = jobs.workspace_id and job_id = id where id = %s
"""
LOCK_QUEUED = "select body from jobs where id = %s and status = 'queued' for no key update"
END_QUEUED = "update jobs set status = %s, ended_at = %s, body = %s, request = null where id = %s"
LOCK_ENDED = "select from job_owners where owner = %s and lease_until <= clock_timestamp() for update"
"""While it is locked, the owner cannot come back to life."""
LOCK_JOB = "select body from jobs where id = %s and owner = %s and not status = any(%s) for no key update"
IS_ALIVE = """
select from job_owners join workspace_state using (workspace_id)
where owner = %s and (lease_until > clock_timestamp() or fenced)
"""
"""While a workspace is read-only, leases cannot be renewed. They are extended when it is writable again."""
NOTE_ENDS = """
update job_owners set ended_at = %s where owner in (
    select owner from job_owners where ended_at is null and lease_until <= clock_timestamp()
    for update skip locked
)
"""
DELETE_JOBS = """
delete from jobs where id in (
    select id from jobs left join job_owners using (workspace_id, owner)
    where %s > case when status = any(%s) then coalesce(jobs.ended_at, created_at)
        when owner is null then created_at else job_owners.ended_at end
    for update of jobs skip locked
)
"""
DELETE_OWNERS = """
delete from job_owners where owner in (
    select owner from job_owners
    where ended_at < %s and not exists (select from jobs where jobs.owner = job_owners.owner)
    for update skip locked
)
"""


class PostgresJobs:
    """Stores each job as a row. Any process of the workspace can read, answer and cancel it."""

    def __init__(
        self,
        workspace: WorkspaceDatabase,
        threads: Threads,
        owner: str = "",
        now: Callable[[], float] = time.time,
        lease_s: float = LEASE_S,
    ) -> None:
        self._workspace, self._threads, self._now = workspace, threads, now
        id = owner or secrets.token_hex(OWNER_ID_BYTES)
        self.lease = OwnerLease(workspace, threads, id, now, lease_s)
        """The sign of life of this process."""

    @property
    def owner(self) -> str:
        """The id of this process."""
        return self.lease.id

    async def put(self, job: Job) -> None:
        """Create or replace a job of this process. Durable on return.

        Raises:
            JobTakenOver: Another process has taken the job over.
        """
        job.check_ids()
        if job.owner != self.owner:
            raise ValueError(f"Job {job.id!r} has owner {job.owner!r}. This process is {self.owner!r}.")
        self.lease.keep()
        await self._put(job)

    @on_thread
    def _put(self, job: Job) -> None:
        names = (job.id, to_storable(job.principal), job.status, job.owner)
        values = (*names, job.created_at, job.ended_at or None, to_text(job.to_json()))
        with self._workspace.recording() as cursor:
            self.lease.hold(cursor)
            if cursor.execute(PUT, (self._workspace.workspace, *values)).rowcount == 0:
                raise JobTakenOver(job.id)
            if job.is_ended or job.questions or job.task:
                self._workspace.announce(cursor, "job", job.id)

    @on_thread
    def find(self, id: str) -> Job | None:
        """Return a job. One that this version cannot read counts as unknown."""
        if not is_job_id(id):
            return None
        with self._workspace.reading() as cursor:
            row = cursor.execute("select owner, body from jobs where id = %s", (id,)).fetchone()
        return to_job(*row) if row else None

    @on_thread
    def list(self, principal: str) -> Sequence[Job]:
        """Return the jobs that a principal may read, newest first."""
        if not is_storable(principal):
            return []
        with self._workspace.reading() as cursor:
            rows = cursor.execute(LIST, {"reader": principal}).fetchall()
        jobs = [to_job(*row) for row in rows]
        return [job for job in jobs if job is not None and may_read(principal, job.principal)]

    @on_thread
    def answer(self, id: str, question: str, answer: Answer) -> bool:
        """Store the answer to a question, unless it has a row. Durable on return."""
        if not (is_job_id(id) and is_question_id(question)):
            return False
        with self._workspace.recording() as cursor:
            is_first = cursor.execute(ANSWER, (question, to_text(answer._asdict()), id)).rowcount == 1
            if is_first:
                self._workspace.announce(cursor, "job", id)
            return is_first

    @on_thread
    def cancel(self, id: str) -> None:
        """Ask the owner of a job to cancel it, or end a queued one. Durable on return."""
        if is_job_id(id):
            with self._workspace.recording() as cursor:
                if row := cursor.execute(LOCK_QUEUED, (id,)).fetchone():
                    self._end_queued(cursor, id, row[0])
                else:
                    cursor.execute("update jobs set is_cancelled = true where id = %s", (id,))
                self._workspace.announce(cursor, "job", id)

    def _end_queued(self, cursor: Cursor, id: str, body: str) -> None:
        fields = json.loads(body) | {
            "status": "cancelled",
            "ended_at": self._now(),
            "error": "The job was cancelled before it began.",
        }
        cursor.execute(END_QUEUED, (fields["status"], fields["ended_at"], to_text(fields), id))

    @on_thread
    def messages(self, id: str) -> Messages:
        """Return what was written for the owner of a job."""
        if not is_job_id(id):
            return Messages({}, False)
        with self._workspace.reading() as cursor:
            rows = cursor.execute(MESSAGES, (id,)).fetchall()
        answers = {question: Answer(**json.loads(body)) for _, question, body in rows if body is not None}
        return Messages(answers, any(is_cancelled for is_cancelled, *_ in rows))

    def generation(self, id: str) -> Hashable:
        """Return the number of the last announcement about a job."""
        return self._workspace.announcements.number("job", id)

    async def wait_for_change(self, id: str, seen: Hashable, seconds: float) -> None:
        """Wait for an announcement about a job."""
        await self._workspace.announcements.wait("job", id, seen, min(seconds, POLL_INTERVAL_S))

    async def take_over(self, id: str, owner: str) -> Job | None:
        """Replace the owner of a job while the row of the ended owner is locked. Durable on return."""
        if not (is_job_id(id) and is_storable(owner)) or owner == self.owner:
            return None
        job = await self._take_over(id, owner)
        if job is not None:
            self.lease.keep()
        return job

    @on_thread
    def _take_over(self, id: str, owner: str) -> Job | None:
        with self._workspace.recording() as cursor:
            if cursor.execute(LOCK_ENDED, (owner,)).rowcount == 0:
                return None
            row = cursor.execute(LOCK_JOB, (id, owner, ENDED_STATUSES)).fetchone()
            job = to_job(self.owner, *row) if row else None
            if job is not None:
                self.lease.hold(cursor)
                cursor.execute("update jobs set owner = %s where id = %s", (self.owner, id))
            return job

    @on_thread
    def is_alive(self, owner: str) -> bool:
        """Return whether the lease of a process lasts."""
        if not is_storable(owner):
            return False
        with self._workspace.reading() as cursor:
            return cursor.execute(IS_ALIVE, (owner,)).rowcount == 1

    @on_thread
    def reap(self, before: float) -> None:
        """Delete old jobs with their answers, and owners that ended. Skip those that others are changing."""
        with self._workspace.recording() as cursor:
            cursor.execute(NOTE_ENDS, (self._now(),))
            cursor.execute(DELETE_JOBS, (before, ENDED_STATUSES))
            cursor.execute(DELETE_OWNERS, (before,))

    async def aclose(self) -> None:
        """Give up the sign of life. Connections belong to the process."""
        await self.lease.release()


def to_text(fields: Mapping[str, Any]) -> str:
    """Return JSON in ASCII, because texts of servers may contain characters that PostgreSQL refuses."""
    return json.dumps(fields, default=dict)


def to_job(owner: str | None, body: str) -> Job | None:
    """Return a job, or None if another version has stored fields that this one does not know."""
    try:
        return Job.from_json(json.loads(body))._replace(owner=owner or "")
    except TypeError:
        return None
