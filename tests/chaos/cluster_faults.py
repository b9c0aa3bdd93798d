"""Faults of installations with several clusters: one is away, workspaces move, and announcements are lost."""

import asyncio
from contextlib import suppress
from typing import ClassVar

import psycopg

from chaos.fault import DATABASE_ERRORS, Fault, is_refused_by_database
from chaos.installation import Place
from chaos.ledger import Exchange
from onetool.storage.postgres.clusters import HOME
from onetool.storage.postgres.replicas import APPLICATION
from storage.interrupted_moves import STEPS, kill_after, mover
from support.postgres import WEST
from support.processes import wait_until

KNOWN_CALLS = frozenset({"call http", "call pack", "call mcp", "run", "mcp 2026-07-28"})
"""Requests that store nothing before they are answered."""
MOVE_ENDS_S = 150.0
"""Seconds within which a worker ends an interrupted move, even if the worker must first start."""
END_LISTENERS = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = %s"


class ClusterFault(Fault):
    """The other cluster is away. Workspaces of the home cluster are not affected."""

    row, group = "one cluster gone", "database"

    async def inject(self) -> None:
        self.target, self.affected = WEST, self.installation.places_in(WEST)

    def allows(self, exchange: Exchange) -> bool:
        return exchange.place in self.affected and is_refused_by_database(exchange)

    def delays_records(self, place: str) -> bool:
        return place in self.affected


class ClusterKilled(ClusterFault):
    name = "cluster killed"

    async def inject(self) -> None:
        await super().inject()
        await asyncio.to_thread(self.installation.west.kill)

    async def heal(self) -> None:
        await asyncio.to_thread(self.installation.west.start)


class ClusterFrozen(ClusterFault):
    name = "cluster frozen"
    grace_s = 35.0

    async def inject(self) -> None:
        await super().inject()
        self.installation.west.freeze()

    async def heal(self) -> None:
        self.installation.west.thaw()


class MoveFault(Fault):
    """A workspace is moved to the other cluster. Calls continue, and changes are refused for a moment."""

    row, group = "workspace is read-only", "database"
    grace_s = 5.0
    place: Place

    async def inject(self) -> None:
        self.place = self.rng.choice(self.installation.places)
        self.target = self.place.slug
        await asyncio.to_thread(self.move)

    def move(self) -> None:
        """Move it. Blocks."""
        raise NotImplementedError

    def allows(self, exchange: Exchange) -> bool:
        is_change = exchange.kind not in KNOWN_CALLS
        return exchange.place == self.place.slug and is_change and exchange.outcome in DATABASE_ERRORS

    def delays_records(self, place: str) -> bool:
        return place == self.place.slug

    @property
    def other_cluster(self) -> str:
        return WEST if self.place.cluster == HOME else HOME


class WorkspaceMoved(MoveFault):
    """A workspace is moved to the other cluster and back."""

    name = "workspace moved"

    def move(self) -> None:
        target = self.other_cluster
        with mover(self.installation, self.place, target) as process:
            assert process.stdin
            assert process.stdout
            for _ in process.stdout:
                process.stdin.write("\n")
                process.stdin.flush()
            if process.wait() != 0:
                raise RuntimeError(f"the workspace cannot be moved to {target}")
        self.place.cluster = target

    async def heal(self) -> None:
        await asyncio.to_thread(self.move)


class MoveInterrupted(MoveFault):
    """The process that moves a workspace is killed. A worker makes the workspace writable."""

    name = "move interrupted"

    def move(self) -> None:
        kill_after(self.installation, self.place, self.other_cluster, self.rng.randrange(1, STEPS))

    async def heal(self) -> None:
        if not await asyncio.to_thread(wait_until, self._is_writable, MOVE_ENDS_S):
            raise RuntimeError("the workspace stays read-only")

    def _is_writable(self) -> bool:
        urls = self.installation.urls
        with psycopg.connect(urls[HOME]) as home:
            query = "select cluster from home.workspaces where id = %s"
            ((self.place.cluster,),) = home.execute(query, (self.place.id,)).fetchall()
        with psycopg.connect(urls[self.place.cluster]) as connection:
            query = "select fenced from onetool.workspace_state where workspace_id = %s"
            return connection.execute(query, (self.place.id,)).fetchall() == [(False,)]


class AnnouncementsLost(Fault):
    """Connections for announcements are closed again and again. No request may fail."""

    name, row, group = "announcements lost", "LISTEN lost", "database"
    interval_s: ClassVar[tuple[float, float]] = (0.2, 1.0)

    async def inject(self) -> None:
        self._task = asyncio.create_task(self._close_again())

    async def heal(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _close_again(self) -> None:
        while True:
            await asyncio.to_thread(self._close)
            await asyncio.sleep(self.rng.uniform(*self.interval_s))

    def _close(self) -> None:
        for url in self.installation.urls.values():
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(END_LISTENERS, (APPLICATION,))
