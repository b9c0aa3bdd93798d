"""The model that follows a script, and its habit without one."""

import asyncio
import json

import pytest

from chat_models.harness import OFFERS, QUESTION
from onetool.chat_models.script import make_script, read_script
from onetool.chat_models.scripted import NO_TOOL, OVER, ScriptedChat
from onetool.domain.chat import ChatFailed, Message, Offer
from onetool.domain.errors import SettingsError


async def say(chat, messages=QUESTION, offers=OFFERS, seconds=20.0, heard=None):
    heard = [] if heard is None else heard
    deadline = asyncio.get_running_loop().time() + seconds
    return await chat.reply(messages, offers, on_text=heard.append, deadline=deadline)


async def test_turns_come_in_their_order_and_then_an_end():
    """Text in pieces, calls under either name, and the same text for ever after."""
    script = [
        {
            "text": "Let me see. ",
            "calls": [{"name": "time__now"}, {"name": "fs.read_file", "args": {"path": "a"}}],
        },
        {"calls": [{"name": "x", "args": "{nonsense"}, {"name": "y", "args": " "}]},
    ]
    chat = ScriptedChat(make_script(script))
    heard = []
    first, second, third = [await say(chat, heard=heard) for _ in range(3)]
    assert (first.text, first.stop, heard[:3]) == ("Let me see. ", "calls", ["Let ", "me ", "see. "])
    assert [(call.id, call.name, call.arguments_text) for call in first.calls] == [
        ("call_1", "time.now", "{}"),
        ("call_2", "fs.read_file", '{"path":"a"}'),
    ]
    assert [call.arguments_text for call in second.calls] == ["{nonsense", "{}"]
    assert (third.text, third.stop, third.calls) == (OVER, "end", ())
    assert (await say(chat)).text == OVER
    assert first.tokens is not None
    await chat.aclose()


async def test_an_error_in_the_script_is_raised():
    """Every failure of a provider can be played."""
    chat = ScriptedChat(
        make_script(
            [{"error": "auth"}, {"error": {"kind": "rate_limited", "message": "slow", "retry_after": 3}}]
        )
    )
    with pytest.raises(ChatFailed) as first:
        await say(chat)
    with pytest.raises(ChatFailed, match="slow") as second:
        await say(chat)
    assert (first.value.kind, second.value.kind, second.value.retry_after) == ("auth", "rate_limited", 3)


async def test_what_a_script_expects_must_be_sent():
    """Looked for in what is new since the model spoke last."""
    chat = ScriptedChat(make_script([{"expect": "time"}, {"expect": ["noon", "late"]}, {"expect": "time"}]))
    await say(chat)
    results = [
        Message(role="tool", call_id=str(at), name="x.y", text=text)
        for at, text in enumerate(["noon", "late"])
    ]
    so_far = [*QUESTION, Message(role="assistant"), *results]
    await say(chat, messages=so_far)
    with pytest.raises(ChatFailed, match="expects 'time'") as caught:
        await say(chat, messages=so_far)
    assert caught.value.kind == "rejected"


async def test_a_delay_ends_at_the_deadline():
    """A slow model can be played too."""
    chat = ScriptedChat(make_script([{"text": "x", "delay_s": 600}]))
    with pytest.raises(ChatFailed) as caught:
        await say(chat, seconds=0.05)
    assert caught.value.kind == "timeout"


async def test_without_a_script_it_calls_the_tool_that_is_asked_for():
    """The one that shares most words with the question and needs no arguments; then it tells the result."""
    chat = ScriptedChat()
    first = await say(chat)
    assert [(call.name, call.arguments_text) for call in first.calls] == [("time.now", "{}")]
    answered = Message(role="tool", call_id=first.calls[0].id, name="time.now", text="12:00")
    so_far = [*QUESTION, first.message(), answered]
    second = await say(chat, messages=so_far)
    assert (second.text, second.stop) == ("12:00", "end")
    again = [*so_far, second.message(), Message(role="user", text="Read a file please")]
    assert (await say(chat, messages=again)).text == NO_TOOL


async def test_the_habit_prefers_names_and_the_first_among_equals():
    """So that a demonstration is the same every time."""
    offers = [
        Offer(name="a.one", description="weather", schema={}),
        Offer(name="weather.get", description="", schema={"required": []}),
        Offer(name="weather.got", description="", schema={}),
    ]
    reply = await say(ScriptedChat(), [Message(role="user", text="How is the weather?")], offers)
    assert [call.name for call in reply.calls] == ["weather.get"]
    assert (await say(ScriptedChat(), [Message(role="user", text="")], offers)).text == NO_TOOL


@pytest.mark.parametrize("name", ["script.yaml", "script.json"])
def test_scripts_are_read_from_files(tmp_path, name):
    """YAML or JSON."""
    file = tmp_path / name
    file.write_text(json.dumps([{"text": "a", "calls": [{"name": "x.y", "args": {"a": [1]}}]}]))
    (turn,) = read_script(file)
    assert (turn.text, turn.calls) == ("a", (("x.y", '{"a":[1]}'),))


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ({"text": "a"}, "not a list of turns"),
        ("text", "not a list of turns"),
        ([{"text": "a"}, "b"], "turn 2 is no map"),
        ([{"txt": "a"}], "turn 1 is no map"),
        ([{"text": 3}], "text is 3"),
        ([{"delay_s": -1}], "delay_s is -1"),
        ([{"delay_s": "x"}], "delay_s is 'x'"),
        ([{"expect": 3}], "expect is 3"),
        ([{"expect": [3]}], "expect is [3]"),
        ([{"calls": {}}], "calls is {}"),
        ([{"calls": [{"args": {}}]}], "a call is {'args': {}}"),
        ([{"calls": [{"name": "x", "arguments": {}}]}], "a call is"),
        ([{"error": "bad"}], "Valid kinds: auth, rate_limited"),
        ([{"error": {"message": "x"}}], "error is {'message': 'x'}"),
        ([{"error": {"kind": "auth", "x": 1}}], "error is"),
    ],
)
def test_a_script_that_is_wrong_says_where(tmp_path, script, problem):
    """The file, the turn, the value, and what would be right."""
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script))
    with pytest.raises(SettingsError) as caught:
        read_script(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert problem in str(caught.value)


def test_a_script_that_is_not_there(tmp_path):
    """Named by its path."""
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: cannot be read"):
        read_script(tmp_path / "nowhere.yaml")
