"""Declared requirements of tools, and checks for them."""

import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from onetool.domain.text.suggestions import did_you_mean
from onetool.domain.tools.distributions import distribution_of
from onetool.domain.tools.requirement import REQUIREMENTS, Requirement, secret_requirement
from onetool.domain.tools.tool import ToolSpec
from onetool.files.installation import install_command
from onetool.runtime.active_call import ActiveCall, current_call

from .batch import map_concurrently
from .calls import wait_for
from .forwarding import waits_in_runtime

F = TypeVar("F", bound=Callable[..., Any])
TIMEOUT_S = 3.0
"""Limit for a program to print its version."""


def requires_cli(name: str, version_flag: str = "", install: str = "") -> Callable[[F], F]:
    """Declare that a tool runs this program. With `version_flag`, checks report its version."""
    return _requires(Requirement(kind="cli", name=name, version_flag=version_flag, install=install))


def requires_lib(name: str, install: str = "") -> Callable[[F], F]:
    """Declare that a tool imports this Python module, such as `yaml` or `google.auth`."""
    install = install or install_command(distribution_of(name))
    return _requires(Requirement(kind="lib", name=name, install=install))


def requires_secret(name: str) -> Callable[[F], F]:
    """Declare that a tool reads this secret."""
    return _requires(secret_requirement(name))


@waits_in_runtime
def check_deps(tool: str | None = None) -> list[dict[str, Any]]:
    """Check requirements; return tool, kind, name, status (`ok` or `missing`), version and install of each.

    `install` says what to do, and is empty if the status is `ok`.
    `tool` limits the check to one pack or tool.

    Raises:
        ValueError: There is no pack or tool with this name.
    """
    active = current_call()
    specs = wait_for(active, _specs(active, starts_servers=tool is not None), "check_deps()")
    selected = [spec for spec in specs if tool in (None, spec.pack, *spec.names)]
    if not selected:
        skipped = active.runtime.state.catalog.skipped_packs(active.invocation.caller)
        if reason := skipped.get(str(tool).partition(".")[0]):
            raise ValueError(f"Tool not found: {tool!r}. {reason}")
        names = {name for spec in specs for name in (spec.pack, spec.name)}
        raise ValueError(f"Tool not found: {tool!r}.{did_you_mean(str(tool), names)}")
    required = [(spec, requirement) for spec in selected for requirement in spec.requires]
    distinct = list(dict.fromkeys(requirement for _, requirement in required))
    own = active.invocation.caller.own_secrets
    secrets = {*active.runtime.state.configuration.secrets, *own}
    outcomes = map_concurrently(lambda requirement: _check(requirement, secrets), distinct)
    checked = dict(zip(distinct, outcomes, strict=True))
    return [_entry(spec, requirement, *checked[requirement]) for spec, requirement in required]


async def _specs(active: ActiveCall, *, starts_servers: bool) -> list[ToolSpec]:
    """Return the specs of all tools. Those of servers have no requirements: they are only found by name."""
    tools = active.runtime.state.catalog.tools(active.invocation.caller, start_servers=starts_servers)
    return [tool.spec async for tool in tools]


def _requires(requirement: Requirement) -> Callable[[F], F]:
    def declare(function: F) -> F:
        setattr(function, REQUIREMENTS, (requirement, *getattr(function, REQUIREMENTS, ())))
        return function

    return declare


def _entry(spec: ToolSpec, requirement: Requirement, is_present: bool, version: str) -> dict[str, Any]:
    return {
        "tool": spec.name,
        "kind": requirement.kind,
        "name": requirement.name,
        "status": "ok" if is_present else "missing",
        "version": version,
        "install": "" if is_present else requirement.install,
    }


def _check(requirement: Requirement, secrets: set[str]) -> tuple[bool, str]:
    if requirement.kind == "secret":
        return requirement.name in secrets, ""
    return _check_cli(requirement) if requirement.kind == "cli" else _check_lib(requirement)


def _check_cli(requirement: Requirement) -> tuple[bool, str]:
    path = shutil.which(requirement.name)
    if path is None or not requirement.version_flag:
        return path is not None, ""
    try:
        completed = subprocess.run(
            [path, requirement.version_flag],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return True, ""
    return True, (completed.stdout or completed.stderr).strip().partition("\n")[0]


def _check_lib(requirement: Requirement) -> tuple[bool, str]:
    from importlib import metadata

    try:
        if importlib.util.find_spec(requirement.name) is None:
            return False, ""
    except (ImportError, ValueError):  # the parent package is missing or broken
        return False, ""
    for library in (requirement.name, distribution_of(requirement.name)):
        with suppress(metadata.PackageNotFoundError):
            return True, metadata.version(library)
    module = requirement.name.partition(".")[0]
    libraries = metadata.packages_distributions().get(module, ())  # reads all that is installed
    return True, metadata.version(libraries[0]) if libraries else ""
