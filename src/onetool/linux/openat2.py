"""openat2: opens files below a directory without following links."""

import ctypes
import errno
import os
import struct
from functools import cache

from onetool.linux.system_calls import libc

OPENAT2 = 437
"""System call, which has the same number on every architecture."""
NO_MAGICLINKS, NO_SYMLINKS, BENEATH = 0x02, 0x04, 0x08


def open_beneath(directory: int, path: str, flags: int, mode: int = 0) -> int:
    """Open a path below a directory. The kernel follows no link and does not leave the directory.

    Raises:
        OSError: The path cannot be opened. ELOOP: A part of it is a link.
    """
    how = struct.pack("3Q", flags | os.O_CLOEXEC, mode, BENEATH | NO_MAGICLINKS | NO_SYMLINKS)
    while True:
        descriptor = int(libc.syscall(OPENAT2, directory, os.fsencode(path), how, ctypes.c_size_t(len(how))))
        if descriptor >= 0:
            return descriptor
        if (code := ctypes.get_errno()) != errno.EINTR:
            raise OSError(code, os.strerror(code), path)


@cache
def is_available() -> bool:
    """Return whether the kernel has openat2 (Linux 5.6), and no filter of system calls refuses it."""
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        os.close(open_beneath(root, ".", os.O_PATH))
    except OSError:
        return False
    finally:
        os.close(root)
    return True
