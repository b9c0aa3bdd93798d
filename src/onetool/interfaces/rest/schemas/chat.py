"""Schemas of the chat routes."""

from typing import Annotated, Literal

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel

from .fields import Name, Text


class ChatBody(StrictModel):
    """A question to a chat model that can call tools."""

    session: str | None = Field(None, description="Session to continue or create. Default: a new session.")
    text: Text = Field(examples=["What time is it?"])
    provider: str | None = Field(None, max_length=300, examples=["scripted"])
    model: str | None = Field(None, max_length=1_000, description="Model of the provider.")
    withTools: bool = True
    tools: Literal["auto", "all", "search"] = Field(
        "auto", description="Offer every tool (`all`), or `find_tools` and `run` (`search`)."
    )
    toolAllow: Annotated[list[Name], Field(max_length=10_000)] | None = Field(
        None, description="Tools that the model may call, now and in later questions of the session."
    )
