"""What was asked for on the command line."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is measured, with which data, how long."""

    sections: tuple[str, ...] = ()
    data: Path | None = None
    model: Path | None = None
    peers: bool = False
    cache: Path
    quick: bool = False
    seconds: float = 1.0
    """How long one load lasts."""

    @property
    def rounds(self) -> int:
        """How often each is measured."""
        return 2 if self.quick else 3

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many tools a catalog has that grows."""
        return (100, 1_000) if self.quick else (100, 10_000, 100_000)
