"""Schemas of the chat routes."""

from typing import Annotated, Literal

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel
from onetool.domain.chat.attachments import (
    MAX_ATTACHMENTS,
    MAX_FILE_CHARACTERS,
    MAX_IMAGE_BYTES,
    MAX_TOTAL_IMAGE_BYTES,
)

from .fields import Name, Text


class AttachmentBody(StrictModel):
    """A file that is sent with a question."""

    name: Annotated[str, Field(min_length=1, max_length=200, examples=["plan.md"])]
    data: Annotated[
        str, Field(max_length=5_300_000, description="The bytes as base64.", examples=["SGVsbG8="])
    ]


class ChatBody(StrictModel):
    """A question to a chat model that can call tools."""

    session: str | None = Field(None, description="Session to continue or create. Default: a new session.")
    text: Text = Field(examples=["What time is it?"])
    attachments: Annotated[list[AttachmentBody], Field(max_length=MAX_ATTACHMENTS)] = Field(
        [],
        description="Images (PNG, JPEG, GIF, WebP) and texts in UTF-8. The bytes decide what a file is. "
        "A model that takes no images responds with 400. "
        f"Limits: {MAX_IMAGE_BYTES:,} bytes each, {MAX_TOTAL_IMAGE_BYTES:,} bytes for all images, "
        f"{MAX_FILE_CHARACTERS:,} characters of each text.",
    )
    provider: str | None = Field(None, max_length=300, examples=["scripted"])
    model: str | None = Field(None, max_length=1_000, description="Model of the provider.")
    withTools: bool = True
    tools: Literal["auto", "all", "search"] = Field(
        "auto", description="Offer every tool (`all`), or `find_tools` and `run` (`search`)."
    )
    toolAllow: Annotated[list[Name], Field(max_length=10_000)] | None = Field(
        None, description="Tools that the model may call, now and in later questions of the session."
    )
