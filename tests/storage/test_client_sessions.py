"""Contract suite of the stores of client sessions, and failures specific to files."""

import time

import pytest

from onetool.storage.files.client_sessions import SETTLED_NS, FileClientSessions
from onetool.storage.memory.client_sessions import MemoryClientSessions
from onetool.storage.postgres.client_sessions import PostgresClientSessions
from onetool.threads import Threads

ONE, TWO = "1" * 32, "2" * 32
URI = "uri." + "a" * 64


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data" / "client_sessions"


@pytest.fixture(params=["memory", "files", "postgres"])
def store(request, folder):
    if request.param == "postgres":
        return PostgresClientSessions(request.getfixturevalue("workspace"), Threads())
    return MemoryClientSessions() if request.param == "memory" else FileClientSessions(folder, Threads())


async def test_entries_are_read_by_session(store):
    assert await store.read(ONE) == {}
    await store.put(ONE, "level", "error")
    await store.put(ONE, "level", "debug")
    await store.put(ONE, URI, "memo:ö")
    await store.put(TWO, "ended", "")
    assert await store.read(ONE) == {"level": "debug", URI: "memo:ö"}
    await store.remove(ONE, "level")
    await store.remove(ONE, "level")
    await store.remove("3" * 32, "level")
    assert await store.read(ONE) == {URI: "memo:ö"}
    assert await store.read(TWO) == {"ended": ""}
    await store.aclose()


async def test_generation_changes_with_every_write_to_the_session(store):
    seen, other = [store.generation(ONE)], store.generation(TWO)
    for name in ("level", "ended"):
        await store.put(ONE, name, "x")
        seen.append(store.generation(ONE))
    await store.remove(ONE, "level")
    seen.append(store.generation(ONE))
    assert len(set(seen)) == 4
    assert store.generation(TWO) == other


@pytest.mark.parametrize(
    ("session", "name"),
    [("../x", "level"), ("1" * 31, "level"), (ONE, "../level"), (ONE, "uri.x"), (ONE, ""), (ONE, "a" * 17)],
)
async def test_names_that_are_no_names_of_files_are_refused(store, session, name):
    for write in (store.put(session, name, "x"), store.remove(session, name)):
        with pytest.raises(ValueError, match="Invalid"):
            await write


async def test_old_sessions_are_deleted(store):
    await store.reap(time.time())
    await store.put(ONE, "ended", "")
    await store.reap(time.time() - 60)
    assert await store.read(ONE) == {"ended": ""}
    await store.reap(time.time() + 60)
    assert await store.read(ONE) == {}


async def test_files_of_others_are_ignored(folder):
    store = FileClientSessions(folder, Threads())
    await store.put(ONE, "level", "info")
    (folder / ONE / ".level.123").write_text("of a killed process")
    (folder / ONE / "cancel").write_bytes(b"\xff")
    (folder / "notes").mkdir()
    assert await store.read(ONE) == {"level": "info"}
    await store.reap(time.time() + 60)
    assert [file.name for file in folder.iterdir()] == ["notes"]


async def test_generation_is_stable_once_the_time_of_the_directory_shows_every_write(folder):
    now = [time.time_ns()]
    store = FileClientSessions(folder, Threads(), lambda: now[0])
    await store.put(ONE, "level", "info")
    written = (folder / ONE).stat().st_mtime_ns
    now[0] = written + 1
    early = store.generation(ONE)
    now[0] = written + 2
    assert store.generation(ONE) != early
    now[0] = written + SETTLED_NS + 1
    settled = store.generation(ONE)
    now[0] += SETTLED_NS
    assert store.generation(ONE) == settled
