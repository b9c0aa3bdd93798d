"""What running code costs, beside the bare interpreter; and reading a stored result, beside `tail`."""

import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic_monty import Monty

from benchmarks.figures import Figure, best_of_async
from onetool.domain.stored import query, split_lines
from onetool.storage.flat_file import FlatFileResults
from onetool.testing import memory_runtime

TAIL = 100
LARGE = 10_000_000


async def measure() -> list[Figure]:
    """A warm `run("1 + 1")`, and the last hundred lines of ten megabytes."""
    return [await _warm(), await _tail()]


async def _warm() -> Figure:
    async with memory_runtime() as ot:
        with Monty() as pool:

            async def bare() -> None:
                with pool.checkout(type_check=True) as session:
                    session.feed_run("1 + 1")

            async def ours() -> None:
                await ot.run("1 + 1")

            times = await best_of_async(_timed(bare), _timed(ours))
    return Figure(
        what="warm run('1 + 1') / bare checkout with type check", bare=times[0], ours=times[1], limit=3
    )


async def _tail() -> Figure:
    line = "a line of the log that is about eighty characters long, as such lines often are\n"
    with TemporaryDirectory() as folder:
        store = FlatFileResults(Path(folder), 1000)
        stored = store.put(line * (LARGE // len(line)), "bench")

        async def bare() -> None:
            subprocess.run(
                ["tail", "-n", str(TAIL), f"{folder}/{stored.handle}.txt"], capture_output=True, check=True
            )

        async def ours() -> None:
            lines = split_lines(store.text(stored.handle) or "")
            query(
                lines, offset=len(lines) - TAIL + 1, limit=TAIL, search=None, fuzzy=False, most_bytes=50_000
            )

        times = await best_of_async(_timed(bare), _timed(ours))
    return Figure(
        what="last 100 lines of a 10 MB result / tail -n 100", bare=times[0], ours=times[1], limit=60
    )


def _timed(work: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[float]]:
    async def run() -> float:
        started = time.perf_counter()
        await work()
        return time.perf_counter() - started

    return run
