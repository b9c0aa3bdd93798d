"""Values of secrets that a program of the user prints, such as the command of a password manager."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

from onetool.domain.errors import SettingsError
from onetool.threads import call_with_limit

from .schema import PLACEHOLDER

MAX_PARALLEL = 4
"""Maximum number of programs that run at the same time."""
MAX_VALUE_BYTES = 64 * 2**10
KILL_TIMEOUT_S = 5.0
"""Seconds to wait for the end of a program that was killed."""


class SecretUnavailable(Exception):
    """A program printed no value. The message says why, without what the program printed."""


class SecretCommand:
    """Runs a program for each secret, without a shell and without input.

    What it writes to stderr is dropped: it may contain a value. It runs in the directory of the user's
    settings, so that the files of a project cannot change what it does.
    """

    def __init__(self, command: Sequence[str], directory: Path, timeout_s: float) -> None:
        self._command, self._directory, self._timeout_s = command, directory, timeout_s

    def read(self, names: Sequence[str]) -> dict[str, str | SecretUnavailable]:
        """Return the value of each secret, or why there is none. It blocks.

        Raises:
            SettingsError: The program cannot be started.
        """
        pool = ThreadPoolExecutor(MAX_PARALLEL, thread_name_prefix="onetool-secrets")
        try:
            return dict(zip(names, pool.map(self._read, names), strict=True))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _read(self, name: str) -> str | SecretUnavailable:
        try:
            return self._value(self._run(name))
        except SecretUnavailable as error:
            return error

    def _run(self, name: str) -> bytes:
        end = time.monotonic() + self._timeout_s
        process = self._start([argument.replace(PLACEHOLDER, name) for argument in self._command])
        try:
            output = call_with_limit(partial(_read_output, process), self._timeout_s)
            if len(output) > MAX_VALUE_BYTES:
                raise SecretUnavailable(f"{self._program} printed more than {MAX_VALUE_BYTES:,} bytes")
            status = process.wait(max(end - time.monotonic(), 0))
        except (TimeoutError, subprocess.TimeoutExpired):
            _kill(process)
            raise SecretUnavailable(f"{self._program} did not end within {self._timeout_s:g} s") from None
        except BaseException:
            _kill(process)
            raise
        if status:
            raise SecretUnavailable(f"{self._program} failed with exit code {status}")
        return output

    def _start(self, command: Sequence[str]) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self._directory,
                start_new_session=True,  # without a terminal, on which it could wait for a password
            )
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else "") or "not a command"
            raise SettingsError(
                f"secrets.command: cannot start {self._program}: {reason}. "
                "Use an absolute path or a command on PATH."
            ) from None

    def _value(self, output: bytes) -> str:
        try:
            value = output.decode()
        except UnicodeDecodeError:
            raise SecretUnavailable(f"{self._program} did not print UTF-8 text") from None
        if not (value := value.removesuffix("\n").removesuffix("\r")):
            raise SecretUnavailable(f"{self._program} printed nothing")
        return value

    @property
    def _program(self) -> str:
        """The program without its arguments, which may contain a credential."""
        return repr(self._command[0])


def _read_output(process: "subprocess.Popen[bytes]") -> bytes:
    """Read until the end or the limit, and close the pipe: another thread cannot while this one reads."""
    if process.stdout is None:
        raise AssertionError("the output is a pipe")
    with process.stdout as stream:
        return stream.read(MAX_VALUE_BYTES + 1)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a program and what it has started."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":  # pragma: no cover - Windows has no process groups
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        process.wait(KILL_TIMEOUT_S)
