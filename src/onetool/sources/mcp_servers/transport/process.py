"""The process of a stdio server: started with a minimal environment, stopped with all its children."""

import asyncio
import logging
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from onetool.domain.text.strings import truncate_middle
from onetool.sources.mcp_servers.errors import ServerUnavailable

STREAM_LIMIT = 2**20
EXIT_TIMEOUT_S = 0.5
"""Time to exit after stdin is closed, in seconds."""
TERMINATE_TIMEOUT_S = 2.0
"""Time to exit after a signal, in seconds."""
POLL_INTERVAL_S = 0.01
MAX_LOGGED_LENGTH = 500
LAUNCHER = Path(__file__).with_name("launcher.py")
INHERITED_VARIABLES = ("PATH", "SYSTEMROOT") if os.name == "nt" else ("PATH",)


async def start(command: str, args: Sequence[str], env: Mapping[str, str]) -> Process:
    """Start a command in its own process group.

    Raises:
        ServerUnavailable: The command is not found or cannot be executed.
    """
    env = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ} | dict(env)
    argv = [_find_program(command, env.get("PATH")), *args]
    if sys.platform == "linux":
        argv = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *argv]
    try:
        return await asyncio.create_subprocess_exec(
            *argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env, limit=STREAM_LIMIT, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise ServerUnavailable(f"cannot start {command!r}: {error}") from error


async def stop(process: Process) -> None:
    """Stop the whole process group: close stdin, then send SIGTERM, then SIGKILL."""
    try:
        if process.stdin is not None:
            process.stdin.close()
        if not await has_exited(process, EXIT_TIMEOUT_S):
            _signal(process, signal.SIGTERM)
            await has_exited(process, TERMINATE_TIMEOUT_S)
        _signal(process, signal.SIGKILL)
        await has_exited(process, TERMINATE_TIMEOUT_S)
    finally:  # also if this task is cancelled
        _signal(process, signal.SIGKILL)
        _close_pipes(process)


async def has_exited(process: Process, timeout_s: float) -> bool:
    """Wait and return whether the process exits in time.

    `Process.wait` would also wait until all children that inherited its stdout have exited.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while process.returncode is None and loop.time() < deadline:  # noqa: ASYNC110 - there is no event to await
        await asyncio.sleep(POLL_INTERVAL_S)
    return process.returncode is not None


def exit_reason(process: Process) -> str:
    """Return why there is no more output, as a fragment."""
    code = process.returncode
    if code is None:
        return "the process closed its stdout"
    if code < 0:
        return f"the process was killed by {signal.Signals(-code).name}"
    return f"the process ended with exit code {code}"


async def log_stderr(process: Process, log: logging.Logger) -> None:
    """Log each line that the process writes to stderr, until it closes it."""
    while process.stderr is not None:
        try:
            line = await process.stderr.readline()
        except ValueError:  # longer than the buffer
            continue
        if not line:
            return
        if text := shorten_line(line).rstrip():
            log.info("%s", text)


def shorten_line(line: bytes) -> str:
    """Return a line of output as text that is short enough for the log."""
    return truncate_middle(line[: 2 * MAX_LOGGED_LENGTH].decode("utf-8", "replace"), MAX_LOGGED_LENGTH)


def _find_program(command: str, path: str | None) -> str:
    program = shutil.which(command, path=path)
    if program is None:
        hint = "use an absolute path or a command on PATH"
        raise ServerUnavailable(f"command {command!r} not found; {hint}")
    return str(Path(program).absolute())


def _signal(process: Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":  # pragma: no cover - Windows has no process groups
            process.kill()
        else:
            os.killpg(process.pid, number)


def _close_pipes(process: Process) -> None:
    """Close our ends of the pipes: a child that outlives the process may hold the other ends."""
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
