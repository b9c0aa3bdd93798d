"""Questions that a call asks before it can go on, and their answers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .approval_request import ApprovalRequest

QuestionKind = Literal["approval", "form", "url", "sampling", "roots"]
Action = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to the user or the client that makes a call."""

    kind: QuestionKind
    message: str
    """What the user reads. For `sampling`, the whole request as text."""
    server: str = ""
    """The server that asks. Empty: OneTool itself asks."""
    key: str = ""
    """The server's own name of its request, if the protocol has one."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """The JSON Schema of a form."""
    url: str = ""
    """The page that the user should open, for `url`."""
    params: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of the server's request as it sent them."""
    approval: ApprovalRequest | None = None
    """The call to approve, for `approval`."""


class Answer(NamedTuple):
    """What the user or the client responds to a question."""

    action: Action
    content: Mapping[str, Any] | None = None
    """The fields of a form, or the result of the server's request for `sampling` and `roots`."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of a form that was accepted; none otherwise."""
        return (self.content or {}) if self.action == "accept" else {}


SHOW_EVERYTHING = "show_everything"
CANCELLED = Answer("cancel")
"""The answer of a user who cannot be asked or does not respond in time."""
Ask = Callable[[Question], Awaitable[Answer]]


async def cannot_ask(question: Question) -> Answer:
    """Answer for callers without a user to ask."""
    return CANCELLED


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks the user or the client that makes a call."""

    ask: Ask = cannot_ask
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """What can be asked, as MCP clients declare it: `elicitation`, `sampling` and `roots`. Also the
    `extensions` that servers may use."""
    roots: tuple[Path, ...] = ()
    """The directories that servers are told, in place of those of a client that has none."""

    def with_roots(self, roots: tuple[Path, ...]) -> "Asker":
        """Return an asker that tells servers these directories, unless the client has its own."""
        if not roots or not self.capabilities or "roots" in self.capabilities:
            return self
        return replace(self, capabilities={**self.capabilities, "roots": {}}, roots=roots)

    @property
    def kinds(self) -> frozenset[QuestionKind]:
        """The kinds of questions that can be asked."""
        found = set[QuestionKind](key for key in ("sampling", "roots") if key in self.capabilities)
        elicitation = self.capabilities.get("elicitation")
        if isinstance(elicitation, Mapping):
            # An empty object means forms, as in the versions of the protocol before URLs.
            found |= {"form"} if "form" in elicitation or not elicitation else set()
            found |= {"url"} if "url" in elicitation else set()
        return frozenset(found)


NO_ASKER = Asker()
"""For callers without a user to ask."""


def approval_question(request: ApprovalRequest, complete_text: str = "") -> Question:
    """Return the question whether a call may run.

    complete_text: the text with nothing hidden, if the user wants to see it.
    """
    text = complete_text or request.text()
    properties: dict[str, Any] = {"allow": {"type": "boolean", "title": "Allow this call"}}
    if request.hides_something and not complete_text:
        title = "Show the hidden characters and ask again"
        properties[SHOW_EVERYTHING] = {"type": "boolean", "title": title, "default": False}
    return Question(
        kind="approval",
        message=f"Allow the model to call {request.tool}?\n{text}",
        schema={"type": "object", "properties": properties, "required": ["allow"]},
        approval=request,
    )
