"""How long a command takes to start, beside the least that such a program is."""

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
"""A pack of the benchmark."""

def look(path: str, depth: int = 1, names: list[str] | None = None) -> str:
    """Look at something.

    Args:
        path: Where.
        depth: How deep.
        names: What for.
    """
    return path
'''
PACKS = 20
Env = Mapping[str, str]
NOTE = (
    "Time by the clock and CPU time of the whole process; memory where it stays running. "
    "The first start, which looks into new packs, is not counted."
)


class Start(NamedTuple):
    """What one start took: seconds, CPU seconds, bytes that are held (0 where it ended)."""

    wall: float
    cpu: float
    memory: float = 0


async def measure(options: Options) -> list[Table]:
    """The command line, and an MCP server until it has listed its tools."""
    table = Table("Start-up", NOTE, ("what", "time", "CPU", "memory"))
    with TemporaryDirectory() as folder:
        env = await user_with_packs(Path(folder) / "user")
        for name, what in WHAT.items():
            taken = await interleaved(
                *(partial(start, env) for start in STARTS[name]), rounds=options.rounds + 2
            )
            table.rows.append((what, *_figures(taken)))
    return [table]


def program(*args: str) -> list[str]:
    """The installed command, as people start it."""
    found = shutil.which("onetool", path=str(Path(sys.executable).parent))
    if found is None:
        raise SystemExit("onetool is not installed in this environment: run `just setup`.")
    return [sys.executable, found, *args]


async def user_with_packs(folder: Path) -> Env:
    """The environment of a user who has some packs, which OneTool has looked into: it does so once."""
    if folder.exists():
        return home(folder)
    env = home(folder)
    tools = Path(env["ONETOOL_CONFIG_DIR"]) / "tools"
    tools.mkdir()
    for number in range(PACKS):
        (tools / f"pack{number}.py").write_text(PACK)
    await _command(program("tools", "list"), env)
    return env


async def _command(command: list[str], env: Env) -> Start:
    """Run a command to its end."""
    start, before = time.perf_counter(), _children_cpu()
    process = await asyncio.create_subprocess_exec(*command, env=env, stdout=asyncio.subprocess.DEVNULL)
    if await process.wait() != 0:
        raise SystemExit(f"a measured command failed: {command}")
    return Start(time.perf_counter() - start, _children_cpu() - before)


async def _mcp(command: list[str], env: Env) -> Start:
    """Start an MCP server, and ask what tools it has."""
    start = time.perf_counter()
    async with running(command, env) as process, stdio_client(process) as client:
        await client.ask("tools/list", {}, b'"tools"')
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
"""The bare program, and ours."""
WHAT = {
    "--version": "`onetool --version` / bare click",
    "tools list": f"`onetool tools list`, {PACKS} packs / click + pydantic + asyncio",
    "MCP start": "MCP stdio, spawn to tools/list / bare SDK server",
}


def _figures(taken: Sequence[Sequence[Start]]) -> list[Figure | str]:
    """The least of each measure; memory only where it was measured."""
    least = [[min(each) for each in zip(*starts, strict=True)] for starts in taken]
    figures = [Figure(a, b, unit) for a, b, unit in zip(*least, ("s", "s", "bytes"), strict=True)]
    return [figure if figure.bare else "" for figure in figures]


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
