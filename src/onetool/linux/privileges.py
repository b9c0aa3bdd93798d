"""Privileges of this process, and what happens to it when its parent ends."""

import struct

from onetool.linux.system_calls import check, libc, number

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
MAX_CAPABILITY = 63
CAPABILITY_VERSION = 0x20080522


def deny_new_privileges() -> None:
    """Ignore set-user-id bits of programs from now on."""
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def drop_capabilities() -> None:
    """Drop all capabilities, also those that root would regain when it executes a program."""
    for capability in range(MAX_CAPABILITY + 1):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails without the right to, or if it is unknown
    header, none = struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24)
    check(libc.syscall(number("capset"), header, none))


def signal_on_parent_exit(signal: int) -> None:
    """Request a signal for the moment when the parent ends."""
    check(libc.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0))


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    check(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
