"""Jobs and their questions as JSON."""

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from fastapi import Response

from onetool.domain.calls.approval_request import ApprovalRequest, ShownArgument
from onetool.domain.calls.caller import Caller
from onetool.domain.jobs.job import Job, OpenQuestion
from onetool.runtime.runtime import Runtime
from onetool.runtime.submitted_calls import ASKER as ASKER
from onetool.runtime.submitted_calls import direct_caller

from .outcome_bodies import outcome_body
from .params import json_response
from .schemas.jobs import InputRequired

POLL_S = 1
"""Seconds after which a client should look for the result of a job."""
ASKED: dict[int | str, dict[str, Any]] = {
    202: {
        "model": InputRequired,
        "description": "The call asks, or the client does not wait. `Location` is its job.",
    }
}


def rest_caller(runtime: Runtime, *, can_ask: bool, **fields: Any) -> Caller:
    """Return the caller of a call that the user makes directly.

    can_ask: whether the user can be asked during the call.
    """
    return direct_caller(runtime.state.configuration, can_ask=can_ask, **fields)


def question_json(question: OpenQuestion) -> dict[str, Any]:
    """Return what the user sees of a question."""
    fields = question._asdict()
    del fields["params"]  # what the server sent, which the other fields contain
    return fields


def question_event(runtime: Runtime, job: str, question: OpenQuestion) -> dict[str, Any]:
    """Return the data of the event that shows a question of a job."""
    event: dict[str, Any] = runtime.state.redactor.mask({"job": job} | question_json(question))
    return event


def approval_json(request: ApprovalRequest, arguments: tuple[ShownArgument, ...]) -> dict[str, Any]:
    """Return what the user sees of a call to approve: the tool, these arguments and the digest."""
    shown = [asdict(argument) for argument in arguments]
    return {"tool": request.tool, "digest": request.digest, "arguments": shown}


def job_json(runtime: Runtime, job: Job, answered: Collection[str] = ()) -> dict[str, Any]:
    """Return a job without its result and without the questions that are `answered`."""
    body = {
        "id": job.id,
        "tool": job.tool,
        "status": job.status,
        "createdAt": job.created_at,
        "endedAt": job.ended_at,
        "questions": [question_json(question) for question in job.questions if question.id not in answered],
        "progress": None if job.progress is None else job.progress._asdict(),
    }
    if job.status == "input_required" and not body["questions"]:
        body["status"] = "running"
    masked: dict[str, Any] = runtime.state.redactor.mask(body)
    return masked


async def ended_job_json(runtime: Runtime, job: Job, *, inline: bool) -> dict[str, Any]:
    """Return a job that has ended, with the response to its call."""
    body = job_json(runtime, job)
    if job.result or job.status != "succeeded":  # a chat has no result
        body["result"] = await outcome_body(runtime, await runtime.jobs.outcome(job), inline=inline)
    return body


def input_required(runtime: Runtime, job: Job) -> Response:
    """Return the response to a call that has become a job."""
    body = job_json(runtime, job)
    response = json_response({"status": body["status"], "job": job.id, "questions": body["questions"]}, 202)
    response.headers["Location"] = f"/jobs/{job.id}"
    return response


def started_job(runtime: Runtime, job: Job) -> Response:
    """Return the response to a client that does not wait for its call."""
    response = input_required(runtime, job)
    response.headers.update({"Preference-Applied": "respond-async", "Retry-After": str(POLL_S)})
    return response
