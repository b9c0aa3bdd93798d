"""What goes into a sandbox and what comes out."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from .program import Program


class Answer(NamedTuple):
    """What a tool call inside the code returned, or which exception it raised."""

    value: Any = None
    exception: str = ""
    message: str = ""


class Host(Protocol):
    """What the world outside does for the code; from any thread, several things beside each other."""

    def call(self, name: str, args: Mapping[str, Any]) -> "Future[Answer]":
        """Start a tool call."""
        ...

    def sleep(self, seconds: float) -> "Future[Answer]":
        """Start a wait."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """What one run may use."""

    cpu_s: float = 10.0
    memory_bytes: int = 256 * 2**20
    calls: int = 1_000
    sleep_s: float = 60.0
    printed_bytes: int = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """A program, the packs that it names, and how its calls are answered."""

    program: Program
    modules: Mapping[str, str]
    """Stubs of each pack by its name."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Short names that the program uses, each with the `pack.func` it stands for."""
    known: Mapping[str, str] = field(default_factory=dict)
    """Every pack and alias that could have been named, each with the reason why it cannot be used, if any."""
    host: Host
    limits: SandboxLimits = SandboxLimits()


class Outcome(NamedTuple):
    """How a run ended: with the value of its last line, or with an error that names a line."""

    output: Any = None
    printed: str = ""
    error: str = ""
    exception: str = ""
    """Name of the exception's type, when there is an error."""
