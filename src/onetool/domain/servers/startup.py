"""What is known about the last start of a server."""

from dataclasses import dataclass
from typing import NamedTuple


class StartStep(NamedTuple):
    """A step of the start that succeeded."""

    name: str
    detail: str
    seconds: float
    """Time since the start began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartReport:
    """The steps of a start so far, and the last lines that the program wrote to stderr."""

    steps: tuple[StartStep, ...] = ()
    output: tuple[str, ...] = ()
