"""Cost of a growing number of stored tools, with one process per size and interleaved rounds."""

import asyncio
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from benchmarks.children import child_command, request, serve
from benchmarks.figures import Table, format_amount, interleaved
from benchmarks.options import Options
from benchmarks.processes import home, memory_of, running
from benchmarks.stored_tools import fill, name_of, queries

REPEATS = 20
SETTINGS = "execution: {timeout_s: 600}\n"
"""The default timeout would prevent measurements of slow operations."""
NOTE = (
    "Stored tools, with one process per size. The slope describes the growth: 0 is constant, 1 is linear, "
    "and 0.5 is the square root of the number of tools. The timeout of calls is ten minutes here, eight "
    "seconds by default."
)
OPERATIONS = {
    "lookup by name": "lookup",
    "call of a tool": "call",
    "call over MCP, `expose: all`": "wire_call",
    "page of 25": "page",
    "`ot.find`": "find",
    "search with typo tolerance": "search",
}


async def measure(options: Options) -> list[Table]:
    """Return a row for each operation, and for one-time costs."""
    sizes = options.sizes
    table = Table(
        "Growth", NOTE, ("operation", *(f"{size:,} tools" for size in sizes), "last / first", "slope")
    )
    with _temporary_directory() as directory:
        homes = [home(directory / str(size), SETTINGS) for size in sizes]
        for size, env in zip(sizes, homes, strict=True):
            fill(Path(env["ONETOOL_DATA_DIR"]) / "bundles", size)
        first_starts = [await _start(size, env) for size, env in zip(sizes, homes, strict=True)]
        table.rows.append(_row("first start, builds the index of the files", sizes, first_starts))
        starts = await interleaved(*(partial(_start, *pair) for pair in zip(sizes, homes, strict=True)))
        table.rows.append(_row("start to first call", sizes, list(map(min, starts))))
        async with AsyncExitStack() as stack:
            processes = [
                await stack.enter_async_context(running(child_command("growth", size), env))
                for size, env in zip(sizes, homes, strict=True)
            ]
            table.rows += await _measure_all(processes, sizes, options)
    return [table]


@contextmanager
def _temporary_directory() -> Iterator[Path]:
    """Create a directory that a separate process deletes, because that may take a minute."""
    directory = mkdtemp()
    try:
        yield Path(directory)
    finally:
        subprocess.Popen(["rm", "-rf", directory], start_new_session=True)


async def _measure_all(
    processes: Sequence[Any], sizes: Sequence[int], options: Options
) -> list[Sequence[Any]]:
    rows = []
    for label, operation in OPERATIONS.items():
        if operation == "find":
            rows.append(_row("memory", sizes, [memory_of(process.pid) for process in processes], "bytes"))
            first = [await request(process, operation, 1) for process in processes]
            rows.append(_row("first `ot.find`", sizes, first))
        rounds = await interleaved(
            *(partial(request, process, operation, REPEATS) for process in processes), rounds=options.rounds
        )
        rows.append(_row(label, sizes, list(map(min, rounds))))
    rows.append(
        _row(
            "memory after `ot.find`",
            sizes,
            [memory_of(process.pid) for process in processes],
            "bytes",
        )
    )
    return rows


def _row(label: str, sizes: Sequence[int], amounts: Sequence[float], unit: str = "s") -> Sequence[Any]:
    ratio = amounts[-1] / amounts[0]
    slope = math.log(ratio) / math.log(sizes[-1] / sizes[0])
    return (label, *(format_amount(amount, unit) for amount in amounts), f"{ratio:.2f}x", f"{slope:.2f}")


async def _start(size: int, env: dict[str, str]) -> float:
    start = time.perf_counter()
    async with running(child_command("growth", size), env) as process:
        await request(process, "call", 1)
        return time.perf_counter() - start


class Operations:
    """The operations of a child process. Each is repeated, and the median of the seconds is returned."""

    def __init__(self, runtime: Any, size: int) -> None:
        from onetool.domain.bundles.bundle import BundleFilter
        from onetool.domain.calls.caller import Caller
        from onetool.domain.calls.effect import Effect

        self._runtime, self._size, self._rng = runtime, size, random.Random(size)
        self._caller = Caller(interface="python", default_effect=Effect.ALLOW)
        self._all = BundleFilter(include_disabled=True)
        self._queries = cycle(queries(3))
        self._exposure: Any = None

    async def __call__(self, operation: str, repeats: str) -> float:
        """Run an operation several times and return the median."""
        run = getattr(self, f"_{operation}")
        times = []
        for _ in range(int(repeats)):
            start = time.perf_counter()
            await run()
            times.append(time.perf_counter() - start)
        return sorted(times)[len(times) // 2]

    async def _lookup(self) -> None:
        assert await self._runtime.state.catalog.find(self._random_name())

    async def _call(self) -> None:
        await self._succeeds(self._random_name(), message="hi")

    async def _wire_call(self) -> None:
        from onetool.interfaces.mcp.exposure import ExposeAll

        self._exposure = self._exposure or ExposeAll(self._runtime)
        name = self._random_name().replace(".", "__")
        prepared = await self._exposure.prepare(name, {"message": "hi"}, self._caller)
        outcome = await prepared.work(self._caller)
        assert outcome.ok, outcome

    async def _page(self) -> None:
        await self._runtime.state.bundles.list_tools(self._all, None, 25)

    async def _search(self) -> None:
        await self._runtime.state.bundles.search(next(self._queries), self._all, None, 25)

    async def _find(self) -> None:
        await self._succeeds("ot.find", query=next(self._queries))

    async def _succeeds(self, name: str, **args: Any) -> None:
        result = await self._runtime.call_tool(name, args, self._caller, "python")
        assert result.ok, result

    def _random_name(self) -> str:
        return name_of(self._rng.randrange(self._size))


async def main(size: int) -> None:
    """Run the child process for one size."""
    from onetool.bootstrap import open_runtime
    from onetool.settings.configuration import load_configuration
    from onetool.settings.paths import find_paths

    paths = find_paths(os.environ, Path.cwd())
    async with open_runtime(lambda: load_configuration(paths, {})) as runtime:
        await serve(Operations(runtime, size))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
