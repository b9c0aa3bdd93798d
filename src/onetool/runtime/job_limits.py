"""How many calls of one process may wait for answers or run as jobs."""

from collections.abc import Iterable

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.jobs.job import Job

from .call_job import CallJob

MAX_WAITING, MAX_WAITING_PER_PRINCIPAL = 100, 20
"""Calls that wait for answers."""
MAX_STARTED_PER_PRINCIPAL = 100
"""Jobs that no client waits for."""


def check_waiting(job: Job, calls: Iterable[CallJob]) -> None:
    """Check that another call may wait for answers.

    Raises:
        ExecutionError: Too many calls wait for answers.
    """
    waiting = [call.job.principal for call in calls if call.has_questions]
    if len(waiting) >= MAX_WAITING or waiting.count(job.principal) >= MAX_WAITING_PER_PRINCIPAL:
        raise ExecutionError(Reason.BUSY, f"{job.tool} was stopped: too many calls wait for answers.")


def check_started(tool: str, principal: str, calls: Iterable[CallJob]) -> None:
    """Check that a principal may start another job.

    Raises:
        ExecutionError: Too many of its jobs are running.
    """
    running = sum(call.is_detached and call.job.principal == principal for call in calls)
    if running >= MAX_STARTED_PER_PRINCIPAL:
        raise ExecutionError(Reason.BUSY, f"{tool} was not started: too many jobs are running.")
