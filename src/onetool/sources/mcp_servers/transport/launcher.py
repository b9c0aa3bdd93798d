"""Linux launcher of a program that is killed with its parent: `launcher.py PARENT_PID PROGRAM ARGS...`."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Request SIGKILL when the parent dies, then replace this process with the program."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):  # the parent died before the request
        sys.exit(1)
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - the operator configured the program


if __name__ == "__main__":
    main()
