"""Durable writes per second of the stores, from one process and from eight, compared with system calls."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.children import child_command, request, serve
from benchmarks.figures import Figure, Table, interleaved
from benchmarks.options import Options
from benchmarks.processes import running
from benchmarks.stored_tools import new_tool
from onetool.domain.bundles.bundle import Bundle, rfc3339
from onetool.files.atomic import write_atomic
from onetool.storage.files.bundles.store import FileBundles
from onetool.storage.files.results import FileResults
from onetool.threads import Threads

BUNDLE = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
CONTENT = b"x" * 500
PROCESSES = 8
Write = Callable[[str], Coroutine[Any, Any, object]]
"""Writes a new item with a name."""
NOTE = (
    "Durable writes per second. The bare program writes a new file, syncs it and renames it. OneTool also "
    "syncs the directory, so that the name is durable. A stored result consists of two files. A stored tool "
    "consists of a file and a row in the index, all in one bundle, which each process locks. The time of "
    "a sync varies, so this table has the most noise."
)


async def measure(options: Options) -> list[Table]:
    """Return a row for each kind of write and number of processes."""
    table = Table("Store", NOTE, ("comparison", "processes", "writes per second"))
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory()))
        bundles = FileBundles(directory / "tool", Threads())
        await bundles.change_bundle(BUNDLE, lambda _: Bundle(id=BUNDLE, slug="bench"))
        processes = {
            kind: [
                await stack.enter_async_context(running(child_command("store", kind, directory)))
                for _ in range(PROCESSES)
            ]
            for kind in KINDS
        }
        for number in (1, PROCESSES):
            loads = [partial(_write, group[:number], options.seconds) for group in processes.values()]
            bare, *ours = map(max, await interleaved(*loads, rounds=options.rounds))
            table.rows += [
                (f"{LABELS[kind]} / write + fsync + rename", number, Figure(bare, rate, "a second"))
                for kind, rate in zip(list(KINDS)[1:], ours, strict=True)
            ]
    return [table]


async def _write(processes: Sequence[Any], seconds: float) -> float:
    """Return the total rate of concurrent processes."""
    rates: list[float] = await asyncio.gather(*(request(process, seconds) for process in processes))
    return sum(rates)


def bare(directory: Path) -> Write:
    """Write a file atomically with plain system calls."""
    directory.mkdir(exist_ok=True)

    async def write(name: str) -> None:
        temporary = directory / f".{name}"
        with temporary.open("wb") as file:
            file.write(CONTENT)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(directory / name)

    return write


def file(directory: Path) -> Write:
    """Write a file as OneTool does."""

    async def write(name: str) -> None:
        write_atomic(directory / name, CONTENT)

    return write


def result(directory: Path) -> Write:
    """Store a large result."""
    store = FileResults(directory, Threads())
    return lambda name: store.put(CONTENT.decode(), "bench", owner="local")


def tool(directory: Path) -> Write:
    """Store a new tool in a bundle."""
    store = FileBundles(directory, Threads())
    at = rfc3339(time.time())
    return lambda name: store.add_tool(new_tool(BUNDLE, name, at), lambda _: None)


KINDS: dict[str, Callable[[Path], Write]] = {kind.__name__: kind for kind in (bare, file, result, tool)}
LABELS = {"file": "a file", "result": "a stored result", "tool": "a stored tool"}


async def main(kind: str, directory: Path) -> None:
    """Run one of the writing processes."""
    write, numbers = KINDS[kind](directory / kind), count()

    async def load(seconds: str) -> float:
        start, done = time.perf_counter(), 0
        while time.perf_counter() - start < float(seconds):
            await write(f"n{os.getpid()}-{next(numbers)}")
            done += 1
        return done / (time.perf_counter() - start)

    await serve(load)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
