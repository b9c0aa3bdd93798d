"""The program of a server: started with nothing but what it was given, ended with all that it started."""

import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from .failure import Down

BUFFER = 2**20
PATIENCE = 0.5
"""Seconds that a program has to end by itself when its input ends."""
GRACE = 2.0
"""Seconds between asking it to end and ending it."""
POLL = 0.01
LAUNCHER = Path(__file__).with_name("launcher.py")
INHERITED = ("PATH", "SYSTEMROOT") if os.name == "nt" else ("PATH",)


async def start(command: str, args: Sequence[str], env: Mapping[str, str]) -> Process:
    """Start a program in a process group of its own.

    Raises Down when there is no such program.
    """
    env = {name: os.environ[name] for name in INHERITED if name in os.environ} | dict(env)
    words = [_find(command, env.get("PATH")), *args]
    if sys.platform == "linux":
        words = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *words]
    try:
        return await asyncio.create_subprocess_exec(
            *words, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env, limit=BUFFER, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise Down(f"{command!r} cannot be started: {error}") from error


async def stop(process: Process) -> None:
    """End the program and its whole group: its input ends, then SIGTERM, then SIGKILL."""
    try:
        if process.stdin is not None:
            process.stdin.close()
        if not await has_ended(process, PATIENCE):
            _signal(process, signal.SIGTERM)
            await has_ended(process, GRACE)
        _signal(process, signal.SIGKILL)
        await has_ended(process, GRACE)
    finally:  # also for whoever cannot wait: nothing of ours holds it any more
        _signal(process, signal.SIGKILL)
        _let_go(process)


async def has_ended(process: Process, patience: float) -> bool:
    """Whether it ends in time. `Process.wait` would wait for whoever else holds its output as well."""
    loop = asyncio.get_running_loop()
    end = loop.time() + patience
    while process.returncode is None and loop.time() < end:  # noqa: ASYNC110 - there is no event of that
        await asyncio.sleep(POLL)
    return process.returncode is not None


def how_it_ended(process: Process) -> str:
    """Say what became of the program."""
    code = process.returncode
    if code is None:
        return "the program has closed its output"
    if code < 0:
        return f"the program was ended by {signal.Signals(-code).name}"
    return f"the program ended with exit code {code}"


def _find(command: str, path: str | None) -> str:
    program = shutil.which(command, path=path)
    if program is None:
        raise Down(f"there is no program {command!r}. Give a path, or a name that is found on PATH.")
    return str(Path(program).absolute())


def _signal(process: Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":  # pragma: no cover - there are no process groups of this kind
            process.kill()
        else:
            os.killpg(process.pid, number)


def _let_go(process: Process) -> None:
    """Close our ends of the pipes, although a child of the program may still hold the others."""
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
