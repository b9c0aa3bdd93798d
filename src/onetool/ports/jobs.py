"""Port of the store of jobs."""

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, Protocol

from onetool.domain.calls.question import Answer
from onetool.domain.jobs.job import Job
from onetool.domain.jobs.queued_call import QueuedCall

POLL_INTERVAL_S = 0.2
"""Seconds between two looks at a job in a store that does not announce changes."""


class Messages(NamedTuple):
    """What processes have written for the owner of a job."""

    answers: Mapping[str, Answer]
    """Answers by the id of their question."""
    is_cancelled: bool


class JobStore(Protocol):
    """Stores jobs for all processes of a user. The rules of the other stores apply.

    A process owns the jobs that it puts. It holds a sign of life from the first one until it ends, in
    whatever way; others can check it.
    """

    @property
    def owner(self) -> str:
        """The id of this process."""
        ...

    async def put(self, job: Job) -> None:
        """Create or replace a job of this process.

        Raises:
            ValueError: The job has another owner, or its id or the id of a question is not valid.
        """
        ...

    async def find(self, id: str) -> Job | None:
        """Return a job, or None if there is none with this id. Ids come from clients: any text."""
        ...

    async def list(self, principal: str) -> Sequence[Job]:
        """Return the jobs that the principal with a scope may read, newest first."""
        ...

    async def answer(self, id: str, question: str, answer: Answer) -> bool:
        """Store the answer to a question of a job. Return False if it was answered before.

        Also return False if there is no such job or if the id of the question is not valid.

        Of several processes that answer at the same time, exactly one succeeds.
        """
        ...

    async def cancel(self, id: str) -> None:
        """Ask the owner of a job to cancel it, or end a queued one. Do nothing if there is no such job."""
        ...

    async def messages(self, id: str) -> Messages:
        """Return what was written for the owner of a job; nothing if there is no such job."""
        ...

    def generation(self, id: str) -> Hashable:
        """Return a value for `wait_for_change`, to be taken before a job is read."""
        ...

    async def wait_for_change(self, id: str, seen: Hashable, seconds: float) -> None:
        """Wait for some seconds, but not after a job may have changed since `generation` returned `seen`.

        Changes are questions, answers, a cancellation, a task and the end. Return early also if the store
        cannot know of changes: look again.
        """
        ...

    async def take_over(self, id: str, owner: str) -> Job | None:
        """Make this process the owner of a job whose owner has ended, and return the job.

        Return None if the job has ended or has another owner, or if the owner is alive. Of several processes
        that try it at the same time, at most one succeeds; if none does, another attempt can succeed.
        """
        ...

    async def is_alive(self, owner: str) -> bool:
        """Return whether the process with this id has put a job and is still running."""
        ...

    async def reap(self, before: float) -> None:
        """Delete the jobs that ended, or whose owner ended, before a time in seconds since the epoch.

        If an owner was killed, its end is the time of the first `reap` after it.
        """
        ...

    async def aclose(self) -> None:
        """Give up the sign of life until the next `put`. May be called more than once."""
        ...


class JobQueue(Protocol):
    """Jobs that wait for a worker. They are in the job store too."""

    async def put(self, job: Job, call: QueuedCall) -> Job:
        """Store a queued job and wake a worker: both or nothing. Return the job.

        If its principal has put a job with the same idempotency key within KEY_RETENTION_S, only return that
        one. This holds for processes that put jobs at the same time.

        Raises:
            ExecutionError: Too many jobs of the principal wait.
        """
        ...

    async def claim(self, id: str) -> tuple[Job, QueuedCall] | None:
        """Make this process the owner of a queued job, which runs from now on.

        Return None if it is not queued any more. Of several processes that try it, one succeeds.
        """
        ...
