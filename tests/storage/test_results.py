"""Contract suite of the result stores, and failures specific to files."""

import json
import re
import subprocess
import sys
from hashlib import sha256

import pytest

from onetool.domain.content.media import Media
from onetool.domain.results import stored_result
from onetool.domain.results.stored_result import METADATA_RETENTION_S, MIN_MEDIA_AGE_S
from onetool.storage.files import results as file_results
from onetool.storage.files.results import SWEEP_INTERVAL_S, FileResults
from onetool.storage.memory.results import MemoryResults
from onetool.storage.postgres.results import PostgresResults
from onetool.threads import Threads
from storage.file_access import counted_access

ME, OTHER, LIMITED = "local", "bob", "local#1"
"""Scopes of two principals, and of one of them with the limits of a key or a profile."""


@pytest.fixture(params=["memory", "files", "postgres"])
def store(request, tmp_path, clock):
    if request.param == "postgres":
        return PostgresResults(request.getfixturevalue("workspace"), Threads(), clock)
    return MemoryResults(clock) if request.param == "memory" else FileResults(tmp_path, Threads(), clock)


@pytest.mark.parametrize("text", ["", "one", "a\nb\n", "a\r\nb", "\f\u2028 漢 \ud800", "x" * 100_000])
async def test_text_is_returned_unchanged(store, text):
    stored = await store.put(text, "demo.tool", 10, owner=ME)
    assert await store.text(stored.handle, reader=ME) == text
    assert await store.find(stored.handle, reader=ME) == stored
    assert stored.size_bytes == len(text.encode("utf-8", "surrogatepass"))
    assert (stored.tool, stored.expires_at - stored.created_at) == ("demo.tool", 10)


async def test_expired_is_not_unknown(store, clock):
    """An expired handle is still found, without its text."""
    stored = await store.put("text", "demo.tool", 10, owner=ME)
    clock.time += 11
    assert await store.text(stored.handle, reader=ME) is None
    assert await store.find(stored.handle, reader=ME) == stored
    assert await store.find("000000000000", reader=ME) is None
    assert await store.text("000000000000", reader=ME) is None


def picture(size=3, mime_type="image/png"):
    return Media(bytes(range(256)) * (size // 256) + bytes(size % 256), mime_type)


@pytest.mark.parametrize("size", [0, 3, 100_000])
async def test_media_are_returned_unchanged(store, size):
    media = picture(size)
    stored = await store.put_media(media, "demo.tool", 10, owner=ME)
    assert stored == await store.find(media.handle, reader=ME)
    assert (stored.mime_type, stored.size_bytes, stored.expires_at - stored.created_at) == (
        *("image/png", size),
        10,
    )
    assert stored.digest == sha256(media.to_bytes()).hexdigest()
    read = await store.media(media.handle, reader=ME)
    assert (read, read.to_bytes(), read.mime_type) == (media, media.to_bytes(), "image/png")
    assert await store.text(media.handle, reader=ME) is None
    assert await store.media((await store.put("text", "a.b", owner=ME)).handle, reader=ME) is None


async def test_media_are_stored_once(store, clock):
    media = picture()
    stored = await store.put_media(media, "demo.tool", 10, owner=ME)
    clock.time += 5
    assert await store.put_media(media, "other.tool", 10, owner=ME) == stored
    clock.time += 5
    assert (await store.put_media(media, "other.tool", 10, owner=ME)).tool == "other.tool"


async def test_media_expire(store, clock):
    media = picture()
    stored = await store.put_media(media, "demo.tool", 10, owner=ME)
    clock.time += 10
    assert await store.media(media.handle, reader=ME) is None
    assert await store.find(media.handle, reader=ME) == stored
    assert await store.media("0" * 32, reader=ME) is None


async def test_the_oldest_media_make_room(store, clock, monkeypatch):
    """Media younger than ten minutes stay, also over the limit."""
    monkeypatch.setattr(stored_result, "MAX_MEDIA_BYTES", 2_000)
    first, second, young = picture(900), picture(900), [picture(900) for _ in range(3)]
    await store.put_media(first, "a.b", owner=ME)
    clock.time += 1
    await store.put_media(second, "a.b", owner=ME)
    clock.time += MIN_MEDIA_AGE_S
    await store.put_media(young[0], "a.b", owner=ME)
    assert [await store.media(media.handle, reader=ME) is not None for media in (first, second)] == [
        False,
        True,
    ]
    clock.time += SWEEP_INTERVAL_S
    for media in young[1:]:
        await store.put_media(media, "a.b", owner=ME)
        clock.time += SWEEP_INTERVAL_S
    assert await store.media(second.handle, reader=ME) is None
    assert [media for media in young if await store.media(media.handle, reader=ME) is None] == []


async def test_files_of_media_are_swept(tmp_path, clock):
    store, media = FileResults(tmp_path, Threads(), clock), picture()
    await store.put_media(media, "a.b", 10, owner=ME)
    files = [tmp_path / f"{media.handle}.bin", tmp_path / f"{media.handle}.json"]
    assert sorted(tmp_path.iterdir()) == files
    clock.time += SWEEP_INTERVAL_S + 11
    await store.put("new", "a.b", 10, owner=ME)
    assert [file.exists() for file in files] == [False, True]


async def test_many_bytes_are_measured_at_once(tmp_path, clock, monkeypatch):
    """A limit that is exceeded between two sweeps is noticed."""
    monkeypatch.setattr(stored_result, "MAX_MEDIA_BYTES", 2_000)
    monkeypatch.setattr(file_results, "MEASURE_BYTES", 2_500)
    store, old = FileResults(tmp_path, Threads(), clock), picture(900)
    await store.put_media(old, "a.b", owner=ME)
    clock.time += MIN_MEDIA_AGE_S - 1
    await store.put_media(picture(900), "a.b", owner=ME)
    clock.time += 2
    for _ in range(2):
        assert await store.media(old.handle, reader=ME) is not None
        await store.put_media(picture(900), "a.b", owner=ME)
    assert await store.media(old.handle, reader=ME) is not None
    await store.put_media(picture(900), "a.b", owner=ME)
    assert await store.media(old.handle, reader=ME) is None


async def test_media_without_their_file_are_expired(tmp_path):
    store, media = FileResults(tmp_path, Threads()), picture()
    await store.put_media(media, "a.b", owner=ME)
    (tmp_path / f"{media.handle}.bin").unlink()
    assert await store.media(media.handle, reader=ME) is None
    await store.put_media(media, "a.b", owner=ME)
    assert await store.media(media.handle, reader=ME) == media


@pytest.mark.parametrize("owner", [ME, OTHER, LIMITED, "local#2", "loca", "a\0b", "ü" * 300])
@pytest.mark.parametrize("reader", [ME, OTHER, LIMITED, "local#2", "local#", "loc", "", "%", "a\0b"])
async def test_handle_of_someone_else_is_unknown(store, owner, reader):
    """A principal without limits reads all that belongs to its id, every other one only its own."""
    text, media = await store.put("secret", "a.b", owner=owner), picture()
    await store.put_media(media, "a.b", owner=owner)
    permitted = reader == owner or (reader == ME and owner.startswith("local#"))
    if "\0" in owner and isinstance(store, PostgresResults):
        permitted = False  # no such principal can exist
    for handle in (text.handle, media.handle):
        assert (await store.find(handle, reader=reader) is not None) is permitted
    assert await store.text(text.handle, reader=reader) == ("secret" if permitted else None)
    assert await store.media(media.handle, reader=reader) == (media if permitted else None)


async def test_same_media_of_two_owners_are_stored_for_each(store, clock):
    """A pack may return the same media to several callers."""
    media = picture()
    await store.put_media(media, "a.b", 10, owner=LIMITED)
    await store.put_media(media, "a.b", 100, owner=OTHER)
    assert (await store.put_media(media, "mine.too", 50, owner=ME)).owner == ME
    for reader in (ME, OTHER, LIMITED):
        assert await store.media(media.handle, reader=reader) == media
        assert (await store.find(media.handle, reader=reader)).owner == reader
    clock.time += 11
    found = [await store.media(media.handle, reader=reader) for reader in (ME, OTHER, LIMITED)]
    assert found == [media, media, None]


async def test_handles_cannot_be_guessed(store):
    """They have 128 random bits, and stand for nothing in another form."""
    handle = (await store.put("x", "a.b", owner=ME)).handle
    assert re.fullmatch("[0-9a-f]{32}", handle)
    for other in (handle.upper(), f" {handle}", f"{handle}\n", handle[:12], f"{handle}0", f"x/{handle}"):
        is_same = other == handle  # without letters, upper case changes nothing
        assert (await store.find(other, reader=ME) is None) is not is_same
        assert (await store.text(other, reader=ME) is None) is not is_same


async def test_results_of_earlier_versions_belong_to_the_user_without_a_profile(tmp_path):
    fields = {"handle": "0123456789ab", "tool": "a.b", "total_lines": 1, "size_bytes": 3}
    times = {"created_at": 0.0, "expires_at": 4e9}
    (tmp_path / "0123456789ab.json").write_text(json.dumps(fields | times))
    (tmp_path / "0123456789ab.txt").write_text("old")
    store = FileResults(tmp_path, Threads())
    found = [await store.text("0123456789ab", reader=reader) for reader in (ME, LIMITED, OTHER)]
    assert found == ["old", None, None]


async def test_files_of_every_owner_are_swept(tmp_path, clock, monkeypatch):
    monkeypatch.setattr(stored_result, "MAX_MEDIA_BYTES", 2_000)
    store = FileResults(tmp_path, Threads(), clock)
    for owner in (ME, OTHER, LIMITED):
        await store.put("old", "a.b", 10, owner=owner)
        await store.put_media(picture(900), "a.b", 1e9, owner=owner)
    clock.time += SWEEP_INTERVAL_S + METADATA_RETENTION_S + 11
    await store.put_media(picture(900), "a.b", owner=ME)
    assert [file.read_text() for file in tmp_path.rglob("*.txt")] == []
    assert len(list(tmp_path.rglob("*.bin"))) == 2


async def test_same_text_gets_two_handles(store):
    assert (await store.put("x", "a.b", owner=ME)).handle != (await store.put("x", "a.b", owner=ME)).handle


@pytest.mark.parametrize(
    "handle", ["../../etc/passwd", "", "a/b", "x" * 500, "..", "ABCDEF123456", "\0", "\ud800"]
)
async def test_a_handle_is_not_a_path(store, handle):
    """An invalid handle is unknown, and no file is opened."""
    assert await store.media(handle, reader=ME) is None
    assert await store.find(handle, reader=ME) is None
    assert await store.text(handle, reader=ME) is None


async def test_expired_texts_are_swept(tmp_path, clock):
    """The next sweep deletes the text, a sweep a week later the metadata. Other files stay."""
    store = FileResults(tmp_path, Threads(), clock)
    (tmp_path / "notes.json").write_text("{}")
    first = await store.put("old", "a.b", 10, owner=ME)
    clock.time += SWEEP_INTERVAL_S + 11
    second = await store.put("new", "a.b", 10, owner=ME)
    assert not (tmp_path / f"{first.handle}.txt").exists()
    assert await store.find(first.handle, reader=ME)
    clock.time += METADATA_RETENTION_S + SWEEP_INTERVAL_S + 11
    await store.put("newer", "a.b", 10, owner=ME)
    assert await store.find(first.handle, reader=ME) is None
    assert await store.text(second.handle, reader=ME) is None
    assert (tmp_path / "notes.json").exists()


async def test_expired_texts_are_swept_after_the_clock_was_set_back(tmp_path, clock):
    store = FileResults(tmp_path, Threads(), clock)
    clock.time += 86_400
    await store.put("from a wrong future", "a.b", 10, owner=ME)
    clock.time -= 86_400
    stored = await FileResults(tmp_path, Threads(), lambda: clock.time - 100).put("old", "a.b", 10, owner=ME)
    await store.put("new", "a.b", 10, owner=ME)
    assert not (tmp_path / f"{stored.handle}.txt").exists()


@pytest.fixture
def small_sweeps(monkeypatch):
    """Return how many results a sweep looks at: few, because each must be stored first."""
    monkeypatch.setattr(file_results, "SWEEP_SIZE", 5)
    return 5


async def test_expired_results_are_swept_in_pieces(tmp_path, clock, small_sweeps):
    """Storing one result never waits for thousands of others. In the end all of them are deleted."""
    store = FileResults(tmp_path, Threads(), clock)
    for _ in range(20 * small_sweeps):
        await store.put("old", "a.b", 10, owner=ME)
    clock.time += SWEEP_INTERVAL_S + METADATA_RETENTION_S + 11
    opened = []
    for _ in range(20):
        with counted_access(tmp_path) as access:
            await store.put("new", "a.b", 10, owner=ME)
        opened.append(access["open"])
    own_files = 2 * 2  # text and metadata, and the directory after each
    assert max(opened) <= small_sweeps + own_files
    assert len(list(tmp_path.iterdir())) == 2 * 20


async def test_processes_that_store_one_result_sweep_too(tmp_path, clock, small_sweeps):
    """Each one starts with other results, so that all of them are deleted sooner or later."""
    for _ in range(4 * small_sweeps):
        await FileResults(tmp_path, Threads(), clock).put("old", "a.b", 10, owner=ME)
    clock.time += SWEEP_INTERVAL_S + 11
    for _ in range(100):
        if sum(file.stat().st_size == len("old") for file in tmp_path.glob("*.txt")) == 0:
            break
        await FileResults(tmp_path, Threads(), clock).put("newer", "a.b", 10, owner=ME)
    assert [file.read_text() for file in tmp_path.glob("*.txt") if file.read_text() == "old"] == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"handle": 1}', "null"])
async def test_corrupt_metadata_is_an_unknown_handle(tmp_path, content):
    """Other handles are not affected."""
    store = FileResults(tmp_path, Threads())
    corrupt, intact = await store.put("x", "a.b", owner=ME), await store.put("y", "a.b", owner=ME)
    (tmp_path / f"{corrupt.handle}.json").write_text(content)
    assert await store.find(corrupt.handle, reader=ME) is None
    assert await store.text(intact.handle, reader=ME) == "y"
    (tmp_path / f"{intact.handle}.txt").unlink()
    assert await store.text(intact.handle, reader=ME) is None


async def test_several_processes_store_results_concurrently(tmp_path):
    code = """
import asyncio, sys
from pathlib import Path
from onetool.storage.files.results import FileResults
from onetool.threads import Threads
store = FileResults(Path(sys.argv[1]), Threads())
async def main():
    for number in range(25):
        print((await store.put(f"{sys.argv[2]} {number}\\n" * 100, "a.b", owner="local")).handle)
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
    texts = [await store.text(handle, reader=ME) for handle in handles]
    assert [len(text.splitlines()) for text in texts] == [100] * 100
    assert all(json.loads(file.read_text()) for file in tmp_path.glob("*.json"))
