"""One suite for every store of bundles, and what only files have to promise."""

import json
from dataclasses import replace

import pytest
from uuid_utils.compat import uuid7

from onetool.domain.bundle import Bundle, Filter, Taken, ToolVersion, rfc3339
from onetool.storage.flat_file_bundles import FlatFileBundles
from onetool.storage.memory_bundles import MemoryBundles

EVERYTHING = Filter(include_disabled=True)


@pytest.fixture(params=["memory", "flat file", "flat file without FTS5"])
def store(request, tmp_path):
    if request.param == "memory":
        return MemoryBundles()
    return FlatFileBundles(tmp_path / "bundles", with_words=request.param == "flat file")


def new_bundle(store, slug="weather", **known) -> Bundle:
    bundle = Bundle(
        id=str(uuid7()), slug=slug, **{"created_at": rfc3339(1), "modified_at": rfc3339(1)} | known
    )
    return store.change_bundle(bundle.id, lambda _: bundle)


def tool_of(bundle, slug="get-rain", version="v1", **known) -> ToolVersion:
    said = {"id": str(uuid7()), "type": "python", "arg_schema": {"type": "object"}, "created_at": rfc3339(2)}
    return ToolVersion(bundle_id=bundle.id, slug=slug, version=version, **said | known)


def add(store, bundle, *args, **known):
    return store.add_tool(tool_of(bundle, *args, **known), lambda _: None)


def refuse(*args):
    raise PermissionError("no")


def test_the_first_of_a_pair_stays(store):
    """A second tool of the same slug and version is refused, and changes nothing."""
    bundle, other = new_bundle(store), new_bundle(store, "other")
    first = add(store, bundle, description="first")
    with pytest.raises(Taken):
        add(store, bundle, description="second")
    assert store.tool(first.tool.pair) == first
    add(store, bundle, version="v2")
    add(store, bundle, "Get-Rain")
    assert add(store, other).name == "other.get_rain"
    assert (store.count(), first.name) == (4, "weather.get_rain")


def test_what_a_check_refuses_leaves_nothing(store, tmp_path):
    """The function decides under the lock; a bundle that was refused has no directory."""
    ghost = Bundle(id=str(uuid7()), slug="ghost")
    for attempt in (
        lambda: store.change_bundle(ghost.id, refuse),
        lambda: store.add_tool(tool_of(ghost), refuse),
        lambda: store.change_tool((ghost.id, "a", "b"), refuse),
    ):
        with pytest.raises(PermissionError):
            attempt()
    assert store.bundle(ghost.id) is None
    assert not (tmp_path / "bundles" / ghost.id).exists()
    assert store.delete_tool((ghost.id, "a", "b")) is False
    assert store.tool((ghost.id, "a", "b")) is None


def test_pages_visit_everything_once(store):
    """In an order that stays, with every filter; deleted bundles and their tools are not there."""
    bundles = [new_bundle(store, f"b{n}", is_enabled=n != 1) for n in range(3)]
    for bundle in bundles:
        for n in range(3):
            add(store, bundle, f"t{n}", tags=("even",) if n % 2 == 0 else (), is_enabled=n != 0)
    gone = new_bundle(store, "gone")
    add(store, gone)
    store.change_bundle(gone.id, lambda bundle: replace(bundle, soft_deleted_at=rfc3339(3)))

    def visit(page, wanted):
        found, cursor = [], None
        while True:
            here = page(wanted, cursor, 2)
            found += here.items
            cursor = here.next
            if cursor is None:
                return found

    assert len(visit(store.bundles, EVERYTHING)) == 3
    assert len(visit(store.bundles, Filter())) == 2
    assert visit(store.bundles, Filter(bundle_ids=frozenset({bundles[0].id}))) == [bundles[0]]
    everything = visit(store.tools, EVERYTHING)
    assert len({listed.tool.id for listed in everything}) == len(everything) == 9
    assert len(visit(store.tools, Filter())) == 4
    assert len(visit(store.tools, Filter(tags=frozenset({"even", "x"})))) == 2
    assert len(visit(store.tools, Filter(bundle_ids=frozenset({bundles[2].id}), include_disabled=True))) == 3
    assert store.find("gone.get_rain") == []
    assert store.tool((gone.id, "get-rain", "v1")) is not None


def test_changes_are_seen_and_counted(store):
    """A switch moves the generation; a deleted tool is gone and its pair free."""
    bundle = new_bundle(store)
    listed = add(store, bundle)
    before = store.generation()
    changed = store.change_tool(listed.tool.pair, lambda _, tool: replace(tool, is_enabled=False))
    assert (changed.is_enabled, listed.is_enabled) == (False, True)
    assert store.generation() != before
    assert store.delete_tool(listed.tool.pair) is True
    assert store.find("weather.get_rain") == []
    assert add(store, bundle).tool.id != listed.tool.id


def test_names_of_code_are_never_shared(store):
    """The older bundle has the short name, and hands it on when it is deleted; slugs are told apart too."""
    old, young = new_bundle(store, "my-api"), new_bundle(store, "my-api", created_at=rfc3339(5))
    add(store, young, "get")
    long = f"my_api__{young.id[-8:]}.get"
    assert [listed.name for listed in store.find(long)] == [long]
    store.change_bundle(old.id, lambda bundle: replace(bundle, soft_deleted_at=rfc3339(9)))
    assert [listed.name for listed in store.find("my_api.get")] == ["my_api.get"]
    add(store, young, "ﬁx", created_at=rfc3339(7))
    assert add(store, young, "fix", created_at=rfc3339(8)).name.startswith("my_api.fix_")
    add(store, young, "2-fast")
    assert store.find("my_api._2_fast")
    add(store, young, "class")
    assert store.find("my_api._class")


def test_versions_come_newest_first(store):
    """By their creation, whatever their labels say."""
    bundle = new_bundle(store)
    add(store, bundle, version="2.0", created_at=rfc3339(1))
    add(store, bundle, version="1.0", created_at=rfc3339(2))
    assert [listed.tool.version for listed in store.find("weather.get_rain")] == ["1.0", "2.0"]


def test_words_find_tools(store):
    """By slug, name, description and tags, by the beginning of a word, and by what only looks like it."""
    bundle = new_bundle(store)
    add(store, bundle, "readfile", description="Open something")
    add(store, bundle, "file-read", tags=("disk",), display_name="A Reader")
    add(store, bundle, "raed", is_enabled=False)

    def found(query, wanted=EVERYTHING):
        return {listed.tool.slug for listed in store.matching(query, wanted, 10)}

    assert found("read") == {"readfile", "file-read", "raed"}
    assert found("read", Filter()) == {"readfile", "file-read"}
    assert found("DISK") == {"file-read"}
    assert found("some open") >= {"readfile"}
    assert found('"') == found("nothing has this") == set()
    assert 1 <= len(store.matching("read", EVERYTHING, 1)) <= 3


def test_only_empty_bundles_are_reaped(store, tmp_path):
    """Deleted long enough ago, and without a tool."""
    kept, over, used = (new_bundle(store, slug) for slug in ("kept", "over", "used"))
    add(store, used)
    add(store, over)
    store.delete_tool((over.id, "get-rain", "v1"))
    for bundle, at in ((kept, 50), (over, 10), (used, 10)):
        store.change_bundle(bundle.id, lambda old, at=at: replace(old, soft_deleted_at=rfc3339(at)))
    assert store.reap(rfc3339(20)) == [over.id]
    assert store.bundle(over.id) is None
    assert not (tmp_path / "bundles" / over.id).exists()
    assert store.reap(rfc3339(20)) == []
    assert store.bundle(used.id)
    assert store.bundle(kept.id)


def test_an_id_belongs_to_one_tool(store):
    """What comes from elsewhere cannot take over a tool by its id."""
    mine, other = new_bundle(store), new_bundle(store, "other")
    tool = add(store, mine).tool
    with pytest.raises(Taken, match="id"):
        store.add_tool(replace(tool_of(other, "x"), id=tool.id), lambda _: None)
    stranger = Bundle(id=str(uuid7()), slug="stranger", created_at=rfc3339(0), imported_at=rfc3339(9))
    stolen = replace(tool, bundle_id=stranger.id, slug="x")
    with pytest.raises(Taken):
        store.import_bundle(stranger, [tool_of(stranger, "y"), stolen])
    assert store.bundle(stranger.id) is None or store.bundle(stranger.id).slug == "stranger"
    assert store.tool(tool.pair).name == "weather.get_rain"
    assert store.count() == 1


def test_what_is_imported_is_younger_than_what_is_here(store):
    """Whatever it says of its own age: it takes no name away."""
    mine = new_bundle(store, created_at=rfc3339(5))
    add(store, mine, "rain")
    old = Bundle(id=str(uuid7()), slug="weather", created_at=rfc3339(1), imported_at=rfc3339(9))
    store.import_bundle(old, [tool_of(old, "rain")])
    assert [listed.bundle.id for listed in store.find("weather.rain")] == [mine.id]
    with pytest.raises(Taken):
        store.import_bundle(old, [])


class TestFiles:
    @pytest.fixture
    def folder(self, tmp_path):
        return tmp_path / "bundles"

    def test_files_are_for_people(self, folder):
        """JSON, indented, with the version of its shape; names are ids."""
        store = FlatFileBundles(folder)
        bundle = new_bundle(store)
        tool = add(store, bundle, tags=("a",)).tool
        text = (folder / bundle.id / f"{tool.id}.json").read_text()
        assert text.count("\n") > 10
        assert json.loads(text) == {"schemaVersion": 1, **tool.to_json()}
        assert json.loads((folder / bundle.id / "bundle.json").read_text())["slug"] == "weather"

    def test_the_index_is_made_anew(self, folder):
        """Deleted or damaged, it comes back from the files; what is not there is not found."""
        store = FlatFileBundles(folder)
        bundle = new_bundle(store)
        add(store, bundle)
        for rest in ("", "-wal", "-shm"):
            (folder / f"index.sqlite3{rest}").unlink(missing_ok=True)
        assert len(FlatFileBundles(folder).find("weather.get_rain")) == 1
        (folder / "index.sqlite3").write_bytes(
            b"this is not a database at all, but long enough to be one" * 99
        )
        fresh = FlatFileBundles(folder)
        assert fresh.tools(EVERYTHING, None, 10).items[0].name == "weather.get_rain"
        assert list(folder.glob("index.sqlite3.damaged-*"))

    def test_files_put_there_by_hand(self, folder):
        """A tool that appears, changes or vanishes while nothing runs is seen by the next process."""
        store = FlatFileBundles(folder)
        bundle = new_bundle(store)
        tool = add(store, bundle).tool
        mine = replace(tool, id=str(uuid7()), slug="mine")
        written = {"schemaVersion": 1, **mine.to_json()}
        (folder / bundle.id / f"{mine.id}.json").write_text(json.dumps(written))
        (folder / bundle.id / f"{tool.id}.json").unlink()
        fresh = FlatFileBundles(folder)
        assert [listed.tool.slug for listed in fresh.tools(EVERYTHING, None, 10).items] == ["mine"]
        with pytest.raises(Taken):
            add(fresh, bundle, "mine")
        add(fresh, bundle)
        import shutil

        shutil.rmtree(folder / bundle.id)
        assert FlatFileBundles(folder).count() == 0

    @pytest.mark.parametrize(
        "text", ["", "nonsense", "[]", '{"schemaVersion": 1}', '{"schemaVersion": "x"}', '{"slug": 1}', "\0"]
    )
    def test_a_damaged_file_is_set_aside(self, folder, text):
        """The others work on, and the problem is told."""
        store = FlatFileBundles(folder)
        bundle, other = new_bundle(store), new_bundle(store, "other")
        tool = add(store, bundle).tool
        add(store, bundle, "healthy")
        (folder / bundle.id / f"{tool.id}.json").write_text(text)
        (folder / other.id / "bundle.json").write_text(text)
        (folder / bundle.id / "by-hand").touch()
        (folder / other.id / "by-hand").touch()
        fresh = FlatFileBundles(folder)
        assert [listed.tool.slug for listed in fresh.tools(EVERYTHING, None, 10).items] == ["healthy"]
        assert fresh.tool(tool.pair) is None
        assert len(fresh.problems) == 2
        assert len(list(folder.glob("*/*.damaged-*"))) == 2
        add(fresh, bundle)

    def test_a_file_of_a_newer_version_is_left_alone(self, folder):
        """It is not ours to set aside."""
        store = FlatFileBundles(folder)
        bundle = new_bundle(store)
        tool = add(store, bundle).tool
        file = folder / bundle.id / f"{tool.id}.json"
        file.write_text('{"schemaVersion": 2}')
        assert store.tool(tool.pair) is None
        assert (file.read_text(), store.problems) == ('{"schemaVersion": 2}', [])

    def test_two_files_of_one_pair(self, folder):
        """Copied by hand: the one that was there first stays, the other is set aside."""
        store = FlatFileBundles(folder)
        bundle = new_bundle(store)
        tool = add(store, bundle).tool
        copy = {"schemaVersion": 1, **replace(tool, id=str(uuid7())).to_json()}
        (folder / bundle.id / f"{copy['id']}.json").write_text(json.dumps(copy))
        fresh = FlatFileBundles(folder)
        assert [listed.tool.id for listed in fresh.tools(EVERYTHING, None, 10).items] == [tool.id]
        assert len(fresh.problems) == 1

    def test_a_crash_between_claim_and_tool(self, folder):
        """A claim without a tool is none: the next writer takes it over."""
        store = FlatFileBundles(folder)
        bundle = new_bundle(store)
        tool = tool_of(bundle)
        store._files.claim(tool)
        assert store.tool(tool.pair) is None
        assert add(store, bundle).tool.id != tool.id

    def test_a_crash_between_tool_and_index(self, folder):
        """What a dead writer left is indexed by the next one, or by the next process."""
        store = FlatFileBundles(folder)
        bundle = new_bundle(store)
        for number, use in enumerate((lambda: store, lambda: FlatFileBundles(folder))):
            tool = tool_of(bundle, f"t{number}")
            store._files.write_tool(tool)
            store._sync.unfinished(bundle.id).parent.mkdir(exist_ok=True)
            store._sync.unfinished(bundle.id).touch()
            add(use(), bundle, f"next{number}")
            assert store.find(f"weather.t{number}")

    def test_an_error_while_writing_is_told_and_mended(self, folder, monkeypatch):
        """A full disk: the caller hears of it, and the index looks again."""
        store = FlatFileBundles(folder)
        bundle = new_bundle(store)
        with monkeypatch.context() as broken:
            broken.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left")))
            with pytest.raises(OSError, match="No space left"):
                add(store, bundle)
        assert store.find("weather.get_rain") == []
        assert add(store, bundle).name == "weather.get_rain"

    def test_a_name_made_of_an_id_is_not_shared(self, folder):
        """A slug that looks like the long name of another bundle gets a longer one itself."""
        store = FlatFileBundles(folder)
        new_bundle(store, "weather")
        second = new_bundle(store, "weather", created_at=rfc3339(5))
        add(store, second, "rain")
        stranger = new_bundle(store, f"weather--{second.id[-8:]}", created_at=rfc3339(6))
        add(store, stranger, "rain")
        (found,) = store.find(f"weather__{second.id[-8:]}.rain")
        assert found.bundle.id == second.id

    def test_an_odd_file_harms_no_other(self, folder):
        """Types that are wrong, a claim that is gone: set aside or mended, and the rest works."""
        store = FlatFileBundles(folder)
        bundle = new_bundle(store)
        odd, good = add(store, bundle, "odd").tool, add(store, bundle, "good").tool
        file = folder / bundle.id / f"{odd.id}.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "tags": [1]}))
        for claim in (folder / bundle.id / ".pairs").iterdir():
            claim.unlink()
        (folder / bundle.id / "by-hand").touch()
        fresh = FlatFileBundles(folder)
        assert [listed.tool.slug for listed in fresh.tools(EVERYTHING, None, 10).items] == ["good"]
        assert fresh.tool(good.pair)
        with pytest.raises(Taken):
            add(fresh, bundle, "good")
        add(fresh, bundle, "odd")

    def test_an_index_that_is_removed_while_we_run(self, folder):
        """It is made anew by the next question."""
        store = FlatFileBundles(folder)
        add(store, new_bundle(store))
        for rest in ("", "-wal", "-shm"):
            (folder / f"index.sqlite3{rest}").unlink(missing_ok=True)
        assert store.find("weather.get_rain")

    def test_many_tools_are_indexed_in_turns(self, folder, monkeypatch):
        """Others can write while an index is made."""
        store = FlatFileBundles(folder)
        bundle = new_bundle(store)
        for number in range(5):
            add(store, bundle, f"t{number}")
        (folder / "index.sqlite3").unlink()
        monkeypatch.setattr("onetool.storage.bundle_sync.TOGETHER", 2)
        assert FlatFileBundles(folder).count() == 5

    def test_the_count_of_changes_begins_anew(self, folder, monkeypatch):
        """The file that grows with every change does not grow for ever, and its stamp moves all the same."""
        monkeypatch.setattr("onetool.storage.bundle_sync.MOST_MOVES", 3)
        store = FlatFileBundles(folder)
        seen = set()
        for number in range(8):
            new_bundle(store, f"b{number}")
            seen.add(store.generation())
        assert len(seen) == 8
        assert (folder / ".moves").stat().st_size <= 4
