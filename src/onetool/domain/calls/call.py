"""The request and the result of a tool call: ToolCall and ToolResult.

Most are NamedTuples: every call creates them, and a frozen dataclass takes three times as long to create.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from onetool.domain.content.content import Content
from onetool.domain.content.media import Media
from onetool.domain.content.parts import Part
from onetool.domain.errors import CODE_BY_REASON, ErrorCode, Reason

from .server_task import ServerTask

CallSource = Literal["cli", "ask", "run", "rest", "sdk", "mcp", "python"]


class ErrorText(str):
    """An error message that a tool returns instead of raising; compares equal to the plain string."""

    __slots__ = ()


class ErrorNote(str):
    """A note on an exception that is shown after its text: where a pack failed, and what to do."""

    __slots__ = ()


class ToolCall(NamedTuple):
    """A request to run one tool."""

    id: str
    name: str
    args: Mapping[str, Any]
    source: CallSource
    task: ServerTask | None = None
    """The task of an earlier call to wait for. Nothing is called then, and there are no arguments."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form used by every interface."""
        return {"id": self.id, "name": self.name, "args": dict(self.args), "source": self.source}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallError:
    """Why a call failed, for users and models."""

    tool: str
    code: ErrorCode
    message: str

    def to_json(self) -> dict[str, str]:
        """Return the JSON form used by every interface."""
        return {"tool": self.tool, "code": self.code.value, "message": self.message}


class CallMeta(NamedTuple):
    """Metadata of a call. Fields that do not apply are empty and are not serialized."""

    tool: str
    call_id: str
    duration_ms: float
    version: str = ""
    reason: Reason | None = None
    exception: str = ""
    """Name of the raised exception's type, or of its nearest built-in base class."""
    mock: bool = False
    cached: bool = False
    handle: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, without empty fields."""
        optional = {
            "version": self.version,
            "reason": self.reason.value if self.reason else "",
            "exception": self.exception,
            "mock": self.mock,
            "cached": self.cached,
            "handle": self.handle,
        }
        required = {"tool": self.tool, "callId": self.call_id, "durationMs": self.duration_ms}
        return required | {key: value for key, value in optional.items() if value}


class ToolResult(NamedTuple):
    """The result of a ToolCall. `data` is the tool's native object; each interface serializes it."""

    ok: bool
    meta: CallMeta
    data: Any = None
    error: CallError | None = None
    raised: BaseException | None = None
    """The tool's exception, for in-process interfaces that re-raise it; excluded from the repr."""
    content: Content | None = None
    """What the tool of a server returned, without loss; also if it reported a failure."""
    media: Sequence[Media] = ()
    """The media in `data`, in order."""

    @property
    def parts(self) -> Sequence[Part]:
        """All parts of what the tool of a server returned; of any other result only the media."""
        return self.media if self.content is None else self.content.parts

    def __repr__(self) -> str:
        return f"ToolResult(ok={self.ok}, data={self.data!r}, error={self.error!r}, meta={self.meta!r})"

    @classmethod
    def failure(
        cls,
        meta: CallMeta,
        reason: Reason,
        message: str,
        *,
        data: Any = None,
        raised: BaseException | None = None,
        content: Content | None = None,
    ) -> "ToolResult":
        """Create the result of a failed call. The reason determines the error code."""
        error = CallError(tool=meta.tool, code=CODE_BY_REASON[reason], message=message)
        return cls(ok=False, data=data, error=error, meta=meta, raised=raised, content=content)

    def to_json(self) -> dict[str, Any]:
        """Return `ok`, `data` or `error`, and `meta`; `data` is still the native object."""
        body: dict[str, Any] = {"ok": self.ok}
        if self.ok or self.data is not None:
            body["data"] = self.data
        if self.error is not None:
            body["error"] = self.error.to_json()
        return body | {"meta": self.meta.to_json()}
