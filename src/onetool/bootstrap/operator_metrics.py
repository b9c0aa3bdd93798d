"""The metrics of a hosted process for its operator, in the text format of Prometheus.

Every label has a fixed set of values. No label names a tool, a workspace or a person.
"""

import asyncio
import platform
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence, Sized
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from prometheus_client import CollectorRegistry, Metric, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from onetool.storage.postgres.migrate import migrations
from onetool.storage.postgres.notices import ChangeNotices
from onetool.telemetry.durations import Durations
from onetool.telemetry.loop_delay import BUCKETS_S, measure_loop_delay
from onetool.telemetry.request_meter import RequestMeter
from onetool.version import __version__

from .hosted import MAX_AGE_S, HostedParts

if TYPE_CHECKING:
    from onetool.storage.redis.connection import RedisConnection

    from .worker import Worker

STATUSES = ("ok", "degraded", "unavailable", "draining")
MILLISECONDS = 1000
REDIS_CHECK_S = 15.0
"""Seconds between two requests to Redis, which a process without limits sends for no other reason."""
Labels = TypeVar("Labels", bound=tuple[str, ...])
"""The values of the labels of a metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredProcess:
    """What there is to measure in a process."""

    parts: HostedParts
    status: Callable[[], str]
    """Returns one of STATUSES."""
    workspaces: Sized
    """Those that are open."""
    requests: RequestMeter | None = None
    """None in a process that serves no requests."""
    worker: "Worker | None" = None
    """None in a process that runs no queued jobs."""
    loop_delays: Durations = field(default_factory=lambda: Durations(BUCKETS_S))


class OperatorMetrics:
    """Renders the metrics of a process. Reads what is in memory, on the event loop, and waits for nothing."""

    def __init__(self, process: MeasuredProcess) -> None:
        self._process = process
        self._registry = CollectorRegistry()  # the default one of the library is global
        ProcessCollector(registry=self._registry)
        self._registry.register(_ProcessCollector(process))

    def render(self) -> bytes:
        """Return the metrics."""
        return generate_latest(self._registry)

    @asynccontextmanager
    async def measuring(self) -> AsyncIterator[None]:
        """Measure during the block what is not counted anyway."""
        process = self._process
        tasks = [asyncio.create_task(measure_loop_delay(process.loop_delays))]
        if process.worker is not None:
            tasks.append(asyncio.create_task(process.worker.count_queued()))
        if process.parts.redis is not None:
            tasks.append(asyncio.create_task(_check_redis(process.parts.redis)))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _check_redis(redis: "RedisConnection") -> None:
    """Ask Redis from time to time, until cancelled: whether it is away is known only from a request."""
    while True:
        await asyncio.sleep(REDIS_CHECK_S)
        await redis.check()


class _ProcessCollector(Collector):
    """Yields the metrics of a process. Has no values of its own, so the library needs no files for them."""

    def __init__(self, process: MeasuredProcess) -> None:
        self._process = process
        self._schema = migrations()[-1].number

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        process = self._process
        yield from self._about()
        yield from _calls(process.parts)
        yield from _limits(process)
        yield from _database(process.parts)
        yield from _redis(process.parts)
        if process.requests is not None:
            yield from _requests(process.requests)
        if process.worker is not None:
            yield from _jobs(process.worker)

    def _about(self) -> Iterator[Metric]:
        version = {(__version__, platform.python_version()): 1}
        yield _gauges("onetool_build_info", "The version of OneTool.", ("version", "python"), version)
        yield _gauge("onetool_schema_version", "The number of the last migration.", self._schema)
        status = self._process.status()
        states = {(name,): name == status for name in STATUSES}
        yield _gauges("onetool_status", "1 for what /readyz says.", ("status",), states)
        yield _gauge("onetool_tasks", "Tasks of the event loop.", len(asyncio.all_tasks()))
        delays = {(): self._process.loop_delays}
        help = "How much later than due a timer of the event loop fires."
        yield _histogram("onetool_event_loop_delay_seconds", help, (), delays)


def _calls(parts: HostedParts) -> Iterator[Metric]:
    meter = parts.meter
    labels = ("kind", "outcome")
    yield _counters("onetool_tool_calls_total", "Calls of tools and runs of code.", labels, meter.outcomes)
    durations = {(kind,): each for kind, each in meter.durations.items()}
    help = "Duration of calls and runs, with the time that they wait for others."
    yield _histogram("onetool_tool_call_duration_seconds", help, ("kind",), durations)
    yield _gauge("onetool_records_pending", "Records of calls that are not stored yet.", meter.pending)
    yield _counter("onetool_records_dropped_total", "Records of calls that are lost.", meter.dropped)


def _limits(process: MeasuredProcess) -> Iterator[Metric]:
    slots, threads = process.parts.slots, process.parts.threads
    yield _gauge("onetool_slots", "Calls and runs that run at a time.", slots.size)
    yield _gauge("onetool_slots_used", "Calls and runs that run now.", slots.used)
    yield _gauge("onetool_slots_waiting", "Calls that wait for a slot.", slots.waiting)
    yield _gauge("onetool_open_workspaces", "Workspaces in memory.", len(process.workspaces))
    help = "Threads of timed-out tools that are still running."
    yield _gauge("onetool_abandoned_threads", help, threads.abandoned)


def _database(parts: HostedParts) -> Iterator[Metric]:
    label = ("cluster",)
    clusters = {(name,): (parts.clusters[name], parts.notices.of[name]) for name in parts.clusters}
    pools = {key: database.pool_figures() for key, (database, _) in clusters.items()}

    def figures(name: str, per: float = 1) -> Mapping[tuple[str], float]:
        return {key: pool.get(name, 0) / per for key, pool in pools.items()}

    used = {key: pool["pool_size"] - pool["pool_available"] for key, pool in pools.items()}
    yield _gauges("onetool_database_connections_max", "Size of the pool.", label, figures("pool_max"))
    yield _gauges(
        "onetool_database_connections", "Open connections of the pool.", label, figures("pool_size")
    )
    yield _gauges("onetool_database_connections_used", "Connections in use.", label, used)
    help = "Requests that wait for a connection."
    yield _gauges("onetool_database_waiting", help, label, figures("requests_waiting"))
    help = "Requests for a connection."
    yield _counters("onetool_database_requests_total", help, label, figures("requests_num"))
    help = "Requests for a connection that had to wait."
    yield _counters("onetool_database_requests_queued_total", help, label, figures("requests_queued"))
    help = "Requests for a connection that got none."
    yield _counters("onetool_database_requests_failed_total", help, label, figures("requests_errors"))
    help = "Time that requests have waited for a connection."
    waits = figures("requests_wait_ms", MILLISECONDS)
    yield _counters("onetool_database_wait_seconds_total", help, label, waits)
    help = "Attempts to connect that failed."
    yield _counters("onetool_database_connect_failures_total", help, label, figures("connections_errors"))
    away = {key: database.is_away for key, (database, _) in clusters.items()}
    yield _gauges("onetool_database_away", "1 if the database is known to be away.", label, away)
    yield from _changes({key: notices for key, (_, notices) in clusters.items()}, label)


def _changes(clusters: Mapping[tuple[str], ChangeNotices], label: Sequence[str]) -> Iterator[Metric]:
    ages = {key: notices.age_s() for key, notices in clusters.items()}
    help = f"Time since all changes were known. After {MAX_AGE_S:.0f} seconds, requests are refused."
    yield _gauges("onetool_changes_age_seconds", help, label, ages)
    listening = {key: notices.is_listening.is_set() for key, notices in clusters.items()}
    yield _gauges("onetool_changes_listening", "1 if changes are announced to the process.", label, listening)
    processes = {key: notices.replicas() for key, notices in clusters.items()}
    help = "Processes that listen for changes, as last counted."
    yield _gauges("onetool_changes_processes", help, label, processes)


def _redis(parts: HostedParts) -> Iterator[Metric]:
    redis = parts.redis
    if redis is None:
        return
    yield _gauge("onetool_redis_away", "1 if Redis did not respond when last asked.", not redis.is_available)
    yield _counter("onetool_redis_requests_total", "Requests to Redis.", redis.requests)
    yield _counter("onetool_redis_failures_total", "Requests to Redis that failed.", redis.failures)


def _requests(meter: RequestMeter) -> Iterator[Metric]:
    labels = ("interface", "status")
    yield _counters("onetool_http_requests_total", "HTTP requests, by status.", labels, meter.statuses)
    running = {(interface,): count for interface, count in meter.in_progress.items()}
    help = "HTTP requests in progress, with open streams."
    yield _gauges("onetool_http_requests_in_progress", help, ("interface",), running)
    yield _counters("onetool_logins_total", "Logins.", ("method", "outcome"), meter.logins)


def _jobs(worker: "Worker") -> Iterator[Metric]:
    yield _gauge("onetool_worker_concurrency", "Jobs that the worker runs at a time.", worker.concurrency)
    yield _gauge("onetool_worker_jobs_running", "Jobs that run in the worker.", worker.running)
    yield _counter("onetool_jobs_lost_total", "Jobs of ended processes that became lost.", worker.lost)
    states: dict[tuple[str, str], float] = {}
    for cluster, queued in worker.queued.items():
        states |= {(cluster, "waiting"): queued.waiting, (cluster, "retrying"): queued.retrying}
    help = "Jobs of all workspaces that no worker has."
    yield _gauges("onetool_queue_jobs", help, ("cluster", "state"), states)
    help = "Time that the first of the waiting jobs has waited."
    oldest = {(cluster,): queued.oldest_s for cluster, queued in worker.queued.items()}
    yield _gauges("onetool_queue_oldest_seconds", help, ("cluster",), oldest)


def _gauge(name: str, help: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help, value=value)


def _gauges(name: str, help: str, labels: Sequence[str], values: Mapping[Labels, float]) -> Metric:
    family = GaugeMetricFamily(name, help, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _counter(name: str, help: str, value: float) -> Metric:
    return CounterMetricFamily(name, help, value=value)


def _counters(name: str, help: str, labels: Sequence[str], values: Mapping[Labels, float]) -> Metric:
    family = CounterMetricFamily(name, help, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _histogram(name: str, help: str, labels: Sequence[str], values: Mapping[Labels, Durations]) -> Metric:
    family = HistogramMetricFamily(name, help, labels=labels)
    for key, durations in values.items():
        family.add_metric(key, list(durations.buckets()), durations.total_s)
    return family
