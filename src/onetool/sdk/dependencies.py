"""What tools need, and whether it is there."""

import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from typing import Any, TypeVar

from onetool.domain.nearest import did_you_mean
from onetool.domain.requirement import REQUIREMENTS, Requirement
from onetool.domain.tool import ToolSpec
from onetool.runtime import current

from .batch import in_parallel
from .calls import wait_for

F = TypeVar("F", bound=Callable[..., Any])
PATIENCE = 3.0
"""Seconds a program has to tell its version."""


def requires_cli(name: str, version_flag: str = "", install: str = "") -> Callable[[F], F]:
    """Declare that a tool starts this program; with `version_flag` checks show its version too."""
    return _requires(Requirement(kind="cli", name=name, version_flag=version_flag, install=install))


def requires_lib(name: str, install: str = "") -> Callable[[F], F]:
    """Declare that a tool imports this Python library."""
    return _requires(Requirement(kind="lib", name=name, install=install or f"pip install {name}"))


def requires_secret(name: str) -> Callable[[F], F]:
    """Declare that a tool reads this secret."""
    return _requires(Requirement(kind="secret", name=name, install=f"add {name} to secrets.yaml"))


def check_deps(tool: str | None = None) -> list[dict[str, Any]]:
    """Report what tools need: tool, kind, name, status (`ok` or `missing`), version, install.

    `tool` is a pack or a qualified name, for only that one.
    Raises ValueError when there is none of this name.
    """
    scope = current()
    specs = wait_for(scope, scope.runtime.catalog.specs(), "check_deps()")
    chosen = [spec for spec in specs if tool in (None, spec.pack, *spec.names)]
    if not chosen:
        names = {name for spec in specs for name in (spec.pack, spec.name)}
        raise ValueError(f"Tool not found: {tool!r}.{did_you_mean(str(tool), names)}")
    needed = [(spec, need) for spec in chosen for need in spec.requires]
    distinct = list(dict.fromkeys(need for _, need in needed))
    secrets = set(scope.runtime.configuration.secrets)
    found = dict(zip(distinct, in_parallel(lambda need: _look(need, secrets), distinct), strict=True))
    return [_entry(spec, need, *found[need]) for spec, need in needed]


def _requires(requirement: Requirement) -> Callable[[F], F]:
    def declare(function: F) -> F:
        setattr(function, REQUIREMENTS, (requirement, *getattr(function, REQUIREMENTS, ())))
        return function

    return declare


def _entry(spec: ToolSpec, need: Requirement, is_there: bool, version: str) -> dict[str, Any]:
    return {
        "tool": spec.name,
        "kind": need.kind,
        "name": need.name,
        "status": "ok" if is_there else "missing",
        "version": version,
        "install": need.install,
    }


def _look(need: Requirement, secrets: set[str]) -> tuple[bool, str]:
    if need.kind == "secret":
        return need.name in secrets, ""
    return _check_cli(need) if need.kind == "cli" else _check_lib(need)


def _check_cli(need: Requirement) -> tuple[bool, str]:
    path = shutil.which(need.name)
    if path is None or not need.version_flag:
        return path is not None, ""
    try:
        done = subprocess.run(
            [path, need.version_flag],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return True, ""
    return True, (done.stdout or done.stderr).strip().partition("\n")[0]


def _check_lib(need: Requirement) -> tuple[bool, str]:
    from importlib import metadata

    try:
        if importlib.util.find_spec(need.name) is None:
            return False, ""
        return True, metadata.version(need.name)
    except metadata.PackageNotFoundError:
        return True, ""
    except (ImportError, ValueError):  # its parent package is missing or broken
        return False, ""
