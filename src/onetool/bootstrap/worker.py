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
from onetool.storage.postgres.database import WorkspaceDatabase
from onetool.storage.postgres.job_queue import LostJobs
from onetool.storage.postgres.queue_worker import PeriodicTask, QueueWorker
from onetool.storage.postgres.sealer import Sealer

from .hosted import HostedParts, HostedWorkspace, open_workspace
from .reaping import reap_workspace
from .workspaces import OpenWorkspaces

log = logging.getLogger(__name__)
CONCURRENCY = 20
"""Calls that a worker runs at a time, of which some may wait for answers."""
GRACE_S = 30.0
"""Seconds for calls in progress after the worker was told to end."""
STORE_S = 10.0
"""Seconds to store that the other calls are lost."""
CHECKS_PER_LEASE = 3
REAP_INTERVAL_S = 3600


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
        self._concurrency, self._grace_s = concurrency, grace_s
        self._calls: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        check_s = parts.lease_s / CHECKS_PER_LEASE
        tasks = {
            "lost_jobs": PeriodicTask(self._end_lost_jobs, max(1, int(check_s))),
            "reap": PeriodicTask(self._reap, reap_interval_s),
        }
        self._queue = QueueWorker(url, self._start_call, tasks, stalled_s=check_s)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until told to stop. Calls in progress then have some time to end; the others are lost."""
        queue, stopped = asyncio.create_task(self._queue.run()), asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({queue, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stopping.set()
            stopped.cancel()
            queue.cancel()
            (error,) = await asyncio.gather(queue, return_exceptions=True)
            await self._drain()
        if isinstance(error, Exception):
            raise error

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
        call = asyncio.create_task(self._run_call(found.slug, workspace, job, claimed))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        await _first(claimed.wait(), asyncio.shield(call))
        if not claimed.is_set():
            await call  # raises why
        while len(self._calls) >= self._concurrency and not self._stopping.is_set():
            await _first(
                self._stopping.wait(), asyncio.wait(self._calls, return_when=asyncio.FIRST_COMPLETED)
            )

    async def _run_call(self, slug: str, id: UUID, job: str, claimed: asyncio.Event) -> None:
        keys = PostgresApiKeys(WorkspaceDatabase(self._parts.database, id), self._parts.threads)

        async def refusal(principal: Principal) -> str:
            if not (await workspace.rights(principal.id)).may(Right.CALL):
                return f"The call was not made: {principal.id!r} may not call tools any more."
            is_person = is_id(principal.id) and not principal.key
            if is_person or await keys.is_valid(principal.key, principal.id):
                return ""
            key = f"the API key of {principal.id!r} that started it"
            return f"The call was not made: {key} is not valid any more."

        async with self._use(slug) as workspace:
            with redacting(workspace.credentials):
                try:
                    await workspace.runtime.submitted.run_queued(job, claimed.set, refusal)
                except Exception:
                    if not claimed.is_set():
                        raise
                    log.exception("job %s failed", job)  # root of a task: no one else sees the error

    async def _end_lost_jobs(self) -> None:
        """End the jobs of processes that have ended, and give their tasks to others."""
        await self._queue.recover_stalled()
        for id in await self._queue.workspaces_with_lost_jobs():
            workspace = WorkspaceDatabase(self._parts.database, id)
            try:
                for job in await LostJobs(workspace, self._parts.threads).end(_as_lost):
                    log.warning("job %s is lost: its process has ended", job)
            except StoreUnavailable as error:
                log.error("cannot end the lost jobs of workspace %s: %s", id, error)

    async def _reap(self) -> None:
        """Delete what has expired in all workspaces."""
        await self._queue.delete_failed()
        for id in await self._parts.threads.run(self._parts.directory.ids):
            if self._stopping.is_set():
                return
            try:
                workspace = WorkspaceDatabase(self._parts.database, id)
                sealer = Sealer(workspace, self._parts.ring)
                await reap_workspace(workspace, self._parts.threads, sealer)
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
