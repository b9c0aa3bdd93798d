"""The progress and the questions of a job as a stream of events, in whichever process it runs."""

import asyncio
import logging

from onetool.domain.identity.principal import current_principal
from onetool.domain.jobs.job import Job, Progress
from onetool.domain.jobs.job_errors import JobNotFound
from onetool.domain.text.json_text import encode
from onetool.runtime.runtime import Runtime

from .job_bodies import ended_job_json, question_event
from .sse import EventQueue, format_event

log = logging.getLogger(__name__)

PROGRESS_INTERVAL_S = 0.5
"""Seconds after which the progress of a job is looked at, which is not announced."""


class JobEvents:
    """What happens to one job, until it ends or is deleted."""

    def __init__(self, runtime: Runtime, job: Job, *, inline: bool) -> None:
        self.queue: EventQueue = asyncio.Queue()
        self._runtime, self._job, self._inline = runtime, job, inline
        self._progress: Progress | None = None
        self._questions: set[str] = set()

    async def run(self) -> None:
        """Add events to the queue, and at last the job."""
        try:
            job = self._job
            while not job.is_ended:
                self._report(job)
                job = await self._runtime.jobs.wait_for_job(
                    job.id, current_principal(), PROGRESS_INTERVAL_S, self._questions
                )
            self._report(job)
            body = await ended_job_json(self._runtime, job, inline=self._inline)
            self.queue.put_nowait(format_event("job", await self._runtime.threads.run(encode, body)))
        except JobNotFound as error:
            log.info("%s", error)
        except Exception:  # root of a task: the stream must end
            log.exception("the events of job %s ended early", self._job.id)
        self.queue.put_nowait(None)

    def _report(self, job: Job) -> None:
        """Report what has changed."""
        if job.progress is not None and job.progress != self._progress:
            self._progress = job.progress
            masked = self._runtime.state.redactor.mask(job.progress._asdict())
            self.queue.put_nowait(format_event("progress", encode(masked)))
        for question in job.questions:
            if question.id not in self._questions:
                self._questions.add(question.id)
                event = question_event(self._runtime, job.id, question)
                self.queue.put_nowait(format_event("question", encode(event)))
