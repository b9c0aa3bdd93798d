"""What one workspace stores does not exist in another one."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from onetool.domain.content.media import Media
from onetool.domain.servers.manifest import merge
from onetool.domain.servers.server_tool import ServerTool
from onetool.storage.postgres.client_sessions import PostgresClientSessions
from onetool.storage.postgres.manifests import PostgresManifests
from onetool.storage.postgres.results import PostgresResults
from onetool.storage.postgres.sessions import PostgresSessions
from onetool.storage.postgres.toggles import PostgresToggles
from onetool.threads import Threads
from support.postgres import new_workspace

SESSION = "1" * 32
LATER = 1e12
MEDIA = Media(b"\x89PNG", "image/png")
MANIFEST = merge(None, [ServerTool(definition={"name": "a", "inputSchema": {}})], 1.0)


class Case(NamedTuple):
    """How to write to a store, read all of it and remove all of it."""

    store: Callable[..., Any]
    write: Callable[[Any], Awaitable[Any]]
    read: Callable[[Any, Any], Awaitable[Any]]
    """Gets the store and what `write` returned."""
    remove: Callable[[Any], Awaitable[Any]]
    nothing: Any


async def read_sessions(store, _):
    return [*await store.read("s"), *(await store.page(None, 10)).items]


async def remove_sessions(store):
    assert not await store.delete("s")
    assert await store.reap(LATER) == 0


async def remove_entry(store):
    await store.remove(SESSION, "level")
    await store.reap(LATER)


async def read_text(store, stored):
    return [await store.find(stored.handle), await store.text(stored.handle)]


async def read_media(store, stored):
    return [await store.find(stored.handle), await store.media(stored.handle)]


CASES = {
    "toggles": Case(
        PostgresToggles,
        lambda store: store.set("shell", False),
        lambda store, _: store.read(),
        lambda store: store.set("shell", True),
        {},
    ),
    "manifests": Case(
        PostgresManifests,
        lambda store: store.change("s", lambda _: MANIFEST),
        lambda store, _: store.read("s"),
        lambda store: store.change("s", lambda before: before or merge(None, [], 2.0)),
        None,
    ),
    "client_sessions": Case(
        PostgresClientSessions,
        lambda store: store.put(SESSION, "level", "error"),
        lambda store, _: store.read(SESSION),
        remove_entry,
        {},
    ),
    "sessions": Case(
        PostgresSessions,
        lambda store: store.append("s", [{"type": "message", "role": "user", "text": "secret"}]),
        read_sessions,
        remove_sessions,
        [],
    ),
    "texts": Case(
        PostgresResults,
        lambda store: store.put("secret", "demo.tool"),
        read_text,
        lambda store: store.put("other", "demo.tool"),
        [None, None],
    ),
    "media": Case(
        PostgresResults,
        lambda store: store.put_media(MEDIA, "demo.tool"),
        read_media,
        lambda store: store.put_media(MEDIA, "other.tool"),
        [None, None],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_another_workspace_neither_reads_nor_changes_what_is_stored(
    case, workspace, postgres, postgres_url
):
    threads = Threads()
    own = case.store(workspace, threads)
    other = case.store(new_workspace(postgres, postgres_url), threads)
    written = await case.write(own)
    expected = await case.read(own, written)
    assert expected != case.nothing
    assert await case.read(other, written) == case.nothing
    await case.remove(other)
    assert await case.read(own, written) == expected


async def test_expired_results_of_another_workspace_stay(workspace, postgres, postgres_url):
    threads = Threads()
    own = PostgresResults(workspace, threads, lambda: 0.0)
    stored = await own.put("text", "demo.tool", 10)
    other = PostgresResults(new_workspace(postgres, postgres_url), threads, lambda: LATER)
    await other.put("text", "demo.tool")
    assert await own.text(stored.handle) == "text"


async def test_names_may_be_equal_in_two_workspaces(workspace, postgres, postgres_url):
    threads = Threads()
    stores = [PostgresSessions(each, threads) for each in (workspace, new_workspace(postgres, postgres_url))]
    for number, store in enumerate(stores):
        await store.append("s", [{"type": "title", "title": f"{number}"}])
    assert [(await store.page(None, 9)).items[0].title for store in stores] == ["0", "1"]
