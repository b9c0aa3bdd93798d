"""Stores of records in PostgreSQL: several processes, names that it refuses, and limits."""

import asyncio
import threading

import psycopg
import pytest

from onetool.domain.chat.transcript import SessionSummary
from onetool.domain.content.media import Media
from onetool.domain.errors import StoreUnavailable
from onetool.domain.results.stored_result import METADATA_RETENTION_S
from onetool.domain.servers.manifest import ServerManifest, merge
from onetool.domain.servers.server_tool import ServerTool
from onetool.storage.postgres import announcements
from onetool.storage.postgres.client_sessions import PostgresClientSessions
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.manifests import PostgresManifests
from onetool.storage.postgres.results import MAX_BYTES, SWEEP_SIZE, PostgresResults
from onetool.storage.postgres.sessions import PostgresSessions
from onetool.storage.postgres.toggles import PostgresToggles
from onetool.storage.postgres.workspace_database import Revisions, WorkspaceDatabase
from onetool.threads import Threads
from support.postgres import set_fenced, waits_for_lock

ME = "local"
ONE, TWO = "1" * 32, "2" * 32
UNSTORABLE = pytest.mark.parametrize("name", ["a\0b", "a\ud800b"], ids=["NUL", "surrogate"])


@pytest.fixture
def elsewhere(postgres_url, workspace):
    """Return the workspace as another process sees it."""
    database = Database(postgres_url)
    yield WorkspaceDatabase(database, workspace.workspace)
    database.close()


def user(text):
    return {"type": "message", "role": "user", "text": text}


async def test_what_one_process_writes_another_one_reads(workspace, elsewhere):
    threads = Threads()
    await PostgresToggles(workspace, threads).set("shell", False)
    await PostgresClientSessions(workspace, threads).put(ONE, "level", "error")
    stored = await PostgresResults(workspace, threads).put("text", "a.b", owner=ME)
    assert await PostgresToggles(elsewhere, threads).read() == {"shell": False}
    assert await PostgresClientSessions(elsewhere, threads).read(ONE) == {"level": "error"}
    assert await PostgresResults(elsewhere, threads).text(stored.handle, reader=ME) == "text"


async def test_toggles_and_manifests_have_the_revision_of_the_workspace(workspace):
    """A write that is announced by another process changes their generations."""
    stores = PostgresToggles(workspace, Threads()), PostgresManifests(workspace, Threads())
    await stores[0].set("shell", False)
    workspace.note(Revisions(5))
    assert [stores[0].generation(), stores[1].generation("s")] == [workspace.generation] * 2


async def test_records_do_not_change_the_revision(workspace):
    before = workspace.generation
    await PostgresSessions(workspace, Threads()).append("s", [user("x")])
    await PostgresClientSessions(workspace, Threads()).put(ONE, "level", "x")
    await PostgresResults(workspace, Threads()).put("text", "a.b", owner=ME)
    assert workspace.generation == before


async def test_processes_change_a_manifest_one_after_the_other(workspace, elsewhere, postgres_url):
    """The second change waits until the first one is stored, and gets its result."""
    stores = [PostgresManifests(each, Threads()) for each in (workspace, elsewhere)]
    is_begun, may_end = threading.Event(), threading.Event()

    def first(manifest: ServerManifest | None) -> ServerManifest:
        is_begun.set()
        assert may_end.wait(30)
        return merge(manifest, [tool("a")], 1.0)

    def second(manifest: ServerManifest | None) -> ServerManifest:
        assert may_end.is_set()
        return merge(manifest, [*(manifest.tools if manifest else ()), tool("b")], 2.0)

    changes = [asyncio.create_task(stores[0].change("s", first))]
    assert await asyncio.to_thread(is_begun.wait, 30)
    changes.append(asyncio.create_task(stores[1].change("s", second)))
    async with asyncio.timeout(30):
        while not changes[1].done() and not await asyncio.to_thread(waits_for_lock, postgres_url):
            pass
    may_end.set()
    await asyncio.gather(*changes)
    assert [tool.name for tool in (await stores[0].read("s")).tools] == ["a", "b"]


def tool(name):
    return ServerTool(definition={"name": name, "inputSchema": {}})


async def test_failed_change_of_a_manifest_changes_nothing(workspace):
    store, before = PostgresManifests(workspace, Threads()), workspace.generation

    def fail(manifest):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        await store.change("s", fail)
    assert (await store.read("s"), workspace.generation) == (None, before)


@pytest.mark.parametrize("body", ["{", "[]", '{"tools": 1}', ""])
async def test_corrupt_manifest_counts_as_missing(workspace, caplog, body):
    store = PostgresManifests(workspace, Threads())
    await store.change("s", lambda _: merge(None, [tool("a")], 1.0))
    with workspace.writing() as cursor:
        cursor.execute("update manifests set body = %s", (body,))
    assert await store.read("s") is None
    assert "corrupt manifest of server s" in caplog.text
    assert await store.change("s", lambda manifest: merge(manifest, [tool("b")], 1.0))
    assert (await store.read("s")).find("b")


async def test_definitions_are_stored_as_they_are(workspace):
    """In the order of their keys, with every character that JSON permits."""
    odd = ServerTool(definition={"name": "a", "z": 1, "inputSchema": {}, "b": "\0\ud800 漢", "": [1e300]})
    store = PostgresManifests(workspace, Threads())
    await store.change("s", lambda _: merge(None, [odd], 1.0))
    (read,) = (await store.read("s")).tools
    assert list(read.definition.items()) == list(odd.definition.items())


@UNSTORABLE
async def test_names_that_cannot_be_stored_are_unknown_or_refused(workspace, name):
    threads = Threads()
    manifests = PostgresManifests(workspace, threads)
    assert await manifests.read(name) is None
    assert await PostgresClientSessions(workspace, threads).read(name) == {}
    with pytest.raises(ValueError, match="Invalid name"):
        await manifests.change(name, lambda _: merge(None, [], 1.0))
    with pytest.raises(ValueError, match="Invalid name"):
        await PostgresToggles(workspace, threads).set(name, False)
    sessions = PostgresSessions(workspace, threads)
    with pytest.raises(ValueError, match="Invalid cursor"):
        await sessions.page(f"1.0|{name}", 10)
    assert await sessions.reap(0.0, keep=name) == 0


@UNSTORABLE
async def test_texts_of_clients_may_have_any_character(workspace, name):
    threads = Threads()
    clients, results = PostgresClientSessions(workspace, threads), PostgresResults(workspace, threads)
    await clients.put(ONE, "level", name)
    assert await clients.read(ONE) == {"level": name}
    stored = await results.put(name, name, owner=ME)
    assert (
        await results.text(stored.handle, reader=ME),
        await results.find(stored.handle, reader=ME),
    ) == (name, stored)


async def test_numbers_of_client_sessions_are_limited_and_never_used_twice(workspace, monkeypatch):
    monkeypatch.setattr(announcements, "MAX_NUMBERS", 1)
    store = PostgresClientSessions(workspace, Threads())
    seen = [store.generation(ONE)]
    for session in (ONE, TWO, ONE, TWO):
        await store.put(session, "level", "a")
        seen.append(store.generation(ONE))
    assert len(set(seen)) == len(seen)


async def test_removed_entry_counts_as_a_write_to_its_session(workspace, clock):
    store = PostgresClientSessions(workspace, Threads(), clock)
    await store.put(ONE, "level", "a")
    await store.put(ONE, "ended", "a")
    clock.time += 10
    await store.remove(ONE, "level")
    await store.reap(clock.time)
    assert await store.read(ONE) == {"ended": "a"}


async def test_processes_append_to_a_session_without_gaps(workspace, elsewhere):
    """The records of one append stay together."""
    stores = [PostgresSessions(each, Threads()) for each in (workspace, elsewhere)]
    await asyncio.gather(
        *(
            store.append("s", [user(f"{number} {n}") for n in range(3)])
            for number in range(4)
            for store in stores
        )
    )
    texts = [record["text"] for record in await stores[0].read("s")]
    assert len(texts) == 24
    assert [text.split()[1] for text in texts] == ["0", "1", "2"] * 8
    assert all(len({text.split()[0] for text in texts[start : start + 3]}) == 1 for start in range(0, 24, 3))
    with workspace.reading() as cursor:
        cursor.execute("select n from session_records order by n")
        assert cursor.fetchall() == [(n,) for n in range(1, 25)]


async def test_summary_of_a_session_is_stored_until_it_changes(workspace, clock):
    store = PostgresSessions(workspace, Threads(), clock)
    await store.append("s", [user("What\0?")])
    assert summaries(workspace) == [(None,)]
    for _ in range(2):
        assert (await store.page(None, 10)).items == [SessionSummary("s", "What\0?", clock.time, 1)]
        assert summaries(workspace) != [(None,)]
    clock.time += 1
    await store.append("s", [user("More")])
    assert (await store.page(None, 10)).items == [SessionSummary("s", "What\0?", clock.time, 2)]


async def test_read_only_workspace_can_list_its_sessions(workspace, postgres_url, caplog):
    store = PostgresSessions(workspace, Threads())
    await store.append("s", [user("one")])
    set_fenced(postgres_url, workspace.workspace)
    assert [summary.title for summary in (await store.page(None, 10)).items] == ["one"]
    assert "cannot store summaries" in caplog.text


def summaries(workspace):
    with workspace.reading() as cursor:
        return cursor.execute("select summary from sessions").fetchall()


async def test_sessions_that_changed_at_one_time_are_on_different_pages(workspace, clock):
    store = PostgresSessions(workspace, Threads(), clock)
    for name in ("B", "a", "c"):
        await store.append(name, [user(name)])
    listed, cursor = [], None
    for _ in range(3):
        page = await store.page(cursor, 1)
        listed += [summary.id for summary in page.items]
        cursor = page.next
    assert (listed, cursor) == (["c", "a", "B"], None)


async def test_invalid_records_are_skipped(workspace, caplog):
    store = PostgresSessions(workspace, Threads())
    await store.append("s", [user("one"), user("two"), user("three")])
    with workspace.recording() as cursor:
        cursor.execute("update session_records set body = '[1]' where n = 1")
        cursor.execute("update session_records set body = '{' where n = 2")
    assert [record["text"] for record in await store.read("s")] == ["three"]
    assert "skipped invalid record 2 of session s" in caplog.text


async def test_result_over_the_limit_is_refused(workspace):
    store = PostgresResults(workspace, Threads())
    with pytest.raises(StoreUnavailable, match="exceeds the limit of 67108864"):
        await store.put("x" * (MAX_BYTES + 1), "a.b", owner=ME)
    with pytest.raises(StoreUnavailable, match="exceeds the limit"):
        await store.put_media(Media(bytes(MAX_BYTES + 1), "image/png"), "a.b", owner=ME)
    stored = await store.put("x", "a.b", owner=ME)
    too_long = "update results set body = convert_to(repeat('x', %s), 'UTF8') where handle = %s"
    with pytest.raises(psycopg.errors.CheckViolation), workspace.recording() as cursor:
        cursor.execute(too_long, (MAX_BYTES + 1, stored.handle))


async def test_expired_results_lose_their_content_and_later_their_metadata(workspace, clock):
    store, media = PostgresResults(workspace, Threads(), clock), Media(b"x", "image/png")
    text = await store.put("old", "a.b", 10, owner=ME)
    await store.put_media(media, "a.b", 10, owner=ME)
    clock.time += 10
    await store.put("new", "a.b", 10, owner=ME)
    assert bodies(workspace, text.handle) + bodies(workspace, media.handle) == [(None,), (None,)]
    clock.time += METADATA_RETENTION_S
    await store.put("newer", "a.b", 10, owner=ME)
    assert await store.find(text.handle, reader=ME) == text
    clock.time += 1
    await store.put("newest", "a.b", 10, owner=ME)
    assert [
        await store.find(text.handle, reader=ME),
        await store.find(media.handle, reader=ME),
    ] == [None, None]


def bodies(workspace, handle):
    with workspace.reading() as cursor:
        return cursor.execute("select body from results where handle = %s", (handle,)).fetchall()


async def test_expired_results_are_deleted_in_pieces(workspace, clock):
    store = PostgresResults(workspace, Threads(), clock)
    handles = [(await store.put("old", "a.b", 10, owner=ME)).handle for _ in range(SWEEP_SIZE + 1)]
    clock.time += METADATA_RETENTION_S + 11
    left = []
    for _ in range(2):
        await store.put("new", "a.b", METADATA_RETENTION_S, owner=ME)
        left.append(len([handle for handle in handles if bodies(workspace, handle)]))
    assert left == [1, 0]


async def test_processes_that_store_the_same_media_get_one_result(workspace, elsewhere):
    media = Media(b"x" * 1000, "image/png")
    stores = [PostgresResults(each, Threads()) for each in (workspace, elsewhere)]
    stored = await asyncio.gather(
        *(store.put_media(media, f"tool.{number}", owner=ME) for number in range(4) for store in stores)
    )
    assert set(stored) == {await stores[0].find(media.handle, reader=ME)}


@pytest.mark.parametrize("meta", ["", "{", "[]", '{"handle": 1}', "null"])
async def test_corrupt_metadata_is_an_unknown_handle(workspace, meta):
    store, media = PostgresResults(workspace, Threads()), Media(b"x", "image/png")
    await store.put_media(media, "a.b", owner=ME)
    with workspace.recording() as cursor:
        cursor.execute("update results set meta = %s", (meta,))
    assert (
        await store.find(media.handle, reader=ME),
        await store.media(media.handle, reader=ME),
    ) == (None, None)
