"""Contract suite of the bundle stores, and guarantees specific to files."""

import json
import os
import shutil
import time
from dataclasses import replace
from random import Random

import pytest
from uuid_utils.compat import uuid7

from onetool.domain.bundles.bundle import AlreadyExists, Bundle, BundleFilter, rfc3339
from onetool.domain.bundles.ranking import MAX_SIMILAR_SLUGS, SearchQuery, find_hits
from onetool.storage.files.bundles.store import FileBundles
from onetool.storage.files.bundles.sync import CHECK_INTERVAL_S
from onetool.storage.memory.bundles import MemoryBundles
from onetool.storage.postgres.bundles import queries
from onetool.storage.postgres.bundles import store as postgres_store
from onetool.storage.postgres.bundles.store import PostgresBundles
from onetool.threads import Threads
from storage.file_access import counted_access
from storage.stored_bundles import EVERYTHING, add, make_bundle, new_bundle, new_tool, slugs
from support.postgres import execute


@pytest.fixture(params=["memory", "files", "files without FTS5", "postgres"])
def store(request, tmp_path):
    if request.param == "postgres":
        return PostgresBundles(request.getfixturevalue("workspace"), Threads())
    if request.param == "memory":
        return MemoryBundles()
    return FileBundles(tmp_path / "bundles", Threads(), full_text=request.param == "files")


async def test_program_and_steps_are_stored_as_they_are(store):
    bundle = await new_bundle(store)
    impl = {"program": "a = x.y(z='\\u0000 ä')\na\n", "steps": [{"name": "a", "tool": "x.y", "args": {}}]}
    stored = await add(store, bundle, type="code", http_impl=None, python_impl=None, code_impl=impl)
    assert (await store.tool(stored.tool.key)).tool.code_impl == impl
    assert (await store.find(stored.name))[0].tool == stored.tool


def reject(*args):
    raise PermissionError("no")


async def test_second_tool_with_the_same_slug_and_version_is_rejected(store):
    """The first one stays unchanged. Slugs are case-sensitive."""
    bundle, other = await new_bundle(store), await new_bundle(store, "other")
    first = await add(store, bundle, description="first")
    with pytest.raises(AlreadyExists):
        await add(store, bundle, description="second")
    assert await store.tool(first.tool.key) == first
    await add(store, bundle, version="v2")
    await add(store, bundle, "Get-Rain")
    assert (await add(store, other)).name == "other.get_rain"
    assert (await store.count(), first.name) == (4, "weather.get_rain")


async def test_callback_that_raises_changes_nothing(store, tmp_path):
    """No directory is created for a rejected bundle."""
    ghost = Bundle(id=str(uuid7()), slug="ghost")
    for attempt in (
        lambda: store.change_bundle(ghost.id, reject),
        lambda: store.add_tool(new_tool(ghost), reject),
        lambda: store.change_tool((ghost.id, "a", "b"), reject),
    ):
        with pytest.raises(PermissionError):
            await attempt()
    assert await store.bundle(ghost.id) is None
    assert not (tmp_path / "bundles" / ghost.id).exists()
    assert await store.delete_tool((ghost.id, "a", "b")) is False
    assert await store.tool((ghost.id, "a", "b")) is None


async def test_pages_return_every_item_once(store):
    """With every filter. Deleted bundles and their tools are not stored."""
    bundles = [await new_bundle(store, f"b{n}", is_enabled=n != 1) for n in range(3)]
    for bundle in bundles:
        for n in range(3):
            await add(store, bundle, f"t{n}", tags=("even",) if n % 2 == 0 else (), is_enabled=n != 0)
    deleted = await new_bundle(store, "deleted")
    await add(store, deleted)
    await store.change_bundle(deleted.id, lambda bundle: replace(bundle, soft_deleted_at=rfc3339(3)))

    async def collect(list_page, filter):
        items, cursor = [], None
        while True:
            page = await list_page(filter, cursor, 2)
            items += page.items
            cursor = page.next
            if cursor is None:
                return items

    assert len(await collect(store.bundles, EVERYTHING)) == 3
    assert len(await collect(store.bundles, BundleFilter())) == 2
    assert await collect(store.bundles, BundleFilter(bundle_ids=frozenset({bundles[0].id}))) == [bundles[0]]
    tools = await collect(store.tools, EVERYTHING)
    assert len({stored.tool.id for stored in tools}) == len(tools) == 9
    assert len(await collect(store.tools, BundleFilter())) == 4
    assert len(await collect(store.tools, BundleFilter(tags=frozenset({"even", "x"})))) == 2
    last = BundleFilter(bundle_ids=frozenset({bundles[2].id}), include_disabled=True)
    assert len(await collect(store.tools, last)) == 3
    assert await store.find("deleted.get_rain") == []
    assert await store.tool((deleted.id, "get-rain", "v1")) is not None


async def test_changes_are_visible_and_change_the_generation(store):
    """The slug and version of a deleted tool can be used again."""
    bundle = await new_bundle(store)
    stored = await add(store, bundle)
    before = store.generation()
    changed = await store.change_tool(stored.tool.key, lambda _, tool: replace(tool, is_enabled=False))
    assert (changed.is_enabled, stored.is_enabled) == (False, True)
    assert store.generation() != before
    assert await store.delete_tool(stored.tool.key) is True
    assert await store.find("weather.get_rain") == []
    assert (await add(store, bundle)).tool.id != stored.tool.id
    before = store.generation()
    await store.import_bundle(make_bundle("imported"), [])
    assert store.generation() != before


async def test_names_in_code_are_unique(store):
    """The older bundle has the short name until it is deleted. Function names are unique too."""
    old, young = await new_bundle(store, "my-api"), await new_bundle(store, "my-api", created_at=rfc3339(5))
    await add(store, young, "get")
    long = f"my_api__{young.id[-8:]}.get"
    assert [stored.name for stored in await store.find(long)] == [long]
    await store.change_bundle(old.id, lambda bundle: replace(bundle, soft_deleted_at=rfc3339(9)))
    assert [stored.name for stored in await store.find("my_api.get")] == ["my_api.get"]
    await add(store, young, "ﬁx", created_at=rfc3339(7))
    assert (await add(store, young, "fix", created_at=rfc3339(8))).name.startswith("my_api.fix_")
    await add(store, young, "2-fast")
    assert await store.find("my_api._2_fast")
    await add(store, young, "class")
    assert await store.find("my_api._class")


async def test_versions_are_ordered_newest_first(store):
    """By creation time, not by version label."""
    bundle = await new_bundle(store)
    await add(store, bundle, version="2.0", created_at=rfc3339(1))
    await add(store, bundle, version="1.0", created_at=rfc3339(2))
    assert [stored.tool.version for stored in await store.find("weather.get_rain")] == ["1.0", "2.0"]


async def search(store, query, filter=EVERYTHING, page_size=100) -> list[str]:
    """Return the slugs of all matches in order, read page by page."""
    slugs, after = [], None
    while hits := await store.search(SearchQuery.parse(query), filter, after, page_size):
        slugs += [hit.stored.tool.slug for hit in hits]
        after = hits[-1].position
    return slugs


async def test_search_is_filtered(store):
    """Deleted bundles, disabled tools and bundles, other bundles, tags, and old versions."""
    first, second = await new_bundle(store, "first"), await new_bundle(store, "second")
    gone, off = await new_bundle(store, "gone"), await new_bundle(store, "off", is_enabled=False)
    await add(store, first, "read-a", tags=("x", "y"))
    await add(store, first, "read-b", is_enabled=False)
    await add(store, second, "read-c", tags=("y",))
    await add(store, second, "read-c", "v2", created_at=rfc3339(9))
    await add(store, off, "read-d")
    await add(store, gone, "read-e")
    await store.change_bundle(gone.id, lambda old: replace(old, soft_deleted_at=rfc3339(1)))
    for query in ("read", "reda"):
        assert sorted(await search(store, query)) == ["read-a", "read-b", "read-c", "read-c", "read-d"]
        assert sorted(await search(store, query, BundleFilter())) == ["read-a", "read-c", "read-c"]
        assert sorted(await search(store, query, BundleFilter(active_only=True))) == ["read-a", "read-c"]
        assert await search(store, query, BundleFilter(bundle_ids=frozenset([first.id]))) == ["read-a"]
        assert sorted(await search(store, query, BundleFilter(tags=frozenset("y")))) == ["read-a", "read-c"]


async def test_search_finds_all_of_many_matches(store):
    """Also the oldest one, and one whose display name starts with the query, before those with the word."""
    bundle = await new_bundle(store)
    tools = [new_tool(bundle, "oldest", display_name="Wombat counter", modified_at=rfc3339(0))]
    tools += [
        new_tool(bundle, f"t{number}", description="Counts wombat tracks", modified_at=rfc3339(number))
        for number in range(1, 262)
    ]
    imported = replace(bundle, id=str(uuid7()), slug="many")
    await store.import_bundle(imported, [replace(tool, bundle_id=imported.id) for tool in tools])
    expected = ["oldest", *(f"t{number}" for number in range(261, 0, -1))]
    assert (
        await search(store, "wombat", page_size=25)
        == await search(store, "wombat", page_size=1000)
        == expected
    )


async def test_disabled_tools_do_not_displace_similar_slugs(store):
    """Only the most similar slugs match, of those that the filter selects."""
    bundle = await new_bundle(store)
    for number in range(MAX_SIMILAR_SLUGS):
        await add(store, bundle, f"weathr{number}", is_enabled=False)
    await add(store, bundle, "wether-forecasts")
    assert await search(store, "weather forecast", BundleFilter()) == ["wether-forecasts"]


WORDS = ("read", "reader", "file", "Files", "write", "wirte", "Ünder", "under", "读取", "a1")


async def test_search_of_every_store_has_the_same_results(store):
    """The tiers are defined by `find_hits`. Pages of any size together have the same results."""
    random = Random(7)
    bundle = await new_bundle(store)
    for number in range(60):
        await add(
            store,
            bundle,
            "-".join(random.sample(WORDS, 2)),
            f"v{number}",
            display_name=" ".join(random.sample(WORDS, random.randint(0, 2))),
            description="_".join(random.sample(WORDS, random.randint(0, 3))),
            tags=tuple(random.sample(WORDS, random.randint(0, 1))),
            modified_at=rfc3339(random.randint(1, 5)),
        )
    everything = (await store.tools(EVERYTHING, None, 1000)).items
    for text in (
        *WORDS,
        "re",
        "read fi",
        "file-read",
        "FileRead",
        "wriet",
        "fiel reader",
        "x",
        "取",
        "un de",
        "+READ",
        '"',
        "%",
        "READER nothing",
    ):
        query = SearchQuery.parse(text)
        expected = find_hits(query, everything, query.similar_slugs(tool.tool.slug for tool in everything))
        assert list(await store.search(query, EVERYTHING, None, 1000)) == expected, text
        assert await search(store, text, page_size=7) == [hit.stored.tool.slug for hit in expected], text


@pytest.mark.parametrize("max_completions", [0, 1])
async def test_starts_of_very_many_words_are_found_too(workspace, monkeypatch, max_completions):
    """PostgreSQL reads them in another way."""
    monkeypatch.setattr(queries, "MAX_COMPLETIONS", max_completions)
    await test_search_of_every_store_has_the_same_results(PostgresBundles(workspace, Threads()))


async def test_typos_are_corrected_word_by_word_if_there_are_very_many_slugs(workspace, monkeypatch):
    """Words that are known stay as they are, and one that resembles nothing matches nothing."""
    monkeypatch.setattr(postgres_store, "MAX_COMPARED_SLUGS", 0)
    store = PostgresBundles(workspace, Threads())
    bundle = await new_bundle(store)
    await add(store, bundle, "read-file", is_enabled=False)
    await add(store, bundle, "read-invoices", description="Open something")
    await add(store, bundle, "send-letter")
    assert await search(store, "raed", BundleFilter()) == ["read-invoices"]
    assert sorted(await search(store, "raed")) == ["read-file", "read-invoices"]
    for query in ("raed invioce", "invoices sommething", "read invo", "open invoicse"):
        assert await search(store, query) == ["read-invoices"], query
    for query in ("read letter", "raed zzzzzz", "x", "'", "qq & | !"):
        assert await search(store, query) == [], query


async def test_tool_that_is_deleted_while_tools_are_read_is_left_out(workspace, postgres_url, monkeypatch):
    store = PostgresBundles(workspace, Threads())
    bundle = await new_bundle(store)
    tools = [await add(store, bundle, slug) for slug in ("read-first", "read-second", "read-third")]
    by_id, others = queries.BundleQueries._by_id, [each.tool.id for each in tools[1:]]

    def delete_last(self, found):
        """Let another process delete a tool whose id was just read."""
        execute(postgres_url, "delete from onetool.tools where id = any(%s)", others[-1:])
        return by_id(self, found)

    monkeypatch.setattr(queries.BundleQueries, "_by_id", delete_last)
    page = await store.tools(EVERYTHING, None, 10)
    assert [stored.tool.slug for stored in page.items] == ["read-first", "read-second"]
    others.pop()
    hits = await store.search(SearchQuery.parse("read"), EVERYTHING, None, 10)
    assert [hit.stored.tool.slug for hit in hits] == ["read-first"]


async def test_staged_files_of_killed_writers_are_deleted_but_not_those_of_others(tmp_path):
    store = FileBundles(tmp_path, Threads())
    staged = tmp_path / (await new_bundle(store)).id / ".staged"
    staged.mkdir(exist_ok=True)
    for name in ("abandoned", "in-use"):
        (staged / name).write_text("{}")
    os.utime(staged / "abandoned", (1, 1))
    await store.reap(rfc3339(20))
    assert [file.name for file in staged.iterdir()] == ["in-use"]


async def test_only_empty_bundles_deleted_long_ago_are_reaped(store, tmp_path):
    recent, old, used = [await new_bundle(store, slug) for slug in ("recent", "old", "used")]
    await add(store, used)
    await add(store, old)
    await store.delete_tool((old.id, "get-rain", "v1"))
    for bundle, at in ((recent, 50), (old, 10), (used, 10)):
        await store.change_bundle(
            bundle.id, lambda before, at=at: replace(before, soft_deleted_at=rfc3339(at))
        )
    assert await store.reap(rfc3339(20)) == [old.id]
    assert await store.bundle(old.id) is None
    assert not (tmp_path / "bundles" / old.id).exists()
    assert await store.reap(rfc3339(20)) == []
    assert await store.bundle(used.id)
    assert await store.bundle(recent.id)


async def test_id_belongs_to_one_tool(store):
    """An imported tool cannot replace another one by its id."""
    mine, other = await new_bundle(store), await new_bundle(store, "other")
    tool = (await add(store, mine)).tool
    with pytest.raises(AlreadyExists, match="id"):
        await store.add_tool(replace(new_tool(other, "x"), id=tool.id), lambda _: None)
    imported = Bundle(id=str(uuid7()), slug="imported", created_at=rfc3339(0), imported_at=rfc3339(9))
    stolen = replace(tool, bundle_id=imported.id, slug="x")
    with pytest.raises(AlreadyExists):
        await store.import_bundle(imported, [new_tool(imported, "y"), stolen])
    assert await store.bundle(imported.id) is None or (await store.bundle(imported.id)).slug == "imported"
    assert (await store.tool(tool.key)).name == "weather.get_rain"
    assert await store.count() == 1


async def test_imported_bundle_takes_no_name_from_an_existing_one(store):
    """Even if it claims to be older."""
    mine = await new_bundle(store, created_at=rfc3339(5))
    await add(store, mine, "rain")
    old = Bundle(id=str(uuid7()), slug="weather", created_at=rfc3339(1), imported_at=rfc3339(9))
    await store.import_bundle(old, [new_tool(old, "rain")])
    assert [stored.bundle.id for stored in await store.find("weather.rain")] == [mine.id]
    with pytest.raises(AlreadyExists):
        await store.import_bundle(old, [])


@pytest.mark.parametrize("between", [0, 250])
async def test_import_gives_the_first_of_two_slugs_the_function_name(store, between):
    """Also with hundreds of tools between them. All versions of a tool have one name, and one is active."""
    bundle = Bundle(id=str(uuid7()), slug="weather", created_at=rfc3339(1))
    more = [new_tool(bundle, f"other-{number}", created_at=rfc3339(3)) for number in range(between)]
    first, second = new_tool(bundle, "get-rain"), new_tool(bundle, "get_rain", created_at=rfc3339(4))
    newer = new_tool(bundle, "get-rain", "v2", created_at=rfc3339(5))
    await store.import_bundle(bundle, [first, *more, second, newer])
    assert [(await store.tool(tool.key)).name for tool in (first, newer)] == ["weather.get_rain"] * 2
    assert (await store.tool(second.key)).name.startswith("weather.get_rain_")
    assert [stored.tool for stored in await store.find("weather.get_rain")] == [newer, first]
    active = await store.tools(BundleFilter(active_only=True, name_contains="rain"), None, 10)
    assert {stored.tool.id for stored in active.items} == {newer.id, second.id}


async def test_import_leaves_stored_tools_their_function_names(store):
    """It imports a deleted bundle again, with new tools before and after another version of a stored one."""
    bundle = await new_bundle(store)
    old = (await add(store, bundle, "get_rain")).tool
    await store.change_bundle(bundle.id, lambda before: replace(before, soft_deleted_at=rfc3339(3)))
    late = {"created_at": rfc3339(4)}
    before, after = new_tool(bundle, "get-rain", **late), new_tool(bundle, "Get Rain", **late)
    newer = new_tool(bundle, "get_rain", "v2", **late)
    await store.import_bundle(bundle, [before, newer, after])
    assert [(await store.tool(tool.key)).name for tool in (old, newer)] == ["weather.get_rain"] * 2
    others = {(await store.tool(tool.key)).name for tool in (before, after)}
    assert len(others) == 2
    assert "weather.get_rain" not in others


class TestFiles:
    @pytest.fixture
    def folder(self, tmp_path):
        return tmp_path / "bundles"

    @pytest.fixture
    def store(self, folder):
        return FileBundles(folder, Threads())

    @pytest.fixture
    async def bundle(self, store):
        return await new_bundle(store)

    async def test_files_are_readable_json(self, folder, store, bundle):
        """Indented, with a schema version, named by id."""
        tool = (await add(store, bundle, tags=("a",))).tool
        text = (folder / bundle.id / f"{tool.id}.json").read_text()
        assert text.count("\n") > 10
        assert json.loads(text) == {"schemaVersion": 1, **tool.to_json()}
        assert json.loads((folder / bundle.id / "bundle.json").read_text())["slug"] == "weather"

    async def test_index_is_rebuilt_from_the_files(self, folder, store, bundle):
        """By the next query of a running process and of a new one, and after the index was corrupted."""
        await add(store, bundle)
        for reader in (store, FileBundles(folder, Threads())):
            for suffix in ("", "-wal", "-shm"):
                (folder / f"index.sqlite3{suffix}").unlink(missing_ok=True)
            assert len(await reader.find("weather.get_rain")) == 1
        (folder / "index.sqlite3").write_bytes(
            b"this is not a database at all, but long enough to be one" * 99
        )
        assert await slugs(FileBundles(folder, Threads())) == ["get-rain"]
        assert list(folder.glob("index.sqlite3.corrupt-*"))

    async def test_manual_changes_are_indexed(self, folder, store, bundle):
        """The next process sees files that were added or deleted while nothing was running."""
        tool = (await add(store, bundle)).tool
        mine = replace(tool, id=str(uuid7()), slug="mine")
        data = {"schemaVersion": 1, **mine.to_json()}
        (folder / bundle.id / f"{mine.id}.json").write_text(json.dumps(data))
        (folder / bundle.id / f"{tool.id}.json").unlink()
        fresh = FileBundles(folder, Threads())
        assert await slugs(fresh) == ["mine"]
        with pytest.raises(AlreadyExists):
            await add(fresh, bundle, "mine")
        await add(fresh, bundle)
        shutil.rmtree(folder / bundle.id)
        assert await FileBundles(folder, Threads()).count() == 0

    @pytest.mark.parametrize(
        "text", ["", "nonsense", "[]", '{"schemaVersion": 1}', '{"schemaVersion": "x"}', '{"slug": 1}', "\0"]
    )
    async def test_corrupt_file_is_moved_and_reported(self, folder, store, bundle, text):
        """Other tools are not affected."""
        other = await new_bundle(store, "other")
        tool = (await add(store, bundle)).tool
        await add(store, bundle, "healthy")
        (folder / bundle.id / f"{tool.id}.json").write_text(text)
        (folder / other.id / "bundle.json").write_text(text)
        (folder / bundle.id / "by-hand").touch()
        (folder / other.id / "by-hand").touch()
        fresh = FileBundles(folder, Threads())
        assert await slugs(fresh) == ["healthy"]
        assert await fresh.tool(tool.key) is None
        assert len(fresh.problems) == 2
        assert len(list(folder.glob("*/*.corrupt-*"))) == 2
        with pytest.raises(AlreadyExists):
            await add(fresh, bundle, "healthy")
        await add(fresh, bundle)

    async def test_file_of_a_newer_version_is_unchanged(self, folder, store, bundle):
        """It is not corrupt, so it is not moved."""
        tool = (await add(store, bundle)).tool
        file = folder / bundle.id / f"{tool.id}.json"
        file.write_text('{"schemaVersion": 2}')
        assert await store.tool(tool.key) is None
        assert (file.read_text(), store.problems) == ('{"schemaVersion": 2}', [])

    async def test_copied_tool_file_is_moved(self, folder, store, bundle):
        """If two files have the same slug and version, the first one stays."""
        tool = (await add(store, bundle)).tool
        copy = {"schemaVersion": 1, **replace(tool, id=str(uuid7())).to_json()}
        (folder / bundle.id / f"{copy['id']}.json").write_text(json.dumps(copy))
        fresh = FileBundles(folder, Threads())
        assert [stored.tool.id for stored in (await fresh.tools(EVERYTHING, None, 10)).items] == [tool.id]
        assert len(fresh.problems) == 1

    async def test_crash_before_a_tool_is_published(self, folder, store, bundle):
        """The tool does not exist, and another one can have its slug and version."""
        tool = new_tool(bundle)
        store._files.stage(tool)
        fresh = FileBundles(folder, Threads())
        assert await fresh.tool(tool.key) is None
        assert (await add(fresh, bundle)).tool.id != tool.id
        assert fresh.problems == []

    async def test_crash_between_tool_and_index(self, folder, store, bundle):
        """The next writer or the next process indexes what a dead writer left."""
        for number, open_store in enumerate((lambda: store, lambda: FileBundles(folder, Threads()))):
            tool = new_tool(bundle, f"t{number}")
            store._files.publish(store._files.stage(tool), tool)
            (folder / ".pending" / bundle.id).touch()
            await add(open_store(), bundle, f"next{number}")
            assert await store.find(f"weather.t{number}")

    async def test_write_error_propagates_and_the_index_recovers(self, store, bundle, monkeypatch):
        """A full disk, for example."""
        with monkeypatch.context() as broken:
            broken.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left")))
            with pytest.raises(OSError, match="No space left"):
                await add(store, bundle)
        assert await store.find("weather.get_rain") == []
        assert (await add(store, bundle)).name == "weather.get_rain"

    async def test_name_derived_from_an_id_is_not_shared(self, store, bundle):
        """A slug that equals the long name of another bundle gets a longer name."""
        second = await new_bundle(store, "weather", created_at=rfc3339(5))
        await add(store, second, "rain")
        imitation = await new_bundle(store, f"weather--{second.id[-8:]}", created_at=rfc3339(6))
        await add(store, imitation, "rain")
        (tool,) = await store.find(f"weather__{second.id[-8:]}.rain")
        assert tool.bundle.id == second.id

    async def test_generation_file_is_truncated(self, folder, store, monkeypatch):
        """The generation changes all the same."""
        monkeypatch.setattr("onetool.storage.files.bundles.sync.MAX_GENERATION_BYTES", 3)
        generations = set()
        for number in range(8):
            await new_bundle(store, f"b{number}")
            generations.add(store.generation())
        assert len(generations) == 8
        assert (folder / ".generation").stat().st_size <= 4


class TestCopiedFiles:
    """Files that are copied into the store of a running process."""

    @pytest.fixture
    def folder(self, tmp_path):
        return tmp_path / "bundles"

    @pytest.fixture
    def clock(self):
        """Return the clock of the checks, which a test sets."""
        return [0.0]

    @pytest.fixture
    def store(self, folder, clock):
        return FileBundles(folder, Threads(), clock=lambda: clock[0])

    def copy(self, folder, tool, text=None, age_s=60.0):
        """Write a tool file like `cp -p`, which keeps the time of the original."""
        file = folder / tool.bundle_id / f"{tool.id}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"schemaVersion": 1, **tool.to_json()}) if text is None else text)
        os.utime(file, (time.time() - age_s,) * 2)
        return file

    @pytest.mark.parametrize("lookup", ["find", "tool", "tools", "search", "pack", "delete_tool"])
    async def test_copied_tool_is_found(self, folder, clock, store, lookup):
        """By the next query after the interval, whichever it is. Every process sees a new generation."""
        bundle = await new_bundle(store)
        await add(store, bundle)
        tool = new_tool(bundle, "copied")
        generation = store.generation()
        self.copy(folder, tool)
        clock[0] += CHECK_INTERVAL_S
        query = {
            "find": lambda: store.find("weather.copied"),
            "tool": lambda: store.tool(tool.key),
            "tools": lambda: store.tools(EVERYTHING, None, 10),
            "search": lambda: search(store, "copied"),
            "pack": lambda: store.pack("weather"),
            "delete_tool": lambda: store.delete_tool(tool.key),
        }[lookup]
        found = await query()
        assert found if lookup not in ("tools", "pack") else len(getattr(found, "items", found)) == 2
        assert store.generation() != generation

    async def test_copied_bundle_is_found_and_a_removed_one_is_dropped(self, folder, clock, store, tmp_path):
        other = FileBundles(tmp_path / "other", Threads())
        bundle = await new_bundle(other, "copied")
        await add(other, bundle)
        assert await store.packs() == []
        shutil.copytree(tmp_path / "other" / bundle.id, folder / bundle.id)
        for file in (folder / bundle.id).glob("*.json"):
            os.utime(file, (1, 1))
        clock[0] += CHECK_INTERVAL_S
        assert await store.packs() == ["copied"]
        shutil.rmtree(folder / bundle.id)
        generation = store.generation()
        clock[0] += CHECK_INTERVAL_S
        assert await store.packs() == []
        assert store.generation() != generation

    async def test_directories_are_not_checked_by_every_query(self, folder, clock, store):
        bundle = await new_bundle(store)
        await add(store, bundle)
        await store.find("weather.get_rain")
        clock[0] += CHECK_INTERVAL_S
        await store.find("weather.get_rain")
        with counted_access(folder) as access:
            for _ in range(10):
                await store.find("weather.get_rain")
        assert access["list"] == 0

    async def test_file_that_is_being_copied_is_indexed_later(self, folder, clock, store):
        """Half a file is not corrupt, and nothing is renamed."""
        bundle = await new_bundle(store)
        tool = new_tool(bundle, "copied")
        whole = json.dumps({"schemaVersion": 1, **tool.to_json()})
        self.copy(folder, tool, whole[:50], age_s=0.0)
        clock[0] += CHECK_INTERVAL_S
        assert await store.find("weather.copied") == []
        assert store.problems == []
        self.copy(folder, tool, whole)
        clock[0] += CHECK_INTERVAL_S
        assert await store.find("weather.copied")

    async def test_corrupt_copy_is_moved(self, folder, clock, store):
        tool = new_tool(await new_bundle(store), "copied")
        self.copy(folder, tool, "nonsense")
        clock[0] += CHECK_INTERVAL_S
        assert await store.find("weather.copied") == []
        assert len(store.problems) == 1

    async def test_write_after_a_copy_does_not_hide_it(self, folder, clock, store):
        """The writer changes the directory too."""
        bundle = await new_bundle(store)
        self.copy(folder, new_tool(bundle, "copied"))
        await add(store, bundle, "written")
        clock[0] += CHECK_INTERVAL_S
        assert {tool.tool.slug for tool in await store.pack("weather")} == {"copied", "written"}

    async def test_locked_bundle_is_checked_later(self, folder, clock, store):
        """A query does not wait for a writer."""
        bundle = await new_bundle(store)
        self.copy(folder, new_tool(bundle, "copied"))
        clock[0] += CHECK_INTERVAL_S
        with FileBundles(folder, Threads())._files.locked(bundle.id):
            assert await store.find("weather.copied") == []
        assert store.problems == []
        clock[0] += CHECK_INTERVAL_S
        assert await store.find("weather.copied")

    async def test_directory_without_a_bundle_is_scanned_once(self, folder, clock, store):
        """Otherwise every check would change the generation for all processes."""
        await new_bundle(store)
        (folder / str(uuid7())).mkdir()
        for _ in range(2):
            clock[0] += CHECK_INTERVAL_S
            await store.packs()
        generation = store.generation()
        clock[0] += CHECK_INTERVAL_S
        await store.packs()
        assert store.generation() == generation
