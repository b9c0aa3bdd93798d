"""`onetool` on the command line: a process for each command, forked where possible to start faster."""

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

TIMEOUT_S = 60.0
coverage_config = ""
"""The value of COVERAGE_PROCESS_CONFIG for commands; empty to run them without coverage."""
Files = tuple[IO[bytes] | int, IO[bytes] | int, IO[bytes] | int]
"""The standard input, output and error of a command."""


def onetool(
    *words: object, stdin: str = "", env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, with output that is not a terminal.

    The command runs in a fork, without the start-up of a fresh interpreter. Tests of the start-up itself use
    `subprocess`.
    """
    with (
        tempfile.TemporaryFile() as input_file,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        input_file.write(stdin.encode())
        input_file.seek(0)
        status = start_command(words, (input_file, out, err), env, cwd).wait()
        texts = [_read_all(file) for file in (out, err)]
    return subprocess.CompletedProcess(["onetool", *map(str, words)], status, *texts)


def on_a_terminal(*args: str) -> str:
    """Run a command on a terminal and return its output."""
    import pty  # missing on Windows

    reader, terminal = pty.openpty()
    env = {**os.environ, "COLUMNS": "110", "TERM": "xterm-256color"}
    child = start_command(args, (terminal, terminal, terminal), env)
    os.close(terminal)
    text = b""
    while True:
        try:
            block = os.read(reader, 65536)
        except OSError:
            break
        text += block
        if not block:
            break
    child.wait(30)
    os.close(reader)
    return text.decode()


def _read_all(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def start_command(
    words: Sequence[object], files: Files, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> "_ForkedCommand | subprocess.Popen[bytes]":
    """Start a command with these files as its standard input, output and error."""
    args, environment = [str(word) for word in words], dict(os.environ if env is None else env)
    if hasattr(os, "pidfd_open"):
        return _ForkedCommand(args, files, environment, str(cwd or Path.cwd()))
    stdin, stdout, stderr = files
    command = [sys.executable, "-m", "onetool", *args]
    return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, env=environment, cwd=cwd)


class _ForkedCommand:
    """A command in a fork of a process that has already imported everything."""

    def __init__(self, words: list[str], files: Files, env: dict[str, str], cwd: str) -> None:
        self._words, self._status = words, None
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.connect(_fork_server_address())
        request = json.dumps({"words": words, "env": env, "cwd": cwd}).encode()
        socket.send_fds(
            self._server, [request], [file if isinstance(file, int) else file.fileno() for file in files]
        )
        self.pid = int(self._server.recv(32))

    def wait(self, timeout: float = TIMEOUT_S) -> int:
        if self._status is None:
            self._server.settimeout(timeout)
            with self._server:
                self._status = self._receive_status(timeout)
        return self._status

    def kill(self) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)

    def _receive_status(self, timeout: float) -> int:
        try:
            return int(self._server.recv(32))
        except TimeoutError:
            self.kill()
            raise subprocess.TimeoutExpired(self._words, timeout) from None


@cache
def _fork_server_address() -> str:
    """Start the fork server, which ends with this process, and return its socket path."""
    directory = tempfile.mkdtemp(prefix="onetool-commands-")
    address = f"{directory}/socket"
    program = [sys.executable, "-P", str(Path(__file__).with_name("cli_forkserver.py")), address]
    env = os.environ | ({"COVERAGE_PROCESS_CONFIG": coverage_config} if coverage_config else {})
    process = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/", env=env)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    atexit.register(process.terminate)
    return address
