"""Becomes another program with less power: `python jail.py PROGRAM ARGS...`, on Linux.

No new privileges, no network, no core dumps, few open files. What the kernel does not grant is left out:
the interpreter inside gives code no way to any of it, this is a second wall.
"""

import ctypes
import os
import resource
import sys

PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
OPEN_FILES = 64


def main() -> None:
    """Give power away, then become the program."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.unshare(CLONE_NEWNET) != 0:
        libc.unshare(CLONE_NEWUSER | CLONE_NEWNET)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - the program that the pool was to start


if __name__ == "__main__":
    main()
