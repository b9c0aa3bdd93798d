"""Contract suite of the session stores, properties of the files, and transcripts."""

import os
import time

import pytest

from onetool.domain.chat.messages import Message, TokenCount, ToolCallRequest
from onetool.domain.chat.transcript import (
    INTERRUPTED,
    InvalidSession,
    call_key,
    message_record,
    replay,
    to_line,
)
from onetool.storage.files.sessions import INDEX, FileSessions
from onetool.storage.memory.sessions import MemorySessions
from onetool.storage.postgres.sessions import PostgresSessions
from onetool.threads import Threads
from storage.file_access import counted_access


@pytest.fixture(params=["memory", "files", "postgres"])
def store(request, tmp_path):
    if request.param == "postgres":
        return PostgresSessions(request.getfixturevalue("workspace"), Threads())
    return MemorySessions() if request.param == "memory" else FileSessions(tmp_path / "sessions", Threads())


def user(text, ask="a"):
    return message_record(Message(role="user", text=text), ask, 1.0)


@pytest.mark.parametrize("broken", [{}, {"tools": None}, {"tools": [[]]}])
def test_invalid_allow_list_allows_nothing(broken):
    """A corrupt record does not lift a restriction."""
    assert replay([{"type": "allowed", **broken}]).allowed == frozenset()


async def test_records_are_returned_in_order(store):
    await store.append("s", [user("one"), user("two")])
    await store.append("s", [user("three")])
    assert [record["text"] for record in await store.read("s")] == ["one", "two", "three"]
    assert await store.read("other") == []


def wait_for_later_file_time(folder):
    """Wait until a file that changes now has a later time than a file that changed before."""
    probe = folder / "probe"
    probe.touch()
    before = probe.stat().st_mtime
    while probe.stat().st_mtime == before:
        probe.write_bytes(b"x")


async def test_sessions_are_listed_most_recently_changed_first(store, tmp_path):
    """In pages, each with its first question as the title."""
    for name in ("three", "one", "two"):
        await store.append(name, [user(f"What is {name}?\nReally?")])
        wait_for_later_file_time(tmp_path)
    await store.append("three", [user("And?")])
    first = await store.page(None, 2)
    second = await store.page(first.next, 2)
    assert [summary.id for summary in (*first.items, *second.items)] == ["three", "two", "one"]
    assert first.items[0].title == "What is three?"
    assert first.items[0].messages == 2
    assert second.next is None
    assert (await store.page(None, 3)).next is None


async def test_sessions_are_deleted_and_reaped(store):
    await store.append("a", [user("x")])
    assert await store.delete("a")
    assert not await store.delete("a")
    await store.append("b", [user("x")])
    assert await store.reap(time.time() - 60) == 0
    assert await store.reap(time.time() + 60) == 1
    assert (await store.page(None, 10)).items == []


async def names(store, limit=100) -> list[str]:
    return [summary.id for summary in (await store.page(None, limit)).items]


@pytest.mark.parametrize("cursor", ["nonsense", "x|y", "1|2|3"])
async def test_invalid_cursor_is_a_value_error(store, cursor):
    await store.append("s", [user("one")])
    with pytest.raises(ValueError, match=r"."):
        await store.page(cursor, 10)


async def test_page_of_many_sessions_reads_only_changed_files(tmp_path, size):
    """The first listing indexes the directory. Later ones do not list it, and read what changed."""
    folder, count = tmp_path / "sessions", size(500, 10_000)
    store = FileSessions(folder, Threads())
    folder.mkdir()
    for number in range(count):
        (folder / f"s{number}.jsonl").write_bytes(to_line(user(f"Question {number}")))
        os.utime(folder / f"s{number}.jsonl", (number, number))
    assert await names(store, 25) == [f"s{number}" for number in range(count - 1, count - 26, -1)]
    await store.append("s3", [user("again")])
    wait_for_later_file_time(tmp_path)
    await store.append("new", [user("first")])
    assert await store.delete("s4")
    for reader in (store, FileSessions(folder, Threads())):
        with counted_access(folder) as access:
            page = await reader.page(None, 25)
        changed = 2 if reader is store else 0
        assert (access["list"], access["open"]) == (0, changed)
        assert [summary.id for summary in page.items[:3]] == ["new", "s3", f"s{count - 1}"]
        assert [summary.messages for summary in page.items[:3]] == [1, 2, 1]
    with counted_access(folder) as access:
        second = await store.page(page.next, 25)
    assert (access["list"], access["open"]) == (0, 23)  # two were read for the first page
    assert second.items[0].id == f"s{count - 24}"
    assert second.items[0].title == f"Question {count - 24}"


async def test_files_that_were_copied_edited_or_removed_by_hand_are_listed(tmp_path):
    store = FileSessions(tmp_path, Threads())
    for name in ("one", "two", "three"):
        await store.append(name, [user(name)])
    assert sorted(await names(store)) == ["one", "three", "two"]
    (tmp_path / "copy.jsonl").write_bytes((tmp_path / "one.jsonl").read_bytes())
    (tmp_path / "two.jsonl").unlink()
    (tmp_path / "three.jsonl").write_bytes(to_line(user("edited")))
    listed = {summary.id: summary.title for summary in (await store.page(None, 10)).items}
    assert listed == {"copy": "one", "one": "one", "three": "edited"}


@pytest.mark.parametrize("content", [None, b"this is not a database, only text that is long enough" * 50])
async def test_lost_or_corrupt_index_is_rebuilt(tmp_path, content):
    store = FileSessions(tmp_path, Threads())
    await store.append("s", [user("one")])
    assert await names(store) == ["s"]
    for file in (tmp_path / ".index").iterdir():
        file.unlink()
    if content:
        (tmp_path / INDEX).write_bytes(content)
    assert await names(store) == ["s"]
    await store.append("t", [user("two")])
    assert sorted(await names(FileSessions(tmp_path, Threads()))) == ["s", "t"]


async def test_session_is_stored_if_the_index_cannot_be_written(tmp_path, caplog):
    store = FileSessions(tmp_path, Threads())
    (tmp_path / ".index").write_text("a file where the directory should be")
    await store.append("s", [user("one")])
    assert [record["text"] for record in await store.read("s")] == ["one"]
    assert "cannot update the index of sessions" in caplog.text
    (tmp_path / ".index").unlink()
    assert await names(store) == ["s"]


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a" * 101, "x\n", "a b"])
async def test_name_that_could_be_a_path_is_rejected(store, name):
    """No session is written outside its directory."""
    with pytest.raises(InvalidSession):
        await store.append(name, [user("x")])
    with pytest.raises(InvalidSession):
        await store.read(name)


async def test_incomplete_and_invalid_lines_are_skipped(tmp_path, caplog):
    """A crash while writing a line loses only that line."""
    store = FileSessions(tmp_path, Threads())
    await store.append("s", [user("one")])
    with (tmp_path / "s.jsonl").open("ab") as file:
        file.write(b'nonsense\n[1]\n{"type": "mess')
    assert [record["text"] for record in await store.read("s")] == ["one"]
    await store.append("s", [user("two")])
    assert [record["text"] for record in await store.read("s")] == ["one", "two"]
    assert "skipped invalid session record" in caplog.text


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
