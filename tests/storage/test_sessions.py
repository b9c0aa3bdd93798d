"""Contract suite of the session stores, properties of the files, and transcripts."""

import os
import time

import pytest

from onetool.domain.chat.messages import Message, TokenCount, ToolCallRequest
from onetool.domain.chat.transcript import INTERRUPTED, InvalidSession, call_key, message_record, replay
from onetool.storage.files.sessions import FileSessions
from onetool.storage.memory.sessions import MemorySessions


@pytest.fixture(params=["memory", "files"])
def store(request, tmp_path):
    return MemorySessions() if request.param == "memory" else FileSessions(tmp_path / "sessions")


def user(text, ask="a"):
    return message_record(Message(role="user", text=text), ask, 1.0)


@pytest.mark.parametrize("broken", [{}, {"tools": None}, {"tools": [[]]}])
def test_invalid_allow_list_allows_nothing(broken):
    """A corrupt record does not lift a restriction."""
    assert replay([{"type": "allowed", **broken}]).allowed == frozenset()


def test_records_are_returned_in_order(store):
    store.append("s", [user("one"), user("two")])
    store.append("s", [user("three")])
    assert [record["text"] for record in store.read("s")] == ["one", "two", "three"]
    assert store.read("other") == []


def wait_for_later_file_time(folder):
    """Wait until a file that changes now has a later time than a file that changed before."""
    probe = folder / "probe"
    probe.touch()
    before = probe.stat().st_mtime
    while probe.stat().st_mtime == before:
        probe.write_bytes(b"x")


def test_sessions_are_listed_most_recently_changed_first(store, tmp_path):
    """In pages, each with its first question as the title."""
    for name in ("three", "one", "two"):
        store.append(name, [user(f"What is {name}?\nReally?")])
        wait_for_later_file_time(tmp_path)
    store.append("three", [user("And?")])
    first = store.page(None, 2)
    second = store.page(first.next, 2)
    assert [summary.id for summary in (*first.items, *second.items)] == ["three", "two", "one"]
    assert first.items[0].title == "What is three?"
    assert first.items[0].messages == 2
    assert second.next is None
    assert store.page(None, 3).next is None


def test_sessions_are_deleted_and_reaped(store):
    store.append("a", [user("x")])
    assert store.delete("a")
    assert not store.delete("a")
    store.append("b", [user("x")])
    assert store.reap(time.time() - 60) == 0
    assert store.reap(time.time() + 60) == 1
    assert store.page(None, 10).items == []


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a" * 101, "x\n", "a b"])
def test_name_that_could_be_a_path_is_rejected(store, name):
    """No session is written outside its directory."""
    with pytest.raises(InvalidSession):
        store.append(name, [user("x")])
    with pytest.raises(InvalidSession):
        store.read(name)


def test_incomplete_and_invalid_lines_are_skipped(tmp_path, caplog):
    """A crash while writing a line loses only that line."""
    store = FileSessions(tmp_path)
    store.append("s", [user("one")])
    with (tmp_path / "s.jsonl").open("ab") as file:
        file.write(b'nonsense\n[1]\n{"type": "mess')
    assert [record["text"] for record in store.read("s")] == ["one"]
    store.append("s", [user("two")])
    assert [record["text"] for record in store.read("s")] == ["one", "two"]
    assert "skipped invalid session record" in caplog.text


@pytest.mark.skipif(os.name == "nt", reason="Windows has no mode bits")
def test_session_file_is_readable_only_by_its_owner(tmp_path):
    FileSessions(tmp_path / "sessions").append("s", [user("x")])
    assert (tmp_path / "sessions" / "s.jsonl").stat().st_mode & 0o077 == 0


CALL = ToolCallRequest(id="c1", name="time.now", arguments_text="{}", signature="x")


def test_transcript_is_replayed_from_records():
    """Messages with calls, the last allow-list, tokens, cached results, the title."""
    assistant = message_record(
        Message(role="assistant", calls=(CALL,)), "a", 2.0, tokens={"input": 3, "output": 4}, nothing=None
    )
    tool_result = message_record(
        Message(role="tool", text="12", call_id="c1", name="time.now"), "a", 3.0, key="k", data=12
    )
    records = [
        {"type": "allowed", "tools": ["a"]},
        user("What?\nmore"),
        assistant,
        tool_result,
        {"type": "later version"},
        {"type": "allowed", "tools": ["b", "c"]},
    ]
    transcript = replay(records)
    assert [message.role for message in transcript.messages] == ["user", "assistant", "tool"]
    assert transcript.messages[1].calls == (CALL,)
    assert transcript.allowed == {"b", "c"}
    assert transcript.tokens == TokenCount(input=3, output=4)
    assert transcript.cached_results["k"].data == 12
    assert transcript.title == "What?"
    assert replay([*records, {"type": "title", "title": "Mine"}]).title == "Mine"


def test_interrupted_calls_get_a_result_and_questions_do_not_mix():
    """Two processes used one session and one was killed: the messages are still well-formed."""
    call = message_record(Message(role="assistant", calls=(CALL,)), "a", 2.0)
    transcript = replay(
        [
            user("one", "a"),
            user("two", "b"),
            call,
            message_record(Message(role="assistant", text="2"), "b", 3.0),
        ]
    )
    assert [message.text for message in transcript.messages] == ["one", "", INTERRUPTED, "two", "2"]
    assert transcript.messages[2].failed


def test_call_key_depends_on_tool_version_and_arguments():
    """The order of the arguments does not matter."""
    key = call_key("a.b", "current", {"x": 1, "y": 2})
    assert key == call_key("a.b", "current", {"y": 2, "x": 1})
    others = [
        call_key("a.c", "current", {"x": 1, "y": 2}),
        call_key("a.b", "2", {"x": 1, "y": 2}),
        call_key("a.b", "current", {}),
    ]
    assert key not in others


def test_invalid_records_are_skipped():
    """A line of a later version or a manual edit does not make the session unreadable."""
    invalid = [
        {"type": "message", "role": "robot", "text": "x"},
        {"type": "message", "role": "user", "text": 1},
    ]
    assert [message.text for message in replay([*invalid, {"type": ["x"]}, user("one")]).messages] == ["one"]
