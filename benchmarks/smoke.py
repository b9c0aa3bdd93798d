"""The smoke test: fail if a ratio exceeds the recorded one by half.

It measures the CPU time of servers and commands, because other programs may run at the same time. The best
of five interleaved rounds counts. A ratio that is too large is measured again, and only the third failure
counts.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import calls, startup, store_costs
from benchmarks.figures import ROUNDS, Figure, interleaved
from benchmarks.options import Options

COMMITTED = Path(__file__).parent / "results" / "smoke.json"
MAX_INCREASE = 1.5
ATTEMPTS = 3
SECONDS = 0.15
CONTESTS: dict[str, Callable[[Options, Path], Any]] = {
    "call": calls.python_call,
    "run": partial(calls.code, "call"),
    "run loop": partial(calls.code, "loop"),
    "MCP stdio": calls.mcp_stdio,
    "MCP run": calls.mcp_run,
    "REST": calls.rest,
}
Ratios = dict[str, float]


async def main() -> int:
    """Print each figure; return 1 if a ratio is too large in all attempts."""
    committed = json.loads(COMMITTED.read_text())
    suspects: Collection[str] | None = None
    for attempt in range(1, ATTEMPTS + 1):
        suspects = worse(await measure(suspects), committed)
        if not suspects:
            return 0
        names = ", ".join(suspects)
        print(f"attempt {attempt} of {ATTEMPTS}: over {MAX_INCREASE} times the recorded ratio: {names}")
    return 1


async def write() -> int:
    """Record the median of several measurements."""
    runs = [await measure(None) for _ in range(ATTEMPTS)]
    medians = {name: median(ratios[name] for ratios in runs) for name in runs[0]}
    COMMITTED.write_text(json.dumps(medians, indent=2) + "\n")
    return 0


def worse(ratios: Mapping[str, float], committed: Mapping[str, float]) -> list[str]:
    """Return the ratios that are too large compared with the recorded ones."""
    return [name for name, ratio in ratios.items() if ratio > committed[name] * MAX_INCREASE]


async def measure(only: Collection[str] | None) -> Ratios:
    """Measure all ratios, or only the given ones."""
    ratios = Ratios()
    with TemporaryDirectory() as directory:
        root = Path(directory)
        for name, measure_ratio in measures(root).items():
            if only is None or name in only:
                (root / name).mkdir()
                figure = await measure_ratio(root / name)
                print(f"{name:<12} {figure}", flush=True)
                ratios[name] = round(figure.ratio, 2)
    return ratios


def measures(root: Path) -> dict[str, Callable[[Path], Awaitable[Figure]]]:
    """Return a function for each ratio by name."""
    options = Options(cache=root, seconds=SECONDS)
    call_measures = {name: partial(_call, contest, options) for name, contest in CONTESTS.items()}
    return {
        **call_measures,
        **{name: partial(_start, name) for name in startup.STARTS},
        "store": store_costs.writes,
        "index": store_costs.indexing,
    }


async def _call(contest: Callable[[Options, Path], Any], options: Options, directory: Path) -> Figure:
    async with contest(options, directory) as drivers:
        measured = [partial(drivers[name], 1) for name in ("bare", "OneTool")]
        rounds = await interleaved(*measured, rounds=ROUNDS)
    bare, ours = (min(load.cpu for load in loads) for loads in rounds)
    return Figure(bare, ours)


async def _start(name: str, directory: Path) -> Figure:
    env = await startup.user_with_packs(directory.parent / "user")
    rounds = await interleaved(*(partial(start, env) for start in startup.STARTS[name]), rounds=ROUNDS)
    bare, ours = (min(start.cpu for start in starts) for starts in rounds)
    return Figure(bare, ours)
