"""Schemas of the routes that run code."""

from pydantic import Field, JsonValue

from onetool.domain.bundles.schemas import StrictModel

from .calls import ContentPart
from .fields import Interactive, ResponseModel


class RunBody(StrictModel):
    """Code that calls tools."""

    command: str = Field(max_length=100_000, examples=['time.now()["iso"]'])
    interactive: Interactive = False


class NestedCallResponse(ResponseModel):
    """A call that the code made."""

    name: str
    ok: bool
    durationMs: float


class RunError(ResponseModel):
    """The error of a run."""

    tool: str
    code: str
    reason: str
    message: str


class RunResponse(ResponseModel):
    """The result of a run."""

    ok: bool
    data: JsonValue = None
    printed: str | None = None
    error: RunError | None = None
    content: list[ContentPart] | None = Field(
        None, description="The media in `data`, or beside it, if there are any."
    )
    calls: list[NestedCallResponse]
    handle: str | None = Field(None, description="Handle of the stored result, if `text` is shortened.")
    text: str = Field(description="The result as a model reads it.")


class SignatureResponse(ResponseModel):
    """A function of a pack."""

    name: str = Field(examples=["now"])
    signature: str = Field(examples=["time.now() -> dict"])
    description: str


class Signatures(ResponseModel):
    """The functions that code can call, by pack."""

    packs: dict[str, list[SignatureResponse]]
