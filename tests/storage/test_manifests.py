"""One suite for every store of what servers have listed."""

from threading import Thread

import pytest

from onetool.domain.manifest import Definition, merge
from onetool.storage.flat_file_manifests import FlatFileManifests
from onetool.storage.memory_manifests import MemoryManifests

TOOL = Definition(name="a", input_schema={})


@pytest.fixture(params=["memory", "flat file"])
def manifests(request, tmp_path):
    return MemoryManifests() if request.param == "memory" else FlatFileManifests(tmp_path / "servers")


def test_a_listing_is_kept(manifests):
    """By server; the generation moves with it."""
    before = manifests.generation("s")
    assert manifests.read("s") is None
    kept = manifests.change("s", lambda known: merge(known, [TOOL], 1.0))
    assert manifests.read("s") == kept == merge(None, [TOOL], 1.0)
    assert manifests.read("other") is None
    assert manifests.generation("s") != before


def test_nothing_is_lost_between_writers(manifests):
    """Each change is made to what the one before it left."""

    def add(number):
        own = Definition(name=f"t{number}", input_schema={})
        manifests.change("s", lambda known: merge(known, [*(known.tools if known else ()), own], 1.0))

    writers = [Thread(target=add, args=(number,)) for number in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(manifests.read("s").tools) == 8


@pytest.mark.parametrize("content", ["{", "[]", '{"tools": 1}', '{"replaced": [1]}', "\x00"])
def test_a_damaged_file_is_set_aside(tmp_path, content):
    """The server is asked anew, and the old file is still there to be looked at."""
    (tmp_path / "s.json").write_text(content)
    store = FlatFileManifests(tmp_path)
    assert store.read("s") is None
    assert len(list(tmp_path.glob("s.json.damaged-*"))) == 1
