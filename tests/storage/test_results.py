"""One contract for every store of results; and what only files can go wrong with."""

import json
import subprocess
import sys

import pytest

from onetool.storage.flat_file import REMEMBERED_S, SWEEP_EVERY, FlatFileResults
from onetool.storage.memory import MemoryResults


class Clock:
    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "flat_file"])
def store(request, tmp_path, clock):
    return MemoryResults(10, clock) if request.param == "memory" else FlatFileResults(tmp_path, 10, clock)


@pytest.mark.parametrize("text", ["", "one", "a\nb\n", "a\r\nb", "\f\u2028 漢 \ud800", "x" * 100_000])
def test_a_text_comes_back_as_it_was(store, text):
    """Whatever it holds."""
    stored = store.put(text, "demo.tool")
    assert store.text(stored.handle) == text
    assert store.find(stored.handle) == stored
    assert stored.size_bytes == len(text.encode("utf-8", "surrogatepass"))
    assert (stored.tool, stored.expires_at - stored.created_at) == ("demo.tool", 10)


def test_expired_is_not_unknown(store, clock):
    """After its time the text is gone, but not the memory of it."""
    stored = store.put("text", "demo.tool")
    clock.time += 11
    assert store.text(stored.handle) is None
    assert store.find(stored.handle) == stored
    assert store.find("000000000000") is None
    assert store.text("000000000000") is None


def test_handles_differ(store):
    """The same text twice is two results."""
    assert store.put("x", "a.b").handle != store.put("x", "a.b").handle


@pytest.mark.parametrize("handle", ["../../etc/passwd", "", "a/b", "x" * 500, "..", "ABCDEF123456", "\0"])
def test_a_handle_is_not_a_path(tmp_path, handle):
    """What is no handle is unknown, and opens nothing."""
    store = FlatFileResults(tmp_path, 10)
    assert store.find(handle) is None
    assert store.text(handle) is None


def test_old_texts_are_swept(tmp_path, clock):
    """Expired texts go at the next sweep, the memory of them a week later; nothing else is touched."""
    store = FlatFileResults(tmp_path, 10, clock)
    (tmp_path / "notes.json").write_text("{}")
    first = store.put("old", "a.b")
    clock.time += SWEEP_EVERY + 11
    second = store.put("new", "a.b")
    assert not (tmp_path / f"{first.handle}.txt").exists()
    assert store.find(first.handle)
    clock.time += REMEMBERED_S + SWEEP_EVERY + 11
    store.put("newer", "a.b")
    assert store.find(first.handle) is None
    assert store.text(second.handle) is None
    assert (tmp_path / "notes.json").exists()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"handle": 1}', "null"])
def test_a_damaged_file_is_an_unknown_handle(tmp_path, content):
    """And harms no other."""
    store = FlatFileResults(tmp_path, 10)
    damaged, whole = store.put("x", "a.b"), store.put("y", "a.b")
    (tmp_path / f"{damaged.handle}.json").write_text(content)
    assert store.find(damaged.handle) is None
    assert store.text(whole.handle) == "y"
    (tmp_path / f"{whole.handle}.txt").unlink()
    assert store.text(whole.handle) is None


def test_several_processes_store_at_once(tmp_path):
    """Everything that was put by any process is there and whole."""
    code = """
import sys
from pathlib import Path
from onetool.storage.flat_file import FlatFileResults
store = FlatFileResults(Path(sys.argv[1]), 100)
for number in range(25):
    print(store.put(f"{sys.argv[2]} {number}\\n" * 100, "a.b").handle)
"""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), str(n)], stdout=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    handles = [handle for child in children for handle in child.communicate(timeout=60)[0].split()]
    store = FlatFileResults(tmp_path, 100)
    assert len(handles) == 100
    assert all(len((store.text(handle) or "").splitlines()) == 100 for handle in handles)
    assert all(json.loads(file.read_text()) for file in tmp_path.glob("*.json"))
