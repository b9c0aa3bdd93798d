"""Values of the sandbox: what a server may access, and which restrictions are in force."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from onetool.linux.memory_file import open_memory_file
from onetool.sources.mcp_servers.errors import ServerUnavailable


class GrantRefused(ServerUnavailable):
    """A path must not be granted to a server."""


class SandboxUnavailable(ServerUnavailable):
    """The requested mechanism does not work on this system."""


class Mechanism(StrEnum):
    """How a server is restricted."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    SEATBELT = "seatbelt"
    CONTAINER = "container"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathGrant:
    """A file or directory that a server may read, and write if `write` is true."""

    path: Path
    write: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPolicy:
    """What a server may access besides the system and its runtime.

    Attributes:
        home: The server's own directory, which becomes its home. It is created if it is missing.
        cwd: The working directory. The server starts in `home` if it may not read it.
        paths: What the user granted.
        network: Whether the server may use the network, including services of this machine.
        secret_places: Directories of OneTool that no grant may expose, besides the well-known ones.
    """

    home: Path
    cwd: Path
    paths: tuple[PathGrant, ...] = ()
    network: bool = True
    secret_places: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Restrictions:
    """Which restrictions are in force.

    Attributes:
        files: Only the system, the runtime, the server's directory and the granted paths are accessible.
        network: TCP, UDP and Unix sockets are all cut off.
        processes: Other processes can be neither traced nor signalled, and no child outlives the server.
        limits: What the mechanism does not stop, one noun phrase each.
    """

    mechanism: Mechanism
    files: bool = False
    network: bool = False
    processes: bool = False
    limits: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return one line for listings."""
        if not (self.files or self.network or self.processes):
            return f"{self.mechanism}: all rights of the user"
        names = {"files": self.files, "network": self.network, "processes": self.processes}
        restricted = ", ".join(name for name, active in names.items() if active)
        unrestricted = ", ".join(name for name, active in names.items() if not active)
        text = f"{self.mechanism}: {restricted} restricted"
        text += f"; {unrestricted} not restricted" if unrestricted else ""
        return text + (f"; not stopped: {', '.join(self.limits)}" if self.limits else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxedCommand:
    """A command to start with `asyncio.create_subprocess_exec`, with exactly this environment.

    Attributes:
        argv: The program and its arguments.
        env: All its variables.
        cwd: The directory to start in.
        restrictions: What is in force.
        launcher: The command that starts the program by a plan; empty if it starts by itself.
        plan: What the launcher reads from a descriptor: every user of the machine can read command lines.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    restrictions: Restrictions
    launcher: tuple[str, ...] = ()
    plan: bytes = b""

    @contextmanager
    def open_plan(self) -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
        """Yield the whole command line, and the descriptors that the process must inherit."""
        if not self.launcher:
            yield self.argv, ()
            return
        descriptor = open_memory_file("plan", self.plan)
        try:
            yield (*self.launcher, str(descriptor), *self.argv), (descriptor,)
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismSupport:
    """Whether a mechanism works on this system.

    Attributes:
        program: The program that applies it, if it needs one.
        landlock_version: The version of Landlock, or 0. Bubblewrap uses it for abstract Unix sockets.
        problem: Why it does not work; empty if it works.
    """

    mechanism: Mechanism
    program: str = ""
    landlock_version: int = 0
    problem: str = ""
