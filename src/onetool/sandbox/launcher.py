"""The worker program of the sandbox: the interpreter, in its jail on Linux."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

JAIL = Path(__file__).with_name("jail.py")
OVERHEAD_BYTES = 512 * 2**20
"""Address space of the interpreter itself: its code and stacks."""
MFD_EXEC = 0x10
"""Flag of newer kernels, which may otherwise create files in memory that cannot be executed."""
LIBRARY = re.compile(r"(/\S+) \(0x")
LIBRARY_DIRECTORIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
"""Allowed if the libraries of the interpreter cannot be listed."""
LOADER_CACHE = "/etc/ld.so.cache"
TIMEOUT_S = 30.0


class Launcher:
    """A program that starts the interpreter in the jail, until it is closed. Outside Linux there is no jail.

    The pool starts a program without arguments or variables of ours, so a script contains them. The script
    exists in memory only: no file must be executable, and nothing is left after a crash.
    """

    def __init__(self, interpreter: str, memory_bytes: int) -> None:
        self._file = -1
        self.program = interpreter
        if sys.platform == "linux":
            self._file = _open_memory_file()
            command = shlex.join(_jail_command(interpreter, memory_bytes))
            os.write(self._file, f'#!/bin/sh\nexec {command} "$@"\n'.encode())
            self.program = f"/proc/{os.getpid()}/fd/{self._file}"

    def close(self) -> None:
        """Release the script."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def active_restrictions(interpreter: str) -> Mapping[str, bool]:
    """Return the restrictions of the jail and whether this system supports them; none outside Linux."""
    if sys.platform != "linux":
        return {}
    command = [*_jail_command(interpreter, 0), "--report"]
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=True)
    report: dict[str, bool] = json.loads(done.stdout)
    return report


def _jail_command(program: str, memory_bytes: int) -> list[str]:
    jail: dict[str, Any] = {
        "program": program,
        "files": [program, *list_libraries(program)],
        "memory_bytes": memory_bytes + OVERHEAD_BYTES,
    }
    return [sys.executable, "-I", "-S", str(JAIL), json.dumps(jail)]


def list_libraries(program: str) -> list[str]:
    """Return the files that the dynamic loader reads to start a program."""
    environment = {"LD_TRACE_LOADED_OBJECTS": "1"}  # the loader lists the libraries, and nothing runs
    listing = subprocess.run(
        [program],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
        text=True,
    )
    libraries = LIBRARY.findall(listing.stdout)
    files = [*libraries, LOADER_CACHE] if libraries else LIBRARY_DIRECTORIES
    return [file for file in files if Path(file).exists()]


def _open_memory_file() -> int:
    with suppress(OSError):
        return os.memfd_create("onetool-worker", os.MFD_CLOEXEC | MFD_EXEC)
    return os.memfd_create("onetool-worker", os.MFD_CLOEXEC)
