"""What only Gemini's API does."""

import json

import pytest

from chat_models.gemini_server import GeminiServer, piece
from chat_models.harness import OFFERS, QUESTION, make_talk
from chat_models.loopback import KEY, Called, Said, Status, Trouble, sse
from onetool.domain.chat import Message, Offer, TokenCount, ToolCallRequest


@pytest.fixture
async def talk():
    async with GeminiServer() as server:
        talk = make_talk("gemini", server)
        yield talk
        await talk.chat.aclose()


def detailed(server, status, **detail):
    """Have errors carry a detail, as Google's do."""
    plain = server.error
    server.error = lambda code, said: {"error": {**plain(code, said)["error"], "details": [detail]}}
    server.answers = [Status(status, said=f"API key not valid: {KEY}")]


async def test_a_wrong_key_is_a_bad_request_there(talk):
    """Told apart from other bad requests by its reason."""
    info = "type.googleapis.com/google.rpc.ErrorInfo"
    detailed(talk.server, 400, **{"@type": info, "reason": "API_KEY_INVALID", "domain": "googleapis.com"})
    assert (await talk.fail()).kind == "auth"


async def test_how_long_to_wait_stands_in_the_body(talk):
    """There is no `Retry-After`."""
    detailed(talk.server, 429, **{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"})
    failed = await talk.fail()
    assert (failed.kind, failed.retry_after, talk.waits) == ("rate_limited", 37.0, [])


async def test_all_functions_stand_in_one_tool(talk):
    """Of several tools the model sees one; parameters that are none are left out."""
    await talk.ask()
    (tool,) = talk.server.bodies[0]["tools"]
    first, second = tool["functionDeclarations"]
    assert first == {"name": "time__now", "description": "The time."}
    assert second["parameters"]["properties"]["maxBytes"] == {"type": "INTEGER", "nullable": True}


async def test_a_schema_that_cannot_be_sent(talk):
    """Nothing is sent, and the failure says which word was wrong."""
    odd = Offer(name="x.y", description="", schema={"properties": {"a": {"type": "string", "minimum": "x"}}})
    failed = await talk.fail(offers=[odd])
    assert (failed.kind, talk.server.requests) == ("rejected", [])
    assert "minimum" in str(failed)


async def test_calls_without_ids_get_some(talk):
    """And they go back with them, in calls and results alike."""
    talk.server.answers = [Said(calls=[Called("time__now"), Called("time__now")], stop="calls"), Said()]
    first = await talk.ask()
    assert [call.id for call in first.calls] == ["made_0", "made_1"]
    results = [Message(role="tool", call_id=call.id, name=call.name, text="noon") for call in first.calls]
    await talk.ask(messages=[*QUESTION, first.message(), *results])
    sent = talk.server.bodies[1]["contents"][2]["parts"]
    assert [part["functionResponse"]["id"] for part in sent] == ["made_0", "made_1"]
    assert sent[0]["functionResponse"]["response"] == {"output": "noon"}


async def test_thoughts_are_kept_and_signatures_go_back(talk):
    """What the model thinks is not shown; what it signs is wanted back."""
    asked = {"functionCall": {"name": "time__now", "args": {}}, "thoughtSignature": "AAEC/w=="}
    talk.server.answers = [
        Trouble("", frames=[piece([{"text": "hm", "thought": True}]), piece([asked], "STOP")]),
        Said(text=["Noon."]),
    ]
    first = await talk.ask()
    assert (first.text, talk.heard, first.tokens) == ("", [], None)
    call = first.calls[0]
    await talk.ask(
        messages=[*QUESTION, first.message(), Message(role="tool", call_id=call.id, name=call.name, text="x")]
    )
    sent = talk.server.bodies[1]["contents"][1]["parts"][0]
    assert sent["thoughtSignature"] in ("AAEC/w==", "AAEC_w==")


async def test_the_seal_of_another_provider_stays_closed(talk):
    """A conversation may go on with another model."""
    call = ToolCallRequest(id="c1", name="time.now", seal="anthropic:[]")
    answered = Message(role="tool", call_id="c1", name="time.now", text="no", failed=True)
    await talk.ask(messages=[*QUESTION, Message(role="assistant", calls=(call,)), answered])
    contents = talk.server.bodies[0]["contents"]
    assert list(contents[1]["parts"][0]) == ["functionCall"]
    assert contents[2]["parts"][0]["functionResponse"]["response"] == {"error": "no"}


async def test_a_question_that_is_blocked(talk):
    """No candidate comes at all."""
    talk.server.answers = [Trouble("", frames=[sse({"promptFeedback": {"blockReason": "SAFETY"}})])]
    assert (await talk.ask()).stop == "refused"


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
async def test_a_call_that_the_service_could_not_read(talk, reason):
    """There is neither text nor call: a failure that says so."""
    talk.server.answers = [Trouble("", frames=[piece([], reason)])]
    failed = await talk.fail()
    assert (failed.kind, reason in str(failed)) == ("rubbish", True)


async def test_figures_may_be_half(talk):
    """Thoughts count as output; without a figure for the question there is none at all."""
    usage = {"promptTokenCount": 5, "thoughtsTokenCount": 3, "toolUsePromptTokenCount": 2}
    talk.server.answers = [
        Trouble("", frames=[piece([{"text": "x"}], "STOP", usage)]),
        Trouble("", frames=[piece([{"text": "x"}], "STOP", {"totalTokenCount": 3})]),
    ]
    assert (await talk.ask()).tokens == TokenCount(input=7, output=3)
    assert (await talk.ask()).tokens is None


async def test_an_error_in_the_middle(talk):
    """It comes as a piece of the stream."""
    error = {"error": {"code": 503, "message": f"overloaded {KEY}", "status": "UNAVAILABLE"}}
    talk.server.answers = [Trouble("", frames=[piece([{"text": "x"}]), sse(error)])]
    failed = await talk.fail()
    assert (failed.kind, str(failed)) == ("unreachable", "gemini: HTTP 503: overloaded [secret]")
    assert len(talk.server.requests) == 1


async def test_the_environment_does_not_move_the_key(talk, monkeypatch):
    """Addresses and keys come from the operator's settings alone."""
    for name, value in {
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_CLOUD_PROJECT": "p",
        "GOOGLE_CLOUD_LOCATION": "l",
        "GOOGLE_API_KEY": "other",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1",
        "GOOGLE_GENAI_API_VERSION": "v9",
    }.items():
        monkeypatch.setenv(name, value)
    assert (await talk.ask(offers=OFFERS[1:])).text == "ok"
    assert KEY in json.dumps(talk.server.requests[0].headers)
