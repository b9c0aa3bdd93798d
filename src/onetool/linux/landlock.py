"""Landlock: restricts the files, signals and sockets of this process and its children."""

import os
import stat
import struct
from collections.abc import Iterable

from onetool.linux.system_calls import Unsupported, check, libc

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls, which have the same numbers on every architecture."""
VERSION_FLAG, PATH_RULE = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL_DEV = (1 << bit for bit in (0, 1, 2, 3, 14, 15))
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
READ = EXECUTE | READ_FILE | READ_DIR
WRITE = ((1 << 15) - 1) & ~(MAKE_CHAR | MAKE_BLOCK)
"""Everything but to create devices and to control them."""
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""The rights that apply to files; all others apply to directories only."""
RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many file rights each version knows; later versions know as many as the last."""
NETWORK = 0b11
"""TCP ports to listen on and to connect to."""
SCOPES = 0b11
"""Abstract Unix sockets and signals."""
FIRST_WITH_NETWORK, FIRST_WITH_SCOPES = 4, 6


def version() -> int:
    """Return the version of Landlock that the kernel supports, or 0."""
    return max(0, int(libc.syscall(CREATE_RULESET, None, 0, VERSION_FLAG)))


def restrict_files(rules: Iterable[tuple[str, int]], network: bool) -> None:
    """Allow these rights below these paths, and no others. Restrict signals and abstract sockets as well.

    Args:
        rules: Existing paths, each with its rights.
        network: Whether TCP stays allowed.

    Raises:
        Unsupported: The kernel does not support it.
        OSError: A path cannot be opened.
    """
    known = version()
    rights = (1 << RIGHTS_BY_VERSION.get(known, max(RIGHTS_BY_VERSION.values()))) - 1
    ruleset = _create(known, rights, 0 if network else NETWORK)
    for path, allowed in rules:
        _add(ruleset, path, allowed & rights)
    _apply(ruleset)


def restrict_scopes() -> None:
    """Deny signals to processes, and connections to abstract Unix sockets, which are not restricted with it.

    Raises:
        Unsupported: The kernel does not support it.
    """
    known = version()
    if known < FIRST_WITH_SCOPES:
        raise Unsupported(f"Landlock version {known} has no scopes")
    _apply(_create(known, 0, 0))


def _create(known: int, rights: int, network: int) -> int:
    handled = [rights]
    handled += [network] if known >= FIRST_WITH_NETWORK else []
    handled += [SCOPES] if known >= FIRST_WITH_SCOPES else []
    attributes = struct.pack(f"{len(handled)}Q", *handled)
    return check(libc.syscall(CREATE_RULESET, attributes, len(attributes), 0))


def _add(ruleset: int, path: str, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= FILE_RIGHTS
        check(libc.syscall(ADD_RULE, ruleset, PATH_RULE, struct.pack("=Qi", rights, descriptor), 0))
    finally:
        os.close(descriptor)


def _apply(ruleset: int) -> None:
    try:
        check(libc.syscall(RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)
