"""Error codes and reasons, and the exceptions that carry them.

OneToolError
  ToolError            a call failed; becomes ToolResult(ok=False)
    ToolNotFound       tool_not_found
    InvalidArgs        invalid_args
    ExecutionError     execution_error
  InvalidTool          a definition that cannot become a tool (ValueError)
    DuplicateTool      its name is taken already
  SettingsError        what the operator wrote cannot be used; stops start-up
  LoginFailed          a person could not be logged in to another server
  NoRuntime            code that needs a running OneTool was called without one
  ChatFailed           a chat model gave no reply (see chat.py)
  BadSession           a conversation that cannot be used (see transcript.py)
  BundleError          something that cannot be done with a stored bundle (see bundle.py)
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class ErrorCode(StrEnum):
    """The three codes a caller can meet."""

    TOOL_NOT_FOUND = "tool_not_found"
    INVALID_ARGS = "invalid_args"
    EXECUTION_ERROR = "execution_error"


class Reason(StrEnum):
    """Which situation lies behind a code; a closed set that every door maps to its own answer."""

    UNKNOWN = "unknown"
    DISABLED = "disabled"
    NOT_REGISTERED = "not_registered"
    NOT_ALLOWED = "not_allowed"
    BAD_ARGS = "bad_args"
    NEEDS_APPROVAL = "needs_approval"
    RATE_LIMITED = "rate_limited"
    BUSY = "busy"
    TOO_LARGE_IN = "too_large_in"
    TOO_LARGE_OUT = "too_large_out"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    RAISED = "raised"
    RETURNED_ERROR = "returned_error"
    BAD_OUTPUT = "bad_output"
    UPSTREAM = "upstream"
    HOST_NOT_ALLOWED = "host_not_allowed"


_NOT_FOUND = (Reason.UNKNOWN, Reason.DISABLED, Reason.NOT_REGISTERED, Reason.NOT_ALLOWED)
_INVALID = (Reason.BAD_ARGS, Reason.TOO_LARGE_IN)

CODE_OF: Mapping[Reason, ErrorCode] = MappingProxyType(
    {
        **dict.fromkeys(Reason, ErrorCode.EXECUTION_ERROR),
        **dict.fromkeys(_NOT_FOUND, ErrorCode.TOOL_NOT_FOUND),
        **dict.fromkeys(_INVALID, ErrorCode.INVALID_ARGS),
    }
)
"""Each reason belongs to exactly one code."""


class OneToolError(Exception):
    """Base of every exception that OneTool raises on purpose."""


class ToolError(OneToolError):
    """A call failed; the pipeline answers it with a ToolResult."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    @property
    def code(self) -> ErrorCode:
        """The code that this error's reason belongs to."""
        return CODE_OF[self.reason]


class ToolNotFound(ToolError):
    """No such tool for this caller."""


class InvalidArgs(ToolError):
    """The arguments cannot be taken."""


class ExecutionError(ToolError):
    """The tool was found and its arguments fit, yet there is no good answer."""


class InvalidTool(OneToolError, ValueError):
    """A definition that cannot become a tool."""


class DuplicateTool(InvalidTool):
    """A second tool claims a name; the first keeps it."""


class SettingsError(OneToolError):
    """What the operator wrote cannot be used as it stands."""


class LoginFailed(OneToolError):
    """A person could not be logged in to another server; the message says why."""


class NoRuntime(OneToolError, RuntimeError):
    """Code that needs a running OneTool was called without one."""
