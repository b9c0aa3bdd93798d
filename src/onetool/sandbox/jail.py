"""Restricts this process on Linux, then executes a program: `python jail.py JAIL ARGS...`.

JAIL has the program, the files that it may read, and its memory limit in bytes, as JSON.

The interpreter itself gives code no access to files, processes or the network. The jail is defense in depth:
it limits what a broken interpreter could do. Restrictions that the kernel does not support are skipped;
`--report` instead of the arguments prints which ones are in force. It runs without installed packages.
"""

import ctypes
import json
import os
import resource
import struct
import sys
from collections.abc import Callable, Sequence

MAX_OPEN_FILES = 64

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 24, 38, 22
CLONE_NEWUSER, CLONE_NEWNET, CLONE_THREAD = 0x10000000, 0x40000000, 0x10000
MAX_CAPABILITY = 63
CAPABILITY_VERSION = 0x20080522

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls of Landlock, which have the same numbers on every architecture."""
LANDLOCK_EXECUTE, LANDLOCK_READ_FILE = 1 << 0, 1 << 2
LANDLOCK_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many file rights each version knows; later versions know as many as the last."""
LANDLOCK_NETWORK, LANDLOCK_SCOPES = 0b11, 0b11
"""TCP ports; abstract Unix sockets and signals."""

LOAD, JUMP_EQUAL, JUMP_GREATER, JUMP_SET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
EPERM, ENOSYS = 1, 38
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Offsets in the data that a seccomp filter sees."""
X32, MISSING = 0x40000000, 0xFFFFFFFF
"""First number of the second table of x86-64, and a number that no system call has."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SYSTEM_CALLS: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "bind": (49, 200),
    "listen": (50, 201),
    "connect": (42, 203),
    "accept": (43, 202),
    "accept4": (288, 242),
    "fork": (57, None),
    "vfork": (58, None),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "unshare": (272, 97),
    "open_by_handle_at": (304, 265),
    "memfd_create": (319, 279),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
}
"""Denied system calls with their numbers on x86-64 and ARM64."""
SIGNALS: dict[str, tuple[int | None, int | None]] = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
}
"""Allowed for this process only."""
CLONE, CLONE3, CAPSET = (56, 220), (435, 435), (126, 91)

libc = ctypes.CDLL(None, use_errno=True)


class Unsupported(Exception):
    """The system does not support a restriction."""


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


def _check(result: int) -> int:
    if result < 0:
        raise Unsupported(os.strerror(ctypes.get_errno()))
    return result


def _leave_network() -> None:
    """Move to an empty network namespace."""
    if libc.unshare(CLONE_NEWNET) != 0:
        _check(libc.unshare(CLONE_NEWUSER | CLONE_NEWNET))


def _drop_privileges() -> None:
    """Drop all capabilities, also those that root would regain when it executes a program."""
    _check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    for capability in range(MAX_CAPABILITY + 1):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails without the right to, or if it is unknown
    header, none = struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24)
    _check(libc.syscall(_number(CAPSET), header, none))


def _limit_resources(memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES, MAX_OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def _restrict_files(files: Sequence[str]) -> None:
    """Allow only to read and execute these files."""
    version = _check(libc.syscall(CREATE_RULESET, None, 0, 1))
    rights = (1 << LANDLOCK_FILE_RIGHTS.get(version, max(LANDLOCK_FILE_RIGHTS.values()))) - 1
    handled = [rights]
    handled += [LANDLOCK_NETWORK] if version >= 4 else []
    handled += [LANDLOCK_SCOPES] if version >= 6 else []
    attributes = struct.pack(f"{len(handled)}Q", *handled)
    ruleset = _check(libc.syscall(CREATE_RULESET, attributes, len(attributes), 0))
    for file in files:
        descriptor = os.open(file, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", LANDLOCK_EXECUTE | LANDLOCK_READ_FILE, descriptor)
        _check(libc.syscall(ADD_RULE, ruleset, 1, rule, 0))
        os.close(descriptor)
    _check(libc.syscall(RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _restrict_system_calls() -> None:
    """Deny system calls with a filter that lasts over the execution of the program."""
    filters = _seccomp_filter()
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in filters)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(filters), ctypes.addressof(buffer))
    _check(libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0))


def _seccomp_filter() -> list[tuple[int, int, int, int]]:
    """Return the instructions: operation, lines to skip if true, lines to skip if false, operand."""
    allow, deny = (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERROR | EPERM)
    number = (LOAD, 0, 0, NUMBER)
    filters = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, list(ARCHITECTURES.values())[_column()]),
        deny,
        number,
    ]
    filters += [(JUMP_GREATER, 0, 1, X32), deny]
    filters += [(JUMP_EQUAL, 0, 1, _number(CLONE3)), (RETURN, 0, 0, ERROR | ENOSYS)]  # libc then uses clone
    filters += _if_first_argument(_number(CLONE), (JUMP_SET, 0, 1, CLONE_THREAD))
    for numbers in SIGNALS.values():
        filters += _if_first_argument(_number(numbers), (JUMP_EQUAL, 0, 1, os.getpid()))
    for numbers in SYSTEM_CALLS.values():
        filters += [(JUMP_EQUAL, 0, 1, _number(numbers)), deny]
    return [*filters, allow]


def _if_first_argument(number: int, condition: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
    """Return instructions that allow a system call if its first argument meets a condition, or deny it."""
    allow, deny = (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERROR | EPERM)
    return [(JUMP_EQUAL, 0, 4, number), (LOAD, 0, 0, FIRST_ARGUMENT), condition, allow, deny]


def _column() -> int:
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise Unsupported(f"unknown architecture {machine}")
    return list(ARCHITECTURES).index(machine)


def _number(numbers: tuple[int | None, int | None]) -> int:
    """Return the number of a system call on this architecture, or of one that does not exist."""
    number = numbers[_column()]
    return MISSING if number is None else number


if __name__ == "__main__":
    main()
