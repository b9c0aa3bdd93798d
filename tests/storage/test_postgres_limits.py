"""Quotas of a workspace: refused by name, and exact with several writers in several processes."""

import asyncio
import json
from dataclasses import replace

import psycopg
import pytest

from onetool.domain.bundles.bundle import BundleConflict
from onetool.domain.content.media import Media
from onetool.domain.errors import QuotaExceeded, SettingsError
from onetool.domain.results.stored_result import MIN_MEDIA_AGE_S
from onetool.storage.postgres.bundles.store import PostgresBundles
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.directory import Directory, WorkspaceAdmin
from onetool.storage.postgres.results import SWEEP_SIZE, PostgresResults
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.workspace_database import Revisions, WorkspaceDatabase
from onetool.threads import Threads
from storage.stored_bundles import make_bundle, new_tool
from support.postgres import RING

BUNDLE = make_bundle()
WRITERS = 4


@pytest.fixture
def slug(workspace, home_database):
    """Return the name of the workspace."""
    return Directory(home_database).find_id(workspace.workspace).slug


@pytest.fixture
def admin(clusters):
    return WorkspaceAdmin(clusters.home, RING, clusters.others)


@pytest.fixture
def limit(admin, slug):
    """Return a function that limits the workspace."""

    def change(**limits: int | None) -> None:
        assert admin.change_limits(slug, limits) is not None

    return change


def total(workspace: WorkspaceDatabase) -> tuple[int, int]:
    """Return the stored sum of the sizes of results, and the real one."""
    with workspace.reading() as cursor:
        cursor.execute("select coalesce(sum(bytes), 0)::bigint from result_totals")
        ((counted,),) = cursor.fetchall()
        cursor.execute("select coalesce(sum(octet_length(body)), 0)::bigint from results")
        ((stored,),) = cursor.fetchall()
    return counted, stored


@pytest.fixture
def writers(workspace, postgres_url):
    """Return the workspace in several processes: each with connections of its own."""
    databases = [Database(postgres_url, max_connections=2) for _ in range(WRITERS)]
    yield [WorkspaceDatabase(database, workspace.workspace) for database in databases]
    for database in databases:
        database.close()


async def outcomes(*attempts):
    """Return how many attempts succeeded, and the errors of the others."""
    results = await asyncio.gather(*attempts, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    return len(results) - len(errors), errors


async def test_writers_of_several_processes_store_no_more_tools_than_the_limit(workspace, writers, limit):
    limit(stored_tools=10)
    stores = [PostgresBundles(own, Threads()) for own in writers]
    await stores[0].change_bundle(BUNDLE.id, lambda old: BUNDLE)
    stored, errors = await outcomes(
        *(stores[n % WRITERS].add_tool(new_tool(BUNDLE, f"tool-{n}"), lambda bundle: None) for n in range(30))
    )
    assert (stored, {type(error) for error in errors}) == (10, {BundleConflict})
    assert await stores[0].count() == 10
    assert str(errors[-1]) == (
        "Nothing was stored: the workspace has 10 tools, and with 1 more it would exceed its limit of 10"
        " (stored_tools). Delete others first."
    )


async def test_import_beyond_the_limit_stores_nothing(workspace, limit):
    store = PostgresBundles(workspace, Threads())
    limit(stored_tools=5)
    await store.import_bundle(BUNDLE, [new_tool(BUNDLE, f"tool-{n}") for n in range(3)])
    other = make_bundle("other")
    with pytest.raises(BundleConflict, match=r"has 3 tools, and with 3 more it would exceed its limit of 5"):
        await store.import_bundle(other, [new_tool(other, f"tool-{n}") for n in range(3)])
    assert (await store.bundle(other.id), await store.count()) == (None, 3)
    await store.import_bundle(other, [new_tool(other, f"tool-{n}") for n in range(2)])
    changed = await store.change_tool(
        (BUNDLE.id, "tool-1", "v1"), lambda bundle, old: replace(old, is_enabled=False)
    )
    assert not changed.tool.is_enabled
    limit(stored_tools=None)
    await store.add_tool(new_tool(BUNDLE), lambda bundle: None)


async def test_writers_of_several_processes_store_no_more_secrets_than_the_limit(workspace, writers, limit):
    limit(secrets=3)
    stores = [PostgresSecrets(own, Threads(), Sealer(own, RING)) for own in writers]
    stored, errors = await outcomes(*(stores[n % WRITERS].put(f"S{n}", "value") for n in range(12)))
    assert (stored, {type(error) for error in errors}) == (3, {QuotaExceeded})
    names = list(stores[0].read())
    assert len(names) == 3
    await stores[0].put(names[0], "other")
    with pytest.raises(QuotaExceeded, match=r"has 3 secrets, and its limit is 3 \(secrets\)"):
        await stores[0].put("MORE", "value")
    await stores[0].delete(names[0])
    await stores[0].put("MORE", "value")


async def test_writers_of_several_processes_store_no_more_bytes_of_results_than_the_limit(
    workspace, writers, limit
):
    limit(result_bytes=10_000)
    stores = [PostgresResults(own, Threads()) for own in writers]
    stored, errors = await outcomes(
        *(stores[n % WRITERS].put("x" * 1_000, "t", owner="local") for n in range(30))
    )
    assert (stored, {type(error) for error in errors}) == (10, {QuotaExceeded})
    assert total(workspace) == (10_000, 10_000)
    assert str(errors[-1]) == (
        "A result of 1000 bytes was not stored: the stored results of the workspace have 10000 bytes, and"
        " their limit is 10000 (result_bytes). They expire with time."
    )


async def test_expired_results_make_room(workspace, limit, clock):
    """Also if there are more of them than a `put` deletes otherwise."""
    limit(result_bytes=3 * SWEEP_SIZE)
    store = PostgresResults(workspace, Threads(), clock)
    for _ in range(3 * SWEEP_SIZE):
        await store.put("x", "t", ttl_s=10, owner="local")
    with pytest.raises(QuotaExceeded):
        await store.put("x", "t", owner="local")
    clock.time += 11
    await store.put("y" * (2 * SWEEP_SIZE + 1), "t", owner="local")
    assert total(workspace) == (2 * SWEEP_SIZE + 1, 2 * SWEEP_SIZE + 1)


async def test_oldest_media_make_room_and_new_ones_do_not(workspace, limit, clock):
    limit(result_bytes=3_000)
    store = PostgresResults(workspace, Threads(), clock)
    first, second, third = (Media(bytes([n]) * 1_000, "image/png") for n in range(3))
    await store.put_media(first, "t", owner="local")
    clock.time += 1
    await store.put_media(second, "t", owner="local")
    await store.put_media(second, "t", owner="local")
    assert total(workspace) == (2_000, 2_000)
    with pytest.raises(QuotaExceeded):
        await store.put("x" * 1_001, "t", owner="local")
    clock.time += MIN_MEDIA_AGE_S
    await store.put("x" * 1_001, "t", owner="local")
    assert await store.media(first.handle, reader="local") is None
    assert await store.media(second.handle, reader="local") is not None
    await store.put_media(third, "t", owner="local")
    assert await store.media(second.handle, reader="local") is None
    with pytest.raises(QuotaExceeded):
        await store.put_media(first, "t", owner="local")
    assert total(workspace) == (2_001, 2_001)


def test_limits_are_changed_by_name_and_announced(workspace, postgres_url, admin, slug, limit):
    with psycopg.connect(postgres_url, autocommit=True) as listener:
        listener.execute("listen onetool")
        limit(calls_per_minute=5)
        (notice,) = listener.notifies(timeout=60, stop_after=1)
        id, *revisions = notice.payload.split(" ")
        assert id == str(workspace.workspace)
        workspace.note(Revisions(*map(int, revisions)))
    assert (workspace.settings_changes, workspace.keys_changes) == (1, 0)
    with workspace.reading() as cursor:
        cursor.execute("select limits from workspace_state where workspace_id = %s", (workspace.workspace,))
        ((stored,),) = cursor.fetchall()
    assert json.loads(stored) == {"calls_per_minute": 5}
    assert admin.change_limits(slug, {"secrets": None}).calls_per_minute == 5
    with pytest.raises(SettingsError, match="calls_per_minute is 0"):
        admin.change_limits(slug, {"calls_per_minute": 0})
    assert admin.change_limits(slug, {}).calls_per_minute == 5
    assert admin.change_limits("no-such-workspace", {}) is None
