"""Schemas of the routes for resources and prompts of MCP servers."""

from typing import Annotated, Any, Literal

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel

from .calls import ContentPart
from .fields import Name, ResponseModel

Uri = Annotated[str, Field(min_length=1, max_length=20_000)]
Value = Annotated[str, Field(max_length=100_000)]
Arguments = Annotated[dict[Name, Value], Field(max_length=1_000)]
NextPage = Annotated[str | None, Field(description="Missing on the last page.")]


class ListedContent(ResponseModel):
    """What a server offers besides tools. Other fields are those of the server."""

    server: str
    name: str
    title: str | None = None
    description: str | None = None


class ResourceResponse(ListedContent):
    """A resource."""

    uri: str = Field(examples=["ot.files+file:///README.md"])
    mimeType: str | None = None


class TemplateResponse(ListedContent):
    """A template of URIs of resources."""

    uriTemplate: str = Field(examples=["ot.files+file:///{+path}"])
    mimeType: str | None = None


class PromptArgument(ResponseModel):
    """An argument of a prompt."""

    name: str
    description: str | None = None
    required: bool


class PromptResponse(ResponseModel):
    """A prompt."""

    server: str
    name: str = Field(examples=["review.summary"])
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument]


class ResourcePage(ResponseModel):
    """A page of resources."""

    resources: list[ResourceResponse]
    nextPageToken: NextPage = None


class TemplatePage(ResponseModel):
    """A page of templates."""

    templates: list[TemplateResponse]
    nextPageToken: NextPage = None


class PromptPage(ResponseModel):
    """A page of prompts."""

    prompts: list[PromptResponse]
    nextPageToken: NextPage = None


class PromptBody(StrictModel):
    """The arguments of a prompt."""

    arguments: Arguments = Field(default_factory=dict)


class PromptMessage(ResponseModel):
    """A message of a prompt."""

    role: str = Field(examples=["user"])
    content: ContentPart


class PromptMessages(ResponseModel):
    """The messages of a prompt."""

    messages: list[PromptMessage]
    meta: dict[str, Any]


class PromptReference(StrictModel):
    """A prompt."""

    type: Literal["ref/prompt"]
    name: Name


class TemplateReference(StrictModel):
    """A template of URIs."""

    type: Literal["ref/resource"]
    uri: Uri


class CompletedArgument(StrictModel):
    """The argument to complete."""

    name: Name
    value: Value


class CompletionContext(StrictModel):
    """What is already known."""

    arguments: Arguments = Field(default_factory=dict)


class CompleteBody(StrictModel):
    """An argument of a prompt or of a template, and what the user has written of it."""

    ref: Annotated[PromptReference | TemplateReference, Field(discriminator="type")]
    argument: CompletedArgument
    context: CompletionContext | None = None


class CompleteResponse(ResponseModel):
    """Values for an argument; none if the server has none or does not respond in time."""

    values: list[str]
    hasMore: bool = Field(description="Whether the server has more values than these.")
