"""The ask loop and its session records: rules that a model cannot bypass."""

import json
from dataclasses import replace

import pytest

from onetool.chat_models.script import make_script
from onetool.chat_models.scripted import ScriptedChat
from onetool.conversation.conversation import AskRequest, Conversation
from onetool.conversation.lifespan import open_conversation
from onetool.domain.calls.call import CallMeta, ToolResult
from onetool.domain.chat.messages import ChatModelError, ToolDefinition
from onetool.sdk import tool
from onetool.testing import memory_runtime
from support.onetool_process import onetool

RAN = []


def mark() -> str:
    """Record a run."""
    RAN.append("mark")
    return "marked"


@tool(cacheable=True)
def look(at: str = "") -> str:
    """Inspect something."""
    RAN.append(at)
    return "x" * 200


@tool(cacheable=True, read_only=False)
def change() -> str:
    """Change something."""
    RAN.append("change")
    return "changed"


@pytest.fixture(autouse=True)
def clear_ran():
    RAN.clear()


def converse(ot, turns, session="s"):
    return Conversation(ot.runtime, ScriptedChat(make_script(turns)), session)


def call_turn(name, **args):
    return {"calls": [{"name": name, "args": args}]}


async def test_secret_that_the_model_streams_in_pieces_is_redacted():
    """The scripted model streams word by word. Neither the events nor the result nor the session show it."""
    secret, events = "correct horse battery staple", []
    async with memory_runtime(secrets={"KEY": secret}) as ot:
        request = AskRequest(text="hi", on_event=events.append)
        result = await converse(ot, [{"text": f"It is {secret}, or correct horse"}]).ask(request)
        records = json.dumps(await ot.runtime.sessions.read("s"))
    shown = [event.text for event in events]
    assert "".join(shown) == result.text == "It is [secret], or correct horse"
    assert shown[:2] == ["It ", "is "]  # what begins no secret is not delayed
    assert "battery" not in records


async def test_text_that_was_withheld_is_shown_if_the_model_fails():
    events = []

    class FailingChat(ScriptedChat):
        async def reply(self, messages, tools, *, on_text, deadline):
            on_text("It is correct")
            raise ChatModelError("unreachable", "gone")

    async with memory_runtime(secrets={"KEY": "correct horse"}) as ot:
        conversation = Conversation(ot.runtime, FailingChat(), "s")
        result = await conversation.ask(AskRequest(text="hi", on_event=events.append))
    assert [event.text for event in events] == ["It is ", "correct"]
    assert result.failure is not None


async def test_without_tools_no_call_is_run():
    """Even if the model calls a tool that it was not given."""
    async with memory_runtime(packs={"demo": [mark]}) as ot:
        turns = [call_turn("demo.mark") | {"text": "I call it."}, {"text": "done"}]
        result = await converse(ot, turns).ask(AskRequest(text="hi", with_tools=False))
    assert RAN == []
    assert (result.calls, result.text) == ([], "I call it.")


async def test_tools_and_number_of_turns_can_be_given():
    """In the turn after the last one with tools, the model gets none and must answer."""
    offered = []

    class OwnToolset:
        definitions = (ToolDefinition(name="own", description="Own.", schema={"type": "object"}),)

        async def call(self, call, caller):
            return ToolResult(True, CallMeta(call.name, call.id, 0.0), "own result")

    class ObservedChat(ScriptedChat):
        async def reply(self, messages, tools, **options):
            offered.append([tool.name for tool in tools])
            return await super().reply(messages, tools, **options)

    async with memory_runtime(packs={"demo": [mark]}) as ot:
        chat = ObservedChat(make_script([call_turn("own"), call_turn("own"), {"text": "done"}]))
        request = AskRequest(text="hi", toolset=OwnToolset(), max_tool_turns=2)
        result = await Conversation(ot.runtime, chat, "s").ask(request)
    assert offered == [["own"], ["own"], []]
    assert [found.data for found in result.results] == ["own result", "own result"]


async def test_denied_tool_is_not_served_from_the_cache():
    """A cached result does not bypass a rule that was added later."""
    async with memory_runtime(packs={"demo": [look]}) as ot:
        await converse(ot, [call_turn("demo.look"), {"text": "done"}]).ask(AskRequest(text="hi"))
        records = await ot.runtime.sessions.read("s")
    async with memory_runtime(packs={"demo": [look]}, settings={"approval": {"deny": ["demo.*"]}}) as ot:
        await ot.runtime.sessions.append("s", records)
        result = await converse(ot, [call_turn("demo.look"), {"text": "done"}]).ask(AskRequest(text="hi"))
    assert result.results[0].meta.cached is False


async def test_reused_large_result_has_a_new_handle():
    """The handle of the first call may have expired."""
    settings = {"output": {"max_inline_size": 100}}
    async with memory_runtime(packs={"demo": [look]}, settings=settings) as ot:
        await converse(ot, [call_turn("demo.look"), {"text": "done"}]).ask(AskRequest(text="hi"))
        await converse(ot, [call_turn("demo.look"), {"text": "done"}]).ask(AskRequest(text="again"))
        texts = [record["text"] for record in await ot.runtime.sessions.read("s") if record["role"] == "tool"]
        first, second = (text.partition("handle='")[2].partition("'")[0] for text in texts)
        assert await ot.runtime.state.results.text(second, reader="local") == "x" * 200
    assert first != second
    assert RAN == [""]


async def test_allow_list_is_stored_first_and_survives_reaping():
    """A restricted session never becomes unrestricted because a record was lost."""
    async with memory_runtime(packs={"demo": [mark]}) as ot:
        restricted = AskRequest(text="hi", allowed=frozenset({"time.now"}))
        await converse(ot, [{"text": "done"}]).ask(restricted)
        assert (await ot.runtime.sessions.read("s"))[0]["type"] == "allowed"
        ot.runtime.sessions._changed_at["s"] = 0.0
        async with open_conversation(ot.runtime, "s", "scripted"):
            pass
        result = await converse(ot, [call_turn("demo.mark"), {"text": "done"}]).ask(AskRequest(text="again"))
    assert result.results[0].meta.reason.value == "not_allowed"
    assert RAN == []


async def test_model_argument_of_a_tool_is_never_a_script(tmp_path):
    """`llm.transform(model=...)` opens no file."""
    (tmp_path / "secret.yaml").write_text("top secret")
    settings = {"providers": {"scripted": {}}}
    async with memory_runtime(settings=settings, cwd=tmp_path) as ot:
        result = await ot.call("llm.transform", input="x", prompt="y", model=str(tmp_path / "secret.yaml"))
    assert "top secret" not in str(result)


async def test_truncated_answer_reports_its_stop_reason():
    from onetool.testing import ScriptedLLM, text

    class TruncatingLLM(ScriptedLLM):
        def _stream(self, message):
            return super()._stream(message).replace('"finish_reason": "stop"', '"finish_reason": "length"')

    with TruncatingLLM([text("The safe dose is")]) as llm:
        settings = {"providers": {"fake": {"base_url": llm.base_url, "model": "m"}}}
        async with memory_runtime(settings=settings) as ot, open_conversation(ot.runtime) as conversation:
            result = await conversation.ask(AskRequest(text="How much?"))
    assert result.to_json()["stop"] == "length"


@pytest.mark.parametrize("text", ["", " \n"])
async def test_model_that_says_nothing_is_a_failure(text):
    """Calls that ran before it stay in the result."""
    async with memory_runtime(packs={"demo": [mark]}) as ot:
        result = await converse(ot, [call_turn("demo.mark"), {"text": text}]).ask(AskRequest(text="hi"))
    assert (result.failure.kind, str(result.failure)) == ("empty", "The model gave no answer.")
    assert [entry.data for entry in result.results] == ["marked"]


def test_command_fails_if_the_model_says_nothing(home):
    script = home.write("script.yaml", "- text: ''\n")
    done = onetool("ask", "Hi", "--provider", "scripted", "--model", str(script))
    assert (done.returncode, json.loads(done.stdout)["error"]["kind"]) == (1, "empty")
    assert "The model gave no answer." in done.stderr


async def test_tokens_that_a_model_does_not_report_are_estimated():
    """Four characters a token, for everything that was sent and for what came back."""

    class SilentChat(ScriptedChat):
        async def reply(self, messages, tools, *, on_text, deadline):
            response = await super().reply(messages, tools, on_text=on_text, deadline=deadline)
            return replace(response, tokens=None)

    turns = [call_turn("demo.look", at="y" * 33), {"text": "z" * 80}]
    async with memory_runtime(packs={"demo": [look]}) as ot:
        conversation = Conversation(ot.runtime, SilentChat(make_script(turns)), "s")
        result = await conversation.ask(AskRequest(text="q" * 400))
    size_of_call = len('{"at":"' + "y" * 33 + '"}')
    size_of_result = len(result.results[0].data)
    assert result.is_estimated
    assert result.tokens.output == size_of_call // 4 + 80 // 4
    system = result.tokens.input - 2 * 400 // 4 - (size_of_call + size_of_result) // 4
    assert 0 <= system < 1000, result.tokens
