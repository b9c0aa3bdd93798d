"""A process that hangs in the middle of a write: its locks do not outlive the limit of idle transactions."""

import asyncio
import threading
from contextlib import suppress
from dataclasses import replace

import psycopg
import pytest
from uuid_utils.compat import uuid7

from onetool.domain.errors import StoreUnavailable
from onetool.storage.postgres import database
from onetool.storage.postgres.activity import PostgresActivity
from onetool.storage.postgres.bundles.store import PostgresBundles
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.timed_connection import TimedConnection
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads
from storage.stored_bundles import make_bundle, new_tool
from support.activity import add, record
from support.waiting import HANG_S

LOCK = "select from onetool.workspace_state where workspace_id = %s for update"
BUNDLE = make_bundle()
TOOL = new_tool(BUNDLE, description="Rain.")


class Freezer:
    """Stops a thread before its n-th wait for PostgreSQL: what it has sent before has arrived."""

    def __init__(self, monkeypatch, number: int) -> None:
        self.is_frozen, self._thaw, self._left = threading.Event(), threading.Event(), number
        original = TimedConnection.wait

        def wait(connection, *arguments, **options):
            self._left -= 1
            if self._left == 0:
                self.is_frozen.set()
                self._thaw.wait(2 * HANG_S)
            return original(connection, *arguments, **options)

        monkeypatch.setattr(TimedConnection, "wait", wait)

    def thaw(self) -> None:
        self.is_frozen.set()
        self._thaw.set()


async def change_tool(workspace, threads):
    await PostgresBundles(workspace, threads).change_tool(TOOL.key, lambda *_: TOOL)


async def rename_bundle(workspace, threads):
    new = replace(BUNDLE, slug=f"b{uuid7().hex}")
    await PostgresBundles(workspace, threads).change_bundle(BUNDLE.id, lambda _: new)


async def add_record(workspace, threads):
    await add(PostgresActivity(workspace, threads), record("a.b", 1_794_700_000.0, id="1"))


@pytest.mark.parametrize("write", [change_tool, rename_bundle, add_record])
async def test_locks_of_a_process_that_hangs_are_released(workspace, postgres_url, monkeypatch, write):
    """It hangs before each of its waits for PostgreSQL, until it writes without hanging."""
    threads, own, number = Threads(), Database(postgres_url), 1
    writer = WorkspaceDatabase(own, workspace.workspace)
    await PostgresBundles(writer, threads).import_bundle(BUNDLE, [TOOL])
    monkeypatch.setattr(database, "BEGIN", database.BEGIN.replace("'4s'", "'100ms'"))
    for _ in range(100):
        with monkeypatch.context() as patched:
            freezer = Freezer(patched, number)
            writing = asyncio.create_task(write(writer, threads))
            frozen = asyncio.create_task(asyncio.to_thread(freezer.is_frozen.wait, HANG_S))
            await asyncio.wait([writing, frozen], return_when=asyncio.FIRST_COMPLETED)
            hangs = not writing.done()
            if hangs:
                number += 1
                with psycopg.connect(postgres_url) as other:
                    other.execute(f"set lock_timeout = '{HANG_S}s'")
                    other.execute(LOCK, (workspace.workspace,))
            freezer.thaw()
            with suppress(StoreUnavailable):  # it hung for too long, or the machine is slower than the limit
                await writing
                if not hangs:
                    break
    else:
        pytest.fail("It was never written.")
    own.close()
    assert number > 3
