"""The caller of a tool: created by an interface, restricted for nested calls, never widened."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from onetool.domain.secrets.credential_set import CredentialSet

from .approval_request import ApprovalRequest

ApprovalHandler = Callable[[ApprovalRequest], Awaitable[bool]]
"""Decides whether a tool that is not read-only may run with the arguments of the request."""

ProgressHandler = Callable[[float, float | None, str], None]
"""Receives progress: amount done, total amount if known, and a message."""

RequestHandler = Callable[[str], None]
"""Receives each HTTP request that a stored tool sends, as text without secrets."""


async def never_approve(request: ApprovalRequest) -> bool:
    """Deny every call, for callers without a user to ask."""
    return False


async def always_approve(request: ApprovalRequest) -> bool:
    """Approve every call, for calls that the user makes directly."""
    return True


def ignore_progress(done: float, total: float | None, message: str) -> None:
    """Discard progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The identity, permissions and deadline of one call.

    By default all tools are allowed, but none that requires approval.
    """

    interface: str
    session: str = ""
    allowed: frozenset[str] | None = None
    """Names of the tools that may be called. None: all tools."""
    deadline: float | None = None
    """Seconds on the monotonic clock."""
    approve: ApprovalHandler = never_approve
    on_progress: ProgressHandler = ignore_progress
    on_request: RequestHandler | None = None
    depth: int = 0
    credentials: CredentialSet | None = field(default=None, repr=False)
    """What the outermost call and its nested calls have used so far; None before the outermost call."""

    def allows(self, name: str) -> bool:
        """Whether the tool with this canonical name may be called."""
        return self.allowed is None or name in self.allowed

    def nested(self, deadline: float) -> "Caller":
        """Return the caller for calls that a running tool makes: same permissions, no later deadline."""
        if self.deadline is not None:
            deadline = min(deadline, self.deadline)
        return replace(self, deadline=deadline, depth=self.depth + 1)

    def restricted(self, allowed: frozenset[str]) -> "Caller":
        """Return a caller that may call only the tools in `allowed` that it could call before."""
        return replace(self, allowed=allowed if self.allowed is None else self.allowed & allowed)
