"""`onetool` as a process, forked from one that has already imported everything where the system allows it.

Tests of the start-up itself start an interpreter with `subprocess`.
"""

import atexit
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

TIMEOUT_S = 60.0
CAN_FORK = hasattr(os, "pidfd_open")
coverage_config = ""
"""The value of COVERAGE_PROCESS_CONFIG for processes; empty to run them without coverage."""
File = IO[Any] | int | None
"""As for `subprocess.Popen`: a file, a descriptor, PIPE, DEVNULL, or None for that of this process."""


def onetool(
    *words: object, stdin: str = "", env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, with output that is not a terminal."""
    with (
        tempfile.TemporaryFile() as input_file,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        input_file.write(stdin.encode())
        input_file.seek(0)
        files = {"stdin": input_file, "stdout": out, "stderr": err}
        process = start_onetool(*words, **files, env=env, cwd=cwd, is_measured=True)
        try:
            status = process.wait(TIMEOUT_S)
        finally:
            process.kill()
        texts = [_read_all(file) for file in (out, err)]
    return subprocess.CompletedProcess(["onetool", *map(str, words)], status, *texts)


def on_a_terminal(*args: str) -> str:
    """Run a command on a terminal and return its output."""
    import pty  # missing on Windows

    reader, terminal = pty.openpty()
    env = {**os.environ, "COLUMNS": "110", "TERM": "xterm-256color"}
    files = {"stdin": terminal, "stdout": terminal, "stderr": terminal}
    child = start_onetool(*args, **files, env=env, is_measured=True)
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


def start_onetool(
    *words: object,
    stdin: File = None,
    stdout: File = None,
    stderr: File = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    text: bool = False,
    wrapper: Sequence[str] = (),
    is_measured: bool = False,
) -> "ForkedProcess | subprocess.Popen[Any]":
    """Start `onetool` without waiting for it; the options are those of `subprocess.Popen`.

    wrapper: the command that starts a new interpreter, which is needed for variables that it reads.
    is_measured: measure coverage, if the tests do; a server would be slow, and its code runs in tests too.
    """
    options: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "stderr": stderr, "cwd": cwd, "text": text}
    args, environment = [str(word) for word in words], dict(os.environ if env is None else env)
    if CAN_FORK and not wrapper and not environment.get("PYTHONPATH"):
        return ForkedProcess(args, env=environment, is_measured=is_measured, **options)
    return subprocess.Popen([*wrapper, sys.executable, "-m", "onetool", *args], env=environment, **options)


def start_command(command: Sequence[str], **options: Any) -> "ForkedProcess | subprocess.Popen[Any]":
    """Start a program without waiting for it, in a fork if it is `onetool`."""
    program, *args = command
    return start_onetool(*args, **options) if program == "onetool" else subprocess.Popen(command, **options)


class ForkedProcess:
    """A fork of the process that has imported everything, with the methods of `subprocess.Popen`."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path | str | None,
        text: bool,
        is_measured: bool,
        **files: File,
    ) -> None:
        self.args, self.returncode = ["onetool", *words], None
        pipes = [
            _Pipe(files[name], number, text) for number, name in enumerate(("stdin", "stdout", "stderr"))
        ]
        self.stdin, self.stdout, self.stderr = (pipe.ours for pipe in pipes)
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server.connect(_fork_server_address())
        directory = str(cwd or Path.cwd())
        request = {"words": list(words), "env": dict(env), "cwd": directory, "is_measured": is_measured}
        socket.send_fds(self._server, [json.dumps(request).encode()], [pipe.theirs for pipe in pipes])
        for pipe in pipes:
            pipe.close_theirs()
        pid, (self._descriptor,), _, _ = socket.recv_fds(self._server, 32, 1)
        self.pid = int(pid)

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code."""
        if self.returncode is None:
            self._server.settimeout(timeout)
            try:
                self.returncode = int(self._server.recv(32))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._server.close()
            os.close(self._descriptor)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Close stdin, return what stdout and stderr contain if they are pipes, and wait."""
        if self.stdin:
            self.stdin.close()
        pipes = [_Reader(file) for file in (self.stdout, self.stderr)]
        self.wait(timeout)
        return pipes[0].result(), pipes[1].result()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> "ForkedProcess":
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self.stdin, self.stdout, self.stderr):
            if file:
                file.close()
        self.wait()


class _Reader:
    """A thread that reads a pipe to its end, so that the process never waits for space in it."""

    def __init__(self, file: Any) -> None:
        self._file, self._content = file, None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        if self._file:
            self._content = self._file.read()

    def result(self) -> Any:
        """Return the content, or None without a pipe."""
        self._thread.join()
        if self._file:
            self._file.close()
        return self._content


class _Pipe:
    """One standard file of a process: the end that it has, and ours if it is a pipe."""

    def __init__(self, file: File, number: int, text: bool) -> None:
        self.ours: Any = None
        self._is_opened = file in (subprocess.PIPE, subprocess.DEVNULL)
        if file == subprocess.PIPE:
            reader, writer = os.pipe()
            self.theirs, kept = (reader, writer) if number == 0 else (writer, reader)
            self.ours = os.fdopen(kept, "wb" if number == 0 else "rb")
            if text:
                self.ours = io.TextIOWrapper(self.ours, write_through=number == 0)
        elif file == subprocess.DEVNULL:
            self.theirs = os.open(os.devnull, os.O_RDWR)
        else:
            self.theirs = number if file is None else file if isinstance(file, int) else file.fileno()

    def close_theirs(self) -> None:
        if self._is_opened:
            os.close(self.theirs)


_starting = threading.Lock()


def _fork_server_address() -> str:
    """Return the socket path of the fork server, which threads of a test may need at the same time."""
    with _starting:
        return _start_fork_server()


@cache
def _start_fork_server() -> str:
    """Start the fork server, which ends with this process."""
    directory = tempfile.mkdtemp(prefix="onetool-forks-")
    address = f"{directory}/socket"
    program = [sys.executable, "-P", str(Path(__file__).with_name("fork_server.py")), address]
    env = os.environ | ({"COVERAGE_PROCESS_CONFIG": coverage_config} if coverage_config else {})
    process = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/", env=env)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    atexit.register(process.terminate)
    return address
