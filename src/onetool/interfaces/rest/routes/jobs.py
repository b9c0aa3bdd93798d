"""`/jobs`: calls that wait for answers or take long."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from onetool.domain.calls.question import Answer
from onetool.domain.identity.principal import current_principal
from onetool.domain.jobs.job import Job
from onetool.domain.jobs.job_errors import AnswerRefused, InvalidAnswer, JobNotFound
from onetool.interfaces.rest.job_bodies import approval_json, ended_job_json, job_json
from onetool.interfaces.rest.job_events import JobEvents
from onetool.interfaces.rest.params import MediaFormat, json_response
from onetool.interfaces.rest.prefer import preferences
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.jobs import AnswersBody, ApprovalResponse, JobList, JobResponse
from onetool.interfaces.rest.sse import EVENT_STREAM, EventStream
from onetool.runtime.job_answers import check_answer
from onetool.runtime.runtime import Runtime

MAX_WAIT_S = 55
JobID = Annotated[str, Path(alias="id", json_schema_extra={"pattern": "^[0-9a-f]{32}$"})]
QuestionID = Annotated[str, Path(alias="question", max_length=100)]
Wait = Annotated[
    int,
    Query(
        ge=0, le=MAX_WAIT_S, description="Seconds to wait until the job ends or asks something, at the most."
    ),
]


def job_routes(runtime: Runtime) -> APIRouter:
    """Create the routes of jobs."""
    routes = APIRouter(prefix="/jobs", tags=["jobs"])
    jobs = _CallerJobs(runtime)

    @routes.get("", response_model=JobList, responses=problem_responses())
    async def list_jobs() -> Any:
        """List jobs, newest first. They are deleted a day after their end."""
        found = await runtime.jobs.list(current_principal())
        return json_response({"jobs": [job_json(runtime, job) for job in found]})

    @routes.get("/{id}", response_model=JobResponse, responses=problem_responses(404))
    async def get_job(id: JobID, request: Request, wait: Wait = 0, media: MediaFormat = "handle") -> Any:
        """Return a job with its open questions, and with its result once it has ended.

        `Prefer: wait=30` has the same effect as `wait=30`. With `Accept: text/event-stream`, streams the
        progress and the questions (`progress`, `question`) and at the end the job (`job`).
        """
        inline = media == "inline"
        if EVENT_STREAM in request.headers.get("accept", ""):
            events = JobEvents(runtime, await jobs.find(id), inline=inline)
            return EventStream(events.queue, asyncio.create_task(events.run()))
        preferred = preferences(request.headers).wait
        return await jobs.respond(id, wait or min(preferred or 0, MAX_WAIT_S), inline=inline)

    @routes.post("/{id}/answers", response_model=JobResponse, responses=problem_responses(404, 409, 410))
    async def answer_job(id: JobID, body: AnswersBody, wait: Wait = 0, media: MediaFormat = "handle") -> Any:
        """Answer questions of a job, in whichever process it runs, and return the job.

        Each question can be answered once: 409 if it was answered before, 410 if it has expired. An answer
        that does not fit the form can be corrected.
        """
        answers = {key: Answer(item.action, item.content) for key, item in body.answers.items()}
        await jobs.answer(id, answers)
        return await jobs.respond(id, wait, answers, inline=media == "inline")

    @routes.post("/{id}/cancel", response_model=JobResponse, responses=problem_responses(404))
    async def cancel_job(id: JobID, wait: Wait = 0) -> Any:
        """Cancel a job, in whichever process it runs. One that has ended stays as it is."""
        job = await jobs.cancel(id)
        return await jobs.respond(id, wait, [question.id for question in job.questions], inline=False)

    @routes.get("/{id}/questions/{question}", responses=problem_responses(404))
    async def get_approval(id: JobID, question: QuestionID) -> ApprovalResponse:
        """Return everything about a call that waits for approval, with nothing hidden but secrets."""
        await jobs.find(id)
        request = runtime.jobs.approval(id, question)
        if request is None:
            detail = f"No approval {question!r} waits in this process. It was decided, has expired, or waits "
            raise ProblemError(404, detail + "in another process: answer it with `show_everything`.")
        arguments = await runtime.threads.run(request.complete_arguments)
        return ApprovalResponse.model_validate(approval_json(request, arguments))

    return routes


class _CallerJobs:
    """The jobs of the caller. Errors become problems."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def find(self, id: str) -> Job:
        try:
            return await self._runtime.jobs.find(id, current_principal())
        except JobNotFound as error:
            raise ProblemError(404, str(error)) from None

    async def cancel(self, id: str) -> Job:
        await self.find(id)
        return await self._runtime.jobs.cancel(id, current_principal())

    async def answer(self, id: str, answers: Mapping[str, Answer]) -> None:
        """Deliver answers: all of them, or none if one of them cannot be accepted now."""
        job = await self.find(id)
        opened = {question.id: question for question in job.questions}
        try:
            for question, answer in answers.items():
                if question in opened:
                    check_answer(opened[question], answer)
            # Those that are not open come first, because they are refused.
            for question in sorted(answers, key=opened.__contains__):
                await self._runtime.jobs.answer(id, current_principal(), question, answers[question])
        except InvalidAnswer as error:
            raise ProblemError(400, str(error)) from None
        except AnswerRefused as error:
            raise ProblemError(410 if error.is_expired else 409, str(error)) from None

    async def respond(self, id: str, seconds: float, answered: Collection[str] = (), *, inline: bool) -> Any:
        """Wait until a job ends or asks something that is not `answered`, and return it."""
        try:
            job = await self._runtime.jobs.wait_for_job(id, current_principal(), seconds, answered)
        except JobNotFound as error:
            raise ProblemError(404, str(error)) from None
        if not job.is_ended:
            return json_response(job_json(self._runtime, job, answered))
        body = await ended_job_json(self._runtime, job, inline=inline)
        return await self._runtime.threads.run(json_response, body)
