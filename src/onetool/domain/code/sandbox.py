"""The input and the output of a sandbox."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from .program import Program

IMPORTABLE_MODULES = (
    *("asyncio", "base64", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal"),
    *("functools", "hashlib", "itertools", "json", "math", "random", "re"),
)
"""Modules of the standard library that are useful in the sandbox."""
UNAVAILABLE = (
    "Not available: class inheritance, yield, del, property, async with, files, network, modules other than "
    f"{', '.join(IMPORTABLE_MODULES)}."
)


class ToolFunction(NamedTuple):
    """A tool as a function that code calls with keyword arguments."""

    required: Collection[str]
    optional: Collection[str]
    accepts_more: bool
    """Whether it also accepts parameters of other names."""
    signature: Callable[[], str]
    """Returns the signature, such as `pack.func(required: str, optional: int = 5) -> str`."""


class CallOutcome(NamedTuple):
    """The return value or the exception of a tool call made by sandboxed code."""

    value: Any = None
    """JSON, or `Media` anywhere in it."""
    exception: str = ""
    message: str = ""
    has_media: bool = False


class SandboxHost(Protocol):
    """Operations that the host runs for sandboxed code.

    Implementations are thread-safe and run operations concurrently.
    """

    def restore(self, value: Any) -> Any:
        """Return the object that a tool returned, with its own text form, for a value that equals it.

        Values become plain dicts and lists in the sandbox. Return any other value unchanged.
        """
        ...

    def call(self, name: str, args: Mapping[str, Any]) -> "Future[CallOutcome]":
        """Start a tool call."""
        ...

    def sleep(self, seconds: float) -> "Future[CallOutcome]":
        """Start a delay."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxLimits:
    """Resource limits of one run."""

    cpu_s: float = 10.0
    memory_bytes: int = 256 * 2**20
    calls: int = 1_000
    sleep_s: float = 60.0
    printed_bytes: int = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxJob:
    """A program to run, the packs that it uses, and the host that runs its calls."""

    program: Program
    modules: Mapping[str, Collection[str]]
    """Names of the functions of each pack that the program uses, by pack name."""
    tools: Mapping[str, ToolFunction] = field(default_factory=dict)
    """Tools that the program may call, by `pack.func`."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Aliases that the program uses, each with its `pack.func`."""
    known_names: Mapping[str, str] = field(default_factory=dict)
    """Every pack and alias that exists, with the reason if it is unavailable, else an empty string."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Variables that have a value before the program runs: JSON, or `Media` anywhere in it."""
    host: SandboxHost
    limits: SandboxLimits = SandboxLimits()


class SandboxResult(NamedTuple):
    """The outcome of a run: the value of the last line, or an error that names a line."""

    output: Any = None
    printed: str = ""
    error: str = ""
    exception: str = ""
    """Name of the exception's type if there is an error."""
