"""Files that a server sees: the system, its runtime, its own directory and what the user granted."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .policy import GrantRefused, PathGrant, SandboxPolicy
from .runtime_files import find_runtime
from .secret_places import SecretPlaces, resolve_grants
from .system_files import VisibleFile, list_system_files


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleFiles:
    """Everything that a server sees.

    Attributes:
        system: The operating system, read-only.
        runtime: The program and what it consists of, read-only.
        grants: What the user granted, parents before their children.
        covered: Secret places inside the grants.
        home: The server's own directory.
        cwd: The directory to start in.
    """

    system: tuple[VisibleFile, ...]
    runtime: tuple[VisibleFile, ...]
    grants: tuple[PathGrant, ...]
    covered: tuple[Path, ...]
    home: Path
    cwd: Path


def list_visible_files(argv: Sequence[str], env: Mapping[str, str], policy: SandboxPolicy) -> VisibleFiles:
    """Return what a server sees. Create its own directory if it is missing.

    Raises:
        GrantRefused: A path must not be granted.
    """
    policy.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    home = policy.home.resolve()
    places = SecretPlaces(policy.secret_places)
    if places.contains_home(home):
        raise GrantRefused(f"cannot use {str(home)!r} as the directory of a server: it contains your files")
    grants = resolve_grants(policy.paths, home, places)
    covered = {place for grant in grants for place in places.inside(grant.path) if place.exists()}
    return VisibleFiles(
        system=tuple(list_system_files()),
        runtime=find_runtime(Path(argv[0]), env.get("PATH", os.defpath), places),
        grants=grants,
        covered=tuple(sorted(covered)),
        home=home,
        cwd=_start_directory(policy.cwd.resolve(), home, grants),
    )


def _start_directory(cwd: Path, home: Path, grants: Iterable[PathGrant]) -> Path:
    readable = (home, *(grant.path for grant in grants))
    return cwd if any(cwd.is_relative_to(path) for path in readable) and cwd.is_dir() else home
