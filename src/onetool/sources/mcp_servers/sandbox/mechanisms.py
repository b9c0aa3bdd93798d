"""Which mechanisms work on this system. Every function here blocks: call it on a thread."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from .bubblewrap import NAMESPACES, PROCESS
from .landlock_rules import FIRST_WITH_TRUNCATE
from .policy import Mechanism, MechanismSupport, SandboxUnavailable

LAUNCHER = Path(__file__).with_name("server_launcher.py")
SEATBELT = "/usr/bin/sandbox-exec"
TIMEOUT_S = 30.0
PLATFORM: str = sys.platform
PROBE = (*NAMESPACES, "--unshare-net", *PROCESS, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")
"""The same namespaces and mounts that a server gets."""
MAX_PROBLEM_LENGTH = 200


@cache
def available_mechanisms() -> tuple[MechanismSupport, ...]:
    """Return the mechanisms of this system, the strongest first, each with what is wrong if it does not work.

    The result is determined once per process. The last one is `none`, which always works.
    """
    none = MechanismSupport(mechanism=Mechanism.NONE)
    if PLATFORM == "linux":
        version = _landlock_version()
        return _probe_bubblewrap(version), _check_landlock(version), none
    if PLATFORM == "darwin":
        problem = "" if os.access(SEATBELT, os.X_OK) else f"{SEATBELT} is missing"
        return MechanismSupport(mechanism=Mechanism.SEATBELT, program=SEATBELT, problem=problem), none
    return (none,)


def choose_mechanism(wanted: Mechanism | None = None) -> MechanismSupport:
    """Return the strongest mechanism that works, or the wanted one.

    Raises:
        SandboxUnavailable: The wanted one does not work here.
    """
    available = available_mechanisms()
    if wanted is None:
        return next(support for support in available if not support.problem)
    for support in available:
        if support.mechanism == wanted and not support.problem:
            return support
    problem = next((support.problem for support in available if support.mechanism == wanted), "")
    raise SandboxUnavailable(f"the sandbox {wanted.value!r} does not work: {problem or 'not on this system'}")


def _landlock_version() -> int:
    done = _run([sys.executable, "-I", "-S", str(LAUNCHER), "--landlock-version"])
    return int(done.stdout) if done is not None and done.stdout.isdigit() else 0


def _check_landlock(version: int) -> MechanismSupport:
    found = f"version {version}" if version else "none"
    problem = f"the kernel must have Landlock {FIRST_WITH_TRUNCATE} or newer, and has {found}"
    return MechanismSupport(
        mechanism=Mechanism.LANDLOCK,
        landlock_version=version,
        problem="" if version >= FIRST_WITH_TRUNCATE else problem,
    )


def _probe_bubblewrap(version: int) -> MechanismSupport:
    """Run a program in the namespaces that a server would get: containers and settings may forbid them."""
    program, true = shutil.which("bwrap"), shutil.which("true")
    if program is None or true is None:
        problem = "the command 'bwrap' is not on PATH; install the package bubblewrap"
    else:
        done = _run([program, *PROBE, true])
        problem = "it does not end" if done is None else done.stderr.strip()[:MAX_PROBLEM_LENGTH]
        problem = "" if done is not None and done.returncode == 0 else problem or "it failed"
    return MechanismSupport(
        mechanism=Mechanism.BUBBLEWRAP,
        program=str(Path(program).absolute()) if program else "",
        landlock_version=version,
        problem=problem,
    )


def _run(command: list[str]) -> "subprocess.CompletedProcess[str] | None":
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
