"""Jobs in memory."""

import asyncio
from collections.abc import Hashable, Sequence

from onetool.domain.calls.question import Answer
from onetool.domain.identity.principal import may_read
from onetool.domain.jobs.job import Job, is_question_id
from onetool.ports import Messages
from onetool.ports.jobs import POLL_INTERVAL_S


class MemoryJobs:
    """Jobs of this process, for its lifetime."""

    def __init__(self, owner: str = "memory") -> None:
        self._owner = owner
        self._is_alive = False
        self._jobs: dict[str, Job] = {}
        self._answers: dict[str, dict[str, Answer]] = {}
        self._cancelled: set[str] = set()

    @property
    def owner(self) -> str:
        """The id of this process."""
        return self._owner

    async def put(self, job: Job) -> None:
        """Create or replace a job."""
        job.check_ids()
        if job.owner != self._owner:
            raise ValueError(f"Job {job.id!r} has owner {job.owner!r}. This process is {self._owner!r}.")
        self._is_alive = True
        self._jobs[job.id] = job

    async def find(self, id: str) -> Job | None:
        """Return a job."""
        return self._jobs.get(id)

    async def list(self, principal: str) -> Sequence[Job]:
        """Return the jobs that a principal may read, newest first."""
        found = [job for job in self._jobs.values() if may_read(principal, job.principal)]
        return sorted(found, key=lambda job: (job.created_at, job.id), reverse=True)

    async def answer(self, id: str, question: str, answer: Answer) -> bool:
        """Store the answer to a question."""
        if id not in self._jobs or not is_question_id(question) or question in self._answers.get(id, {}):
            return False
        self._answers.setdefault(id, {})[question] = answer
        return True

    async def cancel(self, id: str) -> None:
        """Ask the owner of a job to cancel it."""
        if id in self._jobs:
            self._cancelled.add(id)

    async def messages(self, id: str) -> Messages:
        """Return what was written for the owner of a job."""
        return Messages(dict(self._answers.get(id, {})), id in self._cancelled)

    def generation(self, id: str) -> Hashable:
        """Return None: changes are not counted."""
        return None

    async def wait_for_change(self, id: str, seen: Hashable, seconds: float) -> None:
        """Wait until it is time to look again."""
        await asyncio.sleep(min(seconds, POLL_INTERVAL_S))

    async def take_over(self, id: str, owner: str) -> Job | None:
        """Return None: no other process has jobs here."""
        return None

    async def is_alive(self, owner: str) -> bool:
        """Return whether this is the owner and the store is open."""
        return owner == self._owner and self._is_alive

    async def reap(self, before: float) -> None:
        """Delete the jobs that ended before a time. The others belong to this process."""
        for job in [job for job in self._jobs.values() if job.is_ended]:
            if (job.ended_at or job.created_at) < before:
                del self._jobs[job.id]
                self._answers.pop(job.id, None)
                self._cancelled.discard(job.id)

    async def aclose(self) -> None:
        """Give up the sign of life."""
        self._is_alive = False
