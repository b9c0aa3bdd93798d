"""A running call: what the runner receives and what a tool can read about its own call."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from onetool.domain.secrets.credential_set import CredentialSet

from .caller import Caller
from .server_task import ServerTask


class CancelFlag:
    """A flag that is set once and can be read from any thread."""

    __slots__ = ("is_set",)

    def __init__(self) -> None:
        self.is_set = False

    def __repr__(self) -> str:
        return f"CancelFlag(is_set={self.is_set})"


class TimeLimit(NamedTuple):
    """How long a call may take, and what sets the limit."""

    seconds: float
    setting: str
    """The setting or the option of a tool that sets it; empty if the deadline of the caller is earlier."""

    def __str__(self) -> str:
        """Return the limit as a part of a message.

        >>> str(TimeLimit(8.0, "execution.timeout_s")), str(TimeLimit(0.25, ""))
        ('after 8 s (execution.timeout_s)', 'after 0.25 s, the time that its caller had left')
        """
        seconds = f"after {round(self.seconds, 2):g} s"
        return (
            f"{seconds} ({self.setting})" if self.setting else f"{seconds}, the time that its caller had left"
        )


class Invocation(NamedTuple):
    """A call as the runner receives it."""

    call_id: str
    tool: str
    args: Mapping[str, Any]
    caller: Caller
    first_deadline: float
    """Latest end of this call without pauses, in seconds on the monotonic clock."""
    cancelled: CancelFlag
    """Set when the call has timed out or was cancelled."""
    paused_before: float = 0.0
    """Seconds of pauses before the deadline was set."""
    task: ServerTask | None = None
    """The task of an earlier call, to wait for instead of a call."""
    limit: TimeLimit | None = None
    """What the deadline was computed from; None outside the pipeline."""
    missing_secrets: dict[str, str] | None = None
    """Secrets without a value that the code has asked for, with how each is added. An error names them."""

    @property
    def deadline(self) -> float:
        """Latest end of this call, later by the pauses since it was set."""
        return self.first_deadline + self.caller.pauses.seconds - self.paused_before

    @property
    def credentials(self) -> CredentialSet:
        """Where the runner adds every credential that it uses. They are redacted in the result."""
        return self.caller.credentials or CredentialSet()

    def nested_caller(self) -> Caller:
        """Return the caller for calls that this tool makes: same permissions, no later deadline."""
        return self.caller.nested(self.deadline, self.call_id)

    def report_progress(self, done: float, total: float | None = None, message: object = "") -> None:
        """Report progress to the caller. The message becomes text that every interface can encode."""
        text = "" if message is None else str(message)
        self.caller.on_progress(done, total, text.encode("utf-8", "replace").decode())


class Context:
    """The call that a tool is running in. Declare a parameter named `ctx` to receive it."""

    __slots__ = ("_invocation",)

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation

    @property
    def call_id(self) -> str:
        """The id of this call in logs and results."""
        return self._invocation.call_id

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments as received, in JSON types."""
        return self._invocation.args

    @property
    def deadline(self) -> float:
        """Latest end of this call, in seconds on the monotonic clock."""
        return self._invocation.deadline

    @property
    def cancelled(self) -> bool:
        """Whether the call has timed out or was cancelled. Check it in long loops and stop."""
        return self._invocation.cancelled.is_set

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report progress to the caller."""
        self._invocation.report_progress(done, total, message)
