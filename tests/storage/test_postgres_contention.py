"""Processes that write to one workspace at the same time, or are killed: one winner, and whole bundles."""

import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager, nullcontext, suppress
from itertools import count

import psycopg
import pytest
from uuid_utils.compat import uuid7

from onetool.domain.bundles.bundle import Bundle, ToolVersion
from onetool.domain.bundles.names import pack_names
from onetool.storage.postgres.bundles.rows import ToolTerms, lexemes
from onetool.storage.postgres.bundles.store import PostgresBundles
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads
from storage.stored_bundles import EVERYTHING, new_bundle
from support.loopback_proxy import LoopbackListener, copy
from support.processes import wait_until
from support.waiting import HANG_S

WRITERS = (5, 5, 6)
"""Writers of each process."""
TOOLS = 300
MARGIN_BYTES = 200
"""How far after the last byte of an import a process may be killed: it then has the reply, and goes on."""
STORE = """
import asyncio, json, sys, time
from uuid import UUID
from uuid_utils.compat import uuid7
from onetool.domain.bundles.bundle import AlreadyExists, Bundle, ToolVersion, rfc3339
from onetool.storage.postgres.bundles.store import PostgresBundles
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads

store = PostgresBundles(WorkspaceDatabase(Database(sys.argv[1]), UUID(sys.argv[2])), Threads())

def new_tool(bundle_id, slug, description):
    at = rfc3339(time.time())
    return ToolVersion(
        id=str(uuid7()), bundle_id=bundle_id, slug=slug, version="v1", type="python",
        arg_schema={"type": "object"}, description=description, created_at=at, modified_at=at,
    )

def say(value):
    sys.stdout.write(json.dumps(value) + "\\n")
    sys.stdout.flush()
"""
WRITER = f"""{STORE}
bundle_id, writers = sys.argv[3], int(sys.argv[4])

async def add(slug):
    tool = new_tool(bundle_id, slug, "one of sixteen")
    try:
        await store.add_tool(tool, lambda bundle: None)
        return ["won", tool.id]
    except AlreadyExists:
        return ["taken", tool.id]
    except Exception as error:
        return [repr(error), tool.id]

async def main():
    for line in sys.stdin:
        say(await asyncio.gather(*(add(line.strip()) for _ in range(writers))))

asyncio.run(main())
"""
IMPORTER = f"""{STORE}
async def main():
    for line in sys.stdin:
        at, id = rfc3339(time.time()), line.strip()
        bundle = Bundle(id=id, slug="killed-bundle", created_at=at, modified_at=at, imported_at=at)
        tools = [new_tool(id, f"tool-{{n}}", f"Number {{n}} of group{{n % 7}}") for n in range({TOOLS})]
        await store.import_bundle(bundle, tools)
        say(id)

asyncio.run(main())
"""


@pytest.mark.stress
async def test_of_sixteen_writers_of_a_version_in_three_processes_one_wins(workspace, postgres_url, size):
    """In every second round, all processes wait for the same lock before the first one may go on."""
    store = PostgresBundles(workspace, Threads())
    bundle = await new_bundle(store, "contended")
    name = f"writers {workspace.workspace}"
    url = psycopg.conninfo.make_conninfo(postgres_url, application_name=name)
    rounds, won = size(10, 200), {}
    with processes(*([WRITER, url, workspace.workspace, bundle.id, number] for number in WRITERS)) as writers:
        for number in range(rounds):
            with locked(postgres_url, workspace) if number % 2 else nullcontext() as lock:
                for writer in writers:
                    send(writer, f"tool-{number}")
                if lock is not None:
                    assert wait_until(lambda: is_answered(writers) or waiting(postgres_url, name) == 3)
            outcomes = [outcome for writer in writers for outcome in receive(writer)]
            assert Counter(result for result, _ in outcomes) == {"won": 1, "taken": 15}, f"round {number}"
            won[f"tool-{number}"] = next(id for result, id in outcomes if result == "won")
    stored = await all_tools(store)
    assert {item.tool.slug: item.tool.id for item in stored} == won
    assert len(stored) == await store.count() == rounds
    check_statistics(workspace, [item.tool for item in stored], {bundle.id: bundle})


@pytest.mark.stress
async def test_bundle_of_a_process_that_is_killed_is_whole_or_absent(workspace, postgres_url, size):
    """A process is killed after any number of bytes that it sends to the database."""
    seed = random.randrange(2**32)
    rng, sent, acknowledged = random.Random(seed), [], []
    with Relay(postgres_url) as relay:
        _, two_imports = run_importer(relay, workspace, None, sent, acknowledged)
        for _ in range(size(5, 50)):
            limit = rng.randrange(two_imports + MARGIN_BYTES)
            status, _ = run_importer(relay, workspace, limit, sent, acknowledged)
            assert status == -signal.SIGKILL, f"seed {seed}"
    database = Database(postgres_url)
    try:
        store = PostgresBundles(WorkspaceDatabase(database, workspace.workspace), Threads())
        last = await new_bundle(store, "written-after-the-kills")
        await check_whole_or_absent(store, workspace, sent, acknowledged, last)
    except AssertionError as error:
        error.add_note(f"seed {seed}")
        raise
    finally:
        database.close()


async def check_whole_or_absent(store, workspace, sent, acknowledged, last):
    bundles = {bundle.id: bundle for bundle in await all_bundles(store)}
    assert set(acknowledged) | {last.id} <= set(bundles) <= set(sent) | {last.id}
    imported = {id: bundle for id, bundle in bundles.items() if id != last.id}
    stored = await all_tools(store)
    assert Counter(item.bundle.id for item in stored) == dict.fromkeys(imported, TOOLS)
    assert {(item.bundle.id, item.tool.slug) for item in stored} == {
        (id, f"tool-{n}") for id in imported for n in range(TOOLS)
    }
    packs = pack_names(imported.values())
    assert {item.name for item in stored} == {
        f"{pack}.tool_{n}" for pack in packs.values() for n in range(TOOLS)
    }
    assert set(await store.packs()) == set(packs.values())
    assert await store.count() == len(stored)
    check_statistics(workspace, [item.tool for item in stored], bundles)


def check_statistics(workspace, tools: list[ToolVersion], bundles: dict[str, Bundle]) -> None:
    """Check that the statistics of terms are those of the tools."""
    terms = [ToolTerms.of(tool, bundles[tool.bundle_id]) for tool in tools]
    with workspace.reading() as cursor:
        vocabulary = cursor.execute("select term, tools from vocabulary").fetchall()
        ((number, lengths),) = cursor.execute("select tools, lengths from term_totals").fetchall()
    assert dict(vocabulary) == Counter(term for item in terms for term in lexemes(item.all))
    assert number == len(tools)
    assert lengths == [sum(column) for column in zip(*(item.lengths for item in terms), strict=True)]


async def all_tools(store):
    return await all_pages(lambda cursor: store.tools(EVERYTHING, cursor, 200))


async def all_bundles(store):
    return await all_pages(lambda cursor: store.bundles(EVERYTHING, cursor, 200))


async def all_pages(read):
    items, cursor = [], None
    while True:
        page = await read(cursor)
        items += page.items
        cursor = page.next
        if cursor is None:
            return items


def run_importer(relay: "Relay", workspace, limit: int | None, sent: list[str], acknowledged: list[str]):
    """Import bundles in a process until it has sent `limit` bytes; without a limit, two bundles.

    Return its status, and how many bytes it had sent after the last import.
    """
    name = f"importer {next(NUMBERS)} {workspace.workspace}"
    url = psycopg.conninfo.make_conninfo(relay.url, application_name=name)
    after = 0
    with processes([IMPORTER, url, workspace.workspace]) as (importer,):
        relay.forward(None if limit is None else (limit, importer.pid))
        for _ in range(2) if limit is None else count():
            id = str(uuid7())
            sent.append(id)
            send(importer, id)
            if receive(importer) != id:
                break
            acknowledged.append(id)
            after = relay.forwarded
        if limit is None:
            importer.stdin.close()
        status = importer.wait(HANG_S)
    assert wait_until(lambda: not connections(relay.server, name)), "the database keeps the connection"
    return status, after


NUMBERS = count()


class Relay(LoopbackListener):
    """Forwards connections to the database, and kills the client after a number of bytes from it."""

    def __init__(self, url: str) -> None:
        self.server = url
        info = psycopg.conninfo.conninfo_to_dict(url)
        self._address = str(info.get("host", "127.0.0.1")), int(info.get("port", 5432))
        super().__init__()
        self.url = psycopg.conninfo.make_conninfo(url, host="127.0.0.1", port=self.port, sslmode="disable")
        self.forwarded = 0
        self._limit: tuple[int, int] | None = None

    def forward(self, limit: tuple[int, int] | None) -> None:
        """Count from zero. `limit`: after how many bytes which process is killed."""
        self.forwarded, self._limit = 0, limit

    def serve(self, client: socket.socket) -> None:
        with socket.create_connection(self._address) as server:
            threading.Thread(target=copy, args=(server, client), daemon=True).start()
            while data := client.recv(65536):
                left = len(data) if self._limit is None else self._limit[0] - self.forwarded
                server.sendall(data[: max(left, 0)])
                self.forwarded += len(data)
                if left <= len(data) and self._limit is not None:
                    os.kill(self._limit[1], signal.SIGKILL)
                    break
            server.shutdown(socket.SHUT_RDWR)  # also ends the other thread


@contextmanager
def processes(*arguments):
    """Start Python programs, each with its arguments, and end them with the block."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        for words in arguments
    ]
    watchdog = threading.Timer(HANG_S * 5, lambda: [process.kill() for process in started])
    watchdog.start()
    try:
        yield started
    finally:
        watchdog.cancel()
        for process in started:
            process.kill()
            process.wait()
            process.stdout.close()
            with suppress(BrokenPipeError):
                process.stdin.close()


def send(process, line: str) -> None:
    with suppress(BrokenPipeError):  # killed, which `receive` notices
        process.stdin.write(line + "\n")


def receive(process):
    """Return what a process says; None if it has ended."""
    line = process.stdout.readline()
    return json.loads(line) if line.endswith("\n") else None


def is_answered(started) -> bool:
    return bool(select.select([process.stdout for process in started], [], [], 0)[0])


@contextmanager
def locked(url: str, workspace):
    """Let no writer of a workspace go on during the block."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "select from onetool.workspace_state where workspace_id = %s for update", (workspace.workspace,)
        )
        yield connection


def waiting(url: str, name: str) -> int:
    """Return how many connections of an application wait for a lock."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "select from pg_stat_activity where application_name = %s and wait_event_type = 'Lock'", (name,)
        )
        return len(found.fetchall())


def connections(url: str, name: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute("select from pg_stat_activity where application_name = %s", (name,))
        return len(found.fetchall())
