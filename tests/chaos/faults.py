"""Faults of an installation: each is injected and healed, and defines which errors it allows."""

import asyncio
from collections.abc import Mapping
from typing import ClassVar

from chaos.attacks import attack_from_tenant, attack_from_upstream, create_hostile_tools
from chaos.cluster_faults import (
    AnnouncementsLost,
    ClusterFrozen,
    ClusterKilled,
    MoveInterrupted,
    WorkspaceMoved,
)
from chaos.fault import DATABASE_ERRORS, LOST_RECORDS_S, Fault, is_refused_by_database
from chaos.installation import SERVERS
from chaos.ledger import BROKEN, Exchange, now
from chaos.proxy import Link, Mode
from onetool.storage.postgres.clusters import HOME
from onetool.testing.http_stub import StubResponse
from support.postgres import WEST

RESET_ROUNDS = 6
CLOCK_STEPS_HOURS = (1, -1, 12, -12)
ISSUER_PATHS = ("/.well-known/openid-configuration", "/keys", "/token", "/userinfo")


class ServerKilled(Fault):
    name, row, group = "server killed", "replica kill -9", "server"
    lost_s = LOST_RECORDS_S

    async def inject(self) -> None:
        self.target = self.stopped = self.rng.choice(SERVERS)
        self.stopped_at = now()
        await self.installation.processes[self.target].kill()

    async def heal(self) -> None:
        await self.installation.processes[self.target].start()

    def allows(self, exchange: Exchange) -> bool:
        is_session = exchange.kind == "ask" and exchange.outcome == "409"
        return is_session or (exchange.server == self.target and exchange.outcome == BROKEN)


class ServerFrozen(Fault):
    """Requests wait until the server continues. Its connections may have been closed meanwhile."""

    name, row, group = "server frozen", "replica kill -9", "server"

    async def inject(self) -> None:
        self.target = self.rng.choice(SERVERS)
        self.installation.processes[self.target].freeze()

    async def heal(self) -> None:
        self.installation.processes[self.target].thaw()

    def allows(self, exchange: Exchange) -> bool:
        allowed = DATABASE_ERRORS | {BROKEN, "call:timeout"}
        return exchange.server == self.target and exchange.outcome in allowed


class ServerRestarted(ServerKilled):
    """A rolling restart: calls in progress end, and new connections are refused."""

    name, row = "server restarted", "SIGTERM"
    lost_s = 0.0

    async def inject(self) -> None:
        self.target = self.stopped = self.rng.choice(SERVERS)
        await self.installation.processes[self.target].terminate()
        self.stopped_at = now()


class WorkerKilled(Fault):
    name, row, group = "worker killed", "replica kill -9", "worker"
    lost_s = LOST_RECORDS_S

    async def inject(self) -> None:
        self.target = self.stopped = "worker"
        self.stopped_at = now()
        await self.installation.worker.kill()

    async def heal(self) -> None:
        await self.installation.worker.start()


class WorkerFrozen(Fault):
    name, row, group = "worker frozen", "replica kill -9", "worker"

    async def inject(self) -> None:
        self.target = "worker"
        self.installation.worker.freeze()

    async def heal(self) -> None:
        self.installation.worker.thaw()


class DatabaseFault(Fault):
    row, group = "PG primary gone", "database"

    def allows(self, exchange: Exchange) -> bool:
        return is_refused_by_database(exchange)

    def delays_records(self, place: str) -> bool:
        return True


class DatabaseKilled(DatabaseFault):
    name = "database killed"

    async def inject(self) -> None:
        self.node = self.installation.current_primary
        await asyncio.to_thread(self.node.kill)

    async def heal(self) -> None:
        await asyncio.to_thread(self.node.start)


class DatabaseFrozen(DatabaseFault):
    name = "database frozen"

    async def inject(self) -> None:
        self.node = self.installation.current_primary
        self.node.freeze()

    async def heal(self) -> None:
        self.node.thaw()


class DatabasePromoted(DatabaseFault):
    """The primary is lost for ever, and a standby takes over."""

    name = "database promoted"

    async def inject(self) -> None:
        await asyncio.to_thread(self.installation.primary.kill)

    async def heal(self) -> None:
        await asyncio.to_thread(self.installation.promote_standby)

    def is_possible(self) -> bool:
        return self.installation.standby is not None and not self.installation.is_promoted


class DiskFull(DatabaseFault):
    name = "disk full"

    async def inject(self) -> None:
        self.node = self.installation.primary
        await asyncio.to_thread(self.node.fill_disk)

    async def heal(self) -> None:
        await asyncio.to_thread(self.node.free_disk)

    def is_possible(self) -> bool:
        return self.installation.primary.has_small_disk and not self.installation.is_promoted


class RedisKilled(Fault):
    """No call may fail."""

    name, row, group = "redis killed", "Redis dead", "redis"

    async def inject(self) -> None:
        await asyncio.to_thread(self.installation.redis.kill)

    async def heal(self) -> None:
        await asyncio.to_thread(self.installation.redis.start)


class RedisFrozen(Fault):
    name, row, group = "redis frozen", "Redis dead", "redis"

    async def inject(self) -> None:
        self.installation.redis.pause()

    async def heal(self) -> None:
        self.installation.redis.resume()


class LinkFault(Fault):
    """All connections of some processes to a cluster or to Redis."""

    row, group = "PG primary or one cluster gone, or Redis dead", "database"
    mode: ClassVar[Mode]
    targets: ClassVar[tuple[str, ...]] = (HOME, HOME, WEST, "redis")
    owners: ClassVar[tuple[str | None, ...]] = (None, *SERVERS, "worker")

    async def inject(self) -> None:
        self.target, self.owner = self.rng.choice(self.targets), self.rng.choice(self.owners)
        self.affected = self.installation.places_in(self.target)
        for link in self.links():
            link.set_mode(self.mode)

    async def heal(self) -> None:
        for link in self.links():
            link.set_mode(Mode.FORWARD)

    def links(self) -> list[Link]:
        return self.installation.links_of(self.target, self.owner)

    def allows(self, exchange: Exchange) -> bool:
        is_affected = self.owner is None or exchange.server == self.owner
        is_affected &= self.target == HOME or exchange.place in self.affected
        return self.target != "redis" and is_affected and exchange.outcome in DATABASE_ERRORS

    def delays_records(self, place: str) -> bool:
        return self.target == HOME or place in self.affected


class SlowConnections(LinkFault):
    """Requests are slower, and none may fail."""

    name, mode = "slow connections", Mode.DELAY
    grace_s = 5.0

    def allows(self, exchange: Exchange) -> bool:
        return False


class ThrottledConnections(LinkFault):
    name, mode = "throttled connections", Mode.THROTTLE


class SilentConnections(LinkFault):
    name, mode = "silent connections", Mode.DROP
    grace_s = 35.0


class RefusedConnections(LinkFault):
    name, mode = "refused connections", Mode.REFUSE


class ResetConnections(LinkFault):
    """Connections are reset again and again, and new ones are possible."""

    name, mode = "reset connections", Mode.FORWARD

    async def inject(self) -> None:
        await super().inject()
        for _ in range(RESET_ROUNDS):
            for link in self.links():
                link.reset()
            await asyncio.sleep(self.rng.uniform(0.1, 0.6))


class ClockStep(Fault):
    """The wall clock of one server jumps. No request may fail."""

    name, row, group = "clock step", "none", "clock"

    async def inject(self) -> None:
        hours = self.rng.choice(CLOCK_STEPS_HOURS)
        self.target = f"{hours:+} h"
        self.installation.clock.set(hours)

    async def heal(self) -> None:
        self.installation.clock.set(0)

    def is_possible(self) -> bool:
        return self.installation.with_clock


class IssuerDown(Fault):
    name, row, group = "issuer down", "OIDC issuer down", "issuer"

    async def inject(self) -> None:
        for path in ISSUER_PATHS:
            self.installation.issuer.responses[path] = StubResponse("down", 503)

    async def heal(self) -> None:
        self.installation.issuer.responses.clear()

    def allows(self, exchange: Exchange) -> bool:
        return exchange.kind == "log in" and exchange.outcome in {"502", "503"}


class Attack(Fault):
    """Requests of one workspace, which must not affect the others."""

    async def inject(self) -> None:
        self._task = asyncio.create_task(self.attack())

    async def heal(self) -> None:
        self._task.cancel()
        (result,) = await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(result, Exception):
            raise result

    async def attack(self) -> None:
        raise NotImplementedError


class HostileUpstream(Attack):
    name, row, group = "hostile upstream", "an upstream hangs", "upstream"

    async def inject(self) -> None:
        self.target = await create_hostile_tools(self.installation, self.workload)
        await super().inject()

    async def attack(self) -> None:
        await attack_from_upstream(self.installation, self.workload, self.target)


class HostileTenant(Attack):
    name, row, group = "hostile tenant", "one workspace floods", "tenant"

    def allows(self, exchange: Exchange) -> bool:
        is_own = exchange.place == self.installation.places[-1].slug
        return is_own and exchange.outcome in {"429", "call:busy", "call:rate_limited", "mcp:error"}

    async def attack(self) -> None:
        await attack_from_tenant(self.installation, self.workload)


FAULTS: Mapping[str, type[Fault]] = {
    fault.name: fault
    for fault in (
        ServerKilled,
        ServerFrozen,
        ServerRestarted,
        WorkerKilled,
        WorkerFrozen,
        DatabaseKilled,
        DatabaseFrozen,
        DatabasePromoted,
        DiskFull,
        ClusterKilled,
        ClusterFrozen,
        WorkspaceMoved,
        MoveInterrupted,
        AnnouncementsLost,
        RedisKilled,
        RedisFrozen,
        SlowConnections,
        ThrottledConnections,
        SilentConnections,
        RefusedConnections,
        ResetConnections,
        ClockStep,
        IssuerDown,
        HostileUpstream,
        HostileTenant,
    )
}
