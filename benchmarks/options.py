"""Command line options."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Sections, data and duration of a run."""

    sections: tuple[str, ...] = ()
    data: Path | None = None
    model: Path | None = None
    peers: bool = False
    cache: Path
    quick: bool = False
    seconds: float = 1.0
    """Duration of one load."""

    @property
    def rounds(self) -> int:
        """Number of rounds per measurement."""
        return 2 if self.quick else 3

    @property
    def sizes(self) -> tuple[int, ...]:
        """Catalog sizes of the growth section."""
        return (100, 1_000) if self.quick else (100, 10_000, 100_000)
