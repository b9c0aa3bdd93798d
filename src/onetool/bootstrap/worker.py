"""A worker of a hosted OneTool: runs queued jobs, and cleans up in all workspaces."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Protocol
from uuid import UUID

from onetool.domain.errors import StoreUnavailable
from onetool.domain.identity.principal import Principal
from onetool.domain.identity.roles import Right
from onetool.domain.jobs.job import Job
from onetool.domain.policy.member import is_id
from onetool.domain.policy.rights import Rights
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.logs import redacting
from onetool.runtime.job_ends import as_lost
from onetool.runtime.runtime import Runtime
from onetool.storage.postgres.api_keys import PostgresApiKeys
from onetool.storage.postgres.clusters import HOME
from onetool.storage.postgres.directory import Workspace
from onetool.storage.postgres.interrupted_moves import InterruptedMoves
from onetool.storage.postgres.job_queue import LostJobs
from onetool.storage.postgres.queue_worker import PeriodicTask, QueuedCalls, QueueWorker
from onetool.storage.postgres.sealer import Sealer

from .hosted import HostedParts, HostedWorkspace, open_workspace
from .reaping import reap_workspace
from .workspaces import OpenWorkspaces

log = logging.getLogger(__name__)
CONCURRENCY = 20
"""Calls that a worker runs at a time, of which some may wait for answers."""
GRACE_S = 30.0
"""Seconds for calls in progress after the worker was told to end."""
QUEUES_END_S = 10.0
"""Seconds for the queues to end, whose database may hang."""
STORE_S = 10.0
"""Seconds to store that the other calls are lost."""
CHECKS_PER_LEASE = 3
REAP_INTERVAL_S, MOVES_INTERVAL_S = 3600, 60
COUNT_INTERVAL_S = 15.0
"""Seconds between two counts of the calls in the queue."""
RECOUNT_S = 1.0
"""Seconds until they are counted again if it failed: the queue may not be open yet."""


class WorkspaceRuntime(Protocol):
    """An open workspace."""

    @property
    def runtime(self) -> Runtime:
        """Runs its calls."""
        ...

    @property
    def credentials(self) -> CredentialSet:
        """What is redacted in log records about it."""
        ...

    @property
    def rights(self) -> Callable[[str], Awaitable[Rights]]:
        """Returns the current rights of a principal."""
        ...


UseWorkspace = Callable[[str], AbstractAsyncContextManager[WorkspaceRuntime]]
"""Opens a workspace by its slug for a block."""


class Worker:
    """Claims queued jobs, one after the other, and runs several at a time."""

    def __init__(
        self,
        parts: HostedParts,
        url: str,
        use: UseWorkspace,
        *,
        concurrency: int = CONCURRENCY,
        grace_s: float = GRACE_S,
        reap_interval_s: int = REAP_INTERVAL_S,
    ) -> None:
        self._parts, self._use = parts, use
        self.concurrency, self._grace_s = concurrency, grace_s
        self.lost = 0
        """Jobs of other processes that this worker has ended as lost."""
        self.queued: dict[str, QueuedCalls] = {}
        """The calls in the queue of each cluster, as last counted; without those that cannot be counted."""
        self._calls: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        check_s = parts.lease_s / CHECKS_PER_LEASE
        self._moves = InterruptedMoves({**parts.urls, HOME: url}, parts.clusters)
        self._queues = {
            name: QueueWorker(
                other if name != HOME else url,
                self._start_call,
                {
                    "lost_jobs": PeriodicTask(partial(self._end_lost_jobs, name), max(1, int(check_s))),
                    "reap": PeriodicTask(partial(self._reap, name), reap_interval_s),
                    "moves": PeriodicTask(partial(self._end_moves, name), MOVES_INTERVAL_S),
                },
                stalled_s=check_s,
            )
            for name, other in parts.urls.items()
        }
        """One for each cluster. If one is away, the others continue."""

    async def run(self, stop: asyncio.Event) -> None:
        """Work until told to stop. Calls in progress then have some time to end; the others are lost."""
        queues = [asyncio.create_task(queue.run()) for queue in self._queues.values()]
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({*queues, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stopping.set()
            for task in (stopped, *queues):
                task.cancel()
            await asyncio.wait(queues, timeout=QUEUES_END_S)
            await self._drain()
        for queue in queues:
            if queue.done() and not queue.cancelled() and (error := queue.exception()) is not None:
                raise error

    @property
    def running(self) -> int:
        """How many calls run in this worker."""
        return len(self._calls)

    async def count_queued(self) -> None:
        """Count the calls in the queues from time to time, until cancelled."""
        while True:
            await asyncio.gather(*map(self._count_queued, self._queues))
            is_complete = self.queued.keys() == self._queues.keys()
            await asyncio.sleep(COUNT_INTERVAL_S if is_complete else RECOUNT_S)

    async def _count_queued(self, cluster: str) -> None:
        try:
            async with asyncio.timeout(COUNT_INTERVAL_S):
                self.queued[cluster] = await self._queues[cluster].queued()
        except OSError as error:  # a TimeoutError is one too
            self.queued.pop(cluster, None)
            log.info("the calls in the queue of cluster %s cannot be counted: %s", cluster, error)

    async def _drain(self) -> None:
        if self._calls:
            await asyncio.wait(self._calls, timeout=self._grace_s)
        for call in self._calls:
            call.cancel()
        if self._calls:
            await asyncio.wait(self._calls, timeout=STORE_S)

    async def _start_call(self, workspace: UUID, job: str) -> None:
        """Claim a job and run it. Return when the next one may be claimed.

        Raises:
            OSError: It could not be claimed.
            SettingsError: The settings of the workspace are invalid.
        """
        found = await self._parts.threads.run(self._parts.directory.find_id, workspace)
        if found is None:
            return
        claimed = asyncio.Event()
        call = asyncio.create_task(self._run_call(found, job, claimed))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        await _first(claimed.wait(), asyncio.shield(call))
        if not claimed.is_set():
            await call  # raises why
        while len(self._calls) >= self.concurrency and not self._stopping.is_set():
            await _first(
                self._stopping.wait(), asyncio.wait(self._calls, return_when=asyncio.FIRST_COMPLETED)
            )

    async def _run_call(self, found: Workspace, job: str, claimed: asyncio.Event) -> None:
        keys = PostgresApiKeys(self._parts.notices.workspace(found), self._parts.threads)

        async def refusal(principal: Principal) -> str:
            if not (await workspace.rights(principal.id)).may(Right.CALL):
                return f"The call was not made: {principal.id!r} may not call tools any more."
            is_person = is_id(principal.id) and not principal.key
            if is_person or await keys.is_valid(principal.key, principal.id):
                return ""
            key = f"the API key of {principal.id!r} that started it"
            return f"The call was not made: {key} is not valid any more."

        async with self._use(found.slug) as workspace:
            with redacting(workspace.credentials):
                try:
                    await workspace.runtime.submitted.run_queued(job, claimed.set, refusal)
                except Exception:
                    if not claimed.is_set():
                        raise
                    log.exception("job %s failed", job)  # root of a task: no one else sees the error

    async def _end_lost_jobs(self, cluster: str) -> None:
        """End the jobs of processes that have ended, and give their tasks to others."""
        queue, threads = self._queues[cluster], self._parts.threads
        await queue.recover_stalled()
        if self._parts.clusters[cluster].available_s < self._parts.lease_s / 2:
            return  # after it was away, processes first renew their leases
        for id in await queue.workspaces_with_lost_jobs():
            try:
                found = await threads.run(self._parts.directory.find_id, id)
                if found is None or found.cluster != cluster:  # rows from before a move
                    continue
                for job in await LostJobs(self._parts.directory.rows(found), threads).end(_as_lost):
                    self.lost += 1
                    log.warning("job %s is lost: its process has ended", job)
            except StoreUnavailable as error:
                log.error("cannot end the lost jobs of workspace %s: %s", id, error)

    async def _end_moves(self, cluster: str) -> None:
        """Make workspaces writable that no process moves any more."""
        for slug in await self._parts.threads.run(self._moves.end, cluster):
            log.warning("a move of workspace %s was interrupted: it is writable again", slug)

    async def _reap(self, cluster: str) -> None:
        """Delete what has expired in all workspaces of a cluster."""
        threads, directory = self._parts.threads, self._parts.directory
        await self._queues[cluster].delete_failed()
        for id in await threads.run(directory.ids, cluster):
            if self._stopping.is_set():
                return
            try:
                found = await threads.run(directory.find_id, id)
                if found is None:
                    continue
                workspace = directory.rows(found)
                await reap_workspace(workspace, threads, Sealer(workspace, self._parts.ring))
            except Exception as error:  # noqa: BLE001 - one workspace must not stop the others
                log.error("cannot clean up workspace %s: %s: %s", id, type(error).__name__, error)


@asynccontextmanager
async def open_workspaces(parts: HostedParts) -> AsyncIterator[OpenWorkspaces[HostedWorkspace]]:
    """Open workspaces when they are needed, and close them when they are idle, or at the end."""
    workspaces = OpenWorkspaces(partial(open_workspace, parts))
    watch = asyncio.create_task(workspaces.watch())
    try:
        yield workspaces
    finally:
        watch.cancel()
        await workspaces.aclose()


def _as_lost(job: Job) -> Job | None:
    """Return the end of a job, unless another process can wait for the task of its server."""
    return None if job.task is not None and job.task.endpoint else as_lost(job, time.time())


async def _first(*waiting: object) -> None:
    """Wait for the first of some awaitables, and cancel the others."""
    tasks = [asyncio.ensure_future(item) for item in waiting]  # type: ignore[call-overload]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
