"""The asking server and the asking client of the tests understand each other without OneTool between them."""

import base64
import json
import subprocess
import sys
from contextlib import contextmanager

import pytest

from support.asking_client import (
    CANCEL,
    DECLINE,
    FORM,
    FORM_AND_URL,
    AskingClient,
    HttpTransport,
    StdioTransport,
    accept,
    count_events,
    message_of,
    read_log,
    text_of,
)
from support.mcp_servers import asking_server
from support.paths import MCP_SERVERS
from support.processes import wait_until
from support.raw_mcp import LEGACY, MODERN

SCRIPT = str(MCP_SERVERS / "asking_server.py")
ALL = FORM_AND_URL | {"sampling": {}, "roots": {}}


@contextmanager
def serve(log, version, transport, capabilities=ALL):
    command = [sys.executable, "-I", SCRIPT, "--modern" if version == MODERN else "--legacy", str(log)]
    if transport == "stdio":
        with AskingClient(
            StdioTransport(command, log.with_suffix(".errors"), {}), version, capabilities
        ) as client:
            yield client
        return
    process = subprocess.Popen([*command, "--http", "0"], stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        with AskingClient(HttpTransport(url, version), version, capabilities) as client:
            yield client
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module", params=[LEGACY, MODERN])
def version(request):
    return request.param


@pytest.fixture(scope="module", params=["stdio", "http"])
def transport(request):
    return request.param


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("asking") / "log"


@pytest.fixture(scope="module")
def client(log, version, transport):
    with serve(log, version, transport) as client:
        yield client


def call(client, tool, *answers, **args):
    return text_of(client.answers(*answers).call(tool, args))


@pytest.mark.parametrize(
    ("answer", "expected"), [(accept(name="Ada"), "hello Ada"), (DECLINE, "declined"), (CANCEL, "cancelled")]
)
def test_a_form_is_asked_once_and_the_tool_runs_once(client, log, answer, expected, request):
    assert call(client, "ask_name", answer, id=request.node.name) == expected
    assert [message_of(question) for question in client.questions] == ["What is your name?"]
    assert count_events(log, "ask_name", request.node.name) == 1


def test_two_questions_are_asked_one_after_the_other_or_together(client, log, request):
    names = accept(name="Ada"), accept(name="Lovelace")
    assert call(client, "ask_two", *names, id=request.node.name) == "hello Ada and Lovelace"
    assert call(client, "ask_both", accept(name="Ada"), accept(name="Ada")) == "hello Ada and Ada"
    assert len(client.questions) == 2
    assert count_events(log, "ask_two", request.node.name) == 1


def test_pages_sampling_and_roots_are_asked(client, version):
    assert call(client, "open_page", accept()) == "opened"
    assert client.questions[0]["params"]["url"] == asking_server.PAGE
    assert call(client, "needs_page", accept(), id=version) == "opened"
    reply = {"role": "assistant", "content": {"type": "text", "text": "blue"}, "model": "m"}
    assert call(client, "sample", reply) == "blue"
    assert call(client, "roots", {"roots": [{"uri": "file:///a"}]}) == '["file:///a"]'


def test_the_server_sees_the_declared_capabilities(tmp_path, version, transport):
    for declared in ({}, FORM):
        with serve(tmp_path / "log", version, transport, declared) as client:
            assert json.loads(call(client, "capabilities")) == declared
            assert (call(client, "open_page"), call(client, "roots")) == ("cannot show pages", "no roots")
            assert client.undeclared == []


def test_choices_and_other_forms_arrive_as_answered(client):
    chosen = {"color": "red", "extras": ["milk"], "ratio": 0.5, "gift": True}
    assert json.loads(call(client, "choices", accept(**chosen))) == chosen
    assert call(client, "secret_form", accept(api_key="k")) == "got k"
    assert call(client, "typed", accept(age=3)) == "age 3"


def test_endless_questions_end_at_the_limit_of_the_server(client):
    answers = [accept(name="x")] * asking_server.MAX_ENDLESS
    assert call(client, "endless", *answers) == "asked enough"
    assert len(client.questions) == asking_server.MAX_ENDLESS


def test_an_image_arrives_after_its_progress(client):
    response = client.answers().call("image", {}, _meta={"progressToken": "mine"})
    (part,) = response["result"]["content"]
    assert base64.b64decode(part["data"]) == asking_server.PNG
    params = [notice["params"] for notice in client.notifications]
    assert [(item["progressToken"], item["progress"], item["message"]) for item in params] == [
        ("mine", 1, "half"),
        ("mine", 2, "whole"),
    ]


def test_a_slow_call_ends_by_its_gate_or_by_cancellation(client, log, tmp_path, request):
    id, gate = request.node.name, tmp_path / "gate"
    number, _ = client.answers().start(
        "tools/call", name="slow", arguments={"id": id, "gate": str(tmp_path / "never")}
    )
    assert wait_until(lambda: count_events(log, "slow", id, "waiting") == 1)
    client.transport.cancel(number)
    assert wait_until(lambda: count_events(log, "slow", id, "cancelled") == 1)
    gate.touch()
    assert call(client, "slow", id=id, gate=str(gate)) == "done"
    assert count_events(log, "slow", id, "end") == 1


def test_writing_needs_no_question_and_is_recorded(client, log, request):
    assert call(client, "write", id=request.node.name, text="x") == "wrote x"
    events = [line["event"] for line in read_log(log) if line["id"] == request.node.name]
    assert events == ["run", "end"]


def test_definitions_can_change(client, log):
    changes = log.with_name(f"{log.name}.tools")
    changes.write_text(json.dumps({"write": {"description": "Changed."}}))
    try:
        tools = client.request("tools/list")["result"]["tools"]
    finally:
        changes.unlink()
    assert {tool["name"]: tool["description"] for tool in tools}["write"] == "Changed."


def test_a_used_state_is_refused(tmp_path, transport):
    with serve(tmp_path / "log", MODERN, transport) as client:
        first = client.answers(accept(name="Ada")).call_once("ask_name", {"id": "x"})["result"]
        retry = client.retry_params(first)
        assert text_of(client.call_once("ask_name", {"id": "x"}, **retry)) == "hello Ada"
        assert client.call_once("ask_name", {"id": "x"}, **retry)["error"]["code"] == -32602
    assert count_events(tmp_path / "log", "ask_name", "x") == 1
