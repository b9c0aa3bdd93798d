"""The scripted model, with and without a script."""

import asyncio
import json

import pytest

from chat_models.harness import QUESTION, TOOLS
from onetool.chat_models.script import make_script, read_script
from onetool.chat_models.scripted import END_OF_SCRIPT, NO_TOOL, ScriptedChat
from onetool.domain.chat.messages import ChatModelError, Message, ToolDefinition
from onetool.domain.errors import SettingsError


async def reply(chat, messages=QUESTION, tools=TOOLS, seconds=20.0, received=None):
    received = [] if received is None else received
    deadline = asyncio.get_running_loop().time() + seconds
    return await chat.reply(messages, tools, on_text=received.append, deadline=deadline)


async def test_turns_are_replayed_in_order():
    """Text in chunks, calls with either kind of name, and a final text for every further request."""
    script = [
        {
            "text": "Let me see. ",
            "calls": [{"name": "time__now"}, {"name": "fs.read_file", "args": {"path": "a"}}],
        },
        {"calls": [{"name": "x", "args": "{nonsense"}, {"name": "y", "args": " "}]},
    ]
    chat = ScriptedChat(make_script(script))
    received = []
    first, second, third = [await reply(chat, received=received) for _ in range(3)]
    assert (first.text, first.stop, received[:3]) == ("Let me see. ", "calls", ["Let ", "me ", "see. "])
    assert [(call.id, call.name, call.arguments_text) for call in first.calls] == [
        ("call_1", "time.now", "{}"),
        ("call_2", "fs.read_file", '{"path":"a"}'),
    ]
    assert [call.arguments_text for call in second.calls] == ["{nonsense", "{}"]
    assert (third.text, third.stop, third.calls) == (END_OF_SCRIPT, "end", ())
    assert (await reply(chat)).text == END_OF_SCRIPT
    assert first.tokens is not None
    await chat.aclose()


async def test_scripted_error_is_raised():
    """Every failure of a provider can be simulated."""
    chat = ScriptedChat(
        make_script(
            [{"error": "auth"}, {"error": {"kind": "rate_limited", "message": "slow", "retry_after": 3}}]
        )
    )
    with pytest.raises(ChatModelError) as first:
        await reply(chat)
    with pytest.raises(ChatModelError, match="slow") as second:
        await reply(chat)
    assert (first.value.kind, second.value.kind, second.value.retry_after) == ("auth", "rate_limited", 3)


async def test_expected_text_must_be_in_the_new_messages():
    """Messages since the last reply of the model are new."""
    chat = ScriptedChat(make_script([{"expect": "time"}, {"expect": ["noon", "late"]}, {"expect": "time"}]))
    await reply(chat)
    results = [
        Message(role="tool", call_id=str(number), name="x.y", text=text)
        for number, text in enumerate(["noon", "late"])
    ]
    history = [*QUESTION, Message(role="assistant"), *results]
    await reply(chat, messages=history)
    with pytest.raises(ChatModelError, match="expects 'time'") as caught:
        await reply(chat, messages=history)
    assert caught.value.kind == "rejected"


async def test_delay_ends_at_the_deadline():
    """A slow model can be simulated."""
    chat = ScriptedChat(make_script([{"text": "x", "delay_s": 600}]))
    with pytest.raises(ChatModelError) as caught:
        await reply(chat, seconds=0.05)
    assert caught.value.kind == "timeout"


async def test_without_a_script_the_matching_tool_is_called():
    """The one without required arguments that has the most words in common. Its result is the answer."""
    chat = ScriptedChat()
    first = await reply(chat)
    assert [(call.name, call.arguments_text) for call in first.calls] == [("time.now", "{}")]
    tool_result = Message(role="tool", call_id=first.calls[0].id, name="time.now", text="12:00")
    history = [*QUESTION, first.message(), tool_result]
    second = await reply(chat, messages=history)
    assert (second.text, second.stop) == ("12:00", "end")
    again = [*history, second.message(), Message(role="user", text="Read a file please")]
    assert (await reply(chat, messages=again)).text == NO_TOOL


async def test_matching_prefers_names_and_is_deterministic():
    tools = [
        ToolDefinition(name="a.one", description="weather", schema={}),
        ToolDefinition(name="weather.get", description="", schema={"required": []}),
        ToolDefinition(name="weather.got", description="", schema={}),
    ]
    response = await reply(ScriptedChat(), [Message(role="user", text="How is the weather?")], tools)
    assert [call.name for call in response.calls] == ["weather.get"]
    assert (await reply(ScriptedChat(), [Message(role="user", text="")], tools)).text == NO_TOOL


@pytest.mark.parametrize("name", ["script.yaml", "script.json"])
def test_script_is_read_from_yaml_or_json(tmp_path, name):
    file = tmp_path / name
    file.write_text(json.dumps([{"text": "a", "calls": [{"name": "x.y", "args": {"a": [1]}}]}]))
    (turn,) = read_script(file)
    assert (turn.text, turn.calls) == ("a", (("x.y", '{"a":[1]}'),))


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ({"text": "a"}, "should be a list of turns, not dict"),
        ("text", "should be a list of turns, not str"),
        ([{"text": "a"}, "b"], "turn 2: should be a map"),
        ([{"txt": "a"}], "turn 1: should be a map"),
        ([{"text": 3}], "text should be a string, not 3"),
        ([{"delay_s": -1}], "delay_s should be a number of seconds, not -1"),
        ([{"delay_s": "x"}], "delay_s should be a number of seconds, not 'x'"),
        ([{"expect": 3}], "a list of strings, not 3"),
        ([{"expect": [3]}], "a list of strings, not [3]"),
        ([{"calls": {}}], "calls should be a list, not {}"),
        ([{"calls": [{"args": {}}]}], "not {'args': {}}"),
        ([{"calls": [{"name": "x", "arguments": {}}]}], "a call should be"),
        ([{"error": "bad"}], "Valid kinds: auth, empty, malformed, rate_limited"),
        ([{"error": {"message": "x"}}], "invalid error {'message': 'x'}"),
        ([{"error": {"kind": "auth", "x": 1}}], "invalid error"),
    ],
)
def test_invalid_script_error_names_file_and_turn(tmp_path, script, problem):
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script))
    with pytest.raises(SettingsError) as caught:
        read_script(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert problem in str(caught.value)


def test_missing_script_is_an_error(tmp_path):
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: cannot be read"):
        read_script(tmp_path / "nowhere.yaml")
