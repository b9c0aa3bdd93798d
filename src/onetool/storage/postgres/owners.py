"""Signs of life of processes: each one renews a lease in a row, by the clock of the database."""

import asyncio
import logging
from collections.abc import Callable

from onetool.threads import Threads

from .database import Cursor, on_thread
from .workspace_database import WorkspaceDatabase

log = logging.getLogger(__name__)
RENEWALS_PER_LEASE = 6
HOLD = """
insert into job_owners (workspace_id, owner, lease_until)
values (%s, %s, clock_timestamp() + make_interval(secs => %s))
on conflict (workspace_id, owner) do update set lease_until = excluded.lease_until, ended_at = null
"""
RENEW = """
update job_owners set lease_until = clock_timestamp() + make_interval(secs => %s), ended_at = null
where owner = %s
"""
RELEASE = "update job_owners set lease_until = clock_timestamp(), ended_at = %s where owner = %s"


class OwnerLease:
    """The lease of this process in a workspace. The process is alive until it ends."""

    def __init__(
        self,
        workspace: WorkspaceDatabase,
        threads: Threads,
        id: str,
        now: Callable[[], float],
        lease_s: float,
    ) -> None:
        self._workspace, self._threads = workspace, threads
        self.id = id
        """The id of this process."""
        self._now, self._lease_s = now, lease_s
        self._renewal: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def hold(self, cursor: Cursor) -> None:
        """Begin the lease, or renew it, in an open transaction."""
        cursor.execute(HOLD, (self._workspace.workspace, self.id, self._lease_s))

    def keep(self) -> None:
        """Renew the lease until it is released, from the event loop that is running."""
        if self._renewal is None or self._renewal.done():
            self._closing = asyncio.Event()
            self._renewal = asyncio.create_task(self._renew_until(self._closing))

    async def release(self) -> None:
        """End the lease now. Do nothing if it was never kept or is released."""
        if self._renewal is None:
            return
        self._closing.set()
        if not self._renewal.done():
            await asyncio.wait([self._renewal])  # a renewal must not follow the release
        try:
            await self._release()
        except OSError as error:
            log.warning("cannot release the lease of process %s, it ends by itself: %s", self.id, error)
        self._renewal = None

    async def _renew_until(self, closing: asyncio.Event) -> None:
        while not closing.is_set():
            try:
                async with asyncio.timeout(self._lease_s / RENEWALS_PER_LEASE):
                    await closing.wait()
            except TimeoutError:
                await self._try_to_renew()

    async def _try_to_renew(self) -> None:
        try:
            await self._renew()
        except OSError as error:
            log.warning("cannot renew the lease of process %s: %s", self.id, error)

    @on_thread
    def _renew(self) -> None:
        with self._workspace.recording() as cursor:
            cursor.execute(RENEW, (self._lease_s, self.id))

    @on_thread
    def _release(self) -> None:
        with self._workspace.recording() as cursor:
            cursor.execute(RELEASE, (self._now(), self.id))
