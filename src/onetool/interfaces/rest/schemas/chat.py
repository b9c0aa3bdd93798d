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


class DecisionBody(StrictModel):
    """The decision about a call. `always` approves all calls of the tool in this session."""

    decision: Literal["approve", "deny", "always"]


class ArgumentBody(StrictModel):
    """An argument of a call that waits for approval, as shown to the user."""

    name: str = Field(description="The name as a JSON string in ASCII.")
    value: str = Field(description="The value as JSON on one line, with invisible characters escaped.")
    hidden: int = Field(description="Number of characters that are not shown.")


class QuestionBody(StrictModel):
    """A call that waits for approval."""

    tool: str
    digest: str = Field(description="SHA-256 of the tool and the arguments that run if the call is approved.")
    arguments: list[ArgumentBody]
