"""Startup time of commands compared with minimal programs."""

import asyncio
import resource
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.figures import Figure, Table, interleaved
from benchmarks.options import Options
from benchmarks.processes import bare, cpu_of, home, memory_of, onetool, running
from benchmarks.wire import stdio_client

PACK = '''
"""A pack for the benchmark."""

def inspect(path: str, depth: int = 1, names: list[str] | None = None) -> str:
    """Inspect something.

    Args:
        path: The path.
        depth: The depth.
        names: The names.
    """
    return path
'''
PACKS = 20
Env = Mapping[str, str]
NOTE = (
    "Elapsed time and CPU time of the whole process, and memory of processes that keep running. "
    "The first start, which inspects new packs, is not included."
)


class Start(NamedTuple):
    """One start: seconds, CPU seconds, and bytes of memory (0 if the process has exited)."""

    wall: float
    cpu: float
    memory: float = 0


async def measure(options: Options) -> list[Table]:
    """Measure the command line, and an MCP server until it has listed its tools."""
    table = Table("Startup", NOTE, ("comparison", "time", "CPU", "memory"))
    with TemporaryDirectory() as directory:
        env = await user_with_packs(Path(directory) / "user")
        for name, label in LABELS.items():
            rounds = await interleaved(
                *(partial(start, env) for start in STARTS[name]), rounds=options.rounds + 2
            )
            table.rows.append((label, *_figures(rounds)))
    return [table]


def program(*args: str) -> list[str]:
    """Return the installed command, as users run it."""
    executable = shutil.which("onetool", path=str(Path(sys.executable).parent))
    if executable is None:
        raise SystemExit("OneTool is not installed in this environment. Run `just setup`.")
    return [sys.executable, executable, *args]


async def user_with_packs(directory: Path) -> Env:
    """Return the environment of a user with packs that OneTool has already inspected."""
    if directory.exists():
        return home(directory)
    env = home(directory)
    tools = Path(env["ONETOOL_CONFIG_DIR"]) / "tools"
    tools.mkdir()
    for number in range(PACKS):
        (tools / f"pack{number}.py").write_text(PACK)
    await _command(program("tools", "list"), env)
    return env


async def _command(command: list[str], env: Env) -> Start:
    """Run a command until it exits."""
    start, before = time.perf_counter(), _children_cpu()
    process = await asyncio.create_subprocess_exec(*command, env=env, stdout=asyncio.subprocess.DEVNULL)
    if await process.wait() != 0:
        raise SystemExit(f"Benchmark command failed: {command}")
    return Start(time.perf_counter() - start, _children_cpu() - before)


async def _mcp(command: list[str], env: Env) -> Start:
    """Start an MCP server and list its tools."""
    start = time.perf_counter()
    async with running(command, env) as process, stdio_client(process) as client:
        await client.request("tools/list", {}, b'"tools"')
        return Start(time.perf_counter() - start, cpu_of(process.pid), memory_of(process.pid))


STARTS: dict[str, Sequence[Callable[[Env], Awaitable[Start]]]] = {
    "--version": (
        partial(_command, bare("click_version", "--version")),
        partial(_command, program("--version")),
    ),
    "tools list": (
        partial(_command, bare("click_list", "list")),
        partial(_command, program("tools", "list")),
    ),
    "MCP start": (partial(_mcp, bare("mcp_server")), partial(_mcp, onetool("mcp"))),
}
"""The minimal program and OneTool."""
LABELS = {
    "--version": "`onetool --version` / bare click",
    "tools list": f"`onetool tools list`, {PACKS} packs / click + pydantic + asyncio",
    "MCP start": "MCP stdio, spawn to tools/list / bare SDK server",
}


def _figures(rounds: Sequence[Sequence[Start]]) -> list[Figure | str]:
    """Return the minimum of each value, with empty cells for values that were not measured."""
    minima = [[min(values) for values in zip(*starts, strict=True)] for starts in rounds]
    figures = [Figure(a, b, unit) for a, b, unit in zip(*minima, ("s", "s", "bytes"), strict=True)]
    return [figure if figure.bare else "" for figure in figures]


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
