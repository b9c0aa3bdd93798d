"""How the calls of jobs end."""

import asyncio
import logging

from onetool.domain.calls.server_task import LEFT
from onetool.domain.jobs.job import Job, JobStatus, NestedStep

from .call_job import CallJob
from .outcomes import Outcome

log = logging.getLogger(__name__)
STOPPED = "stopped"
"""The message of a cancellation because the process ends."""
WORKER_STOPPED = "worker stopped"
"""The message of a cancellation because the worker ends, which has claimed the job for a client."""


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
