"""A job: a call that waits for an answer or takes long. Any process of the user can read and answer it."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from onetool.domain.calls.question import Question, QuestionKind
from onetool.domain.calls.server_task import ServerTask

JobStatus = Literal["queued", "running", "input_required", "succeeded", "failed", "cancelled", "lost"]
ENDED: frozenset[str] = frozenset({"succeeded", "failed", "cancelled", "lost"})
RETENTION_S = 86_400.0
"""Seconds after its end for which a job and its result are stored."""
KEY_RETENTION_S = 86_400.0
"""Seconds for which an idempotency key stands for the job that it started."""
MAX_KEY_LENGTH = 255
JOB_ID = re.compile(r"[0-9a-f]{32}")
QUESTION_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
RESERVED_QUESTION_IDS = frozenset({"json", "cancel"})
"""Names of other files of a job."""


def is_job_id(text: str) -> bool:
    """Whether a text can be the id of a job: 32 hexadecimal digits."""
    return JOB_ID.fullmatch(text) is not None


def is_question_id(text: str) -> bool:
    """Whether a text can be the id of a question: up to 64 letters, digits, `-` and `_`."""
    return QUESTION_ID.fullmatch(text) is not None and text.lower() not in RESERVED_QUESTION_IDS


class OpenQuestion(NamedTuple):
    """A question that waits for an answer."""

    id: str
    kind: QuestionKind
    message: str
    server: str = ""
    schema: Mapping[str, Any] = {}
    url: str = ""
    params: Mapping[str, Any] = {}
    approval: Mapping[str, Any] | None = None
    """The call to approve: `tool`, `digest`, and `arguments` with a name, a value and the hidden length."""

    @staticmethod
    def of(id: str, question: Question) -> "OpenQuestion":
        """Return a question as it is stored: without the arguments that run."""
        request = question.approval
        approval = None
        if request is not None:
            shown = [
                {"name": item.name, "value": item.value, "hidden": item.hidden} for item in request.arguments
            ]
            approval = {"tool": request.tool, "digest": request.digest, "arguments": shown}
        return OpenQuestion(
            id,
            question.kind,
            question.message,
            question.server,
            dict(question.schema),
            question.url,
            dict(question.params),
            approval,
        )


class NestedStep(NamedTuple):
    """Calls of a tool that the job has made: they may have run, even if they have not ended."""

    tool: str
    is_ended: bool = False
    calls: int = 1


class Progress(NamedTuple):
    """The last progress of a job."""

    done: float
    total: float | None = None
    message: str = ""


class Job(NamedTuple):
    """The stored state of a job. Only the process that owns it writes it."""

    id: str
    principal: str
    tool: str
    """The name of the tool, or `run`."""
    digest: str
    """SHA-256 of the tool and its arguments."""
    owner: str
    """The process in which the call runs; empty before a worker has taken it, and if it is lost."""
    created_at: float
    """Seconds since the epoch."""
    status: JobStatus = "running"
    ended_at: float | None = None
    questions: Sequence[OpenQuestion] = ()
    """The questions that are open."""
    steps: Sequence[NestedStep] = ()
    """The calls of a run so far, without those that only read."""
    progress: Progress | None = None
    result: str = ""
    """The handle of the stored outcome."""
    error: str = ""
    """Why a job without an outcome ended."""
    task: ServerTask | None = None
    """The task of a server that this job waits for."""
    idempotency_key: str = ""
    """What the client sends with each attempt to start the same job."""

    def asks(self, answered: Collection[str]) -> bool:
        """Whether it asks something that is not answered yet."""
        return any(question.id not in answered for question in self.questions)

    def without(self, answered: Collection[str]) -> "Job":
        """Return the job without questions that are answered. It runs if no other is open."""
        questions = tuple(question for question in self.questions if question.id not in answered)
        return self._replace(questions=questions, status=self.status if questions else "running")

    @property
    def is_ended(self) -> bool:
        """Whether nothing will change any more."""
        return self.status in ENDED

    def check_ids(self) -> None:
        """Check the ids that stores use as names.

        Raises:
            ValueError: The id of the job or of a question is not valid.
        """
        if not is_job_id(self.id):
            raise ValueError(f"Invalid job id {self.id!r}. Use 32 lowercase hexadecimal digits.")
        for question in self.questions:
            if not is_question_id(question.id):
                raise ValueError(
                    f"Invalid question id {question.id!r}. Use up to 64 letters, digits, '-' and '_', "
                    "but not 'json' or 'cancel'."
                )

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON."""
        fields = self._asdict()
        fields["questions"] = [question._asdict() for question in self.questions]
        fields["steps"] = [list(step) for step in self.steps]
        fields["progress"] = None if self.progress is None else list(self.progress)
        fields["task"] = None if self.task is None else self.task._asdict()
        return fields

    @staticmethod
    def from_json(fields: Mapping[str, Any]) -> "Job":
        """Return the job of `to_json`.

        Raises:
            TypeError: A field is missing, unknown or of the wrong type.
        """
        job = Job(**fields)
        texts = (
            job.id,
            job.principal,
            job.tool,
            job.digest,
            job.owner,
            job.result,
            job.error,
            job.idempotency_key,
        )
        if not (
            all(isinstance(text, str) for text in texts)
            and isinstance(job.created_at, int | float)
            and isinstance(job.ended_at, int | float | None)
            and job.status in get_args(JobStatus)
        ):
            raise TypeError("A field of the job has the wrong type.")
        return job._replace(
            questions=tuple(OpenQuestion(**question) for question in job.questions),  # type: ignore[arg-type]
            steps=tuple(NestedStep(*step) for step in job.steps),
            progress=None if job.progress is None else Progress(*job.progress),
            task=None if job.task is None else ServerTask(**job.task),  # type: ignore[arg-type]
        )
