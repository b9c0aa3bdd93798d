"""Seccomp: filters of the system calls of this process and its children."""

import ctypes
import struct
from collections.abc import Iterable, Sequence

from onetool.linux.memory_file import open_memory_file
from onetool.linux.system_calls import ARCHITECTURES, architecture, check, libc, number

PR_SET_SECCOMP, MODE_FILTER = 22, 2
LOAD, AND, JUMP_EQUAL, JUMP_GREATER, JUMP_SET, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
ERROR = 0x00050000
EPERM, ENOSYS = 1, 38
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
"""Offsets in the data that a filter sees."""
X32 = 0x40000000
"""First number of the second table of x86-64."""

Instruction = tuple[int, int, int, int]
"""Operation, lines to skip if true, lines to skip if false, operand."""
ALLOW: Instruction = (RETURN, 0, 0, 0x7FFF0000)
DENY: Instruction = (RETURN, 0, 0, ERROR | EPERM)
UNKNOWN: Instruction = (RETURN, 0, 0, ERROR | ENOSYS)
"""Pretend that the kernel lacks the system call, so that programs use another one."""


def build_filter(rules: Iterable[Instruction]) -> list[Instruction]:
    """Return a filter that applies the rules, denies other architectures and allows the rest."""
    return [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, ARCHITECTURES[architecture()]),
        DENY,
        (LOAD, 0, 0, NUMBER),
        (JUMP_GREATER, 0, 1, X32),
        DENY,
        *rules,
        ALLOW,
    ]


def on_call(name: str, *instructions: Instruction) -> list[Instruction]:
    """Return a rule for one system call. Its instructions must end with a decision."""
    return [(JUMP_EQUAL, 0, len(instructions), number(name)), *instructions]


def load_argument(index: int) -> Instruction:
    """Load the lower 32 bits of an argument of the system call."""
    return LOAD, 0, 0, ARGUMENTS + 8 * index


def encode(instructions: Sequence[Instruction]) -> bytes:
    """Return the filter as the kernel reads it."""
    return b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)


def install(instructions: Sequence[Instruction]) -> None:
    """Apply a filter, which lasts over the execution of programs. It needs "no new privileges".

    Raises:
        Unsupported: The kernel does not support it.
    """
    code = encode(instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(instructions), ctypes.addressof(buffer))
    check(libc.prctl(PR_SET_SECCOMP, MODE_FILTER, program, 0, 0))


def write_to_memory_file(instructions: Sequence[Instruction]) -> int:
    """Return a descriptor, inherited by programs, from which a filter can be read."""
    return open_memory_file("seccomp", encode(instructions))
