"""`python -m benchmarks --smoke`: is a ratio half as large again as the one that is written down?

CPU time of the servers and commands, not time by the clock: other programs may run beside them. Best of five,
in turn; a ratio that is too large is measured again, and only the third failure counts.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import calls, startup
from benchmarks.figures import ROUNDS, Figure, interleaved
from benchmarks.options import Options

COMMITTED = Path(__file__).parent / "results" / "smoke.json"
WORSE = 1.5
ATTEMPTS = 3
SECONDS = 0.15
CONTESTS: dict[str, Callable[[Options, Path], Any]] = {
    "call": calls.corridor,
    "run": calls.code,
    "MCP stdio": calls.mcp_stdio,
    "REST": calls.rest,
}
Ratios = dict[str, float]


async def main() -> int:
    """Print each figure; return 1 when one is too large three times."""
    known = json.loads(COMMITTED.read_text())
    suspects: Collection[str] | None = None
    for attempt in range(1, ATTEMPTS + 1):
        suspects = worse(await measure(suspects), known)
        if not suspects:
            return 0
        print(f"attempt {attempt} of {ATTEMPTS}: over {WORSE} times what is written: {', '.join(suspects)}")
    return 1


async def write() -> int:
    """Write down the median of several measurements."""
    taken = [await measure(None) for _ in range(ATTEMPTS)]
    medians = {name: median(ratios[name] for ratios in taken) for name in taken[0]}
    COMMITTED.write_text(json.dumps(medians, indent=2) + "\n")
    return 0


def worse(ratios: Mapping[str, float], known: Mapping[str, float]) -> list[str]:
    """Which ratios are too large beside those that are written down."""
    return [name for name, ratio in ratios.items() if ratio > known[name] * WORSE]


async def measure(only: Collection[str] | None) -> Ratios:
    """Measure all, or only these."""
    ratios = Ratios()
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for name, work in measures(root).items():
            if only is None or name in only:
                (root / name).mkdir()
                figure = await work(root / name)
                print(f"{name:<12} {figure}", flush=True)
                ratios[name] = round(figure.ratio, 2)
    return ratios


def measures(root: Path) -> dict[str, Callable[[Path], Awaitable[Figure]]]:
    """Every ratio by its name."""
    options = Options(cache=root, seconds=SECONDS)
    calling = {name: partial(_call, contest, options) for name, contest in CONTESTS.items()}
    return {**calling, **{name: partial(_start, name) for name in startup.STARTS}}


async def _call(contest: Callable[[Options, Path], Any], options: Options, folder: Path) -> Figure:
    async with contest(options, folder) as drivers:
        asked = [partial(drivers[who], 1) for who in ("bare", "OneTool")]
        taken = await interleaved(*asked, rounds=ROUNDS)
    bare, ours = (min(load.cpu for load in loads) for loads in taken)
    return Figure(bare, ours)


async def _start(name: str, folder: Path) -> Figure:
    env = await startup.user_with_packs(folder.parent / "user")
    taken = await interleaved(*(partial(start, env) for start in startup.STARTS[name]), rounds=ROUNDS)
    bare, ours = (min(start.cpu for start in starts) for starts in taken)
    return Figure(bare, ours)
