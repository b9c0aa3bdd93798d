"""The process of a stdio server: started with a minimal environment, stopped with all its children."""

import asyncio
import logging
import os
import signal
from asyncio.subprocess import PIPE, Process
from contextlib import suppress

from onetool.domain.text.strings import printable, truncate_middle
from onetool.sources.mcp_servers.sandbox.policy import SandboxedCommand

from .startup import Startup

STREAM_LIMIT = 2**20
EXIT_TIMEOUT_S = 0.5
"""Time to exit after stdin is closed, in seconds."""
TERMINATE_TIMEOUT_S = 2.0
"""Time to exit after a signal, in seconds."""
POLL_INTERVAL_S = 0.01
MAX_LOGGED_LENGTH = 500


async def execute(command: SandboxedCommand) -> Process:
    """Start a command in its own process group."""
    with command.open_plan() as (argv, descriptors):
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=command.env,
            cwd=command.cwd,
            limit=STREAM_LIMIT,
            start_new_session=True,
            pass_fds=descriptors,
        )


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


async def log_stderr(process: Process, log: logging.Logger, startup: Startup) -> None:
    """Log each line that the process writes to stderr, until it closes it."""
    while process.stderr is not None:
        try:
            line = await process.stderr.readline()
        except ValueError:  # longer than the buffer
            continue
        if not line:
            return
        if text := shorten_line(line):
            startup.add_output(text)
            log.info("%s", text)


def shorten_line(line: bytes) -> str:
    """Return a line of output as printable text that is short enough for the log."""
    text = line[: 2 * MAX_LOGGED_LENGTH].decode("utf-8", "replace").rstrip()
    return printable(truncate_middle(text, MAX_LOGGED_LENGTH))


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
