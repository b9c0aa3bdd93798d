"""Schemas of the routes that call tools."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from .fields import ResponseModel


class CallErrorResponse(BaseModel):
    """The error of a call."""

    tool: str
    code: str = Field(examples=["invalid_args"])
    message: str


class CallResponse(ResponseModel):
    """The result of a call: `value` or `error`."""

    ok: bool
    value: JsonValue = None
    error: CallErrorResponse | None = None
    meta: dict[str, Any]


class InvokeBody(BaseModel):
    """The arguments of a call."""

    model_config = ConfigDict(extra="forbid")

    args: dict[str, JsonValue] = Field(default_factory=dict, examples=[{"city": "Oslo"}])


class CallBody(InvokeBody):
    """A call by name."""

    name: str = Field(examples=["time.now"], max_length=300)
