"""The contract of session stores, kept by both of them; and what files bring with them."""

import os
import time

import pytest

from onetool.domain.chat import Message, TokenCount, ToolCallRequest
from onetool.domain.transcript import INTERRUPTED, BadSession, add_up, call_key, said
from onetool.storage.flat_file_sessions import FlatFileSessions
from onetool.storage.memory_sessions import MemorySessions


@pytest.fixture(params=["memory", "files"])
def store(request, tmp_path):
    return MemorySessions() if request.param == "memory" else FlatFileSessions(tmp_path / "sessions")


def user(text, ask="a"):
    return said(Message(role="user", text=text), ask, 1.0)


@pytest.mark.parametrize("broken", [{}, {"tools": None}, {"tools": [[]]}])
def test_a_list_of_tools_that_cannot_be_read_allows_none(broken):
    """What was narrowed once is not wide again because a line is broken."""
    assert add_up([{"type": "allowed", **broken}]).allowed == frozenset()


def test_records_come_back_in_their_order(store):
    """What was appended is what is read."""
    store.append("s", [user("one"), user("two")])
    store.append("s", [user("three")])
    assert [record["text"] for record in store.read("s")] == ["one", "two", "three"]
    assert store.read("other") == []


def test_sessions_are_listed_by_what_happened_last(store):
    """The newest first, page by page, each with its first question as a title."""
    for name in ("one", "two", "three"):
        store.append(name, [user(f"What is {name}?\nReally?")])
        time.sleep(0.02)
    store.append("one", [user("And?")])
    first = store.page(None, 2)
    second = store.page(first.next, 2)
    assert [head.id for head in (*first.items, *second.items)] == ["one", "three", "two"]
    assert first.items[0].title == "What is one?"
    assert first.items[0].messages == 2
    assert second.next is None


def test_a_session_is_deleted_once_and_old_ones_are_reaped(store):
    """What is gone is gone."""
    store.append("a", [user("x")])
    assert store.delete("a")
    assert not store.delete("a")
    store.append("b", [user("x")])
    assert store.reap(time.time() - 60) == 0
    assert store.reap(time.time() + 60) == 1
    assert store.page(None, 10).items == []


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a" * 101, "x\n", "a b"])
def test_a_name_that_could_be_a_path_is_refused(store, name):
    """No session is written outside of its folder."""
    with pytest.raises(BadSession):
        store.append(name, [user("x")])
    with pytest.raises(BadSession):
        store.read(name)


def test_a_torn_line_and_rubbish_are_passed_over(tmp_path, caplog):
    """A crash in the middle of a line costs that line."""
    store = FlatFileSessions(tmp_path)
    store.append("s", [user("one")])
    with (tmp_path / "s.jsonl").open("ab") as file:
        file.write(b'rubbish\n[1]\n{"type": "mess')
    assert [record["text"] for record in store.read("s")] == ["one"]
    store.append("s", [user("two")])
    assert [record["text"] for record in store.read("s")] == ["one", "two"]
    assert "passed over" in caplog.text


@pytest.mark.skipif(os.name == "nt", reason="modes are not kept there")
def test_what_was_said_is_readable_by_its_owner_alone(tmp_path):
    """Conversations are private."""
    FlatFileSessions(tmp_path / "sessions").append("s", [user("x")])
    assert (tmp_path / "sessions" / "s.jsonl").stat().st_mode & 0o077 == 0


CALL = ToolCallRequest(id="c1", name="time.now", arguments_text="{}", seal="x")


def test_a_transcript_is_what_its_records_add_up_to():
    """Messages with their calls, the tools allowed last, tokens, results to use again, the title."""
    assistant = said(
        Message(role="assistant", calls=(CALL,)), "a", 2.0, tokens={"input": 3, "output": 4}, nothing=None
    )
    told = said(Message(role="tool", text="12", call_id="c1", name="time.now"), "a", 3.0, key="k", data=12)
    records = [
        {"type": "allowed", "tools": ["a"]},
        user("What?\nmore"),
        assistant,
        told,
        {"type": "later version"},
        {"type": "allowed", "tools": ["b", "c"]},
    ]
    found = add_up(records)
    assert [message.role for message in found.messages] == ["user", "assistant", "tool"]
    assert found.messages[1].calls == (CALL,)
    assert found.allowed == {"b", "c"}
    assert found.tokens == TokenCount(input=3, output=4)
    assert found.kept["k"].data == 12
    assert found.title == "What?"
    assert add_up([*records, {"type": "title", "title": "Mine"}]).title == "Mine"


def test_a_call_without_an_answer_is_answered_and_questions_do_not_mix():
    """Two processes in one session, one of them killed: what a model is sent still makes sense."""
    asks = said(Message(role="assistant", calls=(CALL,)), "a", 2.0)
    found = add_up(
        [user("one", "a"), user("two", "b"), asks, said(Message(role="assistant", text="2"), "b", 3.0)]
    )
    assert [message.text for message in found.messages] == ["one", "", INTERRUPTED, "two", "2"]
    assert found.messages[2].failed


def test_calls_are_told_apart_by_tool_version_and_arguments():
    """The order of arguments makes no difference; anything else does."""
    key = call_key("a.b", "current", {"x": 1, "y": 2})
    assert key == call_key("a.b", "current", {"y": 2, "x": 1})
    others = [
        call_key("a.c", "current", {"x": 1, "y": 2}),
        call_key("a.b", "2", {"x": 1, "y": 2}),
        call_key("a.b", "current", {}),
    ]
    assert key not in others


def test_a_record_that_makes_no_sense_is_passed_over():
    """One line of a later version, or of an editor's, does not take the conversation with it."""
    odd = [{"type": "message", "role": "robot", "text": "x"}, {"type": "message", "role": "user", "text": 1}]
    assert [message.text for message in add_up([*odd, {"type": ["x"]}, user("one")]).messages] == ["one"]
