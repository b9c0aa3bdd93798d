"""Restricts this process on Linux, then executes a program: `python jail.py JAIL ARGS...`.

JAIL has the program, the files that it may read, and its memory limit in bytes, as JSON.

The interpreter itself gives code no access to files, processes or the network. The jail is defense in depth:
it limits what a broken interpreter could do. Restrictions that the kernel does not support are skipped;
`--report` instead of the arguments prints which ones are in force. It runs without installed packages.
"""

import json
import os
import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

if __name__ == "__main__":  # started by its path, without installed packages
    sys.path.append(str(Path(__file__).parents[2]))
from onetool.linux import landlock, privileges, seccomp
from onetool.linux.system_calls import Unsupported, check, libc

MAX_OPEN_FILES = 64
CLONE_NEWUSER, CLONE_NEWNET, CLONE_THREAD = 0x10000000, 0x40000000, 0x10000
DENIED_CALLS = (
    "socket",
    "socketpair",
    "bind",
    "listen",
    "connect",
    "accept",
    "accept4",
    "fork",
    "vfork",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "pidfd_open",
    "pidfd_getfd",
    "pidfd_send_signal",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "setns",
    "unshare",
    "open_by_handle_at",
    "memfd_create",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "keyctl",
    "add_key",
    "request_key",
    "shmget",
    "shmat",
    "msgget",
    "semget",
    "mq_open",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "utime",
    "utimes",
    "futimesat",
    "utimensat",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "init_module",
    "finit_module",
    "kexec_load",
)
SIGNALS = ("kill", "tkill", "tgkill")
"""Allowed for this process only."""


def main() -> None:
    """Restrict this process, then replace it with the program, or print the restrictions."""
    jail, args = json.loads(sys.argv[1]), sys.argv[2:]
    report = restrict(jail["files"], jail["memory_bytes"])
    if args == ["--report"]:
        sys.stdout.write(json.dumps(report))
        return
    program = jail["program"]
    os.closerange(3, MAX_OPEN_FILES)
    os.execve(program, [program, *args], {})  # noqa: S606 - the worker program of the pool


def restrict(files: Sequence[str], memory_bytes: int) -> dict[str, bool]:
    """Apply every restriction. Return which of them are in force."""
    steps: dict[str, Callable[[], None]] = {
        "network": _leave_network,
        "privileges": _drop_privileges,
        "limits": lambda: _limit_resources(memory_bytes),
        "files": lambda: _restrict_files(files),
        "system calls": _restrict_system_calls,
    }
    report = {}
    for name, step in steps.items():
        try:
            step()
            report[name] = True
        except (Unsupported, OSError, ValueError):
            report[name] = False
    return report


def _leave_network() -> None:
    """Move to an empty network namespace."""
    if libc.unshare(CLONE_NEWNET) != 0:
        check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNET))


def _drop_privileges() -> None:
    privileges.deny_new_privileges()
    privileges.drop_capabilities()


def _limit_resources(memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES, MAX_OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _restrict_files(files: Sequence[str]) -> None:
    """Allow only to read and execute these files."""
    rights = landlock.EXECUTE | landlock.READ_FILE
    landlock.restrict_files([(file, rights) for file in files], network=False)


def _restrict_system_calls() -> None:
    """Deny system calls with a filter that lasts over the execution of the program."""
    allow, deny = seccomp.ALLOW, seccomp.DENY
    first = seccomp.load_argument(0)
    rules = seccomp.on_call("clone3", seccomp.UNKNOWN)  # libc then uses clone
    rules += seccomp.on_call("clone", first, (seccomp.JUMP_SET, 0, 1, CLONE_THREAD), allow, deny)
    for name in SIGNALS:
        rules += seccomp.on_call(name, first, (seccomp.JUMP_EQUAL, 0, 1, os.getpid()), allow, deny)
    for name in DENIED_CALLS:
        rules += seccomp.on_call(name, deny)
    seccomp.install(seccomp.build_filter(rules))


if __name__ == "__main__":
    main()
