"""The index of stored bundles: how it is built from many files, and what one write costs."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest
from uuid_utils.compat import uuid7

from onetool.domain.bundles.bundle import AlreadyExists, Bundle
from onetool.storage.files.bundles import indexer, sync
from onetool.storage.files.bundles.store import FileBundles
from onetool.threads import Threads
from storage.stored_bundles import add, make_bundle, new_bundle, new_tool, slugs

INTERRUPTED = """
import asyncio, os, signal, sys
from pathlib import Path
from onetool.storage.files.bundles import indexer, sync
from onetool.storage.files.bundles.store import FileBundles
from onetool.threads import Threads

indexer.MAX_BATCH_BYTES = indexer.MIN_FILE_BYTES * int(sys.argv[2])
sync.PROGRESS_INTERVAL_S = -1.0
store = FileBundles(Path(sys.argv[1]), Threads(), report=lambda text: os.kill(os.getpid(), signal.SIGKILL))
asyncio.run(store.count())
"""


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "bundles"


@pytest.fixture
def store(folder):
    return FileBundles(folder, Threads())


def write(folder, record) -> None:
    """Write a record as a user does who copies files."""
    bundle_id, name = (record.id, "bundle") if isinstance(record, Bundle) else (record.bundle_id, record.id)
    (folder / bundle_id).mkdir(parents=True, exist_ok=True)
    (folder / bundle_id / f"{name}.json").write_text(json.dumps({"schemaVersion": 1, **record.to_json()}))


def fill(folder, bundles=3, tools=5) -> None:
    """Write bundles that have never been indexed."""
    for number in range(bundles):
        new = make_bundle(f"b{number}")
        write(folder, new)
        for tool in range(tools):
            write(folder, new_tool(new, f"t{tool}"))


@pytest.mark.parametrize("tools_per_transaction", [2, 3, 7, 100])
async def test_interrupted_indexing_is_continued(folder, tools_per_transaction):
    """A process that is killed after its first transaction leaves a store that opens."""
    fill(folder)
    command = [sys.executable, "-c", INTERRUPTED, str(folder), str(tools_per_transaction)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    store = FileBundles(folder, Threads())
    assert await slugs(store) == sorted(f"t{tool}" for tool in range(5) for _ in range(3))
    assert store.problems == []
    assert await store.find("b2.t4")


async def test_progress_is_reported(folder):
    """Only if it takes long."""
    fill(folder, bundles=40, tools=1)
    reports, times = [], iter(range(10_000))
    slow = FileBundles(folder, Threads(), clock=lambda: float(next(times)), report=reports.append)
    assert await slow.count() == 40
    assert reports[-1] == "indexed 40 stored tools in 40 of 40 bundles"
    (folder / "index.sqlite3").unlink()
    reports.clear()
    assert await FileBundles(folder, Threads(), clock=lambda: 0.0, report=reports.append).count() == 40
    assert reports == []


async def test_write_syncs_twice_without_a_lock(folder, store, monkeypatch):
    """Other writers can lock the bundle and the index meanwhile."""
    bundle = await new_bundle(store)
    await add(store, bundle, "first")
    fsync, synced = os.fsync, []

    def check_locks(descriptor):
        with closing(sqlite3.connect(folder / "index.sqlite3", timeout=0)) as connection:
            connection.execute("begin immediate")
        with FileBundles(folder, Threads())._files.locked(bundle.id, 0):
            synced.append(descriptor)
        fsync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", check_locks)
        await add(store, bundle, "second")
    assert len(synced) == 2
    assert await slugs(store) == ["first", "second"]


async def test_file_that_is_not_indexed_yet_owns_its_slug_and_version(folder, store):
    """Two files never have the same slug and version, even if one of them was copied a moment ago."""
    bundle = await new_bundle(store)
    await add(store, bundle, "first")
    write(folder, new_tool(bundle, "copied"))
    (folder / bundle.id / f"{uuid7()}.json").write_text("half a fi")
    with pytest.raises(AlreadyExists):
        await add(store, bundle, "copied")
    await add(store, bundle, "other")


async def test_rejected_write_leaves_no_file(folder, store):
    bundle = await new_bundle(store)
    tool = (await add(store, bundle, "first")).tool
    with pytest.raises(AlreadyExists):
        await add(store, bundle, "second", id=tool.id)
    assert list((folder / bundle.id / ".staged").iterdir()) == []
    assert not list((folder / ".pending").iterdir())


async def test_directory_that_is_replaced_during_a_write(folder, store):
    """The file that was written before is gone, and is written again."""
    bundle = await new_bundle(store)
    staged = folder / bundle.id / ".staged"
    checks = []

    def check(_):
        checks.append(None)
        if len(checks) == 2:
            for file in staged.iterdir():
                file.unlink()

    record = folder / bundle.id / "bundle.json"
    original = store._files.stage

    def stage(tool):
        os.utime(record, (5, 5))  # the check is repeated, because the bundle changed
        return original(tool)

    store._files.stage = stage
    await store.add_tool(new_tool(bundle, "first"), check)
    assert len(checks) == 2
    assert await slugs(FileBundles(folder, Threads())) == ["first"]


async def test_all_files_are_compared_after_a_restart_of_the_machine(folder, store, tmp_path, monkeypatch):
    """A power failure may have undone a change of the index, but not of the files."""
    bundle = await new_bundle(store)
    lost = (await add(store, bundle, "lost")).tool
    await store.aclose()
    with closing(sqlite3.connect(folder / "index.sqlite3")) as connection, connection:
        connection.execute("delete from tools where id = ?", (lost.id,))
    assert await slugs(FileBundles(folder, Threads())) == []
    (tmp_path / "boot_id").write_text("another boot")
    monkeypatch.setattr(sync, "BOOT_ID", str(tmp_path / "boot_id"))
    assert await slugs(FileBundles(folder, Threads())) == ["lost"]


async def test_system_without_a_boot_id(folder, store, monkeypatch):
    monkeypatch.setattr(sync, "BOOT_ID", "/nonexistent")
    await add(store, await new_bundle(store), "first")
    assert await slugs(FileBundles(folder, Threads())) == ["first"]


async def test_store_of_an_older_version_is_opened(folder, store):
    """It has files that claim slugs and versions, and an index with other tables: nothing of it remains."""
    bundle = await new_bundle(store)
    tool, deleted = [(await add(store, bundle, slug)).tool for slug in ("first", "deleted")]
    await store.aclose()
    (folder / bundle.id / f"{deleted.id}.json").unlink()
    claims = folder / bundle.id / ".claims"
    claims.mkdir()
    (claims / "0123").write_text(tool.id)
    with closing(sqlite3.connect(folder / "index.sqlite3")) as connection, connection:
        connection.execute("drop table boots")
        connection.execute("alter table tools add column old text")
        connection.execute("pragma user_version = 2")
    fresh = FileBundles(folder, Threads())
    assert await slugs(fresh) == ["first"]
    assert not claims.exists()
    with pytest.raises(AlreadyExists):
        await add(fresh, bundle, "first")


@pytest.mark.parametrize(
    ("field", "value"),
    [("slug", None), ("version", None), ("argSchema", None), ("isEnabled", None), ("tags", [1])],
)
async def test_missing_or_wrong_value_affects_only_its_tool(folder, field, value):
    fill(folder, bundles=1, tools=3)
    file = sorted(file for file in folder.glob("*/*.json") if file.name != "bundle.json")[0]
    file.write_text(json.dumps({**json.loads(file.read_text()), field: value}))
    store = FileBundles(folder, Threads())
    assert await slugs(store) == ["t1", "t2"]
    assert len(store.problems) == 1


async def test_pipe_is_skipped(folder):
    """Reading it would block."""
    fill(folder, bundles=1, tools=1)
    (bundle,) = [path for path in folder.iterdir() if path.is_dir()]
    os.mkfifo(bundle / f"{uuid7()}.json")
    assert await slugs(FileBundles(folder, Threads())) == ["t0"]


async def test_directory_with_the_record_of_another_bundle_is_reported(folder):
    """It does not replace the other bundle, and other bundles are indexed."""
    fill(folder, bundles=2, tools=1)
    record = next(folder.glob("*/bundle.json"))
    copy = folder / str(uuid7())
    copy.mkdir()
    (copy / "bundle.json").write_bytes(record.read_bytes())
    store = FileBundles(folder, Threads())
    assert await slugs(store) == ["t0", "t0"]
    assert [copy.name in problem for problem in store.problems] == [True]


async def test_bundle_that_is_locked_is_indexed_when_it_is_free(folder, monkeypatch):
    """The others do not wait for it."""
    fill(folder, bundles=3, tools=1)
    monkeypatch.setattr(indexer, "TIMEOUT_S", 0.0)
    (first, *_) = sorted(path.name for path in folder.iterdir())
    with FileBundles(folder, Threads())._files.locked(first):
        assert await slugs(FileBundles(folder, Threads())) == ["t0", "t0"]
    assert await slugs(FileBundles(folder, Threads())) == ["t0"] * 3


async def test_slug_that_moves_to_another_file(folder, store):
    """Its old file has another version now, and both tools exist."""
    bundle = await new_bundle(store)
    old = (await add(store, bundle, "moved")).tool
    new = new_tool(bundle, "moved", id=f"0{old.id[1:-1]}0")
    (folder / bundle.id / f"{old.id}.json").unlink()
    write(folder, replace(new, description="new"))
    assert (await FileBundles(folder, Threads()).tool(new.key)).tool.id == new.id
