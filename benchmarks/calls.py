"""What the corridor costs: one call beside the bare function, one look-up beside a small catalog."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema_rs

from benchmarks.figures import Figure, best_of_async
from onetool.bootstrap import open_runtime
from onetool.catalog.catalog import Catalog
from onetool.domain import Caller, Registry, Tool, ToolSpec
from onetool.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.places import Places
from onetool.sources.snapshot import Fixed, Snapshot
from onetool.testing import function_source, memory_runtime

ARGS = {"a": "x", "b": "y", "c": 1, "d": 2.0, "e": True, "f": "z"}
CALLS = 1_000
FEW, MANY = 100, 100_000


async def noop(a: str, b: str = "", c: int = 0, d: float = 0.0, e: bool = False, f: str = "") -> str:
    """Do nothing."""
    return a


async def measure() -> list[Figure]:
    """One pipeline call in memory and on disk, and look-ups in a small and a large catalog."""
    async with memory_runtime({"bench": [noop]}) as ot:
        in_memory = await _call("in memory", ot.runtime, limit=25)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "config" / "tools").mkdir(parents=True)
        places = Places(config=root / "config", data=root / "data", state=root / "state", cwd=root)
        on_disk = open_runtime(
            lambda: load_configuration(places, {}), sources=[function_source("bench", [noop])]
        )
        async with on_disk as runtime:
            from_disk = await _call("watching files, logging", runtime, limit=60)
    return [in_memory, from_disk, await _lookup()]


async def _call(where: str, runtime: Runtime, limit: float) -> Figure:
    caller = Caller(door="python")
    tool = await runtime.catalog.find("bench.noop")
    if tool is None:
        raise SystemExit("the benchmark's own tool is missing")
    validator = jsonschema_rs.validator_for(dict(tool.spec.input_schema))

    async def bare() -> Any:
        validator.validate(ARGS)
        return await noop(**ARGS)

    async def ours() -> Any:
        return await runtime.call(runtime.new_call("bench.noop", ARGS, "python"), caller)

    times = await best_of_async(_repeated(bare), _repeated(ours))
    what = f"one call of a no-op async tool, {where} / validate + await"
    return Figure(what=what, bare=times[0], ours=times[1], limit=limit, is_difference=True)


async def _lookup() -> Figure:
    catalogs = [(_catalog(size), f"pack.tool{size - 1}") for size in (FEW, MANY)]

    def looks(catalog: Catalog, name: str) -> Callable[[], Awaitable[Any]]:
        return lambda: catalog.resolve(name, Caller(door="python"))

    for catalog, name in catalogs:
        await catalog.resolve(name, Caller(door="python"))
    times = await best_of_async(*(_repeated(looks(catalog, name)) for catalog, name in catalogs))
    return Figure(what=f"look-up at {MANY:,} tools / at {FEW}", bare=times[0], ours=times[1], limit=1.2)


def _catalog(size: int) -> Catalog:
    registry = Registry()
    for number in range(size):
        spec = ToolSpec(name=f"pack.tool{number}", description="x", input_schema={"type": "object"})
        registry.register(Tool(spec))
    return Catalog([Snapshot(Fixed("bench", registry))])


def _repeated(work: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[float]]:
    async def run() -> float:
        started = time.perf_counter()
        for _ in range(CALLS):
            await work()
        return (time.perf_counter() - started) / CALLS

    return run
