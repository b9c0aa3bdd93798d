"""Requests of servers to the model of a conversation: accepted by the user first, off by default."""

import asyncio
import json
import sys

import pytest

from onetool.chat_models.script import make_script
from onetool.chat_models.scripted import ScriptedChat
from onetool.conversation.conversation import AskRequest, Conversation
from onetool.conversation.sampling import with_sampling
from onetool.domain.calls.effect import Effect
from onetool.domain.calls.question import CANCELLED, NO_ASKER, Answer, Asker, Question
from onetool.domain.chat.messages import ChatModelError, Message, ModelResponse
from onetool.testing import memory_runtime
from support.paths import MCP_SERVERS
from support.waiting import HANG_S

FORMS = {"elicitation": {"form": {}, "url": {}}}
TEXT = {"role": "user", "content": {"type": "text", "text": "Name a color."}}
ASKED = Question(kind="sampling", message="the whole request", server="s", params={"messages": [TEXT]})


class RecordingChat(ScriptedChat):
    """Answers a request of a server with a color, and records it."""

    def __init__(self):
        super().__init__(make_script([{"calls": [{"name": "srv.sample", "args": {}}]}, {"text": "Done."}]))
        self.sampled = []

    async def reply(self, messages, tools, **options):
        if messages[-1].text == "Name a color.":
            self.sampled.append(messages)
            return ModelResponse(text="blue")
        return await super().reply(messages, tools, **options)


async def ask(tmp_path, era, answer, **server):
    """Let a model call a tool that samples. Return its result, the model and what the user was asked."""
    script = str(MCP_SERVERS / "asking_server.py")
    command = {"command": sys.executable, "args": ["-I", script, era, str(tmp_path / "log")]}
    settings = {"servers": {"srv": command | {"sandbox": False} | server}}
    asked, model = [], RecordingChat()

    async def answer_it(question):
        asked.append(question)
        return answer

    async with memory_runtime(settings=settings) as ot:
        async with asyncio.timeout(HANG_S):
            while not await ot.runtime.state.servers["srv"].probe():
                pass  # the first start may take longer than a probe waits
        asker = Asker(answer_it, FORMS)
        request = AskRequest(text="hi", default_effect=Effect.ALLOW, asker=asker, choice="all")
        done = await Conversation(ot.runtime, model, "s").ask(request)
    return done, model, asked


@pytest.mark.spec("MCP-40")
@pytest.mark.parametrize("era", ["--modern", "--legacy"])
async def test_model_answers_after_the_user_has_accepted_the_whole_request(tmp_path, era):
    done, model, asked = await ask(tmp_path, era, Answer("accept", {}), sampling="ask")
    (result,) = done.results
    assert result.data == "blue"
    (question,) = asked
    assert (question.kind, question.server) == ("form", "srv")
    shown = question.message.partition("\n")[2]
    assert json.loads(shown)["messages"] == [TEXT]
    assert model.sampled == [[Message(role="user", text="Name a color.")]], "nothing of the conversation"
    assert done.tokens.output > 0


@pytest.mark.spec("MCP-40")
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_nothing_is_sent_to_the_model_if_the_user_refuses(tmp_path, action):
    done, model, asked = await ask(tmp_path, "--modern", Answer(action), sampling="ask")
    assert (done.results[0].ok, model.sampled, len(asked)) == (False, [], 1)


@pytest.mark.spec("MCP-40")
async def test_servers_cannot_use_the_model_by_default(tmp_path):
    done, model, asked = await ask(tmp_path, "--modern", Answer("accept", {}))
    assert (done.results[0].data, model.sampled, asked) == ("cannot sample", [], [])


def asker(action="accept"):
    async def answer(question):
        return Answer(action, {})

    return Asker(answer, FORMS)


async def no_reply(messages):
    raise AssertionError(f"sent to the model: {messages}")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"messages": []},
        {"messages": "x"},
        {"messages": [1]},
        {"messages": [{"role": "system", "content": TEXT["content"]}]},
        {"messages": [{"content": TEXT["content"]}]},
        {"messages": [{"role": "user", "content": {"type": "image", "data": "x"}}]},
        {"messages": [{"role": "user", "content": [TEXT["content"], {"type": "image"}]}]},
        {"messages": [{"role": "user", "content": {"type": "text", "text": 1}}]},
        {"messages": [TEXT], "systemPrompt": 1},
        {"messages": [TEXT], "tools": [{"name": "t"}]},
    ],
)
async def test_request_that_is_not_text_is_cancelled(params):
    question = Question(kind="sampling", message="m", params=params)
    assert await with_sampling(asker(), "m", no_reply).ask(question) == CANCELLED


async def test_system_prompt_and_texts_are_sent_in_order():
    sent = []

    async def reply(messages):
        sent.extend(messages)
        return ModelResponse(text="b", stop="length")

    answer_text = {"role": "assistant", "content": [TEXT["content"], TEXT["content"]]}
    params = {"messages": [TEXT, answer_text], "systemPrompt": "Be short."}
    question = Question(kind="sampling", message="m", params=params)
    answer = await with_sampling(asker(), "model-1", reply).ask(question)
    assert [(message.role, message.text) for message in sent] == [
        ("system", "Be short."),
        ("user", "Name a color."),
        ("assistant", "Name a color.\nName a color."),
    ]
    content = {"type": "text", "text": "b"}
    expected = {"role": "assistant", "content": content, "model": "model-1", "stopReason": "maxTokens"}
    assert answer == Answer("accept", expected)


async def test_failure_of_the_model_cancels_the_request():
    async def reply(messages):
        raise ChatModelError("unreachable", "gone")

    assert await with_sampling(asker(), "m", reply).ask(ASKED) == CANCELLED


async def test_other_questions_are_passed_on_and_users_who_see_no_forms_are_not_asked():
    form = Question(kind="form", message="m")
    assert await with_sampling(asker("decline"), "m", no_reply).ask(form) == Answer("decline", {})
    assert with_sampling(NO_ASKER, "m", no_reply) is NO_ASKER
