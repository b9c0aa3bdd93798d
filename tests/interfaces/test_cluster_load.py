"""Many workspaces at two clusters under load: moves lose nothing, and a lost cluster delays no other."""

import asyncio
import itertools
import math
import statistics
import time
from contextlib import AsyncExitStack

import psycopg

from interfaces.served_clusters import ECHO, move, put_bundle, serving, using
from onetool.storage.postgres import timed_connection
from onetool.storage.postgres.cluster_admin import ClusterAdmin
from onetool.storage.postgres.clusters import HOME
from onetool.storage.postgres.migrate import migrate
from support.postgres_cluster import PostgresCluster
from support.rest_process import new_id
from support.two_clusters import WEST
from support.waiting import until

WRITERS = CALLERS = 4
BUNDLES = "select id from onetool.bundles where workspace_id = %s"


class Load:
    """Changes and calls of several workspaces, until it is stopped."""

    def __init__(self, written, called):
        self._written, self._called = itertools.cycle(written), itertools.cycle(called)
        self.acknowledged = {client.slug: set() for client in written}
        self.refused, self.seconds, self._stop = 0, [], False

    async def __aenter__(self):
        workers = [self._write] * WRITERS + [self._call] * CALLERS
        self._tasks = [asyncio.create_task(worker()) for worker in workers]
        return self

    async def __aexit__(self, *_):
        self._stop = True
        await asyncio.gather(*self._tasks)

    async def _write(self):
        for client in self._written:
            if self._stop:
                return
            id = new_id()
            response = await put_bundle(client, id)
            if response.status_code == 201:
                self.acknowledged[client.slug].add(id)
            else:
                await self._wait(response)

    async def _call(self):
        for client in self._called:
            if self._stop:
                return
            began = time.perf_counter()
            response = await client.post("/tools/call", json=ECHO)
            if response.status_code == 200:
                assert response.json()["value"] == "hi"
                self.seconds.append(time.perf_counter() - began)
            else:
                await self._wait(response)

    async def _wait(self, response):
        """Do what a request that was refused is told."""
        assert (response.status_code, response.headers.get("Retry-After")) == (503, "1"), response.text
        self.refused += 1
        await asyncio.sleep(1)


def percentile(values, share):
    return sorted(values)[math.ceil(len(values) * share) - 1]


async def test_moves_and_a_lost_cluster_under_load(size, monkeypatch):
    """The cluster is killed, and later hangs.

    With --stress: 200 workspaces, of which 20 are moved. The figures are printed.
    """
    monkeypatch.setattr(timed_connection, "ANSWER_S", 15.0)  # a cluster that hangs is away sooner
    count, moved, calls = size(4, 200), size(1, 20), size(20, 3_000)
    with PostgresCluster() as home, PostgresCluster() as west:
        urls = {HOME: home.url, WEST: west.url}
        for url in urls.values():
            migrate(url)
        ClusterAdmin(urls).add(WEST)
        async with AsyncExitStack() as stack:
            server = await stack.enter_async_context(serving(urls))
            clients = [
                await stack.enter_async_context(using(server, (HOME, WEST)[number % 2]))
                for number in range(count)
            ]
            moving, read_only = clients[: 2 * moved : 2], []
            async with Load(moving, clients) as load:
                for client in moving:
                    read_only.append((await move(server, client.slug, WEST)).read_only_s)
            lost = await server.parts.threads.run(missing, server, load.acknowledged)
            assert not lost
            stay, lose = clients[2 * moved :: 2], clients[1::2]
            seconds = [await latencies(stay, lose, calls)]
            for fault in (PostgresCluster.kill, PostgresCluster.freeze):
                fault(west)
                seconds.append(await latencies(stay, lose, calls))
                await until(lambda: server.parts.clusters[WEST].is_away)
                if fault == PostgresCluster.kill:
                    west.start()
                    await until(lambda: not server.parts.clusters[WEST].is_away)
        acknowledged = sum(map(len, load.acknowledged.values()))
        p99 = [percentile(each, 0.99) * 1000 for each in seconds]
        print(
            f"\nacknowledged {acknowledged:,}, lost {len(lost)}, refused {load.refused}"
            f"\nread-only s: p50 {statistics.median(read_only):.2f}, max {max(read_only):.2f}"
            f"\np99 ms: {p99[0]:.1f} before, {p99[1]:.1f} after the loss, {p99[2]:.1f} while it hangs"
        )


async def latencies(clients, others, calls):
    """Return the seconds of calls of workspaces, while others are used too, or refuse that."""
    async with Load(others, others), Load(clients, clients) as load:
        await until(lambda: len(load.seconds) >= calls)
    assert not load.refused
    return load.seconds


def missing(server, acknowledged):
    """Return the acknowledged bundles that the cluster of their workspace lacks."""
    lost = []
    with psycopg.connect(server.parts.urls[WEST]) as connection:
        for slug, ids in acknowledged.items():
            found = connection.execute(BUNDLES, (server.parts.directory.find(slug).id,)).fetchall()
            lost += ids - {id for (id,) in found}
    return lost
