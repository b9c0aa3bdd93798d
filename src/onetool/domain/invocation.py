"""One call while it runs: what the tool itself may know of it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from .caller import Caller


class Flag:
    """Goes up once, and can be read from any thread."""

    __slots__ = ("is_up",)

    def __init__(self) -> None:
        self.is_up = False

    def __repr__(self) -> str:
        return f"Flag({'up' if self.is_up else 'down'})"


class Invocation(NamedTuple):
    """Handed to the runner."""

    call_id: str
    tool: str
    args: Mapping[str, Any]
    caller: Caller
    deadline: float
    """When this call ends at the latest, on the monotonic clock."""
    over: Flag
    """Up when nobody waits for the answer any more: timed out or cancelled."""

    def inner_caller(self) -> Caller:
        """On whose behalf this tool calls others: the same rights, no more time than it has itself."""
        return self.caller.inner(self.deadline)


class Context:
    """What a tool may ask about its own call: take it as a parameter named `ctx`."""

    __slots__ = ("_invocation",)

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation

    @property
    def call_id(self) -> str:
        """Id of this call, as logs and results show it."""
        return self._invocation.call_id

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments as they came, in JSON's own types."""
        return self._invocation.args

    @property
    def deadline(self) -> float:
        """When this call ends at the latest, on the monotonic clock, in seconds."""
        return self._invocation.deadline

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more: a long loop should look, and stop."""
        return self._invocation.over.is_up

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell whoever waits how far the work is."""
        self._invocation.caller.progress(done, total, message)
