"""What the clients of a run have requested, and the responses that they have received."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

OK = "ok"
BROKEN = "broken"
"""The outcome of a request without a complete response: it may have been served or not."""

HUNG = "hung"
"""The outcome of a request that did not end in time."""


class Exchange(NamedTuple):
    """A request and how it ended."""

    kind: str
    place: str
    server: str
    started: float
    ended: float
    outcome: str
    """`ok`, `broken`, a status, or `call:REASON`, `mcp:REASON`, `rpc:CODE`, `chat:REASON`."""
    is_expected: bool
    """Whether the request ends in this way without any fault."""
    detail: str = ""


class Change(NamedTuple):
    """A change that a client has asked for."""

    place: str
    subject: str
    """What kind of thing: `bundle`, `tool`, `secret`, `member`, `grant`, `settings`."""
    target: str
    value: str | None
    """Its value after the change; None: it does not exist."""
    action: str
    """Its action in the audit log."""
    audited: str
    """Its target in the audit log."""
    verdict: str
    """`acknowledged`, `refused` or `unknown`."""
    is_hung: bool = False
    """Whether the request did not end in time: it may still change something later."""


@dataclass
class QueuedJob:
    """A call that a client has queued, perhaps in several attempts with one Idempotency-Key."""

    place: str
    key: str
    call: str
    ids: set[str] = field(default_factory=set)
    statuses: set[str] = field(default_factory=set)


class RevokedKey(NamedTuple):
    """A key whose revocation was acknowledged."""

    place: str
    text: str
    at: float


class RecordedCall(NamedTuple):
    """A call whose response has arrived, so that it must be in the activity."""

    place: str
    server: str
    id: str
    ended: float


class ForeignCanary(NamedTuple):
    """A response with the canary of another workspace."""

    place: str
    of: str
    kind: str
    body: str


@dataclass
class Ledger:
    """Everything that clients have recorded."""

    exchanges: list[Exchange] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    jobs: list[QueuedJob] = field(default_factory=list)
    revoked: list[RevokedKey] = field(default_factory=list)
    recorded: list[RecordedCall] = field(default_factory=list)
    foreign: list[ForeignCanary] = field(default_factory=list)
    calls: dict[str, str] = field(default_factory=dict)
    """Outcomes of calls of the counting upstream, by their ids."""
    others_results: list[str] = field(default_factory=list)
    """Successful calls whose results do not contain their ids."""
    canaries: dict[str, str] = field(default_factory=dict)
    """By workspace."""
    keys: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Created and revoked keys, by workspace, action and verdict: ids are only known once acknowledged."""

    def scan(self, place: str, kind: str, body: bytes) -> None:
        """Record the canaries of other workspaces that a client has received."""
        for owner, canary in self.canaries.items():
            if owner != place and canary.encode() in body:
                self.foreign.append(ForeignCanary(place, owner, kind, repr(body[:500])))

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how often each kind of request ended in which way."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for exchange in self.exchanges:
            found[exchange.kind][exchange.outcome] += 1
        return {kind: dict(outcomes) for kind, outcomes in sorted(found.items())}

    def unexpected(self) -> Iterable[Exchange]:
        """Return the requests that only a fault can explain."""
        return (exchange for exchange in self.exchanges if not exchange.is_expected)


def now() -> float:
    """Return the time of the run, in seconds of the monotonic clock."""
    return time.monotonic()


def shorten(value: Any, length: int = 300) -> str:
    """Return the start of a text."""
    return str(value)[:length]
