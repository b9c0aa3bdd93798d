"""The ask loop and what it keeps: rules that no model can talk its way around."""

import time

import pytest

from onetool.chat_models.script import make_script
from onetool.chat_models.scripted import ScriptedChat
from onetool.conversation.conversation import Conversation, Question
from onetool.conversation.opening import open_conversation
from onetool.domain.caller import grant
from onetool.sdk import tool
from onetool.testing import memory_runtime

RAN = []


def mark() -> str:
    """Leave a mark."""
    RAN.append("mark")
    return "marked"


@tool(cacheable=True)
def look(at: str = "") -> str:
    """Look at something."""
    RAN.append(at)
    return "x" * 200


@tool(cacheable=True, changes=True)
def change() -> str:
    """Change something."""
    RAN.append("change")
    return "changed"


@pytest.fixture(autouse=True)
def nothing_ran():
    RAN.clear()


def talk(ot, turns, session="s"):
    return Conversation(ot.runtime, ScriptedChat(make_script(turns)), session)


def calling(name, **args):
    return {"calls": [{"name": name, "args": args}]}


async def test_without_tools_none_is_called_whatever_the_model_says():
    """A model may name a tool that it was not offered."""
    async with memory_runtime(packs={"demo": [mark]}) as ot:
        turns = [calling("demo.mark") | {"text": "I call it."}, {"text": "done"}]
        answer = await talk(ot, turns).ask(Question(text="hi", with_tools=False))
    assert RAN == []
    assert (answer.calls, answer.text) == ([], "I call it.")


async def test_a_result_is_used_again_only_of_a_tool_that_changes_nothing():
    """A change that is asked for twice happens twice."""
    async with memory_runtime(packs={"demo": [look, change]}) as ot:
        turns = [
            calling("demo.look"),
            calling("demo.look"),
            calling("demo.change"),
            calling("demo.change"),
            {"text": "done"},
        ]
        answer = await talk(ot, turns).ask(Question(text="hi", approve=grant))
    assert RAN == ["", "change", "change"]
    assert [result.meta.cached for result in answer.results] == [False, True, False, False]


async def test_what_the_operator_denies_is_not_answered_from_memory():
    """A result of yesterday does not pass by the rules of today."""
    async with memory_runtime(packs={"demo": [look]}) as ot:
        await talk(ot, [calling("demo.look"), {"text": "done"}]).ask(Question(text="hi"))
        records = ot.runtime.sessions.read("s")
    async with memory_runtime(packs={"demo": [look]}, settings={"approval": {"deny": ["demo.*"]}}) as ot:
        ot.runtime.sessions.append("s", records)
        answer = await talk(ot, [calling("demo.look"), {"text": "done"}]).ask(Question(text="hi"))
    assert answer.results[0].meta.cached is False


async def test_a_result_of_another_directory_is_not_used_again(tmp_path):
    """Where a session goes on elsewhere, `here` means elsewhere."""
    here, there = tmp_path / "here", tmp_path / "there"
    seen = []
    records = []
    for place in (here, there):
        place.mkdir()
        async with memory_runtime(cwd=place) as ot:
            if records:
                ot.runtime.sessions.append("s", records)
            answer = await talk(ot, [calling("shell.pwd"), {"text": "done"}]).ask(Question(text="hi"))
            seen.append(answer.results[0].data)
            records = ot.runtime.sessions.read("s")
    assert [str(here), str(there)] == seen


async def test_a_large_result_that_is_used_again_has_a_handle_that_works():
    """A handle of an earlier answer may have expired; the one in this answer has not."""
    settings = {"output": {"max_inline_size": 100, "ttl_s": 0.2}}
    async with memory_runtime(packs={"demo": [look]}, settings=settings) as ot:
        await talk(ot, [calling("demo.look"), {"text": "done"}]).ask(Question(text="hi"))
        time.sleep(0.3)  # longer than a result is kept
        await talk(ot, [calling("demo.look"), {"text": "done"}]).ask(Question(text="again"))
        told = [record["text"] for record in ot.runtime.sessions.read("s") if record["role"] == "tool"]
        handle = told[1].partition("handle='")[2].partition("'")[0]
        assert ot.runtime.results.text(handle) == "x" * 200
    assert RAN == [""]


async def test_the_list_of_tools_is_kept_before_the_question_and_outlives_old_age():
    """A session that was narrowed is never open again because something got lost."""
    async with memory_runtime(packs={"demo": [mark]}) as ot:
        narrow = Question(text="hi", allowed=frozenset({"time.now"}))
        await talk(ot, [{"text": "done"}]).ask(narrow)
        assert ot.runtime.sessions.read("s")[0]["type"] == "allowed"
        ot.runtime.sessions._at["s"] = 0.0
        async with open_conversation(ot.runtime, "s", "scripted"):
            pass
        answer = await talk(ot, [calling("demo.mark"), {"text": "done"}]).ask(Question(text="again"))
    assert answer.results[0].meta.reason.value == "not_allowed"
    assert RAN == []


async def test_a_script_is_never_what_a_tool_was_given(tmp_path):
    """`llm.transform(model=...)` opens no file, whoever wrote the name."""
    (tmp_path / "secret.yaml").write_text("top secret")
    settings = {"providers": {"scripted": {}}}
    async with memory_runtime(settings=settings, cwd=tmp_path) as ot:
        result = await ot.call("llm.transform", input="x", prompt="y", model=str(tmp_path / "secret.yaml"))
    assert "top secret" not in str(result)


async def test_an_answer_that_was_cut_off_says_so():
    """Half an answer does not pass for a whole one."""
    from onetool.testing import ScriptedLLM, text

    class Cut(ScriptedLLM):
        def _stream(self, message):
            return super()._stream(message).replace('"finish_reason": "stop"', '"finish_reason": "length"')

    with Cut([text("The safe dose is")]) as llm:
        settings = {"providers": {"fake": {"base_url": llm.base_url, "model": "m"}}}
        async with memory_runtime(settings=settings) as ot, open_conversation(ot.runtime) as conversation:
            answer = await conversation.ask(Question(text="How much?"))
    assert answer.to_json()["stop"] == "length"
