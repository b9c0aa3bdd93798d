"""The register of attacks, and what they share. Attacks need the standard library only."""

import ctypes
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

Plan = SimpleNamespace
Attack = Callable[[Plan], object]
libc = ctypes.CDLL(None, use_errno=True)
ATTACKS: dict[str, Attack] = {}
LIMIT_S = 20
X86 = os.uname().machine == "x86_64"
CALLS = {
    "io_uring_setup": 425,
    "bpf": 321 if X86 else 280,
    "userfaultfd": 323 if X86 else 282,
    "perf_event_open": 298 if X86 else 241,
    "add_key": 248 if X86 else 217,
    "process_vm_readv": 310 if X86 else 270,
    "ptrace": 101 if X86 else 117,
    "pidfd_open": 434,
    "pidfd_send_signal": 424,
    "pidfd_getfd": 438,
    "name_to_handle_at": 303 if X86 else 264,
    "open_by_handle_at": 304 if X86 else 265,
    "open_tree": 428,
    "clone3": 435,
    "shmget": 29 if X86 else 194,
}
CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET = 0x10000000, 0x20000, 0x40000000


def attack(name: str) -> Callable[[Attack], Attack]:
    def register(function: Attack) -> Attack:
        ATTACKS[name] = function
        return function

    return register


def call(name: str, *args: object) -> int:
    """Make a system call. Raise OSError if it fails."""
    result = libc.syscall(CALLS[name], *(ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def reads(path: str | Path, secret: str) -> bool:
    return secret.encode() in Path(path).read_bytes()


def add_reads(paths: Mapping[str, Callable[[Plan], str]]) -> None:
    """Register attacks that read the secret at a path."""
    for name, path in paths.items():
        ATTACKS[name] = lambda plan, path=path: reads(path(plan), plan.secret)  # type: ignore[misc]


def add_changes(actions: Mapping[str, Attack]) -> None:
    """Register attacks that succeed unless they raise."""
    for name, action in actions.items():
        ATTACKS[name] = lambda plan, action=action: (action(plan), True)  # type: ignore[misc]
