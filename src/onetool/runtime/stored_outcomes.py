"""The outcomes of jobs in the store of results, so that any process can return them."""

from onetool.domain.calls.call import CallMeta, ToolResult
from onetool.domain.errors import Reason
from onetool.domain.jobs.job import RETENTION_S, Job
from onetool.ports import ResultStore
from onetool.threads import Threads

from .outcomes import Outcome, handles_in, outcome_from_text, outcome_media, outcome_to_text

REASONS = {"lost": Reason.LOST, "cancelled": Reason.CANCELLED}


class StoredOutcomes:
    """Stores and reads the outcomes of jobs that have ended."""

    def __init__(self, results: ResultStore, threads: Threads) -> None:
        self._results, self._threads = results, threads

    async def put(self, job: Job, outcome: Outcome) -> str:
        """Store an outcome with its media, as long as jobs are stored. Return its handle."""
        for media in outcome_media(outcome):
            await self._results.put_media(media, job.tool, RETENTION_S, owner=job.principal)
        text = await self._threads.run(outcome_to_text, outcome)
        return (await self._results.put(text, job.tool, RETENTION_S, owner=job.principal)).handle

    async def get(self, job: Job) -> Outcome:
        """Return the outcome of a job that has ended."""
        owner = job.principal
        text = await self._results.text(job.result, reader=owner) if job.result else None
        if text is not None:
            found = [await self._results.media(handle, reader=owner) for handle in handles_in(text)]
            return outcome_from_text(text, {media.handle: media for media in found if media is not None})
        reason = REASONS.get(job.status, Reason.RAISED)
        message = job.error or f"The result of job {job.id} has expired."
        return ToolResult.failure(CallMeta(job.tool, job.id, 0.0, reason=reason), reason, message)
