"""Schemas of the routes that call tools."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from .fields import Interactive, ResponseModel


class CallErrorResponse(BaseModel):
    """The error of a call."""

    tool: str
    code: str = Field(examples=["invalid_args"])
    message: str


class ContentPart(ResponseModel):
    """A part of a result, as in the MCP protocol. Media have a size and a handle in place of their bytes."""

    type: str = Field(examples=["text", "image", "audio", "resource", "resource_link"])
    text: str | None = None
    mimeType: str | None = Field(None, description="Type of media.")
    size: int | None = Field(None, description="Size of media in bytes.")
    handle: str | None = Field(
        None, description="Handle of media, for `GET /results/{handle}`. Missing if they could not be stored."
    )
    data: str | None = Field(None, description="The bytes of media as base64, with `media=inline`.")
    uri: str | None = Field(None, description="URI of a link, or of embedded media.")
    resource: dict[str, JsonValue] | None = Field(
        None, description="An embedded text, with its `uri` and `mimeType`."
    )


Content = Annotated[
    list[ContentPart] | None,
    Field(
        description="All parts of the result of an MCP server, or the media in any other result. "
        "Missing if `value` is all there is."
    ),
]


class CallResponse(ResponseModel):
    """The result of a call: `value` or `error`."""

    ok: bool
    value: JsonValue = None
    error: CallErrorResponse | None = None
    content: Content = None
    meta: dict[str, Any]


class InvokeBody(BaseModel):
    """The arguments of a call."""

    model_config = ConfigDict(extra="forbid")

    args: dict[str, JsonValue] = Field(default_factory=dict, examples=[{"city": "Oslo"}])
    interactive: Interactive = False


class CallBody(InvokeBody):
    """A call by name."""

    name: str = Field(examples=["time.now"], max_length=300)
