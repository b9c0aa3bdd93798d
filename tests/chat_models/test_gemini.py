"""Behavior specific to the Gemini API."""

import pytest

from chat_models.gemini_server import GeminiServer, chunk
from chat_models.harness import QUESTION, make_harness
from chat_models.provider_server import KEY, CallTurn, Fault, Status, TextTurn, sse
from onetool.domain.chat.messages import Message, TokenCount, ToolCallRequest, ToolDefinition


@pytest.fixture
async def harness():
    async with GeminiServer() as server:
        harness = make_harness("gemini", server)
        yield harness
        await harness.chat.aclose()


def respond_with_detail(server, status, **detail):
    """Make the server respond with an error that has a detail, as Google's errors do."""
    error = server.error
    server.error = lambda code, message: {"error": {**error(code, message)["error"], "details": [detail]}}
    server.responses = [Status(status, message=f"API key not valid: {KEY}")]


async def test_invalid_key_is_recognized_by_its_reason(harness):
    """Gemini reports it with status 400."""
    info = "type.googleapis.com/google.rpc.ErrorInfo"
    respond_with_detail(
        harness.server, 400, **{"@type": info, "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
    )
    assert (await harness.fail()).kind == "auth"


async def test_retry_delay_is_read_from_the_body(harness):
    """There is no `Retry-After` header."""
    respond_with_detail(
        harness.server, 429, **{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}
    )
    error = await harness.fail()
    assert (error.kind, error.retry_after, harness.waits) == ("rate_limited", 37.0, [])


async def test_all_functions_are_in_one_tool(harness):
    """The model sees only one tool. Empty parameters are omitted."""
    await harness.ask()
    (tool,) = harness.server.bodies[0]["tools"]
    first, second = tool["functionDeclarations"]
    assert first == {"name": "time__now", "description": "The time."}
    assert second["parameters"]["properties"]["maxBytes"] == {"type": "INTEGER", "nullable": True}


async def test_invalid_schema_is_rejected_before_sending(harness):
    """The error names the invalid keyword."""
    definition = ToolDefinition(
        name="x.y", description="", schema={"properties": {"a": {"type": "string", "minimum": "x"}}}
    )
    error = await harness.fail(tools=[definition])
    assert (error.kind, harness.server.requests) == ("rejected", [])
    assert "minimum" in str(error)


async def test_calls_without_ids_get_new_ones(harness):
    """The ids are sent back with the calls and the results."""
    harness.server.responses = [
        TextTurn(calls=[CallTurn("time__now"), CallTurn("time__now")], stop="calls"),
        TextTurn(),
    ]
    first = await harness.ask()
    assert [call.id for call in first.calls] == ["new_id_0", "new_id_1"]
    results = [Message(role="tool", call_id=call.id, name=call.name, text="noon") for call in first.calls]
    await harness.ask(messages=[*QUESTION, first.message(), *results])
    sent = harness.server.bodies[1]["contents"][2]["parts"]
    assert [part["functionResponse"]["id"] for part in sent] == ["new_id_0", "new_id_1"]
    assert sent[0]["functionResponse"]["response"] == {"output": "noon"}


async def test_thoughts_are_hidden_and_signatures_are_sent_back(harness):
    function_call = {"functionCall": {"name": "time__now", "args": {}}, "thoughtSignature": "AAEC/w=="}
    harness.server.responses = [
        Fault("", frames=[chunk([{"text": "hm", "thought": True}]), chunk([function_call], "STOP")]),
        TextTurn(text=["Noon."]),
    ]
    first = await harness.ask()
    assert (first.text, harness.received, first.tokens) == ("", [], None)
    call = first.calls[0]
    await harness.ask(
        messages=[*QUESTION, first.message(), Message(role="tool", call_id=call.id, name=call.name, text="x")]
    )
    sent = harness.server.bodies[1]["contents"][1]["parts"][0]
    assert sent["thoughtSignature"] in ("AAEC/w==", "AAEC_w==")


async def test_signature_of_another_provider_is_ignored(harness):
    """A conversation may continue with another model."""
    call = ToolCallRequest(id="c1", name="time.now", signature="anthropic:[]")
    tool_result = Message(role="tool", call_id="c1", name="time.now", text="no", failed=True)
    await harness.ask(messages=[*QUESTION, Message(role="assistant", calls=(call,)), tool_result])
    contents = harness.server.bodies[0]["contents"]
    assert list(contents[1]["parts"][0]) == ["functionCall"]
    assert contents[2]["parts"][0]["functionResponse"]["response"] == {"error": "no"}


async def test_blocked_prompt_is_refused(harness):
    """The response has no candidates."""
    harness.server.responses = [Fault("", frames=[sse({"promptFeedback": {"blockReason": "SAFETY"}})])]
    assert (await harness.ask()).stop == "refused"


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
async def test_unparsable_call_is_malformed(harness, reason):
    """The response has neither text nor a call."""
    harness.server.responses = [Fault("", frames=[chunk([], reason)])]
    error = await harness.fail()
    assert (error.kind, reason in str(error)) == ("malformed", True)


async def test_token_counts_may_be_incomplete(harness):
    """Thoughts count as output. Without a prompt count there is no token count."""
    usage = {"promptTokenCount": 5, "thoughtsTokenCount": 3, "toolUsePromptTokenCount": 2}
    harness.server.responses = [
        Fault("", frames=[chunk([{"text": "x"}], "STOP", usage)]),
        Fault("", frames=[chunk([{"text": "x"}], "STOP", {"totalTokenCount": 3})]),
    ]
    assert (await harness.ask()).tokens == TokenCount(input=7, output=3)
    assert (await harness.ask()).tokens is None


async def test_error_in_the_stream(harness):
    body = {"error": {"code": 503, "message": f"overloaded {KEY}", "status": "UNAVAILABLE"}}
    harness.server.responses = [Fault("", frames=[chunk([{"text": "x"}]), sse(body)])]
    error = await harness.fail()
    assert (error.kind, str(error)) == ("unreachable", "gemini: HTTP 503: overloaded [secret]")
    assert len(harness.server.requests) == 1
