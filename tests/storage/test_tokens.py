"""Contract suite of the token stores."""

import json
import logging
import stat
from threading import Event, Thread

import pytest

from onetool.storage.files.tokens import FileTokens
from onetool.storage.memory.tokens import MemoryTokens

TEXT = '{"access_token": "s3cr3t"}'


@pytest.fixture(params=["memory", "files"])
def tokens(request, tmp_path):
    return MemoryTokens() if request.param == "memory" else FileTokens(tmp_path / "a" / "tokens")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_tokens_are_stored_replaced_and_deleted_per_server(tokens):
    assert tokens.read("s") is None
    assert tokens.change("s", lambda before: None) is None
    assert tokens.change("s", lambda before: TEXT) == tokens.read("s") == TEXT
    assert tokens.read("other") is None
    assert tokens.change("s", lambda before: before) == TEXT
    assert tokens.change("s", lambda before: '{"n": "ä"}') == tokens.read("s") == '{"n": "ä"}'
    tokens.change("s", lambda before: None)
    assert tokens.read("s") is None


def test_concurrent_changes_are_serialized(tokens):
    """Each change receives the result of the one before it."""

    def add():
        tokens.change("s", lambda before: json.dumps({"n": json.loads(before or '{"n": 0}')["n"] + 1}))

    writers = [Thread(target=add) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert json.loads(tokens.read("s")) == {"n": 8}


def test_slow_change_blocks_only_its_own_server(tokens):
    started, resume = Event(), Event()

    def slow(before):
        started.set()
        assert resume.wait(20)
        return TEXT

    refresh = Thread(target=tokens.change, args=("s", slow))
    refresh.start()
    assert started.wait(20)
    assert tokens.change("other", lambda before: TEXT) == TEXT
    assert tokens.read("s") is None
    resume.set()
    refresh.join()
    assert tokens.read("s") == TEXT


def test_failed_change_propagates_and_changes_nothing(tokens):
    tokens.change("s", lambda before: TEXT)
    with pytest.raises(ZeroDivisionError):
        tokens.change("s", lambda before: 1 / 0)
    assert tokens.change("s", lambda before: before) == TEXT


def test_repr_shows_no_token(tokens):
    tokens.change("s", lambda before: TEXT)
    assert "s3cr3t" not in repr(tokens)


def test_files_are_readable_only_by_their_owner(tmp_path):
    """So is the directory, even if it existed with other permissions."""
    folder = tmp_path / "tokens"
    folder.mkdir(mode=0o755)
    FileTokens(folder).change("s", lambda before: TEXT)
    assert (mode(folder), mode(folder / "s.json")) == (0o700, 0o600)
    assert all(mode(file) == 0o600 for file in folder.iterdir())


def test_change_times_out_while_another_holds_the_lock(tmp_path, monkeypatch):
    """A process that hangs does not block others forever."""
    monkeypatch.setattr("onetool.storage.files.tokens.TIMEOUT_S", 0.01)
    store = FileTokens(tmp_path)
    with pytest.raises(TimeoutError):
        store.change("s", lambda before: store.change("s", lambda inner: TEXT))


@pytest.mark.parametrize("content", [b"{", b'["s3cr3t"]', b"\xff", b"", b"[" * 100_000, b'"s3cr3t"'])
def test_corrupt_file_is_moved(tmp_path, content, caplog):
    """The server counts as logged out, the file remains private, and the log does not quote it."""
    (tmp_path / "s.json").write_bytes(content)
    (tmp_path / "s.json").chmod(0o600)
    with caplog.at_level(logging.DEBUG):
        assert FileTokens(tmp_path).read("s") is None
    (moved,) = tmp_path.glob("s.json.corrupt-*")
    assert (mode(moved), moved.read_bytes()) == (0o600, content)
    assert "moved corrupt file" in caplog.text
    assert "s3cr3t" not in caplog.text
