"""The caller of a tool: created by an interface, restricted for nested calls, never widened."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from onetool.domain.identity.principal import Principal, current_principal
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.secrets.secret import Secret

from .approval_request import ApprovalRequest
from .effect import Effect
from .pauses import Occupied, Pauses
from .question import NO_ASKER, Answer, Asker, Question
from .server_task import ServerTask

ApprovalHandler = Callable[[ApprovalRequest], Awaitable[bool]]
"""Decides whether a tool that is not read-only may run with the arguments of the request."""

ProgressHandler = Callable[[float, float | None, str], None]
"""Receives progress: amount done, total amount if known, and a message."""


class LogEntry(NamedTuple):
    """A message that a server logs during a call."""

    level: str
    """One of the levels of the MCP protocol, from `debug` to `emergency`."""
    logger: str
    data: Any


LogHandler = Callable[[LogEntry], None]
"""Receives what a server logs during a call."""

StepHandler = Callable[[str, bool], Awaitable[None]]
"""Told before a tool that is not read-only runs, and after it: its name, and whether it has ended."""

TaskHandler = Callable[[ServerTask], Awaitable[None]]
"""Told that a server continues a call as a task."""

RequestHandler = Callable[[str], None]
"""Receives each HTTP request that a stored tool sends, as text without secrets."""


async def never_approve(request: ApprovalRequest) -> bool:
    """Deny every call, for callers without a user to ask."""
    return False


async def ask_user(request: ApprovalRequest) -> bool:
    """Deny a call whose user should be asked. The job of an outermost call puts its questions in place."""
    return False


def ignore_progress(done: float, total: float | None, message: str) -> None:
    """Discard progress."""


def ignore_log(entry: LogEntry) -> None:
    """Discard a message that a server logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The identity, permissions and deadline of one call.

    By default all tools are allowed, but none that requires approval.
    """

    interface: str
    principal: Principal = field(default_factory=current_principal)
    session: str = ""
    client: str = ""
    """Name of the program that calls, as it states it; empty if unknown."""
    parent: str = ""
    """Id of the call that makes this one; empty for an outermost call."""
    allowed: frozenset[str] | None = None
    """Names of the tools that may be called. None: all tools."""
    deadline: float | None = None
    """Seconds on the monotonic clock."""
    min_timeout: float = 0.0
    """Seconds that tools without a time limit of their own may take at least, in a job."""
    handover_timeout: float = 0.0
    """Seconds that a run, and a tool of a server without a limit of its own, may take at least, because the
    call can become a job."""
    default_effect: Effect = Effect.ASK
    """What happens to tools that are not read-only, unless the settings say something else about them."""
    approve: ApprovalHandler = never_approve
    asker: Asker = NO_ASKER
    """Asks what servers want to know during a call."""
    on_progress: ProgressHandler = ignore_progress
    on_log: LogHandler = ignore_log
    on_request: RequestHandler | None = None
    on_step: StepHandler | None = None
    on_task: TaskHandler | None = None
    idempotency_key: str = ""
    """Sent along by the outermost call of a job, so that a receiver that gets it twice acts once."""
    depth: int = 0
    programs: int = 0
    """How many programs run around this call: code of a model, and tools made of code. Jobs that they start
    count them too."""
    credentials: CredentialSet | None = field(default=None, repr=False)
    """What the outermost call and its nested calls have used so far; None before the outermost call."""
    own_secrets: Mapping[str, Secret] = field(default_factory=dict, repr=False)
    """Secrets of the principal, used in place of those of the workspace with the same names."""
    pauses: Pauses = field(default_factory=Pauses, repr=False, compare=False)
    """When the outermost call and its nested calls waited for answers."""
    paused_before: float = field(default=0.0, repr=False)
    """Seconds of pauses before the deadline was set."""
    occupied: tuple[Occupied, ...] = field(default=(), repr=False, compare=False)
    """What the nested calls around this one occupy while none of them asks."""

    @property
    def profile(self) -> str:
        """Name of the profile in the settings that restricts the caller; empty if none does."""
        return self.principal.profile

    @property
    def current_deadline(self) -> float | None:
        """The deadline, later by the pauses since it was set."""
        return None if self.deadline is None else self.deadline + self.pauses.seconds - self.paused_before

    async def ask(self, question: Question) -> Answer:
        """Ask a question. The time until the answer counts against no deadline."""
        async with self.pauses.pause(self.occupied):
            return await self.asker.ask(question)

    def nested(self, deadline: float, parent: str) -> "Caller":
        """Return the caller for calls that a running tool or code makes: same permissions, no later deadline.

        parent: the id of the call that makes them.
        """
        if (own := self.current_deadline) is not None:
            deadline = min(deadline, own)
        return replace(
            self,
            deadline=deadline,
            paused_before=self.pauses.seconds,
            depth=self.depth + 1,
            parent=parent,
            idempotency_key="",
        )

    def occupying(self, occupied: Occupied) -> "Caller":
        """Return the caller of a nested call that occupies something while it does not ask."""
        return replace(self, occupied=(*self.occupied, occupied))

    def restricted(self, allowed: frozenset[str]) -> "Caller":
        """Return a caller that may call only the tools in `allowed` that it could call before."""
        return replace(self, allowed=allowed if self.allowed is None else self.allowed & allowed)
