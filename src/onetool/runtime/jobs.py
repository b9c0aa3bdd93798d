"""Jobs: calls that wait for an answer or take long. Any process of the user can answer and return them."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from secrets import token_hex
from typing import Any

from onetool.domain.calls.approval_request import ApprovalRequest
from onetool.domain.calls.caller import Caller, ProgressHandler, ignore_progress
from onetool.domain.calls.question import Answer
from onetool.domain.calls.server_task import LEFT
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.identity.principal import Principal, may_read
from onetool.domain.jobs.job import Job, JobStatus
from onetool.domain.jobs.job_errors import AnswerRefused, JobEnded, JobNotFound
from onetool.ports import ResultStore
from onetool.ports.jobs import JobStore
from onetool.threads import Threads

from .call_job import EXPIRED, CallJob, Present
from .job_answers import check_answer
from .job_ends import STOPPED, WORKER_STOPPED, JobEnds, as_lost, read_outcome
from .job_limits import check_started, check_waiting
from .outcomes import Outcome
from .stored_outcomes import StoredOutcomes

log = logging.getLogger(__name__)
TAKE_OVER_S = 5.0
"""Seconds for which a request waits until a job that was taken over waits for its task."""
Work = Callable[[Caller], Awaitable[Outcome]]
ContinueTask = Callable[[Job], Awaitable[tuple[Work, Caller] | None]]


class Jobs:
    """Runs calls that may become jobs, and answers, cancels and returns the jobs of all processes."""

    def __init__(
        self, store: JobStore, results: ResultStore, threads: Threads, now: Callable[[], float] = time.time
    ) -> None:
        self._store, self._threads, self._now = store, threads, now
        self._active: dict[str, CallJob] = {}
        """The jobs of this process that have not ended, or whose end is not stored yet, by id."""
        self._outcomes = StoredOutcomes(results, threads)
        self._ends = JobEnds(store, self._outcomes, self._active, now)
        self._running: set[CallJob] = set()
        """The calls of this process that have a task."""
        self._tasks: set[asyncio.Task[Any]] = set()
        """Run and end calls."""
        self.continue_task: ContinueTask = _continue_nothing
        """Returns who waits for the task of a job, and how; None if this process cannot."""

    @asynccontextmanager
    async def track(self, caller: Caller, tool: str, digest: str, present: Present) -> AsyncIterator[Caller]:
        """Yield the caller for a call whose questions are shown while the client waits for its result."""
        call = self._create(caller, self._new_job(caller, tool, digest), present)
        status: JobStatus = "cancelled"
        try:
            yield call.caller
            status = "succeeded"
        except Exception:
            status = "failed"
            raise
        finally:
            await asyncio.shield(self._ends.add(call, status))

    async def run(
        self,
        work: Work,
        caller: Caller,
        tool: str,
        digest: str,
        *,
        present: Present | None = None,
        handover_s: float | None = None,
        with_tasks: bool = False,
    ) -> Outcome | Job:
        """Run a call. Return its outcome, or the job that it has become.

        It becomes one if it asks a question and `present` is None, if it takes longer than `handover_s`, or,
        `with_tasks`, as soon as the server continues it as a task.
        """
        call = self._start(work, caller, self._new_job(caller, tool, digest), present)
        call.hands_over_tasks = with_tasks
        try:
            return await self._wait(call, handover_s)
        except asyncio.CancelledError:
            if not call.is_detached:
                call.cancel()
            raise

    async def start(self, work: Work, caller: Caller, tool: str, digest: str, *, key: str = "") -> Job:
        """Start a call as a job and return at once.

        key: the client's idempotency key.

        Raises:
            ExecutionError: Too many jobs are running, or the job cannot be stored.
        """
        check_started(tool, caller.principal.scope, self._running)
        job = self._new_job(caller, tool, digest)._replace(idempotency_key=key)
        call = self._start(work, replace(caller, idempotency_key=job.id), job)
        try:
            await call.detach()
        except BaseException as error:
            call.cancel()
            if isinstance(error, OSError):
                message = f"{tool} was not started: its job cannot be stored: {error.strerror}."
                raise ExecutionError(Reason.RAISED, message) from error
            raise
        return call.job

    async def run_claimed(self, work: Work, caller: Caller, job: Job) -> None:
        """Run the call of a job that this process has claimed, until its end is stored.

        If this is cancelled, the job is lost: the call may have had effects, and is not repeated.
        """
        call = self._start(work, replace(caller, idempotency_key=job.id), job)
        try:
            await call.detach()
            await asyncio.shield(call.ended.wait())
        except asyncio.CancelledError:
            call.cancel(WORKER_STOPPED)
        except OSError:
            call.cancel()
            raise
        finally:
            await call.ended.wait()

    async def find(self, id: str, principal: Principal) -> Job:
        """Return a job.

        Raises:
            JobNotFound: There is none, or it is that of another principal.
        """
        call = self._active.get(id)
        job = call.job if call is not None and call.is_stored else await self._store.find(id)
        if job is None or not may_read(principal.scope, job.principal):
            raise JobNotFound(id)
        return await self._without_answered(await self._with_lost(job))

    async def list(self, principal: Principal) -> Sequence[Job]:
        """Return the jobs that a principal may read, newest first."""
        return [await self._with_lost(job) for job in await self._store.list(principal.scope)]

    async def wait(
        self,
        id: str,
        principal: Principal,
        seconds: float,
        answered: Collection[str] = (),
        *,
        with_tasks: bool = False,
    ) -> Outcome | Job:
        """Wait until a job ends or asks something that is not `answered` yet; return it as it is after that.

        with_tasks: do not wait any longer once the server continues the call as a task.

        Raises:
            JobNotFound: There is no such job.
        """
        call = self._active.get(id)
        job = await self.wait_for_job(id, principal, seconds, answered, with_tasks=with_tasks)
        if call is None:
            return await self.outcome(job) if job.is_ended else job
        if call.is_detached:
            call.on_progress = ignore_progress  # the request that has waited ends
        return await self._outcome_or_job(call)

    async def wait_for_job(
        self,
        id: str,
        principal: Principal,
        seconds: float,
        answered: Collection[str] = (),
        *,
        with_tasks: bool = False,
    ) -> Job:
        """Wait like `wait`. Return the job, also if it has ended.

        Raises:
            JobNotFound: There is no such job.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            call, seen = self._active.get(id), self._store.generation(id)
            changed = call.next_change if call is not None else None
            job = await self.find(id, principal)
            left = end - loop.time()
            if left <= 0 or job.is_ended or job.asks(answered) or (with_tasks and job.task):
                return job
            if changed is None:
                await self._store.wait_for_change(id, seen, left)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await changed.wait()

    async def outcome(self, job: Job) -> Outcome:
        """Return the outcome of a job that has ended."""
        call = self._active.get(job.id)
        return await self._outcomes.get(job) if call is None or call.outcome is None else call.outcome

    async def answer(self, id: str, principal: Principal, question: str, answer: Answer) -> None:
        """Answer a question of a job, in whichever process it runs.

        Raises:
            JobNotFound: There is no such job.
            AnswerRefused: The question was answered before, or has expired.
            InvalidAnswer: The answer does not fit the form.
        """
        job = await self.find(id, principal)
        if (opened := next((item for item in job.questions if item.id == question), None)) is None:
            known = (await self._store.messages(job.id)).answers.get(question)
            raise AnswerRefused(question, is_expired=known is None or known == EXPIRED)
        check_answer(opened, answer)
        if not await self._store.answer(id, question, answer):
            raise AnswerRefused(question, is_expired=False)
        if (call := self._active.get(id)) is not None:
            call.deliver(question, answer)

    def expects(self, id: str, request: str) -> bool:
        """Return whether this process runs a job and waits for the response to a request to its client."""
        call = self._active.get(id)
        return call is not None and call.expects(request)

    def expect(self, id: str, request: str) -> "asyncio.Future[Answer]":
        """Return the response to a request to the client of a job of this process; see `respond`."""
        call = self._active.get(id)
        return asyncio.get_running_loop().create_future() if call is None else call.expect(request)

    async def respond(self, id: str, principal: Principal, request: str, response: Answer) -> None:
        """Store the response to a request that the process of a job has sent to its client.

        Raises:
            JobNotFound: There is no such job.
            JobEnded: The job does not wait for the response any more.
            AnswerRefused: There was a response before.
        """
        if (job := await self.find(id, principal)).is_ended:
            raise JobEnded(id, job.error)
        if id in self._active or not await self._store.answer(id, request, response):
            raise AnswerRefused(request, is_expired=False)

    async def cancel(self, id: str, principal: Principal) -> Job:
        """Cancel a job, in whichever process it runs. One that has ended stays as it is.

        Raises:
            JobNotFound: There is no such job.
        """
        job = await self.find(id, principal)
        if not job.is_ended:
            await self._store.cancel(id)
            if (call := self._active.get(id)) is not None:
                call.cancel()
        return job

    def approval(self, id: str, question: str) -> ApprovalRequest | None:
        """Return the call that a question of this process asks to approve."""
        call = self._active.get(id)
        return None if call is None else call.request(question)

    def take_over_progress(self, id: str, on_progress: ProgressHandler) -> None:
        """Report the progress of a job of this process to another request."""
        if (call := self._active.get(id)) is not None:
            call.on_progress = on_progress

    async def close(self) -> None:
        """Cancel all jobs of this process. Those that only wait for a task are left to other processes."""
        for call in self._running:
            call.cancel(LEFT if call.can_be_left else STOPPED)
        while self._tasks:  # a call that has ended is then stored by another task
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._ends.close()

    def _create(self, caller: Caller, job: Job, present: Present | None) -> CallJob:
        call = CallJob(self._store, self._threads, caller, job, present=present, now=self._now)
        call.on_store = lambda: self._active.update({call.job.id: call})
        call.check_waiting = lambda: check_waiting(call.job, self._active.values())
        return call

    def _new_job(self, caller: Caller, tool: str, digest: str) -> Job:
        return Job(token_hex(16), caller.principal.scope, tool, digest, self._store.owner, self._now())

    def _start(self, work: Work, caller: Caller, job: Job, present: Present | None = None) -> CallJob:
        call = self._create(caller, job, present)

        async def run() -> Outcome:
            return await work(call.caller)

        call.task = asyncio.create_task(run())
        self._running.add(call)
        self._tasks.add(call.task)
        call.task.add_done_callback(lambda task: self._on_end(call, task))
        return call

    def _on_end(self, call: CallJob, task: "asyncio.Task[Outcome]") -> None:
        """End the job of a call. This does not happen in the task, which may be cancelled at any moment."""
        self._running.discard(call)
        self._tasks.discard(task)
        ended = read_outcome(call, task)
        if ended is None:
            call.leave()
            self._active.pop(call.job.id, None)
            call.ended.set()
            return
        status, error = ended
        if not call.is_stored:
            call.end(status, error=error)
            call.ended.set()
            return
        ending = asyncio.create_task(self._ends.add(call, status, error))
        self._tasks.add(ending)
        ending.add_done_callback(self._tasks.discard)
        ending.add_done_callback(lambda _: call.ended.set())

    async def _wait(self, call: CallJob, seconds: float | None) -> Outcome | Job:
        """Wait for a call that a client has made. It becomes a job of its own when this returns one."""
        sees_questions, sees_task = call.present is None, call.hands_over_tasks
        await self._wait_for_change(call, seconds, (), sees_questions=sees_questions, sees_task=sees_task)
        if not call.job.is_ended:
            try:
                await call.detach()
            except OSError as error:  # it cannot become a job: the client waits
                log.error("cannot store job %s: %s", call.job.id, error)
                await self._wait_for_change(call, None, (), sees_questions=False)
        return await self._outcome_or_job(call)

    async def _wait_for_change(
        self,
        call: CallJob,
        seconds: float | None,
        answered: Collection[str],
        *,
        sees_questions: bool,
        sees_task: bool = False,
    ) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not call.job.is_ended and not (sees_task and call.job.task):
                    if sees_questions and call.job.asks(answered):
                        return
                    await call.next_change.wait()

    async def _outcome_or_job(self, call: CallJob) -> Outcome | Job:
        if not call.job.is_ended:
            return call.job
        return await self.outcome(call.job) if call.outcome is None else call.outcome

    async def _with_lost(self, job: Job) -> Job:
        """Return a job as lost if its process has ended before it, unless this one can take it over."""
        if (
            job.is_ended
            or job.status == "queued"
            or job.id in self._active
            or await self._store.is_alive(job.owner)
        ):
            return job
        if job.task is not None and job.task.endpoint:
            try:
                if (continued := await self.continue_task(job)) is not None:
                    return await self._take_over(job, *continued)
            except OSError as problem:
                log.error("cannot take over job %s: %s", job.id, problem)
        return as_lost(job)

    async def _take_over(self, job: Job, work: Work, caller: Caller) -> Job:
        """Wait for the task of a job in place of its process. Return the job as it is after that."""
        try:
            check_started(job.tool, job.principal, self._running)
        except ExecutionError:
            return job
        taken = await self._store.take_over(job.id, job.owner)
        if taken is None:  # another process has taken it, or does so at this moment
            return await self._store.find(job.id) or job
        call = self._start(work, caller, taken._replace(status="running", questions=(), steps=()))
        await call.detach()
        with suppress(TimeoutError):
            async with asyncio.timeout(TAKE_OVER_S):
                await call.waits_for_task.wait()
        return call.job

    async def _without_answered(self, job: Job) -> Job:
        """Return a job without the questions whose answers its process has not read yet."""
        if not job.questions:
            return job
        return job.without((await self._store.messages(job.id)).answers)


async def _continue_nothing(job: Job) -> None:
    """Wait for no task of another process."""
