"""Calls for a second or so, one or many in flight: how many, how long each took, what the server spent."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.figures import Figure, interleaved
from benchmarks.processes import cpu_of, memory_of

FLIGHTS = (1, 32)
COLUMNS = ("what", "who", "in flight", "calls/s", "p50", "p95", "CPU a call", "memory")
Ask = Callable[[], Awaitable[Any]]


class Load(NamedTuple):
    """What a server did: calls a second, seconds a call, its own CPU seconds a call, bytes that it holds."""

    rate: float
    p50: float
    p95: float
    cpu: float
    memory: float


Driver = Callable[[int], Awaitable[Load]]
"""Loads one server with so many calls in flight."""


async def drive(asks: Sequence[Ask], seconds: float, pid: int) -> Load:
    """Let each ask again and again for so long; the CPU time and memory are those of the program `pid`."""
    await asyncio.gather(*(ask() for ask in asks))
    cpu, start = cpu_of(pid), time.perf_counter()
    times = [
        took for each in await asyncio.gather(*(_ask(ask, start + seconds) for ask in asks)) for took in each
    ]
    rate = len(times) / (time.perf_counter() - start)
    times.sort()
    spent = (cpu_of(pid) - cpu) / len(times)
    return Load(rate, _at(times, 0.5), _at(times, 0.95), spent, memory_of(pid))


async def compare(what: str, drivers: Mapping[str, Driver], rounds: int) -> list[Sequence[Any]]:
    """Load the first, which is the bare one, and the others in turn; a row for each other and each flight."""
    rows = list[Sequence[Any]]()
    for flight in FLIGHTS:
        taken = await interleaved(*(_with(driver, flight) for driver in drivers.values()), rounds=rounds)
        bare, *others = (max(loads, key=lambda load: load.rate) for loads in taken)
        for name, load in zip(list(drivers)[1:], others, strict=True):
            rows.append((what, name, flight, *_figures(bare, load)))
    return rows


def _figures(bare: Load, load: Load) -> list[Figure]:
    units = ("a second", "s", "s", "s", "bytes")
    return [Figure(a, b, unit) for a, b, unit in zip(bare, load, units, strict=True)]


def _with(driver: Driver, flight: int) -> Callable[[], Awaitable[Load]]:
    return lambda: driver(flight)


async def _ask(ask: Ask, end: float) -> list[float]:
    times = list[float]()
    start = time.perf_counter()
    while start < end:
        await ask()
        now = time.perf_counter()
        times.append(now - start)
        start = now
    return times


def _at(times: Sequence[float], part: float) -> float:
    return times[min(int(len(times) * part), len(times) - 1)]
