"""What the routes of the screens take and answer, for their documentation and for clients made from it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from onetool.domain.bundle_bodies import Shape

from .shapes import Answer

Text = Annotated[str, Field(min_length=1, max_length=1_000_000, pattern=r"\S")]
Name = Annotated[str, Field(min_length=1, max_length=300)]
Seconds = Annotated[float, Field(description="Seconds since 1970.")]


class LoginBody(Shape):
    """The token that `onetool serve` has made."""

    token: str


class LoggedIn(Answer):
    """Whether the request brought a token or a cookie that is right."""

    loggedIn: bool


class ServerAnswer(Answer):
    """Another MCP server."""

    name: str = Field(examples=["github"])
    state: Literal["configured", "known", "started", "failed", "off"]
    reason: str = Field(description="Why it has failed; empty where it has not.")
    tools: int | None = Field(description="How many it has; null as long as nobody knows.")
    heldBack: int = Field(description="Tools that wait for somebody to look at them.")
    where: str = Field(description="Its URL, or the command that starts it.")


class ServerList(Answer):
    """All servers of the settings."""

    servers: list[ServerAnswer]


class Probed(Answer):
    """What a server answered when it was tried."""

    ok: bool
    reason: str
    tools: int | None
    seconds: float


class HeldBackTool(Answer):
    """A tool that is not used before somebody approves it."""

    name: str
    reason: str
    difference: str = Field(description="What has changed, as a unified diff.")
    pin: str = Field(description="A hash of the tool as it is shown here, for `seen` of `approve`.")


class HeldBackList(Answer):
    """The tools of a server that wait for approval."""

    tools: list[HeldBackTool]


class ApproveBody(Shape):
    """Which tools may be used, by the server's own names; all that wait where none are named."""

    names: Annotated[list[Name], Field(max_length=10_000)] | None = None
    seen: dict[Name, str] | None = Field(
        None, description="Names and pins of what somebody has looked at: what has changed since stays back."
    )

    def wanted(self, waiting: Mapping[str, str]) -> Mapping[str, str]:
        """Names of tools, each with the pin that it must have; an empty one: whatever it is now."""
        if self.seen is not None:
            return self.seen
        return waiting if self.names is None else dict.fromkeys(self.names, "")


class LogLine(Answer):
    """What was logged about a server."""

    at: str = Field(examples=["2026-01-31T12:00:00.000+00:00"])
    level: str = Field(examples=["warning"])
    message: str


class LogLines(Answer):
    """The last lines, the newest at the end."""

    lines: list[LogLine]


class RunBody(Shape):
    """Code that calls tools."""

    command: str = Field(max_length=100_000, examples=['time.now()["iso"]'])


class CallMadeAnswer(Answer):
    """A call that the code has made."""

    name: str
    ok: bool
    durationMs: float


class RunError(Answer):
    """Why a run failed."""

    tool: str
    code: str
    reason: str
    message: str


class RunAnswer(Answer):
    """What came of a run."""

    ok: bool
    data: JsonValue = None
    printed: str | None = None
    error: RunError | None = None
    calls: list[CallMadeAnswer]
    handle: str | None = Field(None, description="Of the whole result, where `text` is only a part of it.")
    text: str = Field(description="What a model would read.")


class SignatureAnswer(Answer):
    """A function of a pack."""

    name: str = Field(examples=["now"])
    signature: str = Field(examples=["time.now() -> dict"])
    description: str


class Signatures(Answer):
    """The functions that code may call, by pack."""

    packs: dict[str, list[SignatureAnswer]]


class ToolUsage(Answer):
    """The calls of one tool."""

    calls: int
    successRate: float
    meanMs: float
    maxMs: float


class HourUsage(Answer):
    """The calls of one hour."""

    at: Seconds
    calls: int
    failed: int


class UsageAnswer(Answer):
    """How often tools were called, how well that went, and what it has saved."""

    totalCalls: int
    successRate: float = Field(description="0 to 100.")
    contextSaved: int = Field(description="Tokens.")
    timeSavedMs: int
    tools: dict[str, ToolUsage]
    hours: list[HourUsage]


class ProblemFound(Answer):
    """What is wrong, and what would mend it."""

    what: str
    fix: str


class HealthAnswer(Answer):
    """How the parts of OneTool are."""

    version: str
    python: str
    cwd: str
    toolCount: int
    failures: dict[str, str] = Field(description="Sources that cannot be asked, and why.")
    leftOut: dict[str, str] = Field(description="Pack files that could not be used, and why.")
    servers: dict[str, bool] = Field(description="Other MCP servers, and whether they answer.")
    heldBack: list[str] = Field(description="Files of the project that wait for `onetool trust`.")
    abandoned: int
    problems: list[ProblemFound]


class ProviderAnswer(Answer):
    """A chat model."""

    name: str = Field(examples=["openai"])
    model: str
    key: Literal["secrets.yaml", "environment", "missing", "not needed"]


class ProviderList(Answer):
    """All chat models, and the one that is used where none is named."""

    providers: list[ProviderAnswer]
    default: str | None


class SessionHead(Answer):
    """A conversation as a list shows it."""

    id: str
    title: str
    at: Seconds
    messages: int


class SessionPage(Answer):
    """Some conversations, the newest first, and where the next ones begin."""

    sessions: list[SessionHead]
    next: str | None


class CallAsked(Answer):
    """A call that a model asked for; `args` is a text where it wrote no JSON."""

    id: str
    name: str
    args: JsonValue


class MessageAnswer(Answer):
    """One entry of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: list[CallAsked]
    callId: str = Field(description="Of a tool: the call that it answers.")
    name: str = Field(description="Of a tool: its name.")
    failed: bool
    at: Seconds | None


class SessionAnswer(Answer):
    """A whole conversation."""

    id: str
    title: str
    messages: list[MessageAnswer]


class TitleBody(Shape):
    """What a conversation is to be called."""

    title: Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S", examples=["Rain in Oslo"])]


class Titled(Answer):
    """A conversation and its title, which may have been cut."""

    id: str
    title: str


class ChatBody(Shape):
    """A question to a chat model that may use tools."""

    session: str | None = Field(None, description="Go on with it, or begin it; absent: a new one.")
    text: Text = Field(examples=["What time is it?"])
    provider: str | None = Field(None, max_length=300, examples=["scripted"])
    model: str | None = Field(None, max_length=1_000, description="Which of the provider's models.")
    withTools: bool = True
    tools: Literal["auto", "all", "search"] = Field(
        "auto", description="Offer every tool by itself, or find_tools and run."
    )
    toolAllow: Annotated[list[Name], Field(max_length=10_000)] | None = Field(
        None, description="The only tools that it may use, in this session from now on."
    )


class DecisionBody(Shape):
    """Whether a tool that changes things may run; `always` holds for it in this session."""

    decision: Literal["run", "discard", "always"]


def camel(value: Any) -> Any:
    """Write the names of members as the API does: `total_calls` becomes `totalCalls`."""
    return {_camel(key): item for key, item in value.items()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.title() for part in others)
