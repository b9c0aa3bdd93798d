"""Why a job cannot be read or answered."""

from onetool.domain.errors import OneToolError, StoreUnavailable


class JobError(OneToolError):
    """Base class of the errors of jobs."""


class JobNotFound(JobError):
    """There is no such job for this principal."""

    def __init__(self, id: str) -> None:
        super().__init__(f"Job {id[:40]!r} not found. Jobs are deleted a day after their end.")


class AnswerRefused(JobError):
    """The question does not wait for an answer any more."""

    def __init__(self, question: str, *, is_expired: bool) -> None:
        why = "has expired" if is_expired else "has been answered already"
        super().__init__(f"Question {question[:40]!r} {why}.")
        self.is_expired = is_expired


class JobEnded(JobError):
    """The job does not ask any more. The message says what may have run, if it has no result."""

    def __init__(self, id: str, error: str) -> None:
        super().__init__(error or f"Job {id} has ended.")


class JobTakenOver(JobError, StoreUnavailable):
    """Another process has taken the job over, because this one was away for too long."""

    def __init__(self, id: str) -> None:
        super().__init__(f"Another process has taken over job {id!r}.")


class KeyReused(JobError):
    """An idempotency key stands for another call."""

    def __init__(self, key: str) -> None:
        super().__init__(
            f"Idempotency-Key {key[:40]!r} was used for another tool or other arguments. Use a new one."
        )


class InvalidAnswer(JobError):
    """The answer does not fit the question. It can be answered again."""
