"""What all faults of the chaos suite have in common."""

import random
from typing import ClassVar

from chaos.installation import ChaosInstallation
from chaos.ledger import Exchange
from chaos.traffic import Workload

LOST_RECORDS_S = 1.0
"""Age of records that a killed process may lose: 0.1 s as documented, and what a busy machine adds."""
DATABASE_ERRORS = frozenset(f"{kind}:unavailable" for kind in ("call", "run", "mcp", "rpc", "chat")) | {"503"}
"""Outcomes of requests that are refused while the database is away, at all interfaces."""


class Fault:
    """Something that goes wrong for a while."""

    name: ClassVar[str]
    row: ClassVar[str]
    """The row of the failure table that it belongs to."""
    group: ClassVar[str]
    """Faults of one group do not overlap."""
    grace_s: ClassVar[float] = 15.0
    """Seconds for which errors may continue after it is healed."""
    lost_s: ClassVar[float] = 0.0
    """Age of the records that are lost with the process that the fault stops."""

    def __init__(self, installation: ChaosInstallation, workload: Workload, rng: random.Random) -> None:
        self.installation, self.workload, self.rng = installation, workload, rng
        self.target = ""
        self.stopped, self.stopped_at = "", 0.0
        """The process that the fault stops, and when it has ended."""

    async def inject(self) -> None:
        """Begin."""
        raise NotImplementedError

    async def heal(self) -> None:
        """End, and return when everything runs again."""

    def allows(self, exchange: Exchange) -> bool:
        """Return whether the failure table allows an outcome while the fault is active."""
        return False

    def delays_records(self, place: str) -> bool:
        """Return whether records of the calls of a workspace cannot be stored while the fault is active."""
        return False

    def is_possible(self) -> bool:
        """Return whether the machine allows it."""
        return True


def is_refused_by_database(exchange: Exchange) -> bool:
    """Return whether a request was refused because a database is away, or by a chat that could not end."""
    return exchange.outcome in DATABASE_ERRORS or (exchange.kind == "ask" and exchange.outcome == "409")
