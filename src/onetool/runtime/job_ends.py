"""How the calls of jobs end."""

import asyncio
import logging
from collections.abc import Callable

from onetool.domain.calls.server_task import LEFT
from onetool.domain.errors import StoreUnavailable, WorkspaceReadOnly, WorkspaceUnavailable
from onetool.domain.jobs.job import RETENTION_S, Job, JobStatus, NestedStep
from onetool.domain.jobs.job_errors import JobTakenOver
from onetool.ports.jobs import JobStore

from .call_job import CallJob
from .outcomes import Outcome
from .stored_outcomes import StoredOutcomes

log = logging.getLogger(__name__)
MAX_UNSAVED = 100
"""Ended jobs that could not be stored, whose outcomes this process can still return."""
RETRY_S = 2.0
"""Seconds until the end of a job that could not be stored is stored again."""
REAP_INTERVAL_S = 600.0
STOPPED = "stopped"
"""The message of a cancellation because the process ends."""
WORKER_STOPPED = "worker stopped"
"""The message of a cancellation because the worker ends, which has claimed the job for a client."""


class JobEnds:
    """Stores the ends of jobs. What cannot be stored is tried again for as long as this process runs."""

    def __init__(
        self, store: JobStore, outcomes: StoredOutcomes, active: dict[str, CallJob], now: Callable[[], float]
    ) -> None:
        """active: the jobs of this process. Those whose end is stored are removed."""
        self._store, self._outcomes, self._active, self._now = store, outcomes, active, now
        self._reaped_at = 0.0
        self._retrying: asyncio.Task[None] | None = None

    async def add(self, call: CallJob, status: JobStatus, error: str = "") -> None:
        """End a job, and store that."""
        if not call.is_stored:
            call.end(status, error=error)
            self._active.pop(call.job.id, None)
            return
        try:
            await self._save(call, status, error)
        except OSError as problem:
            log.error("cannot store the end of job %s: %s", call.job.id, problem)
        except Exception:
            log.exception("cannot store the end of job %s", call.job.id)
        else:
            await self._reap()
            return
        call.end(status, result=call.job.result, error=call.job.error or error)
        self._retry_later(call)

    async def close(self) -> None:
        """Try for the last time to store what is not stored yet."""
        if self._retrying is not None:
            self._retrying.cancel()
            await asyncio.wait([self._retrying])
        await self._save_again()

    async def _save(self, call: CallJob, status: JobStatus, error: str) -> None:
        """Store the outcome of a call, then that its job has ended.

        Raises:
            OSError: Not everything could be stored.
        """
        result = call.job.result
        if call.outcome is not None and not result and not call.job.error:
            try:
                result = await self._outcomes.put(call.job, call.outcome)
            except (WorkspaceUnavailable, WorkspaceReadOnly):
                raise
            except Exception:  # a full disk, or a value that cannot be encoded: it can be returned only here
                log.exception("cannot store the outcome of job %s", call.job.id)
                error = f"The result of job {call.job.id} could not be stored."
        call.end(status, result=result, error=error)
        try:
            await call.save()
        except JobTakenOver as problem:
            log.warning("%s", problem)
        self._active.pop(call.job.id, None)

    def _retry_later(self, call: CallJob) -> None:
        self._active[call.job.id] = call
        for id in [call.job.id for call in self._unsaved()][:-MAX_UNSAVED]:
            del self._active[id]
        if self._retrying is None or self._retrying.done():
            self._retrying = asyncio.create_task(self._retry())

    def _unsaved(self) -> list[CallJob]:
        return [call for call in self._active.values() if call.job.is_ended]

    async def _retry(self) -> None:
        while self._unsaved():
            await asyncio.sleep(RETRY_S)
            await self._save_again()

    async def _save_again(self) -> None:
        problems = list[OSError]()
        for call in self._unsaved():
            try:
                await self._save(call, call.job.status, call.job.error)
            except OSError as error:
                problems.append(error)
            except Exception:  # the others are tried now, and this one again
                log.exception("cannot store the end of job %s", call.job.id)
        if problems:
            log.warning("still cannot store the ends of %d jobs: %s", len(problems), problems[-1])

    async def _reap(self) -> None:
        if self._now() - self._reaped_at < REAP_INTERVAL_S:
            return
        self._reaped_at = self._now()
        try:
            await self._store.reap(self._now() - RETENTION_S)
        except OSError as error:
            log.error("cannot delete old jobs: %s", error)


def read_outcome(call: CallJob, task: "asyncio.Task[Outcome]") -> tuple[JobStatus, str] | None:
    """Set the outcome of a call that has ended. Return the status of its job, and why there is no outcome.

    Return None if the job has not ended, because another process will wait for its task.
    """
    try:
        call.outcome = task.result()
    except asyncio.CancelledError as error:
        if LEFT in error.args:
            return None
        if WORKER_STOPPED in error.args:
            return "lost", lost_error(call.cancelled or call.job)
        stopped = "OneTool was stopped." if STOPPED in error.args else "The job was cancelled."
        return "cancelled", stopped + may_have_run(call.job)
    except StoreUnavailable as error:
        log.error("job %s failed: %s", call.job.id, error)
        return "failed", str(error) + may_have_run(call.job)
    except BaseException as error:
        log.exception("job %s failed", call.job.id)
        return "failed", f"Internal error: {type(error).__name__}." + may_have_run(call.job)
    return ("succeeded" if call.outcome.ok else "failed"), ""


def as_lost(job: Job, ended_at: float | None = None) -> Job:
    """Return a job whose process has ended before it."""
    return job._replace(status="lost", questions=(), error=lost_error(job), ended_at=ended_at)


def lost_error(job: Job) -> str:
    """Return why a job has no outcome if its process has ended before it."""
    return f"The process that ran {job.tool} has ended. Nothing was repeated." + may_have_run(job)


def may_have_run(job: Job) -> str:
    """Return a sentence with the calls of a job that may have run."""
    ended = [_step_text(step) for step in job.steps if step.is_ended]
    begun = [_step_text(step) for step in job.steps if not step.is_ended]
    texts = [f" Finished: {', '.join(ended)}."] if ended else []
    return "".join([*texts, f" May have run: {', '.join(begun)}." if begun else ""])


def _step_text(step: NestedStep) -> str:
    return step.tool if step.calls == 1 else f"{step.tool} ({step.calls:,} times)"
