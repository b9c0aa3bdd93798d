"""Jobs of the caller: calls that go on without waiting for them."""

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from onetool.domain.calls.approval_request import call_digest
from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import (
    Caller,
    ask_user,
    ignore_log,
    ignore_progress,
    never_approve,
)
from onetool.domain.calls.question import Question
from onetool.domain.jobs.job import Job, OpenQuestion
from onetool.domain.jobs.job_errors import AnswerRefused
from onetool.runtime.active_call import current_call
from onetool.runtime.outcomes import Outcome

WAIT_SHARE = 0.8
"""Part of `execution.handover_s` for which a call waits at most."""
RESERVE_S = 1.0
"""Seconds before the deadline of a call in which it must have returned."""


async def start_job(tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Call a tool without waiting for it.

    Raises:
        ToolNotFound: There is no such tool, or the caller may not call it.
    """
    active = current_call()
    runtime, invocation = active.runtime, active.invocation
    resolved = await runtime.state.catalog.resolve(tool, invocation.caller)
    name = resolved.tool.spec.versioned_name
    timeout_s = runtime.state.configuration.settings.execution.job_timeout_s
    caller = _detached(invocation.caller, timeout_s)
    job = await runtime.jobs.start(
        lambda own: runtime.call_tool(name, args, own, "run"), caller, name, call_digest(name, args)
    )
    return _entry(job)


async def wait_for_job(id: str, seconds: float) -> dict[str, Any]:
    """Wait for a job. Ask the caller what the job asks, if the caller can be asked.

    Raises:
        JobNotFound: The caller has no such job.
    """
    active = current_call()
    jobs, caller = active.runtime.jobs, active.invocation.caller
    if caller.handover_timeout:  # the call that waits must not become a job itself
        execution = active.runtime.state.configuration.settings.execution
        seconds = min(seconds, execution.handover_s * WAIT_SHARE)
    end = min(time.monotonic() + seconds, active.invocation.deadline - RESERVE_S)
    paused_before = caller.pauses.seconds
    answered = list[str]()
    while True:
        left = end + caller.pauses.seconds - paused_before - time.monotonic()
        found = await jobs.wait(id, caller.principal, max(left, 0.0), answered)
        if not isinstance(found, Job):
            return {"id": id, **_result(found)}
        askable = [question for question in found.questions if question.id not in answered]
        askable = [question for question in askable if _kind(question) in caller.asker.kinds]
        if not askable:
            return _entry(found)
        for question in askable:
            answer = await caller.ask(_question(question))
            answered.append(question.id)
            try:
                await jobs.answer(id, caller.principal, question.id, answer)
            except AnswerRefused:
                continue  # it was answered in another way


async def cancel_job(id: str) -> dict[str, Any]:
    """Cancel a job.

    Raises:
        JobNotFound: The caller has no such job.
    """
    active = current_call()
    return _entry(await active.runtime.jobs.cancel(id, active.invocation.caller.principal))


async def list_jobs() -> list[dict[str, Any]]:
    """Return the caller's jobs, newest first."""
    active = current_call()
    return [_entry(job) for job in await active.runtime.jobs.list(active.invocation.caller.principal)]


def _detached(caller: Caller, timeout_s: float) -> Caller:
    """Return a caller with the same permissions whose calls no client waits for."""
    asks = caller.approve is not never_approve
    return replace(
        caller,
        approve=ask_user if asks else caller.approve,
        on_progress=ignore_progress,
        on_log=ignore_log,
        on_step=None,
        deadline=None,
        min_timeout=timeout_s,
        depth=0,
        credentials=None,
        pauses=caller.pauses.fresh(),
        paused_before=0.0,
    )


def _kind(question: OpenQuestion) -> str:
    return "form" if question.kind == "approval" else question.kind


def _question(question: OpenQuestion) -> Question:
    return Question(
        kind=_kind(question),  # type: ignore[arg-type]
        message=question.message,
        server=question.server,
        schema=question.schema,
        url=question.url,
        params=question.params,
    )


def _entry(job: Job) -> dict[str, Any]:
    started = datetime.fromtimestamp(job.created_at, UTC).isoformat(timespec="seconds")
    entry: dict[str, Any] = {"id": job.id, "tool": job.tool, "status": job.status, "started": started}
    if job.progress is not None:
        entry["progress"] = job.progress._asdict()
    if job.questions:
        entry["waits_for_answer_to"] = [question.message for question in job.questions]
    return entry | ({"error": job.error} if job.error else {})


def _result(outcome: Outcome) -> dict[str, Any]:
    if outcome.error is not None:
        reason = outcome.meta.reason if isinstance(outcome, ToolResult) else outcome.error.reason
        status = str(reason) if reason in ("lost", "cancelled") else "failed"
        return {"status": status, "error": outcome.error.message}
    printed = {} if isinstance(outcome, ToolResult) or not outcome.printed else {"printed": outcome.printed}
    return {"status": "succeeded", **printed, "result": outcome.data}
