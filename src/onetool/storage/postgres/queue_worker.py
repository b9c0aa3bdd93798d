"""A worker of the queue: procrastinate runs tasks when they are inserted, and periodic ones."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException, ProcrastinateException
from procrastinate.jobs import Job as QueueRow
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from psycopg_pool import PoolTimeout

from onetool.domain.errors import StoreUnavailable

from .database import CONNECTION, STATEMENT_TIMEOUT_S, WAIT_S, check_url
from .timed_connection import AsyncTimedConnection
from .timeline import CURRENT, Timeline
from .wake_ups import CALL_TASK, CALLS

log = logging.getLogger(__name__)
MAINTENANCE = "maintenance"
MAX_CONNECTIONS = 4
MAINTENANCE_TASKS = 2
"""Periodic tasks at a time. One that takes long must not delay the others."""
RETRY_S, MAX_RETRY_S = 5, 600
"""Seconds until a call that could not be claimed is tried again: at first, and after many attempts."""
CONNECTION_S = 3.0
"""Seconds without a connection after which the worker starts again."""
RESTART_S = 0.5
"""Seconds between attempts to reach the database."""
POLL_S = 2.0
"""Seconds between two looks for tasks that were not announced, for example while the worker has started."""
KEEP_FAILED_HOURS = 24
MAX_COUNTED = 10_000
"""Queued calls that are counted. If there are more, this is their number."""
SETTINGS = f"""
set role onetool_worker;
set search_path = queue;
set lock_timeout = '{WAIT_S:.0f}s';
set statement_timeout = '{STATEMENT_TIMEOUT_S:.0f}s'
"""
QUEUED = f"""
with queued as (
    select id, attempts from procrastinate_jobs
    where status = 'todo' and queue_name = '{CALLS}' order by id limit {MAX_COUNTED}
)
select count(*) filter (where attempts = 0) as waiting, count(*) filter (where attempts > 0) as retrying,
    coalesce((
        select extract(epoch from clock_timestamp() - min(at))::float8 from procrastinate_events
        where type = 'deferred' and job_id = (select min(id) from queued where attempts = 0)
    ), 0) as oldest_s
from queued
"""
RunCall = Callable[[UUID, str], Awaitable[None]]
"""Runs a job of a workspace, at least until it is claimed."""


class PeriodicTask(NamedTuple):
    """What one of the workers does from time to time."""

    run: Callable[[], Awaitable[None]]
    interval_s: int
    """A number of seconds below a minute, or a whole number of minutes up to an hour."""


class QueuedCalls(NamedTuple):
    """The calls of all workspaces that no worker has claimed yet."""

    waiting: int
    retrying: int
    """Those that could not be claimed, and are tried again: perhaps their workspace is misconfigured."""
    oldest_s: float
    """Seconds that the first of those that wait has waited."""


class QueueWorker:
    """Runs the tasks of the queue. It starts again if the database fails."""

    def __init__(
        self, url: str, run_call: RunCall, periodic: Mapping[str, PeriodicTask], *, stalled_s: float
    ) -> None:
        """stalled_s: seconds without a sign of life after which the tasks of a worker are given to others."""
        check_url(url)
        self._conninfo = psycopg.conninfo.make_conninfo(url, **CONNECTION)
        self._stalled_s, self._timeline = stalled_s, Timeline()
        self._app = App(
            connector=PsycopgConnector(
                conninfo=self._conninfo,
                connection_class=AsyncTimedConnection,
                min_size=1,
                max_size=MAX_CONNECTIONS,
                timeout=CONNECTION_S,
                configure=self._configure,
                kwargs={"prepare_threshold": None},
                name="onetool-queue",
            )
        )

        self._app.job_manager = _TaskRows(self._app.connector)

        @self._app.task(name=CALL_TASK, queue=CALLS, retry=_RetryLater())
        async def call(workspace: str, job: str) -> None:
            await run_call(UUID(workspace), job)

        for name, task in periodic.items():
            self._add_periodic(name, task)

    async def run(self) -> None:
        """Run tasks until cancelled. Then wait for those that have begun."""
        while True:
            try:
                await self._run_once()
            except (ConnectorException, PoolTimeout, psycopg.Error) as error:
                log.error("the queue cannot be reached: %s", error.__cause__ or error)
            await self._wait_for_database()

    async def _wait_for_database(self) -> None:
        while True:
            await asyncio.sleep(RESTART_S)
            with suppress(psycopg.Error):
                async with await AsyncTimedConnection.connect(self._conninfo) as connection:
                    return await self._configure(connection)

    async def _configure(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Prepare a connection, whose rows may be of any type."""
        cursor = psycopg.AsyncCursor(connection)
        row = await (await cursor.execute(CURRENT)).fetchone()
        self._timeline.note(row[0] if row else 0)
        await connection.execute(SETTINGS.encode())
        await connection.commit()

    async def workspaces_with_lost_jobs(self) -> Sequence[UUID]:
        """Return the workspaces with jobs whose process has ended before them."""
        query = "select onetool.workspaces_with_lost_jobs() as id"
        return [row["id"] for row in await self._app.connector.execute_query_all_async(query)]

    async def queued(self) -> QueuedCalls:
        """Count the calls in the queue.

        Raises:
            StoreUnavailable: The queue cannot be read.
        """
        try:
            return QueuedCalls(**await self._app.connector.execute_query_one_async(QUEUED))
        except (ProcrastinateException, PoolTimeout, psycopg.Error) as error:
            raise StoreUnavailable(f"The queue cannot be read: {error.__cause__ or error}") from error

    async def recover_stalled(self) -> None:
        """Give the tasks of workers that were killed to others. Periodic ones begin again at their time."""
        manager = self._app.job_manager
        for row in await manager.get_stalled_jobs(seconds_since_heartbeat=self._stalled_s):
            if row.queue == CALLS:
                await manager.retry_job(row)
            else:
                await manager.finish_job(row, Status.FAILED, delete_job=True)

    async def delete_failed(self) -> None:
        """Delete the rows of tasks that failed long ago. Those of others are deleted when they end."""
        await self._app.job_manager.delete_old_jobs(
            nb_hours=KEEP_FAILED_HOURS, include_failed=True, include_cancelled=True, include_aborted=True
        )

    def _add_periodic(self, name: str, task: PeriodicTask) -> None:
        @self._app.periodic(cron=_cron(task.interval_s))
        @self._app.task(name=f"onetool.{name}", queue=MAINTENANCE, queueing_lock=f"onetool.{name}")
        async def run(timestamp: int) -> None:
            await task.run()

    async def _run_once(self) -> None:
        """Run tasks until the database fails."""
        async with self._app.open_async():
            workers = [
                asyncio.create_task(self._run_queue(CALLS, 1)),  # each call is claimed before the next one
                asyncio.create_task(self._run_queue(MAINTENANCE, MAINTENANCE_TASKS)),
            ]
            try:
                await asyncio.wait(workers, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for worker in workers:
                    worker.cancel()
                results = await asyncio.gather(*workers, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _run_queue(self, queue: str, concurrency: int) -> None:
        await self._app.run_worker_async(
            queues=[queue],
            name=queue,
            concurrency=concurrency,
            fetch_job_polling_interval=POLL_S,
            install_signal_handlers=False,
            delete_jobs="successful",
            update_heartbeat_interval=self._stalled_s / 3,
            stalled_worker_timeout=self._stalled_s,
        )


class _TaskRows(JobManager):
    """The rows of tasks. It tries to store the end of a task until it can.

    Otherwise the row of a call that could not be claimed would belong to this worker for as long as it lives,
    and no worker would try again.
    """

    async def finish_job_by_id_async(self, job_id: int, status: Status, delete_job: bool) -> None:
        """Store that a task is not tried again."""
        await _until_stored(partial(super().finish_job_by_id_async, job_id, status, delete_job))

    async def retry_job_by_id_async(self, job_id: int, *args: Any, **kwargs: Any) -> None:
        """Store when a task is tried again."""
        await _until_stored(partial(super().retry_job_by_id_async, job_id, *args, **kwargs))


async def _until_stored(store: Callable[[], Awaitable[None]]) -> None:
    is_known = False
    while True:
        try:
            await store()
            break
        except (ConnectorException, PoolTimeout, psycopg.Error) as error:
            if isinstance(error.__cause__, psycopg.errors.RaiseException):
                break  # it is stored, by an attempt whose response was lost, or by another worker
            if not is_known:
                log.warning("cannot store the end of a task yet: %s", error.__cause__ or error)
            is_known = True
        await asyncio.sleep(RESTART_S)


class _RetryLater(BaseRetryStrategy):
    """A call that could not be claimed is tried again until it is gone. One that was claimed never fails."""

    def get_retry_decision(self, *, exception: BaseException, job: QueueRow) -> RetryDecision:
        """Return when to try again."""
        return RetryDecision(retry_in={"seconds": min(RETRY_S * 2 ** min(job.attempts, 10), MAX_RETRY_S)})


def _cron(interval_s: int) -> str:
    """Return the cron expression of an interval.

    >>> _cron(30), _cron(300), _cron(3600)
    ('* * * * * */30', '*/5 * * * *', '0 * * * *')
    """
    if interval_s < 60:
        return f"* * * * * */{interval_s}"
    return f"*/{interval_s // 60} * * * *" if interval_s < 3600 else "0 * * * *"
