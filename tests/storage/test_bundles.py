"""Contract suite of the bundle stores, and guarantees specific to files."""

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from random import Random

import pytest
from uuid_utils.compat import uuid7

from onetool.domain.bundles.bundle import AlreadyExists, Bundle, BundleFilter, ToolVersion, rfc3339
from onetool.domain.bundles.ranking import MAX_SIMILAR_SLUGS, SearchQuery, find_hits
from onetool.storage.files.bundles.store import FileBundles
from onetool.storage.files.bundles.sync import CHECK_INTERVAL_S
from onetool.storage.memory.bundles import MemoryBundles
from support.file_access import counted_access

EVERYTHING = BundleFilter(include_disabled=True)


@pytest.fixture(params=["memory", "files", "files without FTS5"])
def store(request, tmp_path):
    if request.param == "memory":
        return MemoryBundles()
    return FileBundles(tmp_path / "bundles", full_text=request.param == "files")


def new_bundle(store, slug="weather", **fields) -> Bundle:
    bundle = Bundle(
        id=str(uuid7()), slug=slug, **{"created_at": rfc3339(1), "modified_at": rfc3339(1)} | fields
    )
    return store.change_bundle(bundle.id, lambda _: bundle)


def new_tool(bundle, slug="get-rain", version="v1", **fields) -> ToolVersion:
    defaults = {
        "id": str(uuid7()),
        "type": "python",
        "arg_schema": {"type": "object"},
        "created_at": rfc3339(2),
    }
    return ToolVersion(bundle_id=bundle.id, slug=slug, version=version, **defaults | fields)


def add(store, bundle, *args, **fields):
    return store.add_tool(new_tool(bundle, *args, **fields), lambda _: None)


def reject(*args):
    raise PermissionError("no")


def test_second_tool_with_the_same_slug_and_version_is_rejected(store):
    """The first one stays unchanged. Slugs are case-sensitive."""
    bundle, other = new_bundle(store), new_bundle(store, "other")
    first = add(store, bundle, description="first")
    with pytest.raises(AlreadyExists):
        add(store, bundle, description="second")
    assert store.tool(first.tool.key) == first
    add(store, bundle, version="v2")
    add(store, bundle, "Get-Rain")
    assert add(store, other).name == "other.get_rain"
    assert (store.count(), first.name) == (4, "weather.get_rain")


def test_callback_that_raises_changes_nothing(store, tmp_path):
    """No directory is created for a rejected bundle."""
    ghost = Bundle(id=str(uuid7()), slug="ghost")
    for attempt in (
        lambda: store.change_bundle(ghost.id, reject),
        lambda: store.add_tool(new_tool(ghost), reject),
        lambda: store.change_tool((ghost.id, "a", "b"), reject),
    ):
        with pytest.raises(PermissionError):
            attempt()
    assert store.bundle(ghost.id) is None
    assert not (tmp_path / "bundles" / ghost.id).exists()
    assert store.delete_tool((ghost.id, "a", "b")) is False
    assert store.tool((ghost.id, "a", "b")) is None


def test_pages_return_every_item_once(store):
    """With every filter. Deleted bundles and their tools are not stored."""
    bundles = [new_bundle(store, f"b{n}", is_enabled=n != 1) for n in range(3)]
    for bundle in bundles:
        for n in range(3):
            add(store, bundle, f"t{n}", tags=("even",) if n % 2 == 0 else (), is_enabled=n != 0)
    deleted = new_bundle(store, "deleted")
    add(store, deleted)
    store.change_bundle(deleted.id, lambda bundle: replace(bundle, soft_deleted_at=rfc3339(3)))

    def collect(list_page, filter):
        items, cursor = [], None
        while True:
            page = list_page(filter, cursor, 2)
            items += page.items
            cursor = page.next
            if cursor is None:
                return items

    assert len(collect(store.bundles, EVERYTHING)) == 3
    assert len(collect(store.bundles, BundleFilter())) == 2
    assert collect(store.bundles, BundleFilter(bundle_ids=frozenset({bundles[0].id}))) == [bundles[0]]
    tools = collect(store.tools, EVERYTHING)
    assert len({stored.tool.id for stored in tools}) == len(tools) == 9
    assert len(collect(store.tools, BundleFilter())) == 4
    assert len(collect(store.tools, BundleFilter(tags=frozenset({"even", "x"})))) == 2
    assert (
        len(collect(store.tools, BundleFilter(bundle_ids=frozenset({bundles[2].id}), include_disabled=True)))
        == 3
    )
    assert store.find("deleted.get_rain") == []
    assert store.tool((deleted.id, "get-rain", "v1")) is not None


def test_changes_are_visible_and_change_the_generation(store):
    """The slug and version of a deleted tool can be used again."""
    bundle = new_bundle(store)
    stored = add(store, bundle)
    before = store.generation()
    changed = store.change_tool(stored.tool.key, lambda _, tool: replace(tool, is_enabled=False))
    assert (changed.is_enabled, stored.is_enabled) == (False, True)
    assert store.generation() != before
    assert store.delete_tool(stored.tool.key) is True
    assert store.find("weather.get_rain") == []
    assert add(store, bundle).tool.id != stored.tool.id


def test_names_in_code_are_unique(store):
    """The older bundle has the short name until it is deleted. Function names are unique too."""
    old, young = new_bundle(store, "my-api"), new_bundle(store, "my-api", created_at=rfc3339(5))
    add(store, young, "get")
    long = f"my_api__{young.id[-8:]}.get"
    assert [stored.name for stored in store.find(long)] == [long]
    store.change_bundle(old.id, lambda bundle: replace(bundle, soft_deleted_at=rfc3339(9)))
    assert [stored.name for stored in store.find("my_api.get")] == ["my_api.get"]
    add(store, young, "ﬁx", created_at=rfc3339(7))
    assert add(store, young, "fix", created_at=rfc3339(8)).name.startswith("my_api.fix_")
    add(store, young, "2-fast")
    assert store.find("my_api._2_fast")
    add(store, young, "class")
    assert store.find("my_api._class")


def test_versions_are_ordered_newest_first(store):
    """By creation time, not by version label."""
    bundle = new_bundle(store)
    add(store, bundle, version="2.0", created_at=rfc3339(1))
    add(store, bundle, version="1.0", created_at=rfc3339(2))
    assert [stored.tool.version for stored in store.find("weather.get_rain")] == ["1.0", "2.0"]


def search(store, query, filter=EVERYTHING, page_size=100) -> list[str]:
    """Return the slugs of all matches in order, read page by page."""
    slugs, after = [], None
    while hits := store.search(SearchQuery.parse(query), filter, after, page_size):
        slugs += [hit.stored.tool.slug for hit in hits]
        after = hits[-1].position
    return slugs


def test_search_matches_words_prefixes_and_similar_slugs(store):
    """Words of slug, display name, description and tags, in the order of the tiers."""
    bundle = new_bundle(store)
    add(store, bundle, "raed", is_enabled=False)
    add(store, bundle, "file-read", tags=("disk",), display_name="A Reader")
    add(store, bundle, "readfile", description="Open something")
    assert search(store, "read") == search(store, "+READ") == ["readfile", "file-read", "raed"]
    assert search(store, "read", BundleFilter()) == ["readfile", "file-read"]
    assert search(store, "DISK") == ["file-read"]
    assert search(store, "some open") == ["readfile"]
    assert search(store, "fiel raed", BundleFilter()) == ["file-read"]
    assert search(store, '"') == search(store, "nothing has this") == search(store, "%") == []


def test_search_is_filtered(store):
    """Deleted bundles, disabled tools and bundles, other bundles, tags, and old versions."""
    first, second = new_bundle(store, "first"), new_bundle(store, "second")
    gone, off = new_bundle(store, "gone"), new_bundle(store, "off", is_enabled=False)
    add(store, first, "read-a", tags=("x", "y"))
    add(store, first, "read-b", is_enabled=False)
    add(store, second, "read-c", tags=("y",))
    add(store, second, "read-c", "v2", created_at=rfc3339(9))
    add(store, off, "read-d")
    add(store, gone, "read-e")
    store.change_bundle(gone.id, lambda old: replace(old, soft_deleted_at=rfc3339(1)))
    for query in ("read", "reda"):
        assert sorted(search(store, query)) == ["read-a", "read-b", "read-c", "read-c", "read-d"]
        assert sorted(search(store, query, BundleFilter())) == ["read-a", "read-c", "read-c"]
        assert sorted(search(store, query, BundleFilter(active_only=True))) == ["read-a", "read-c"]
        assert search(store, query, BundleFilter(bundle_ids=frozenset([first.id]))) == ["read-a"]
        assert sorted(search(store, query, BundleFilter(tags=frozenset("y")))) == ["read-a", "read-c"]


def test_search_finds_all_of_many_matches(store):
    """Also the oldest one, and one whose display name starts with the query, before those with the word."""
    bundle = new_bundle(store)
    tools = [new_tool(bundle, "oldest", display_name="Wombat counter", modified_at=rfc3339(0))]
    tools += [
        new_tool(bundle, f"t{number}", description="Counts wombat tracks", modified_at=rfc3339(number))
        for number in range(1, 262)
    ]
    imported = replace(bundle, id=str(uuid7()), slug="many")
    store.import_bundle(imported, [replace(tool, bundle_id=imported.id) for tool in tools])
    expected = ["oldest", *(f"t{number}" for number in range(261, 0, -1))]
    assert search(store, "wombat", page_size=25) == search(store, "wombat", page_size=1000) == expected


def test_disabled_tools_do_not_displace_similar_slugs(store):
    """Only the most similar slugs match, of those that the filter selects."""
    bundle = new_bundle(store)
    for number in range(MAX_SIMILAR_SLUGS):
        add(store, bundle, f"weathr{number}", is_enabled=False)
    add(store, bundle, "wether-forecasts")
    assert search(store, "weather forecast", BundleFilter()) == ["wether-forecasts"]


WORDS = ("read", "reader", "file", "Files", "write", "wirte", "Ünder", "under", "读取", "a1")


def test_search_of_every_store_has_the_same_results(store):
    """The tiers are defined by `find_hits`. Pages of any size together have the same results."""
    random = Random(7)
    bundle = new_bundle(store)
    for number in range(60):
        add(
            store,
            bundle,
            "-".join(random.sample(WORDS, 2)),
            f"v{number}",
            display_name=" ".join(random.sample(WORDS, random.randint(0, 2))),
            description="_".join(random.sample(WORDS, random.randint(0, 3))),
            tags=tuple(random.sample(WORDS, random.randint(0, 1))),
            modified_at=rfc3339(random.randint(1, 5)),
        )
    everything = store.tools(EVERYTHING, None, 1000).items
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
    ):
        query = SearchQuery.parse(text)
        expected = find_hits(query, everything, query.similar_slugs(tool.tool.slug for tool in everything))
        assert list(store.search(query, EVERYTHING, None, 1000)) == expected, text
        assert search(store, text, page_size=7) == [hit.stored.tool.slug for hit in expected], text


def test_only_empty_bundles_deleted_long_ago_are_reaped(store, tmp_path):
    recent, old, used = (new_bundle(store, slug) for slug in ("recent", "old", "used"))
    add(store, used)
    add(store, old)
    store.delete_tool((old.id, "get-rain", "v1"))
    for bundle, at in ((recent, 50), (old, 10), (used, 10)):
        store.change_bundle(bundle.id, lambda before, at=at: replace(before, soft_deleted_at=rfc3339(at)))
    assert store.reap(rfc3339(20)) == [old.id]
    assert store.bundle(old.id) is None
    assert not (tmp_path / "bundles" / old.id).exists()
    assert store.reap(rfc3339(20)) == []
    assert store.bundle(used.id)
    assert store.bundle(recent.id)


def test_id_belongs_to_one_tool(store):
    """An imported tool cannot replace another one by its id."""
    mine, other = new_bundle(store), new_bundle(store, "other")
    tool = add(store, mine).tool
    with pytest.raises(AlreadyExists, match="id"):
        store.add_tool(replace(new_tool(other, "x"), id=tool.id), lambda _: None)
    imported = Bundle(id=str(uuid7()), slug="imported", created_at=rfc3339(0), imported_at=rfc3339(9))
    stolen = replace(tool, bundle_id=imported.id, slug="x")
    with pytest.raises(AlreadyExists):
        store.import_bundle(imported, [new_tool(imported, "y"), stolen])
    assert store.bundle(imported.id) is None or store.bundle(imported.id).slug == "imported"
    assert store.tool(tool.key).name == "weather.get_rain"
    assert store.count() == 1


def test_imported_bundle_takes_no_name_from_an_existing_one(store):
    """Even if it claims to be older."""
    mine = new_bundle(store, created_at=rfc3339(5))
    add(store, mine, "rain")
    old = Bundle(id=str(uuid7()), slug="weather", created_at=rfc3339(1), imported_at=rfc3339(9))
    store.import_bundle(old, [new_tool(old, "rain")])
    assert [stored.bundle.id for stored in store.find("weather.rain")] == [mine.id]
    with pytest.raises(AlreadyExists):
        store.import_bundle(old, [])


class TestFiles:
    @pytest.fixture
    def folder(self, tmp_path):
        return tmp_path / "bundles"

    def test_files_are_readable_json(self, folder):
        """Indented, with a schema version, named by id."""
        store = FileBundles(folder)
        bundle = new_bundle(store)
        tool = add(store, bundle, tags=("a",)).tool
        text = (folder / bundle.id / f"{tool.id}.json").read_text()
        assert text.count("\n") > 10
        assert json.loads(text) == {"schemaVersion": 1, **tool.to_json()}
        assert json.loads((folder / bundle.id / "bundle.json").read_text())["slug"] == "weather"

    def test_index_is_rebuilt_from_the_files(self, folder):
        """After it was deleted, and after it was corrupted."""
        store = FileBundles(folder)
        bundle = new_bundle(store)
        add(store, bundle)
        for suffix in ("", "-wal", "-shm"):
            (folder / f"index.sqlite3{suffix}").unlink(missing_ok=True)
        assert len(FileBundles(folder).find("weather.get_rain")) == 1
        (folder / "index.sqlite3").write_bytes(
            b"this is not a database at all, but long enough to be one" * 99
        )
        fresh = FileBundles(folder)
        assert fresh.tools(EVERYTHING, None, 10).items[0].name == "weather.get_rain"
        assert list(folder.glob("index.sqlite3.corrupt-*"))

    def test_manual_changes_are_indexed(self, folder):
        """The next process sees files that were added or deleted while nothing was running."""
        store = FileBundles(folder)
        bundle = new_bundle(store)
        tool = add(store, bundle).tool
        mine = replace(tool, id=str(uuid7()), slug="mine")
        data = {"schemaVersion": 1, **mine.to_json()}
        (folder / bundle.id / f"{mine.id}.json").write_text(json.dumps(data))
        (folder / bundle.id / f"{tool.id}.json").unlink()
        fresh = FileBundles(folder)
        assert [stored.tool.slug for stored in fresh.tools(EVERYTHING, None, 10).items] == ["mine"]
        with pytest.raises(AlreadyExists):
            add(fresh, bundle, "mine")
        add(fresh, bundle)
        shutil.rmtree(folder / bundle.id)
        assert FileBundles(folder).count() == 0

    @pytest.mark.parametrize(
        "text", ["", "nonsense", "[]", '{"schemaVersion": 1}', '{"schemaVersion": "x"}', '{"slug": 1}', "\0"]
    )
    def test_corrupt_file_is_moved_and_reported(self, folder, text):
        """Other tools are not affected."""
        store = FileBundles(folder)
        bundle, other = new_bundle(store), new_bundle(store, "other")
        tool = add(store, bundle).tool
        add(store, bundle, "healthy")
        (folder / bundle.id / f"{tool.id}.json").write_text(text)
        (folder / other.id / "bundle.json").write_text(text)
        (folder / bundle.id / "by-hand").touch()
        (folder / other.id / "by-hand").touch()
        fresh = FileBundles(folder)
        assert [stored.tool.slug for stored in fresh.tools(EVERYTHING, None, 10).items] == ["healthy"]
        assert fresh.tool(tool.key) is None
        assert len(fresh.problems) == 2
        assert len(list(folder.glob("*/*.corrupt-*"))) == 2
        add(fresh, bundle)

    def test_file_of_a_newer_version_is_unchanged(self, folder):
        """It is not corrupt, so it is not moved."""
        store = FileBundles(folder)
        bundle = new_bundle(store)
        tool = add(store, bundle).tool
        file = folder / bundle.id / f"{tool.id}.json"
        file.write_text('{"schemaVersion": 2}')
        assert store.tool(tool.key) is None
        assert (file.read_text(), store.problems) == ('{"schemaVersion": 2}', [])

    def test_copied_tool_file_is_moved(self, folder):
        """If two files have the same slug and version, the first one stays."""
        store = FileBundles(folder)
        bundle = new_bundle(store)
        tool = add(store, bundle).tool
        copy = {"schemaVersion": 1, **replace(tool, id=str(uuid7())).to_json()}
        (folder / bundle.id / f"{copy['id']}.json").write_text(json.dumps(copy))
        fresh = FileBundles(folder)
        assert [stored.tool.id for stored in fresh.tools(EVERYTHING, None, 10).items] == [tool.id]
        assert len(fresh.problems) == 1

    def test_crash_between_claim_and_tool(self, folder):
        """The next writer overwrites a claim without a tool."""
        store = FileBundles(folder)
        bundle = new_bundle(store)
        tool = new_tool(bundle)
        store._files.claim(tool)
        assert store.tool(tool.key) is None
        assert add(store, bundle).tool.id != tool.id

    def test_crash_between_tool_and_index(self, folder):
        """The next writer or the next process indexes what a dead writer left."""
        store = FileBundles(folder)
        bundle = new_bundle(store)
        for number, open_store in enumerate((lambda: store, lambda: FileBundles(folder))):
            tool = new_tool(bundle, f"t{number}")
            store._files.write_tool(tool)
            store._sync.pending_marker(bundle.id).parent.mkdir(exist_ok=True)
            store._sync.pending_marker(bundle.id).touch()
            add(open_store(), bundle, f"next{number}")
            assert store.find(f"weather.t{number}")

    def test_write_error_propagates_and_the_index_recovers(self, folder, monkeypatch):
        """A full disk, for example."""
        store = FileBundles(folder)
        bundle = new_bundle(store)
        with monkeypatch.context() as broken:
            broken.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left")))
            with pytest.raises(OSError, match="No space left"):
                add(store, bundle)
        assert store.find("weather.get_rain") == []
        assert add(store, bundle).name == "weather.get_rain"

    def test_name_derived_from_an_id_is_not_shared(self, folder):
        """A slug that equals the long name of another bundle gets a longer name."""
        store = FileBundles(folder)
        new_bundle(store, "weather")
        second = new_bundle(store, "weather", created_at=rfc3339(5))
        add(store, second, "rain")
        imitation = new_bundle(store, f"weather--{second.id[-8:]}", created_at=rfc3339(6))
        add(store, imitation, "rain")
        (tool,) = store.find(f"weather__{second.id[-8:]}.rain")
        assert tool.bundle.id == second.id

    def test_invalid_file_does_not_affect_others(self, folder):
        """A file with wrong types is moved, and missing claims are restored."""
        store = FileBundles(folder)
        bundle = new_bundle(store)
        invalid, valid = add(store, bundle, "invalid").tool, add(store, bundle, "valid").tool
        file = folder / bundle.id / f"{invalid.id}.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "tags": [1]}))
        for claim in (folder / bundle.id / ".claims").iterdir():
            claim.unlink()
        (folder / bundle.id / "by-hand").touch()
        fresh = FileBundles(folder)
        assert [stored.tool.slug for stored in fresh.tools(EVERYTHING, None, 10).items] == ["valid"]
        assert fresh.tool(valid.key)
        with pytest.raises(AlreadyExists):
            add(fresh, bundle, "valid")
        add(fresh, bundle, "invalid")

    def test_index_deleted_at_run_time_is_rebuilt(self, folder):
        """By the next query."""
        store = FileBundles(folder)
        add(store, new_bundle(store))
        for suffix in ("", "-wal", "-shm"):
            (folder / f"index.sqlite3{suffix}").unlink(missing_ok=True)
        assert store.find("weather.get_rain")

    def test_tools_are_indexed_in_batches(self, folder, monkeypatch):
        """Other processes can write in between."""
        store = FileBundles(folder)
        bundle = new_bundle(store)
        for number in range(5):
            add(store, bundle, f"t{number}")
        (folder / "index.sqlite3").unlink()
        monkeypatch.setattr("onetool.storage.files.bundles.sync.BATCH_SIZE", 2)
        assert FileBundles(folder).count() == 5

    def test_generation_file_is_truncated(self, folder, monkeypatch):
        """The generation changes all the same."""
        monkeypatch.setattr("onetool.storage.files.bundles.sync.MAX_GENERATION_BYTES", 3)
        store = FileBundles(folder)
        generations = set()
        for number in range(8):
            new_bundle(store, f"b{number}")
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
        return FileBundles(folder, clock=lambda: clock[0])

    def copy(self, folder, tool, text=None, age_s=60.0):
        """Write a tool file like `cp -p`, which keeps the time of the original."""
        file = folder / tool.bundle_id / f"{tool.id}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"schemaVersion": 1, **tool.to_json()}) if text is None else text)
        os.utime(file, (time.time() - age_s,) * 2)
        return file

    @pytest.mark.parametrize("lookup", ["find", "tool", "tools", "search", "pack", "delete_tool"])
    def test_copied_tool_is_found(self, folder, clock, store, lookup):
        """By the next query after the interval, whichever it is. Every process sees a new generation."""
        bundle = new_bundle(store)
        add(store, bundle)
        tool = new_tool(bundle, "copied")
        generation = store.generation()
        self.copy(folder, tool)
        clock[0] += CHECK_INTERVAL_S
        found = {
            "find": lambda: store.find("weather.copied"),
            "tool": lambda: store.tool(tool.key),
            "tools": lambda: len(store.tools(EVERYTHING, None, 10).items) == 2,
            "search": lambda: search(store, "copied"),
            "pack": lambda: len(store.pack("weather")) == 2,
            "delete_tool": lambda: store.delete_tool(tool.key),
        }[lookup]()
        assert found
        assert store.generation() != generation

    def test_copied_bundle_is_found_and_a_removed_one_is_dropped(self, folder, clock, store, tmp_path):
        other = FileBundles(tmp_path / "other")
        bundle = new_bundle(other, "copied")
        add(other, bundle)
        assert store.packs() == []
        shutil.copytree(tmp_path / "other" / bundle.id, folder / bundle.id)
        for file in (folder / bundle.id).glob("*.json"):
            os.utime(file, (1, 1))
        clock[0] += CHECK_INTERVAL_S
        assert store.packs() == ["copied"]
        shutil.rmtree(folder / bundle.id)
        generation = store.generation()
        clock[0] += CHECK_INTERVAL_S
        assert store.packs() == []
        assert store.generation() != generation

    def test_directories_are_not_checked_by_every_query(self, folder, clock, store):
        bundle = new_bundle(store)
        add(store, bundle)
        store.find("weather.get_rain")
        clock[0] += CHECK_INTERVAL_S
        store.find("weather.get_rain")
        with counted_access(folder) as access:
            for _ in range(10):
                store.find("weather.get_rain")
        assert access["list"] == 0

    def test_file_that_is_being_copied_is_indexed_later(self, folder, clock, store):
        """Half a file is not corrupt, and nothing is renamed."""
        bundle = new_bundle(store)
        tool = new_tool(bundle, "copied")
        whole = json.dumps({"schemaVersion": 1, **tool.to_json()})
        self.copy(folder, tool, whole[:50], age_s=0.0)
        clock[0] += CHECK_INTERVAL_S
        assert store.find("weather.copied") == []
        assert store.problems == []
        self.copy(folder, tool, whole)
        clock[0] += CHECK_INTERVAL_S
        assert store.find("weather.copied")

    def test_corrupt_copy_is_moved(self, folder, clock, store):
        tool = new_tool(new_bundle(store), "copied")
        self.copy(folder, tool, "nonsense")
        clock[0] += CHECK_INTERVAL_S
        assert store.find("weather.copied") == []
        assert len(store.problems) == 1

    def test_write_after_a_copy_does_not_hide_it(self, folder, clock, store):
        """The writer changes the directory too."""
        bundle = new_bundle(store)
        self.copy(folder, new_tool(bundle, "copied"))
        add(store, bundle, "written")
        clock[0] += CHECK_INTERVAL_S
        assert {tool.tool.slug for tool in store.pack("weather")} == {"copied", "written"}

    def test_locked_bundle_is_checked_later(self, folder, clock, store):
        """A query does not wait for a writer."""
        bundle = new_bundle(store)
        self.copy(folder, new_tool(bundle, "copied"))
        clock[0] += CHECK_INTERVAL_S
        with FileBundles(folder)._files.locked(bundle.id):
            assert store.find("weather.copied") == []
        assert store.problems == []
        clock[0] += CHECK_INTERVAL_S
        assert store.find("weather.copied")

    def test_directory_without_a_bundle_is_scanned_once(self, folder, clock, store):
        """Otherwise every check would change the generation for all processes."""
        new_bundle(store)
        (folder / str(uuid7())).mkdir()
        for _ in range(2):
            clock[0] += CHECK_INTERVAL_S
            store.packs()
        generation = store.generation()
        clock[0] += CHECK_INTERVAL_S
        store.packs()
        assert store.generation() == generation


def test_index_of_another_version_is_rebuilt_from_the_files(tmp_path):
    """Nothing of the old index remains, whatever tables it had."""
    folder = tmp_path / "bundles"
    store = FileBundles(folder)
    bundle = new_bundle(store)
    kept, deleted = add(store, bundle, "kept"), add(store, bundle, "deleted")
    del store
    (index,) = [file for file in tmp_path.rglob("*") if file.is_file() and is_sqlite(file)]
    with closing(sqlite3.connect(index)) as connection:
        connection.execute("pragma user_version = 0")
        connection.execute("alter table tools add column old text")
        connection.commit()
    (folder / bundle.id / f"{deleted.tool.id}.json").unlink()
    reopened = FileBundles(folder)
    assert [tool.tool.slug for tool in reopened.tools(EVERYTHING, None, 10).items] == [kept.tool.slug]


def is_sqlite(file) -> bool:
    return file.read_bytes()[:15] == b"SQLite format 3"
