"""`onetool` on the command line: each command in a process of its own, which need not start from nothing."""

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

PATIENCE_S = 60.0
measured = ""
"""What tells a program to measure which lines it runs; nothing: it does not."""
Files = tuple[IO[bytes] | int, IO[bytes] | int, IO[bytes] | int]
"""What a command gets as its standard input, output and error."""


def onetool(
    *words: object, stdin: str = "", env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, as a program would: its output is no terminal.

    What a fresh interpreter does before our first line is not gone through; tests of that start one.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        status = start_command(words, (given, out, err), env, cwd).wait()
        texts = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in (out, err)]
    return subprocess.CompletedProcess(["onetool", *map(str, words)], status, *texts)


def start_command(
    words: Sequence[object], files: Files, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> "_Forked | subprocess.Popen[bytes]":
    """Start a command, with these files as its input and output."""
    command, around = [str(word) for word in words], dict(os.environ if env is None else env)
    if hasattr(os, "pidfd_open"):
        return _Forked(command, files, around, str(cwd or Path.cwd()))
    stdin, stdout, stderr = files
    fresh = [sys.executable, "-m", "onetool", *command]
    return subprocess.Popen(fresh, stdin=stdin, stdout=stdout, stderr=stderr, env=around, cwd=cwd)


class _Forked:
    """A command in a fork of a process that has imported everything already."""

    def __init__(self, words: list[str], files: Files, env: dict[str, str], cwd: str) -> None:
        self._words, self._status = words, None
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.connect(_address())
        request = json.dumps({"words": words, "env": env, "cwd": cwd}).encode()
        socket.send_fds(
            self._server, [request], [file if isinstance(file, int) else file.fileno() for file in files]
        )
        self.pid = int(self._server.recv(32))

    def wait(self, timeout: float = PATIENCE_S) -> int:
        if self._status is None:
            self._server.settimeout(timeout)
            with self._server:
                self._status = self._ended(timeout)
        return self._status

    def kill(self) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)

    def _ended(self, timeout: float) -> int:
        try:
            return int(self._server.recv(32))
        except TimeoutError:
            self.kill()
            raise subprocess.TimeoutExpired(self._words, timeout) from None


@cache
def _address() -> str:
    """Where the process listens that forks; it ends with this one."""
    directory = tempfile.mkdtemp(prefix="onetool-commands-")
    address = f"{directory}/socket"
    program = [sys.executable, "-P", str(Path(__file__).with_name("warm_commands.py")), address]
    env = os.environ | ({"COVERAGE_PROCESS_CONFIG": measured} if measured else {})
    process = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/", env=env)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    atexit.register(process.terminate)
    return address
