"""Load generation: call rate, latency, CPU time and memory for one or many concurrent calls."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.figures import Figure, interleaved
from benchmarks.processes import cpu_of, memory_of

CONCURRENCY = (1, 32)
COLUMNS = ("comparison", "program", "concurrency", "calls/s", "p50", "p95", "CPU per call", "memory")
Request = Callable[[], Awaitable[Any]]


class Load(NamedTuple):
    """Calls per second, latencies in seconds, CPU seconds per call, and memory in bytes."""

    rate: float
    p50: float
    p95: float
    cpu: float
    memory: float


Driver = Callable[[int], Awaitable[Load]]
"""Measures one server at a given concurrency."""


async def drive(requests: Sequence[Request], seconds: float, *pids: int) -> Load:
    """Repeat the requests concurrently for some seconds, and measure the processes `pids`."""
    await asyncio.gather(*(request() for request in requests))
    cpu, start = sum(map(cpu_of, pids)), time.perf_counter()
    times = [
        duration
        for durations in await asyncio.gather(*(_repeat(request, start + seconds) for request in requests))
        for duration in durations
    ]
    rate = len(times) / (time.perf_counter() - start)
    times.sort()
    spent = (sum(map(cpu_of, pids)) - cpu) / len(times)
    memory = sum(map(memory_of, pids))
    return Load(rate, _percentile(times, 0.5), _percentile(times, 0.95), spent, memory)


async def compare(label: str, drivers: Mapping[str, Driver], rounds: int) -> list[Sequence[Any]]:
    """Compare the first driver, the bare one, with the others; return a row for each and each concurrency."""
    rows = list[Sequence[Any]]()
    for concurrency in CONCURRENCY:
        results = await interleaved(
            *(_with(driver, concurrency) for driver in drivers.values()), rounds=rounds
        )
        bare, *others = (max(loads, key=lambda load: load.rate) for loads in results)
        for name, load in zip(list(drivers)[1:], others, strict=True):
            rows.append((label, name, concurrency, *_figures(bare, load)))
    return rows


def _figures(bare: Load, load: Load) -> list[Figure]:
    units = ("a second", "s", "s", "s", "bytes")
    return [Figure(a, b, unit) for a, b, unit in zip(bare, load, units, strict=True)]


def _with(driver: Driver, concurrency: int) -> Callable[[], Awaitable[Load]]:
    return lambda: driver(concurrency)


async def _repeat(request: Request, end: float) -> list[float]:
    times = list[float]()
    start = time.perf_counter()
    while start < end:
        await request()
        now = time.perf_counter()
        times.append(now - start)
        start = now
    return times


def _percentile(times: Sequence[float], quantile: float) -> float:
    return times[min(int(len(times) * quantile), len(times) - 1)]
