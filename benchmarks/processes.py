"""Programs that are measured: started, asked for their CPU time and memory, and ended. Needs Linux."""

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
PATIENCE = 120.0
LONGEST_LINE = 2**24
BARE = Path(__file__).parent / "bare"


def bare(name: str, *args: object) -> list[str]:
    """The command of a bare program."""
    return [sys.executable, str(BARE / f"{name}.py"), *map(str, args)]


def onetool(*args: str) -> list[str]:
    """The command of ours."""
    return [sys.executable, "-m", "onetool", *args]


def home(folder: Path, settings: str = "") -> dict[str, str]:
    """The environment of a new user with these settings, and nothing else of ours."""
    places = {kind: folder / kind.lower() for kind in ("CONFIG", "DATA", "STATE")}
    places["CONFIG"].mkdir(parents=True, exist_ok=True)
    (places["CONFIG"] / "onetool.yaml").write_text(settings)
    others = {name: value for name, value in os.environ.items() if not name.startswith("ONETOOL_")}
    return {**others, **{f"ONETOOL_{kind}_DIR": str(place) for kind, place in places.items()}}


@asynccontextmanager
async def running(
    command: list[str], env: Mapping[str, str] | None = None, port: int | None = None, quiet: bool = False
) -> AsyncIterator[Process]:
    """Run a program for the block; with a port, from when it listens there on; quiet: without its stderr."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=env,
        stdin=PIPE,
        stdout=DEVNULL if port else PIPE,
        stderr=DEVNULL if quiet else None,
        limit=LONGEST_LINE,
    )
    try:
        if port:
            await _listens(port, process)
        yield process
    finally:
        await _end(process)


async def _end(process: Process) -> None:
    if process.stdin:
        process.stdin.close()  # who serves a pipe ends when it is closed
    with suppress(ProcessLookupError):
        if process.stdout is None:
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()
            await process.wait()


async def _listens(port: int, process: Process) -> None:
    end = asyncio.get_running_loop().time() + PATIENCE
    while asyncio.get_running_loop().time() < end:
        if process.returncode is not None:
            raise SystemExit(f"a measured program ended with {process.returncode} before it listened")
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        await asyncio.sleep(0.05)
    raise SystemExit(f"nothing listens on {port}")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def cpu_of(pid: int) -> float:
    """Seconds that a program and all it started have used so far."""
    return sum(_own_cpu(one) + sum(map(int, _stat(one)[13:15])) / TICKS for one in _tree(pid))


def memory_of(pid: int) -> float:
    """Bytes that a program and all it started hold; what several share counts once."""
    return sum(_pss(one) for one in _tree(pid))


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            for child in (task / "children").read_text().split():
                yield from _tree(int(child))


def _own_cpu(pid: int) -> float:
    """The clock that Linux keeps for every process, to the nanosecond."""
    with suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)
    return 0.0  # it has ended meanwhile, and is counted with its parent


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["0"] * 20


def _pss(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
