"""Schemas of the session routes."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from onetool.domain.bundles.schemas import StrictModel

from .calls import ContentPart
from .fields import ResponseModel, Seconds


class SessionSummaryResponse(ResponseModel):
    """The summary of a conversation."""

    id: str
    title: str
    at: Seconds
    messages: int


class SessionPage(ResponseModel):
    """A page of conversations, newest first."""

    sessions: list[SessionSummaryResponse]
    next: str | None = Field(description="Cursor of the next page.")


class RequestedCall(ResponseModel):
    """A call that a model requested. `args` is a string if the model wrote invalid JSON."""

    id: str
    name: str
    args: JsonValue


class MessageResponse(ResponseModel):
    """A message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: list[RequestedCall]
    callId: str = Field(description="Role `tool`: id of the call.")
    name: str = Field(description="Role `tool`: name of the tool.")
    failed: bool
    content: list[ContentPart] = Field(
        description="Role `tool`: the media in the result. Role `user`: the attached images."
    )
    at: Seconds | None


class SessionResponse(ResponseModel):
    """A conversation with its messages."""

    id: str
    title: str
    messages: list[MessageResponse]


class TitleBody(StrictModel):
    """The new title of a conversation."""

    title: Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S", examples=["Rain in Oslo"])]


class TitleResponse(ResponseModel):
    """The title of a conversation. Long titles are shortened."""

    id: str
    title: str
