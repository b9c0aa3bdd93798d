"""Schemas of the access routes."""

from typing import Literal

from pydantic import Field

from .fields import ResponseModel


class RuleResponse(ResponseModel):
    """A rule that applies."""

    effect: Literal["allow", "ask", "deny", "hidden"]
    origin: str = Field(description="The setting, such as `approval.deny`, or a property of the tool.")
    value: str = Field(description="The pattern or the value of the setting; empty for a property.")


class DecisionResponse(ResponseModel):
    """What a kind of caller may do with a tool."""

    caller: str
    interface: Literal["cli", "ask", "mcp"] = Field(description="`cli` also stands for REST and Python.")
    profile: str = Field(description="The profile of MCP clients; empty without one.")
    effect: Literal["allow", "ask", "deny", "hidden"]
    rules: list[RuleResponse] = Field(description="Every rule that applies, the deciding one first.")


class ToolDecisionsResponse(ResponseModel):
    """Who may call a tool."""

    name: str
    readOnly: bool
    decisions: list[DecisionResponse] = Field(description="One for each kind of caller.")


class AccessPage(ResponseModel):
    """Who may call which tool."""

    callers: list[str] = Field(description="The kinds of callers: you, models, MCP clients, profiles.")
    tools: list[ToolDecisionsResponse]
    nextPageToken: str | None = None
