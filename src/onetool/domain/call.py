"""What goes in and what comes out: ToolCall and ToolResult.

These are tuples, not dataclasses: some are made for every call, and a frozen dataclass takes three times
as long to make.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from .errors import CODE_OF, ErrorCode, Reason

Door = Literal["cli", "ask", "run", "rest", "sdk", "mcp", "python"]


class ErrorText(str):
    """An error that a tool returns as text instead of raising it; equal to its plain text."""

    __slots__ = ()


class ToolCall(NamedTuple):
    """A request to run one tool."""

    id: str
    name: str
    args: Mapping[str, Any]
    source: Door

    def to_json(self) -> dict[str, Any]:
        """The call as every door writes it."""
        return {"id": self.id, "name": self.name, "args": dict(self.args), "source": self.source}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallError:
    """Why a call failed, for a person and for a model."""

    tool: str
    code: ErrorCode
    message: str

    def to_json(self) -> dict[str, str]:
        """The error as every door writes it."""
        return {"tool": self.tool, "code": self.code.value, "message": self.message}


class Meta(NamedTuple):
    """What happened around a call; fields that do not apply stay empty and are not written."""

    tool: str
    call_id: str
    duration_ms: float
    version: str = ""
    reason: Reason | None = None
    exception: str = ""
    """Name of the builtin type that a raised exception is, or comes closest to."""
    mock: bool = False
    cached: bool = False
    handle: str = ""

    def to_json(self) -> dict[str, Any]:
        """The fields that apply, under their names on the wire."""
        written = {
            "version": self.version,
            "reason": self.reason.value if self.reason else "",
            "exception": self.exception,
            "mock": self.mock,
            "cached": self.cached,
            "handle": self.handle,
        }
        head = {"tool": self.tool, "callId": self.call_id, "durationMs": self.duration_ms}
        return head | {key: value for key, value in written.items() if value}


class ToolResult(NamedTuple):
    """The answer to a ToolCall. `data` is the tool's native object; each door serialises it."""

    ok: bool
    meta: Meta
    data: Any = None
    error: CallError | None = None
    raised: BaseException | None = None
    """The tool's own exception, for doors inside the process that raise it again; no repr shows it."""

    def __repr__(self) -> str:
        return f"ToolResult(ok={self.ok}, data={self.data!r}, error={self.error!r}, meta={self.meta!r})"

    @classmethod
    def failure(
        cls,
        meta: Meta,
        reason: Reason,
        message: str,
        *,
        data: Any = None,
        raised: BaseException | None = None,
    ) -> "ToolResult":
        """A failed call; its code follows from the reason."""
        error = CallError(tool=meta.tool, code=CODE_OF[reason], message=message)
        return cls(ok=False, data=data, error=error, meta=meta, raised=raised)

    def to_json(self) -> dict[str, Any]:
        """`ok`, then `data` or `error`, then `meta`; `data` is still the native object."""
        body: dict[str, Any] = {"ok": self.ok}
        if self.ok or self.data is not None:
            body["data"] = self.data
        if self.error is not None:
            body["error"] = self.error.to_json()
        return body | {"meta": self.meta.to_json()}
