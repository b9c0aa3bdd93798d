"""Commands that start a server in its sandbox."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .bubblewrap import FIRST_WITH_SCOPES, bubblewrap_options, bubblewrap_restrictions
from .environment import server_environment, split_loader_variables
from .landlock_rules import landlock_restrictions, landlock_rules
from .mechanisms import LAUNCHER
from .policy import Mechanism, MechanismSupport, Restrictions, SandboxedCommand, SandboxPolicy
from .seatbelt import seatbelt_profile, seatbelt_restrictions
from .visible_files import VisibleFiles, list_visible_files

TEMPORARY = "tmp"
"""Directory for temporary files in the server's home, if /tmp is not its own."""


def wrap(
    argv: Sequence[str],
    env: Mapping[str, str],
    policy: SandboxPolicy,
    support: MechanismSupport,
    python: str = sys.executable,
) -> SandboxedCommand:
    """Return the command that starts a server with what the policy allows. It blocks: call it on a thread.

    The command must be started by this process: the server ends with it.

    Args:
        argv: The program as an absolute path, and its arguments.
        env: The whole environment of the server.
        policy: What the server may access.
        support: A mechanism that works, of `choose_mechanism`.
        python: The interpreter that applies the restrictions on Linux.

    Raises:
        GrantRefused: A path must not be granted.
    """
    if support.mechanism == Mechanism.NONE:
        return wrap_without_sandbox(argv, env, policy.cwd, python)
    files = list_visible_files(argv, env, policy)
    server = _RestrictedServer(argv=argv, env=env, policy=policy, support=support, python=python, files=files)
    if support.mechanism == Mechanism.BUBBLEWRAP:
        return server.wrap_with_bubblewrap()
    if support.mechanism == Mechanism.LANDLOCK:
        return server.wrap_with_landlock()
    return server.wrap_with_seatbelt()


def wrap_without_sandbox(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, python: str = sys.executable
) -> SandboxedCommand:
    """Return the command that starts a server with all rights. On Linux it ends with this process."""
    restrictions = Restrictions(mechanism=Mechanism.NONE)
    command = SandboxedCommand(argv=tuple(argv), env=dict(env), cwd=cwd, restrictions=restrictions)
    if sys.platform != "linux":
        return command
    return _launch(command, {"mechanism": "none", "cwd": str(cwd), "env": {}}, python)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RestrictedServer:
    """A server, what it sees, and how it is restricted."""

    argv: Sequence[str]
    env: Mapping[str, str]
    policy: SandboxPolicy
    support: MechanismSupport
    python: str
    files: VisibleFiles

    def wrap_with_bubblewrap(self) -> SandboxedCommand:
        """Return the command for Linux with namespaces."""
        own = server_environment(self.env, self.files.home, Path("/tmp"))  # noqa: S108 - it is not shared
        env, loading = split_loader_variables(own)
        options = [*bubblewrap_options(self.files, self.policy.network)]
        for name, value in loading.items():
            options += ["--setenv", name, value]
        plan = {
            "mechanism": "bubblewrap",
            "program": self.support.program,
            "scopes": self.support.landlock_version >= FIRST_WITH_SCOPES,
            "options": options,
        }
        network = self.policy.network
        system_calls = {"internet": network, "unix_sockets": network, "namespaces": True}
        return self._launch(plan, system_calls, env, bubblewrap_restrictions(self.support, self.policy))

    def wrap_with_landlock(self) -> SandboxedCommand:
        """Return the command for Linux without namespaces."""
        own = server_environment(self.env, self.files.home, _make_temporary(self.files.home))
        env, loading = split_loader_variables(own)
        plan = {
            "mechanism": "landlock",
            "rules": landlock_rules(self.files),
            "cwd": str(self.files.cwd),
            "env": loading,
        }
        system_calls = {"internet": self.policy.network, "unix_sockets": False, "namespaces": False}
        return self._launch(plan, system_calls, env, landlock_restrictions(self.support, self.policy))

    def wrap_with_seatbelt(self) -> SandboxedCommand:
        """Return the command for macOS."""
        profile = seatbelt_profile(self.files, self.policy.network)
        return SandboxedCommand(
            argv=(self.support.program, "-p", profile, *self.argv),
            env=server_environment(self.env, self.files.home, _make_temporary(self.files.home)),
            cwd=self.files.cwd,
            restrictions=seatbelt_restrictions(self.support, self.policy),
        )

    def _launch(
        self,
        plan: dict[str, Any],
        system_calls: dict[str, bool],
        env: dict[str, str],
        restrictions: Restrictions,
    ) -> SandboxedCommand:
        command = SandboxedCommand(
            argv=tuple(self.argv), env=env, cwd=self.files.home, restrictions=restrictions
        )
        return _launch(command, plan | {"system_calls": system_calls}, self.python)


def _launch(command: SandboxedCommand, plan: dict[str, Any], python: str) -> SandboxedCommand:
    content = json.dumps(plan | {"parent": os.getpid()}).encode()
    return replace(command, launcher=(python, "-I", "-S", str(LAUNCHER)), plan=content)


def _make_temporary(home: Path) -> Path:
    """Create the directory for temporary files. If a server replaced it with a link, it is not followed."""
    path = home / TEMPORARY
    if not path.is_symlink():
        path.mkdir(mode=0o700, exist_ok=True)
    return path
