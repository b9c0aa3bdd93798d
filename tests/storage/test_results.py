"""Contract suite of the result stores, and failures specific to files."""

import json
import subprocess
import sys

import pytest

from onetool.storage.files.results import METADATA_RETENTION_S, SWEEP_INTERVAL_S, SWEEP_SIZE, FileResults
from onetool.storage.memory.results import MemoryResults
from onetool.threads import Threads
from support.file_access import counted_access


class Clock:
    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "files"])
def store(request, tmp_path, clock):
    return MemoryResults(clock) if request.param == "memory" else FileResults(tmp_path, Threads(), clock)


@pytest.mark.parametrize("text", ["", "one", "a\nb\n", "a\r\nb", "\f\u2028 漢 \ud800", "x" * 100_000])
async def test_text_is_returned_unchanged(store, text):
    stored = await store.put(text, "demo.tool", 10)
    assert await store.text(stored.handle) == text
    assert await store.find(stored.handle) == stored
    assert stored.size_bytes == len(text.encode("utf-8", "surrogatepass"))
    assert (stored.tool, stored.expires_at - stored.created_at) == ("demo.tool", 10)


async def test_expired_is_not_unknown(store, clock):
    """An expired handle is still found, without its text."""
    stored = await store.put("text", "demo.tool", 10)
    clock.time += 11
    assert await store.text(stored.handle) is None
    assert await store.find(stored.handle) == stored
    assert await store.find("000000000000") is None
    assert await store.text("000000000000") is None


async def test_same_text_gets_two_handles(store):
    assert (await store.put("x", "a.b")).handle != (await store.put("x", "a.b")).handle


@pytest.mark.parametrize("handle", ["../../etc/passwd", "", "a/b", "x" * 500, "..", "ABCDEF123456", "\0"])
async def test_a_handle_is_not_a_path(tmp_path, handle):
    """An invalid handle is unknown, and no file is opened."""
    store = FileResults(tmp_path, Threads())
    assert await store.find(handle) is None
    assert await store.text(handle) is None


async def test_expired_texts_are_swept(tmp_path, clock):
    """The next sweep deletes the text, a sweep a week later the metadata. Other files stay."""
    store = FileResults(tmp_path, Threads(), clock)
    (tmp_path / "notes.json").write_text("{}")
    first = await store.put("old", "a.b", 10)
    clock.time += SWEEP_INTERVAL_S + 11
    second = await store.put("new", "a.b", 10)
    assert not (tmp_path / f"{first.handle}.txt").exists()
    assert await store.find(first.handle)
    clock.time += METADATA_RETENTION_S + SWEEP_INTERVAL_S + 11
    await store.put("newer", "a.b", 10)
    assert await store.find(first.handle) is None
    assert await store.text(second.handle) is None
    assert (tmp_path / "notes.json").exists()


async def test_expired_results_are_swept_in_pieces(tmp_path, clock):
    """Storing one result never waits for thousands of others. In the end all of them are deleted."""
    store, count = FileResults(tmp_path, Threads(), clock), 20 * SWEEP_SIZE
    for _ in range(count):
        await store.put("old", "a.b", 10)
    clock.time += SWEEP_INTERVAL_S + METADATA_RETENTION_S + 11
    opened = []
    for _ in range(20):
        with counted_access(tmp_path) as access:
            await store.put("new", "a.b", 10)
        opened.append(access["open"])
    own_files = 2 * 2  # text and metadata, and the directory after each
    assert max(opened) <= SWEEP_SIZE + own_files
    assert len(list(tmp_path.iterdir())) == 2 * 20


async def test_processes_that_store_one_result_sweep_too(tmp_path, clock):
    """Each one starts with other results, so that all of them are deleted sooner or later."""
    for _ in range(4 * SWEEP_SIZE):
        await FileResults(tmp_path, Threads(), clock).put("old", "a.b", 10)
    clock.time += SWEEP_INTERVAL_S + 11
    for _ in range(100):
        if sum(file.stat().st_size == len("old") for file in tmp_path.glob("*.txt")) == 0:
            break
        await FileResults(tmp_path, Threads(), clock).put("newer", "a.b", 10)
    assert [file.read_text() for file in tmp_path.glob("*.txt") if file.read_text() == "old"] == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"handle": 1}', "null"])
async def test_corrupt_metadata_is_an_unknown_handle(tmp_path, content):
    """Other handles are not affected."""
    store = FileResults(tmp_path, Threads())
    corrupt, intact = await store.put("x", "a.b"), await store.put("y", "a.b")
    (tmp_path / f"{corrupt.handle}.json").write_text(content)
    assert await store.find(corrupt.handle) is None
    assert await store.text(intact.handle) == "y"
    (tmp_path / f"{intact.handle}.txt").unlink()
    assert await store.text(intact.handle) is None


async def test_several_processes_store_results_concurrently(tmp_path):
    code = """
import asyncio, sys
from pathlib import Path
from onetool.storage.files.results import FileResults
from onetool.threads import Threads
store = FileResults(Path(sys.argv[1]), Threads())
async def main():
    for number in range(25):
        print((await store.put(f"{sys.argv[2]} {number}\\n" * 100, "a.b")).handle)
asyncio.run(main())
"""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), str(n)], stdout=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    handles = [handle for child in children for handle in child.communicate(timeout=60)[0].split()]
    store = FileResults(tmp_path, Threads())
    assert len(handles) == 100
    texts = [await store.text(handle) for handle in handles]
    assert [len(text.splitlines()) for text in texts] == [100] * 100
    assert all(json.loads(file.read_text()) for file in tmp_path.glob("*.json"))
