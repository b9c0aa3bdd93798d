"""Counts of the calls of a process, for its operator."""

from collections import Counter
from typing import Literal, Protocol
from weakref import WeakSet

from onetool.domain.errors import Reason

from .durations import Durations
from .names import BUCKETS_S

Kind = Literal["call", "run"]
KINDS: tuple[Kind, ...] = ("call", "run")
OK = "ok"
OUTCOMES = (OK, *(reason.value for reason in Reason))


class PendingRecords(Protocol):
    """What has records that are not stored yet."""

    @property
    def pending(self) -> int:
        """How many there are."""


class CallMeter:
    """Counts calls by how they ended. Has no names: neither of tools nor of workspaces or people."""

    def __init__(self) -> None:
        self.outcomes: Counter[tuple[str, str]] = Counter(
            {(kind, outcome): 0 for kind in KINDS for outcome in OUTCOMES}
        )
        """By kind and outcome: "ok", or the reason of the failure."""
        self.durations = {kind: Durations(BUCKETS_S) for kind in KINDS}
        self.dropped = 0
        """Records that were dropped, because the store failed or was too slow."""
        self._recorders: WeakSet[PendingRecords] = WeakSet()

    def count(self, kind: Kind, reason: Reason | None, duration_ms: float) -> None:
        """Count a call or a run that has ended."""
        self.outcomes[kind, reason or OK] += 1
        self.durations[kind].add(duration_ms / 1000)

    def watch(self, recorder: PendingRecords) -> None:
        """Include the records of a recorder, as long as it exists."""
        self._recorders.add(recorder)

    @property
    def pending(self) -> int:
        """Records that are not stored yet."""
        return sum(recorder.pending for recorder in self._recorders)
