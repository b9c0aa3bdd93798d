"""Measured programs: start, stop, CPU time and memory. Requires Linux."""

import asyncio
import os
import socket
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
TIMEOUT_S = 120.0
MAX_LINE_BYTES = 2**24
BARE = Path(__file__).parent / "bare"


def bare(name: str, *args: object) -> list[str]:
    """Return the command of a minimal program."""
    return [sys.executable, str(BARE / f"{name}.py"), *map(str, args)]


def onetool(*args: str) -> list[str]:
    """Return a OneTool command."""
    return [sys.executable, "-m", "onetool", *args]


def home(directory: Path, settings: str = "") -> dict[str, str]:
    """Create a new user's directories with these settings and return the environment."""
    directories = {kind: directory / kind.lower() for kind in ("CONFIG", "DATA", "STATE")}
    directories["CONFIG"].mkdir(parents=True, exist_ok=True)
    (directories["CONFIG"] / "onetool.yaml").write_text(settings)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ONETOOL_")}
    return {**inherited, **{f"ONETOOL_{kind}_DIR": str(path) for kind, path in directories.items()}}


@asynccontextmanager
async def running(
    command: list[str], env: Mapping[str, str] | None = None, port: int | None = None, quiet: bool = False
) -> AsyncIterator[Process]:
    """Run a program during the block. With a port, wait until it listens; `quiet` discards stderr."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=env,
        stdin=PIPE,
        stdout=DEVNULL if port else PIPE,
        stderr=DEVNULL if quiet else None,
        limit=MAX_LINE_BYTES,
    )
    try:
        if port:
            await _wait_until_listening(port, process)
        yield process
    finally:
        await _stop(process)


async def output_of(command: list[str], env: Mapping[str, str] | None = None) -> str:
    """Run a program, and return the last line of its output."""
    process = await asyncio.create_subprocess_exec(*command, env=env, stdout=PIPE, stderr=PIPE)
    output, errors = await process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command[:4])} failed: {errors.decode()[-1000:]}")
    return output.decode().strip().splitlines()[-1] if output.strip() else ""


async def _stop(process: Process) -> None:
    if process.stdin:
        process.stdin.close()  # a stdio server exits when its stdin is closed
    with suppress(ProcessLookupError):
        if process.stdout is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _wait_until_listening(port: int, process: Process) -> None:
    deadline = asyncio.get_running_loop().time() + TIMEOUT_S
    while asyncio.get_running_loop().time() < deadline:
        if process.returncode is not None:
            raise SystemExit(f"A measured program exited with code {process.returncode} before it listened.")
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.05)
    raise SystemExit(f"Nothing listens on port {port}.")


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process and its children."""
    return sum(_own_cpu(member) + sum(map(int, _stat(member)[13:15])) / TICKS for member in process_tree(pid))


def memory_of(pid: int) -> float:
    """Return the memory of a process and its children in bytes, counting shared memory once."""
    return sum(own_memory(member) for member in process_tree(pid))


def process_tree(pid: int) -> Iterator[int]:
    """Yield a process and its descendants."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            for child in (task / "children").read_text().split():
                yield from process_tree(int(child))


def _own_cpu(pid: int) -> float:
    """Return the CPU time from the per-process clock of Linux, in nanosecond resolution."""
    with suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)
    return 0.0  # the process has exited and is counted with its parent


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["0"] * 20


def own_memory(pid: int) -> int:
    """Return the memory of a process in bytes, with its share of what others use too."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
