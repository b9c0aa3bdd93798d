"""One suite for every store of what logging in to servers has brought."""

import json
import logging
import stat
from threading import Event, Thread

import pytest

from onetool.storage.flat_file_tokens import FlatFileTokens
from onetool.storage.memory_tokens import MemoryTokens

TEXT = '{"access_token": "s3cr3t"}'


@pytest.fixture(params=["memory", "flat file"])
def tokens(request, tmp_path):
    return MemoryTokens() if request.param == "memory" else FlatFileTokens(tmp_path / "a" / "tokens")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_kept_is_read_by_server(tokens):
    """Replaced whole, and forgotten for good."""
    assert tokens.read("s") is None
    assert tokens.change("s", lambda before: None) is None
    assert tokens.change("s", lambda before: TEXT) == tokens.read("s") == TEXT
    assert tokens.read("other") is None
    assert tokens.change("s", lambda before: before) == TEXT
    assert tokens.change("s", lambda before: '{"n": "ä"}') == tokens.read("s") == '{"n": "ä"}'
    tokens.change("s", lambda before: None)
    assert tokens.read("s") is None


def test_nothing_is_lost_between_writers(tokens):
    """Each change is made to what the one before it left."""

    def add():
        tokens.change("s", lambda before: json.dumps({"n": json.loads(before or '{"n": 0}')["n"] + 1}))

    writers = [Thread(target=add) for _ in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert json.loads(tokens.read("s")) == {"n": 8}


def test_one_server_is_renewed_while_another_is(tokens):
    """A function that takes its time holds up nobody but those who want the same server."""
    begun, go_on = Event(), Event()

    def slow(before):
        begun.set()
        assert go_on.wait(20)
        return TEXT

    renewing = Thread(target=tokens.change, args=("s", slow))
    renewing.start()
    assert begun.wait(20)
    assert tokens.change("other", lambda before: TEXT) == TEXT
    assert tokens.read("s") is None
    go_on.set()
    renewing.join()
    assert tokens.read("s") == TEXT


def test_what_fails_changes_nothing(tokens):
    """What the function raises is raised, and what was kept stays."""
    tokens.change("s", lambda before: TEXT)
    with pytest.raises(ZeroDivisionError):
        tokens.change("s", lambda before: 1 / 0)
    assert tokens.change("s", lambda before: before) == TEXT


def test_no_repr_shows_a_token(tokens):
    """Whoever prints the store sees none."""
    tokens.change("s", lambda before: TEXT)
    assert "s3cr3t" not in repr(tokens)


def test_files_are_their_owner_s_alone(tmp_path):
    """The directory too, also one that was there before."""
    folder = tmp_path / "tokens"
    folder.mkdir(mode=0o755)
    FlatFileTokens(folder).change("s", lambda before: TEXT)
    assert (mode(folder), mode(folder / "s.json")) == (0o700, 0o600)
    assert all(mode(file) == 0o600 for file in folder.iterdir())


def test_one_that_is_held_too_long_is_given_up(tmp_path, monkeypatch):
    """Nobody waits for ever for a process that hangs."""
    monkeypatch.setattr("onetool.storage.flat_file_tokens.PATIENCE", 0.01)
    store = FlatFileTokens(tmp_path)
    with pytest.raises(TimeoutError):
        store.change("s", lambda before: store.change("s", lambda inner: TEXT))


@pytest.mark.parametrize("content", [b"{", b'["s3cr3t"]', b"\xff", b"", b"[" * 100_000, b'"s3cr3t"'])
def test_a_damaged_file_is_set_aside(tmp_path, content, caplog):
    """It counts as none, is still there to be looked at by its owner, and no log repeats it."""
    (tmp_path / "s.json").write_bytes(content)
    (tmp_path / "s.json").chmod(0o600)
    with caplog.at_level(logging.DEBUG):
        assert FlatFileTokens(tmp_path).read("s") is None
    (aside,) = tmp_path.glob("s.json.damaged-*")
    assert (mode(aside), aside.read_bytes()) == (0o600, content)
    assert "set aside" in caplog.text
    assert "s3cr3t" not in caplog.text
