"""Spans and metrics of calls, code, jobs and questions to models, and their names."""

import asyncio
import importlib
import logging

import pytest
from mcp import MCPError
from mcp.client.client import Client
from opentelemetry import metrics, trace
from opentelemetry.util._once import Once

import onetool.bootstrap.telemetry as telemetry
from onetool.bootstrap.telemetry import open_telemetry
from onetool.chat_models.script import make_script
from onetool.chat_models.scripted import ScriptedChat
from onetool.conversation.conversation import AskRequest, Conversation
from onetool.domain.calls.caller import Caller
from onetool.domain.chat.messages import ChatModelError
from onetool.interfaces.mcp.server import create_server
from onetool.sdk import call_tool
from onetool.telemetry import names, spans
from onetool.testing import memory_runtime
from onetool.threads import Threads
from support.otlp_receiver import OtlpReceiver
from support.rest_in_process import serve_rest
from support.scripted_model import scripted_calls
from support.waiting import until


@pytest.fixture(scope="module")
def endpoint():
    """Export what this process records. The providers of a process can be set only once."""
    with OtlpReceiver() as receiver, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        patch.setattr(spans, "_instruments", None)
        patch.setattr(telemetry, "_export", None)
        patch.setattr(trace, "_TRACER_PROVIDER", None)
        patch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
        patch.setattr(metrics._internal, "_METER_PROVIDER", None)
        patch.setattr(metrics._internal, "_METER_PROVIDER_SET_ONCE", Once())
        level = logging.getLogger("opentelemetry").level
        asyncio.run(_start())
        yield receiver
        telemetry._export._tracing.shutdown()
        telemetry._export._metering.shutdown()
        logging.getLogger("opentelemetry").setLevel(level)


async def _start():
    async with open_telemetry(Threads(), owns_process=True):
        pass


class Recorded:
    """What was exported during one test."""

    def __init__(self, receiver):
        self._receiver = receiver
        receiver.requests.clear()

    def flush(self):
        telemetry._export.flush()
        return self._receiver


@pytest.fixture
def recorded(endpoint):
    telemetry._export.flush()
    return Recorded(endpoint)


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def sum_up(a: int) -> int:
    """Add with another tool, from a thread."""
    return call_tool("demo.add", a=a, b=1)


def fail() -> str:
    """Fail."""
    raise ValueError("a text with a secret")


DEMO = {"demo": [add, sum_up, fail]}


async def test_call_has_one_span_with_names_sizes_and_ids(recorded):
    async with memory_runtime(DEMO) as ot:
        result = await ot.call("demo.add", a=1, b=2)
    (span,) = recorded.flush().spans()
    assert (span.name, span.scope, span.parent, span.is_error) == (
        "execute_tool demo.add",
        "onetool",
        "",
        False,
    )
    assert span.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "demo.add",
        "gen_ai.tool.call.id": result.meta.call_id,
        "onetool.interface": "python",
        "onetool.args.size": len('{"a":1,"b":2}'),
        "onetool.output.size": 1,
    }
    assert span.resource["service.name"] == "onetool"


async def test_failed_call_has_its_reason_and_no_text(recorded):
    async with memory_runtime(DEMO) as ot:
        await ot.call("demo.fail")
        await ot.call("demo.add", a="secret")
        await ot.call("x" * 1000)
    failed, invalid, unknown = recorded.flush().spans()
    assert [span.attributes["error.type"] for span in (failed, invalid, unknown)] == [
        "raised",
        "bad_args",
        "unknown",
    ]
    assert all(span.is_error for span in (failed, invalid, unknown))
    assert "secret" not in failed.text + invalid.text
    assert (unknown.name, unknown.attributes["gen_ai.tool.name"]) == ("execute_tool (unknown)", "(unknown)")


async def test_calls_of_code_and_of_tools_are_children(recorded):
    """Code and blocking tools call from other threads."""
    async with memory_runtime(DEMO) as ot:
        result = await ot.run("[demo.sum_up(a=1), demo.add(a=1, b=1)]")
        assert result.ok, result
    received = recorded.flush().spans()
    (run,) = [span for span in received if span.name == "execute_tool run"]
    (outer,) = [span for span in received if span.name == "execute_tool demo.sum_up"]
    parents = sorted(span.parent for span in received if span.name == "execute_tool demo.add")
    assert (run.parent, outer.parent) == ("", run.id)
    assert parents == sorted([run.id, outer.id])


async def test_failed_code_has_its_reason(recorded):
    async with memory_runtime(DEMO) as ot:
        await ot.run("demo.fail()")
    run = recorded.flush().spans_by_name()["execute_tool run"]
    assert (run.attributes["error.type"], run.is_error) == ("raised", True)


async def test_job_continues_the_trace_of_the_call_that_started_it(recorded):
    async with memory_runtime(DEMO) as ot:
        await ot.run("ot.wait(id=ot.start(tool='demo.add', args={'a': 1, 'b': 2})['id'])")
    received = recorded.flush().spans_by_name()
    assert received["execute_tool demo.add"].parent == received["execute_tool ot.start"].id
    assert len({span.trace_id for span in received.values()}) == 1


async def test_cancelled_call_is_marked(recorded):
    started = asyncio.Event()

    async def hang() -> str:
        """Hang."""
        started.set()
        await asyncio.Event().wait()
        return ""

    async with memory_runtime({"demo": [hang]}) as ot:
        for call in (ot.call("demo.hang"), ot.run("demo.hang()")):
            started.clear()
            task = asyncio.create_task(call)
            await until(started.is_set)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    received = recorded.flush().spans_by_name()
    assert received["execute_tool demo.hang"].attributes["error.type"] == "cancelled"
    assert received["execute_tool"].attributes["error.type"] == "cancelled"


class FailingChat(ScriptedChat):
    """A model that cannot be reached."""

    async def reply(self, *args, **options):
        raise ChatModelError("rejected", "a text with a secret")


async def test_question_to_a_model_has_spans_for_its_turns_and_calls(recorded):
    turns = [scripted_calls(("demo__add", {"a": 1, "b": 2})), {"text": "a text with a secret"}]
    async with memory_runtime(DEMO) as ot:
        await Conversation(ot.runtime, ScriptedChat(make_script(turns)), "s").ask(
            AskRequest(text="secret question")
        )
    receiver = recorded.flush()
    received = receiver.spans()
    (ask,) = [span for span in received if span.name == "invoke_agent onetool"]
    others = [span for span in received if span is not ask]
    assert {span.parent for span in others} == {ask.id}
    assert [span.attributes["gen_ai.operation.name"] for span in others] == ["chat", "execute_tool", "chat"]
    assert ask.attributes["gen_ai.conversation.id"] == "s"
    assert "secret" not in receiver.received()


async def test_failed_question_has_the_kind_of_the_failure(recorded):
    async with memory_runtime(DEMO) as ot:
        await Conversation(ot.runtime, FailingChat([]), "s").ask(AskRequest(text="hi"))
    ask, chat = sorted(recorded.flush().spans(), key=lambda span: span.name, reverse=True)
    assert [ask.attributes["error.type"], chat.attributes["error.type"]] == ["rejected", "rejected"]


async def test_durations_are_counted_by_tool_and_reason(recorded):
    async with memory_runtime({"counted": [add]}) as ot:
        for args in ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": ""}):
            await ot.call("counted.add", **args)
    points = recorded.flush().points("onetool.call.duration")
    counted = [
        (point.get("error.type"), count, unit)
        for point, count, unit in points
        if "counted.add" in point.values()
    ]
    assert sorted(counted, key=str) == [("bad_args", 1, "s"), (None, 2, "s")]


async def test_session_of_an_mcp_client_is_an_attribute(recorded):
    async with memory_runtime(DEMO, caller=Caller(interface="mcp", session="s" * 300)) as ot:
        await ot.call("demo.add", a=1, b=2)
    (span,) = recorded.flush().spans()
    assert span.attributes["mcp.session.id"] == "s" * names.MAX_LENGTH


async def test_requests_of_mcp_clients_are_counted_by_method_tool_and_error(recorded):
    """Names that a client made up are not labels of metrics."""
    async with (
        memory_runtime(DEMO, caller=Caller(interface="mcp")) as ot,
        Client(create_server(ot.runtime, "all")) as client,
    ):
        for name, args in (("demo__add", {"a": 1, "b": 2}), ("demo__fail", {}), ("made-up", {})):
            await client.call_tool(name, args)
        with pytest.raises(MCPError):
            await client.get_prompt("made-up")
    receiver = recorded.flush()
    points = receiver.points("mcp.server.operation.duration")
    calls = {
        point["gen_ai.tool.name"]: (point.get("error.type"), unit)
        for point, _, unit in points
        if point["mcp.method.name"] == "tools/call"
    }
    errors = [point["error.type"] for point, _, _ in points if point["mcp.method.name"] == "prompts/get"]
    assert calls == {
        "demo__add": (None, "s"),
        "demo__fail": ("tool_error", "s"),
        "(unknown)": ("tool_error", "s"),
    }
    assert [int(error) < 0 for error in errors] == [True]
    assert {"tools/call demo__add", "tools/call (unknown)", "prompts/get"} <= receiver.spans_by_name().keys()


async def test_request_that_raises_is_counted(recorded):
    with pytest.raises(KeyError), spans.start_operation("made-up", is_known=False):
        raise KeyError
    points = recorded.flush().points("mcp.server.operation.duration")
    assert {"mcp.method.name": "(unknown)", "error.type": "KeyError"} in [point for point, _, _ in points]


async def test_trace_of_a_rest_request_continues_in_outgoing_requests(recorded):
    """Without the state and the baggage of the request, which may contain anything."""
    seen = []

    async def send() -> int:
        """Return the headers of an outgoing request."""
        seen.append(spans.trace_headers())
        return 1

    trace_id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    headers = {"traceparent": f"00-{trace_id}-{parent}-01", "tracestate": "x=secret", "baggage": "x=secret"}
    async with memory_runtime({"demo": [send]}) as ot, serve_rest(ot.runtime) as rest:
        response = await rest.post("/tools/call", json={"name": "demo.send", "args": {}}, headers=headers)
        assert response.json()["ok"]
    receiver = recorded.flush()
    (span,) = receiver.spans()
    assert (span.trace_id, span.parent) == (trace_id, parent)
    assert seen == [{"traceparent": f"00-{trace_id}-{span.id}-01"}]
    assert "secret" not in receiver.received()


@pytest.mark.guards("record-telemetry")
async def test_what_libraries_record_is_exported_without_names_and_texts(recorded):
    """Their spans keep their place, so that the trace stays whole."""

    async def use_library() -> int:
        """Record a span as an instrumented library does, and call a tool in it."""
        metrics.get_meter("library").create_counter("secret.metric").add(1, {"text": "secret"})
        with trace.get_tracer("library").start_as_current_span(
            "secret", attributes={"text": "secret"}
        ) as span:
            span.add_event("secret")
            span.set_status(trace.StatusCode.ERROR, "secret")
            return (await ot.call("demo.add", a=1, b=2)).data

    async with memory_runtime(DEMO | {"other": [use_library]}) as ot:
        assert (await ot.call("other.use_library")).data == 3
    receiver = recorded.flush()
    received = receiver.spans_by_name()
    assert received["library"].parent == received["execute_tool other.use_library"].id
    assert received["execute_tool demo.add"].parent == received["library"].id
    assert received["library"].is_error
    assert "secret" not in receiver.received()


def test_names_are_those_of_the_conventions():
    """Attributes and metrics that do not start with `onetool.` exist in the conventions."""
    package = "opentelemetry.semconv._incubating"
    modules = [
        f"{package}.attributes.{name}_attributes" for name in ("mcp", "gen_ai", "error", "jsonrpc", "rpc")
    ]
    modules += [f"{package}.metrics.{name}_metrics" for name in ("mcp", "gen_ai")]
    known = {
        value
        for name in modules
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, str)
    }
    ours = {
        value
        for name, value in vars(names).items()
        if name.isupper() and isinstance(value, str) and "." in value
    }
    assert {name for name in ours if not name.startswith("onetool.")} <= known
    operations = importlib.import_module(modules[1]).GenAiOperationNameValues
    assert {names.EXECUTE_TOOL, names.INVOKE_AGENT, names.CHAT} <= {
        operation.value for operation in operations
    }


async def test_without_a_provider_nothing_is_recorded(monkeypatch):
    monkeypatch.setattr(spans, "_instruments", None)
    assert spans.start_span(names.EXECUTE_TOOL) is spans.NO_SPAN
    assert spans.start_operation("ping", is_known=True) is None
    assert spans.trace_headers() == {}
    with spans.continue_trace({"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}):
        async with memory_runtime(DEMO) as ot:
            assert (await ot.call("demo.add", a=1, b=2)).data == 3
