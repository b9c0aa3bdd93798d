"""Error codes, reasons and the exception tree.

OneToolError
├── ToolError                a call failed; the pipeline turns it into ToolResult(ok=False)
│   ├── ToolNotFound         code tool_not_found
│   ├── InvalidArgs          code invalid_args
│   └── ExecutionError       code execution_error; subclasses in pipeline/dispatch.py
│       ├── ContentNotFound  code tool_not_found: no such resource or prompt
│       ├── LimitExceeded    too many calls: says when to try again
│       ├── LoginRequired    the caller must log in to a server first: says where
│       └── RequestRefused   a server answered a request with an error of the protocol
├── InvalidTool              a tool definition is invalid; also a ValueError
│   └── DuplicateTool        the name is already registered
├── BundleError              an operation on a stored bundle failed (bundles/bundle.py)
│   ├── InvalidBundle        the bundle or its input is invalid; also a ValueError
│   ├── BundleNotFound       no such bundle or tool; also a LookupError
│   ├── ReadOnlyBundle       the bundle is not stored and cannot be edited
│   └── BundleConflict       the current state does not allow the operation
│       └── AlreadyExists    the slug and version are already in use
├── InvalidProgram           code passed to `run` cannot be executed (code/program.py)
├── InvalidSession           a chat session cannot be used (chat/transcript.py)
├── ChatModelError           a chat model returned no response (chat/messages.py)
├── ProviderNotSupported     no tool format for this provider; also a ValueError (tools/provider_formats.py)
├── SettingsError            the configuration is invalid; stops start-up
├── JobError                 a job cannot be read or answered (jobs/job_errors.py)
│   ├── JobNotFound          no such job, or that of another principal
│   ├── AnswerRefused        the question has been answered or has expired
│   ├── JobTakenOver         another process has taken the job over; also a StoreUnavailable
│   └── InvalidAnswer        the answer does not fit the form
├── LoginFailed              the login to another server failed
├── SignInFailed             a person cannot be logged in to a hosted OneTool
│   ├── SignInUnavailable    the OpenID provider is away, or misconfigured
│   └── PersonDisabled       the operator has disabled the person
├── MemberError              a change to members, grants or API keys is refused; also a ValueError
├── UnknownWorkspace         a hosted OneTool has no such workspace; also a LookupError
├── StoreUnavailable         a store is locked or cannot be written; also an OSError
│   ├── WorkspaceUnavailable the database of a hosted OneTool is away, or did not answer in time
│   ├── WorkspaceReadOnly    the workspace of a hosted OneTool is being moved
│   └── QuotaExceeded        the workspace would store more than it may
└── NoActiveRuntime          code that needs a runtime was called without one; also a RuntimeError
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class ErrorCode(StrEnum):
    """The three error codes that a caller can receive."""

    TOOL_NOT_FOUND = "tool_not_found"
    INVALID_ARGS = "invalid_args"
    EXECUTION_ERROR = "execution_error"


class Reason(StrEnum):
    """Why a call failed.

    The set is closed: every interface maps each reason to one response.
    """

    UNKNOWN = "unknown"
    DISABLED = "disabled"
    NOT_REGISTERED = "not_registered"
    NOT_ALLOWED = "not_allowed"
    BAD_ARGS = "bad_args"
    NEEDS_APPROVAL = "needs_approval"
    NEEDS_LOGIN = "needs_login"
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
    LOST = "lost"
    UNAVAILABLE = "unavailable"


_NOT_FOUND = (Reason.UNKNOWN, Reason.DISABLED, Reason.NOT_REGISTERED, Reason.NOT_ALLOWED)
_INVALID = (Reason.BAD_ARGS, Reason.TOO_LARGE_IN)

CODE_BY_REASON: Mapping[Reason, ErrorCode] = MappingProxyType(
    {
        **dict.fromkeys(Reason, ErrorCode.EXECUTION_ERROR),
        **dict.fromkeys(_NOT_FOUND, ErrorCode.TOOL_NOT_FOUND),
        **dict.fromkeys(_INVALID, ErrorCode.INVALID_ARGS),
    }
)
"""The error code of every reason."""


class OneToolError(Exception):
    """Base class of all OneTool exceptions."""


class ToolError(OneToolError):
    """A tool call failed."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason

    @property
    def code(self) -> ErrorCode:
        """The error code of the reason."""
        return CODE_BY_REASON[self.reason]


class ToolNotFound(ToolError):
    """The tool does not exist, is disabled, or is not allowed for this caller."""


class InvalidArgs(ToolError):
    """The arguments do not match the tool's schema or are too large."""


class ExecutionError(ToolError):
    """The tool exists and its arguments are valid, but the call did not succeed."""


class ContentNotFound(ExecutionError):
    """There is no such resource or prompt, or the caller may not read it."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.UNKNOWN, message)


class LimitExceeded(ExecutionError):
    """A call was not made, because there are too many."""

    def __init__(self, message: str, retry_after_s: float, reason: Reason = Reason.RATE_LIMITED) -> None:
        super().__init__(reason, message)
        self.retry_after_s = retry_after_s


class LoginRequired(ExecutionError):
    """A server is called with the logins of its callers, and this one has none."""

    def __init__(self, message: str, url: str) -> None:
        """url: the page on which to log in; empty if there is none."""
        super().__init__(Reason.NEEDS_LOGIN, f"{message} Open {url}" if url else message)
        self.url = url


class RequestRefused(ExecutionError):
    """The server answered a request with an error of the protocol."""

    def __init__(self, message: str, rpc_code: int, rpc_data: Any = None) -> None:
        super().__init__(Reason.UPSTREAM, message)
        self.rpc_code, self.rpc_data = rpc_code, rpc_data


class InvalidTool(OneToolError, ValueError):
    """A tool definition is invalid."""


class DuplicateTool(InvalidTool):
    """A tool with this name is already registered."""


class SettingsError(OneToolError):
    """The configuration is invalid."""


class LoginFailed(OneToolError):
    """The login to another server failed."""


class SignInFailed(OneToolError):
    """A person cannot be logged in. The message is for the person."""


class SignInUnavailable(SignInFailed):
    """The OpenID provider is away, or its documents cannot be used."""


class PersonDisabled(SignInFailed):
    """The operator has disabled this person."""


class MemberError(OneToolError, ValueError):
    """A change to the members, grants or API keys of a workspace is refused."""


class UnknownWorkspace(OneToolError, LookupError):
    """A hosted OneTool has no workspace with this name."""


class StoreUnavailable(OneToolError, OSError):
    """A store is locked by another process for too long, or cannot be read or written. Nothing changed."""


class WorkspaceUnavailable(StoreUnavailable):
    """The database of a hosted OneTool is away, or did not answer in time."""


class WorkspaceReadOnly(StoreUnavailable):
    """The workspace can only be read for a moment, because it is being moved to another database."""


class QuotaExceeded(StoreUnavailable):
    """The workspace would store more than the operator permits. Nothing changed."""


class NoActiveRuntime(OneToolError, RuntimeError):
    """Code that needs a running OneTool was called without one."""
