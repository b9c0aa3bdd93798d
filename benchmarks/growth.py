"""What more stored tools cost: each question is asked at all sizes in turn, of a process for each size."""

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

from benchmarks.children import answer, asked, child
from benchmarks.figures import Table, interleaved, shown
from benchmarks.options import Options
from benchmarks.processes import home, memory_of, running
from benchmarks.stored_tools import fill, name_of, queries

TIMES = 20
SETTINGS = "execution: {timeout_s: 600}\n"
"""Otherwise what takes longer than a call may would have no figure."""
NOTE = (
    "Stored tools, a process for each size. The slope says how a figure grows: 0 not at all, "
    "1 as the number of tools does, 0.5 as its square root. A call may take ten minutes here; the default "
    "is eight seconds, within which the index of `ot.find` must be made."
)
QUESTIONS = {
    "look-up of a name": "lookup",
    "call of a tool": "call",
    "call over MCP, `expose: all`": "wire_call",
    "page of 25": "page",
    "`ot.find`": "find",
    "search by words and typing errors": "search",
}


async def measure(options: Options) -> list[Table]:
    """A row for each question, and for what is paid once."""
    sizes = options.sizes
    table = Table("Growth", NOTE, ("what", *(f"{size:,} tools" for size in sizes), "last / first", "slope"))
    with _removed_later() as folder:
        homes = [home(folder / str(size), SETTINGS) for size in sizes]
        for size, env in zip(sizes, homes, strict=True):
            fill(Path(env["ONETOOL_DATA_DIR"]) / "bundles", size)
        once = [await _start(size, env) for size, env in zip(sizes, homes, strict=True)]
        table.rows.append(_row("first start: the index of the files is made", sizes, once))
        starts = await interleaved(*(partial(_start, *one) for one in zip(sizes, homes, strict=True)))
        table.rows.append(_row("start to first call", sizes, list(map(min, starts))))
        async with AsyncExitStack() as stack:
            started = [
                await stack.enter_async_context(running(child("growth", size), env))
                for size, env in zip(sizes, homes, strict=True)
            ]
            table.rows += await _ask_all(started, sizes, options)
    return [table]


@contextmanager
def _removed_later() -> Iterator[Path]:
    """A directory that a program of its own removes: with so many files that may take a minute."""
    folder = mkdtemp()
    try:
        yield Path(folder)
    finally:
        subprocess.Popen(["rm", "-rf", folder], start_new_session=True)


async def _ask_all(started: Sequence[Any], sizes: Sequence[int], options: Options) -> list[Sequence[Any]]:
    rows = []
    for what, question in QUESTIONS.items():
        if question == "find":
            rows.append(_row("memory", sizes, [memory_of(one.pid) for one in started], "bytes"))
            first = [await asked(one, question, 1) for one in started]
            rows.append(_row("`ot.find`, the first: its index is made", sizes, first))
        taken = await interleaved(
            *(partial(asked, one, question, TIMES) for one in started), rounds=options.rounds
        )
        rows.append(_row(what, sizes, list(map(min, taken))))
    rows.append(
        _row("memory with the index of `ot.find`", sizes, [memory_of(one.pid) for one in started], "bytes")
    )
    return rows


def _row(what: str, sizes: Sequence[int], amounts: Sequence[float], unit: str = "s") -> Sequence[Any]:
    ratio = amounts[-1] / amounts[0]
    slope = math.log(ratio) / math.log(sizes[-1] / sizes[0])
    return (what, *(shown(one, unit) for one in amounts), f"{ratio:.2f}x", f"{slope:.2f}")


async def _start(size: int, env: dict[str, str]) -> float:
    start = time.perf_counter()
    async with running(child("growth", size), env) as process:
        await asked(process, "call", 1)
        return time.perf_counter() - start


class Questions:
    """What a child can be asked; each is done so many times, and the median of the seconds returned."""

    def __init__(self, runtime: Any, size: int) -> None:
        from onetool.domain.bundle import Filter
        from onetool.domain.caller import Caller, grant

        self._runtime, self._size, self._chance = runtime, size, random.Random(size)
        self._caller = Caller(door="python", approve=grant)
        self._everything = Filter(include_disabled=True)
        self._queries = cycle(queries(3))
        self._shown: Any = None

    async def __call__(self, question: str, times: str) -> float:
        """Answer one line."""
        work = getattr(self, f"_{question}")
        taken = []
        for _ in range(int(times)):
            start = time.perf_counter()
            await work()
            taken.append(time.perf_counter() - start)
        return sorted(taken)[len(taken) // 2]

    async def _lookup(self) -> None:
        assert await self._runtime.catalog.find(self._any())

    async def _call(self) -> None:
        await self._answered(self._any(), message="hi")

    async def _wire_call(self) -> None:
        from onetool.doors.mcp.presents import Everything

        self._shown = self._shown or Everything(self._runtime)
        said = await self._shown.call(self._any().replace(".", "__"), {"message": "hi"}, self._caller)
        assert said.text == "hi", said

    async def _page(self) -> None:
        await self._runtime.bundles.list_tools(self._everything, None, 25)

    async def _search(self) -> None:
        await self._runtime.bundles.search(next(self._queries), self._everything)

    async def _find(self) -> None:
        await self._answered("ot.find", query=next(self._queries))

    async def _answered(self, name: str, **args: Any) -> None:
        result = await self._runtime.call(self._runtime.new_call(name, args, "python"), self._caller)
        assert result.ok, result

    def _any(self) -> str:
        return name_of(self._chance.randrange(self._size))


async def main(size: int) -> None:
    """Be the process for one size."""
    from onetool.bootstrap import open_runtime
    from onetool.settings.configuration import load_configuration
    from onetool.settings.places import find_places

    places = find_places(os.environ, Path.cwd())
    async with open_runtime(lambda: load_configuration(places, {})) as runtime:
        await answer(Questions(runtime, size))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
