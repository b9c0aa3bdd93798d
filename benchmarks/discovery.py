"""What finding tools costs: `ot.tools` and `ot.help` in a small and in a large catalog; time and tokens."""

import random
import time
from collections.abc import Awaitable, Callable

from benchmarks.figures import Figure, best_of_async
from onetool.domain import Registry, Tool, ToolSpec
from onetool.domain.usage import tokens
from onetool.domain.yaml_text import to_yaml
from onetool.sources.snapshot import Fixed, Snapshot
from onetool.testing import MemoryTools, memory_runtime

FEW, MANY = 100, 10_000
GROWTH = MANY / FEW
"""Listing everything cannot grow more slowly than what it lists."""
ASKED = {
    "ot.tools()": ("ot.tools", {}),
    "ot.tools(pattern='fetch')": ("ot.tools", {"pattern": "fetch"}),
    "ot.help(query='web fetch')": ("ot.help", {"query": "web fetch"}),
}
VERBS = ("get", "list", "create", "delete", "update", "search", "fetch", "export", "sync", "check")
NOUNS = ("page", "issue", "file", "user", "order", "ticket", "branch", "message", "report", "table")


async def measure() -> list[Figure]:
    """Each question at both sizes; the figure is how much longer the large one takes."""
    async with memory_runtime(sources=[_source(FEW)]) as few, memory_runtime(sources=[_source(MANY)]) as many:
        figures = []
        for what, (name, args) in ASKED.items():
            times = await best_of_async(_once(few, name, args), _once(many, name, args), rounds=5)
            shown = f"{what} at {MANY:,} tools / at {FEW}"
            figures.append(Figure(what=shown, bare=times[0], ours=times[1], limit=GROWTH))
    return figures


async def count_tokens() -> dict[str, int]:
    """Tokens of `ot.tools` at each info level, for the packs that are shipped, and of their schemas."""
    async with memory_runtime() as ot:
        counted = {}
        for info in ("list", "min", "full"):
            result = await ot.call("ot.tools", info=info)
            counted[f"ot.tools(info={info!r})"] = tokens(len(to_yaml(result.data).encode()))
        specs = await ot.runtime.catalog.specs()
        schemas = to_yaml([spec.summary() for spec in specs])
        counted["all definitions with their schemas"] = tokens(len(schemas.encode()))
    return counted


def _once(ot: MemoryTools, name: str, args: dict[str, str]) -> Callable[[], Awaitable[float]]:
    async def run() -> float:
        start = time.perf_counter()
        result = await ot.call(name, **args)
        if not result.ok:
            raise SystemExit(f"{name} failed: {result.error}")
        return time.perf_counter() - start

    return run


def _source(size: int) -> Snapshot:
    chance, registry = random.Random(1), Registry()
    for number in range(size):
        pack = f"pack{number // 20}"
        verb, noun = chance.choice(VERBS), chance.choice(NOUNS)
        registry.register(
            Tool(
                ToolSpec(
                    name=f"{pack}.{verb}_{noun}_{number}",
                    description=f"{verb.capitalize()} a {noun} of the {chance.choice(NOUNS)} service.",
                    input_schema={"type": "object", "properties": {"id": {"type": "string"}}},
                )
            )
        )
    return Snapshot(Fixed("many", registry))
