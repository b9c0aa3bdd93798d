"""Schemas of the job routes, and of the questions that calls ask."""

from typing import Annotated, Any

from pydantic import Field, JsonValue

from onetool.domain.bundles.schemas import StrictModel
from onetool.domain.calls.question import Action, QuestionKind
from onetool.domain.jobs.job import JobStatus

from .calls import CallResponse
from .fields import ResponseModel, Seconds
from .run import RunResponse

MAX_ANSWERS = 100


class ArgumentResponse(ResponseModel):
    """An argument of a call that waits for approval, as shown to the user."""

    name: str = Field(description="The name as a JSON string in ASCII.")
    value: str = Field(description="The value as JSON on one line, with invisible characters escaped.")
    hidden: int = Field(description="Number of characters that are not shown.")


class ApprovalResponse(ResponseModel):
    """A call that waits for approval."""

    tool: str
    digest: str = Field(description="SHA-256 of the tool and the arguments that run if the call is approved.")
    arguments: list[ArgumentResponse]


class QuestionResponse(ResponseModel):
    """A question that a call asks."""

    id: str
    kind: QuestionKind
    server: str = Field(description="The server that asks. Empty: OneTool itself asks.")
    message: str
    schema_: dict[str, Any] = Field(alias="schema", description="JSON Schema of the answer to a form.")
    url: str = Field(description="The page that the user should open, for `url`.")
    approval: ApprovalResponse | None = Field(description="The call to approve, for `approval`.")


class InputRequired(ResponseModel):
    """A call that has become a job: it waits for answers, or the client does not wait for it."""

    status: JobStatus = Field(
        description="`input_required`, unless the client sent `Prefer: respond-async`.",
        examples=["input_required", "queued"],
    )
    job: str = Field(description="Id of the job, for `/jobs/{id}`.")
    questions: list[QuestionResponse]


class ProgressResponse(ResponseModel):
    """The last progress of a job."""

    done: float
    total: float | None
    message: str


class JobResponse(ResponseModel):
    """A call that waits for an answer or takes long."""

    id: str
    tool: str = Field(description="Name of the tool; `run` for code and `chat` for a question to a model.")
    status: JobStatus
    createdAt: Seconds
    endedAt: float | None = Field(description="Unix time in seconds. Null: it has not ended.")
    questions: list[QuestionResponse]
    progress: ProgressResponse | None
    result: CallResponse | RunResponse | None = Field(
        None, description="The response to the call or the run, once it has ended. Missing in lists."
    )


class JobList(ResponseModel):
    """The jobs of the caller."""

    jobs: list[JobResponse]


class AnswerBody(StrictModel):
    """The answer to a question."""

    action: Action = Field(description="`cancel` means that the user gave no answer.")
    content: dict[str, JsonValue] | None = Field(
        None,
        description="The fields of a form that is accepted. For an approval `allow`, and `always` to approve "
        "all calls of the tool in a chat session.",
    )


class AnswersBody(StrictModel):
    """Answers by the id of their question."""

    answers: Annotated[dict[str, AnswerBody], Field(min_length=1, max_length=MAX_ANSWERS)]
