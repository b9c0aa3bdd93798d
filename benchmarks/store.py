"""How many durable writes a second the stores do, from one process and from eight, beside system calls."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.children import answer, asked, child
from benchmarks.figures import Figure, Table, interleaved
from benchmarks.options import Options
from benchmarks.processes import running
from benchmarks.stored_tools import new_tool
from onetool.domain.bundle import Bundle, rfc3339
from onetool.files.atomic import write_atomic
from onetool.storage.flat_file import FlatFileResults
from onetool.storage.flat_file_bundles import FlatFileBundles

BUNDLE = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
CONTENT = b"x" * 500
MANY = 8
Write = Callable[[str], object]
"""Writes something new under a name."""
NOTE = (
    "Writes a second that are on the disk when they return; the bare one writes a new file, syncs it and "
    "renames it. A file of ours syncs the directory too, so that its name lasts. A stored result is two "
    "files; a stored tool is two files and a row of the index, all in one bundle, which each process locks. "
    "How long a disk syncs varies: this is the noisiest table here."
)


async def measure(options: Options) -> list[Table]:
    """A row for each kind of write and number of processes."""
    table = Table("Store", NOTE, ("what", "processes", "writes a second"))
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        FlatFileBundles(folder / "tool").change_bundle(BUNDLE, lambda _: Bundle(id=BUNDLE, slug="bench"))
        started = {
            kind: [
                await stack.enter_async_context(running(child("store", kind, folder))) for _ in range(MANY)
            ]
            for kind in KINDS
        }
        for number in (1, MANY):
            loads = [partial(_write, each[:number], options.seconds) for each in started.values()]
            bare, *ours = map(max, await interleaved(*loads, rounds=options.rounds))
            table.rows += [
                (f"{WHAT[kind]} / write + fsync + rename", number, Figure(bare, rate, "a second"))
                for kind, rate in zip(list(KINDS)[1:], ours, strict=True)
            ]
    return [table]


async def _write(processes: Sequence[Any], seconds: float) -> float:
    """All of these at once."""
    rates: list[float] = await asyncio.gather(*(asked(one, seconds) for one in processes))
    return sum(rates)


def bare(folder: Path) -> Write:
    """The least that keeps a file whole."""
    folder.mkdir(exist_ok=True)

    def write(name: str) -> None:
        temporary = folder / f".{name}"
        with temporary.open("wb") as file:
            file.write(CONTENT)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / name)

    return write


def file(folder: Path) -> Write:
    """A file as everything of ours is written."""
    return lambda name: write_atomic(folder / name, CONTENT)


def result(folder: Path) -> Write:
    """A large result that is put aside."""
    store = FlatFileResults(folder, 1000)
    return lambda name: store.put(CONTENT.decode(), "bench")


def tool(folder: Path) -> Write:
    """A new tool of a bundle."""
    store = FlatFileBundles(folder)
    at = rfc3339(time.time())
    return lambda name: store.add_tool(new_tool(BUNDLE, name, at), lambda _: None)


KINDS: dict[str, Callable[[Path], Write]] = {kind.__name__: kind for kind in (bare, file, result, tool)}
WHAT = {"file": "a file", "result": "a stored result", "tool": "a stored tool"}


async def main(kind: str, folder: Path) -> None:
    """Be one of the processes that write."""
    write, numbers = KINDS[kind](folder / kind), count()

    async def load(seconds: str) -> float:
        start, done = time.perf_counter(), 0
        while time.perf_counter() - start < float(seconds):
            write(f"n{os.getpid()}-{next(numbers)}")
            done += 1
        return done / (time.perf_counter() - start)

    await answer(load)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
