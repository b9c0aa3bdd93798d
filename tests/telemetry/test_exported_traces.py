"""Traces that processes of OneTool export, as an OTLP endpoint receives them."""

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from onetool.bootstrap import open_runtime
from onetool.files.installation import extra_command
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.telemetry import names
from onetool.testing.http_stub import HttpStub, StubResponse
from support.echo_upstream import EchoUpstream
from support.onetool_process import onetool
from support.otlp_receiver import OtlpReceiver
from support.processes import wait_until
from support.raw_mcp import LEGACY, MODERN, RawMcpClient
from support.rest_process import RestProcess, http_tool, new_id

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
CANARY = "c4nary-geheim-7"
PACK = f'''
from onetool.sdk import get_secret

def fail(text: str) -> str:
    """Raise an error with a secret and the argument."""
    raise ValueError(get_secret("KEY") + text)

def give(text: str) -> str:
    """Return a secret and the argument."""
    return get_secret("KEY") + text + "{CANARY}"
'''


class Upstream(EchoUpstream):
    """Lists its tool with a description that stays the same."""

    def serve_mcp(self, request):
        response = super().serve_mcp(request)
        if b'"tools/list"' in request.body:
            response.body["result"]["tools"][0]["description"] = "Echo."
        return response


@pytest.fixture
def receiver():
    with OtlpReceiver() as opened:
        yield opened


@pytest.fixture
def upstream():
    with Upstream({}) as opened:
        yield opened


@pytest.fixture
async def world(home, upstream):
    """Return a home with a pack, an MCP server over HTTP and two stored HTTP tools."""
    settings = {
        "allowedHosts": ["127.0.0.1"],
        "servers": {"remote": {"url": f"{upstream.url}/mcp"}},
        "approval": {"mcp": "allow"},
    }
    home.write("onetool.yaml", json.dumps(settings))
    home.write("secrets.yaml", json.dumps({"KEY": CANARY}))
    home.write("tools/mine.py", PACK)
    paths = find_paths(home.env, home.cwd)
    async with open_runtime(lambda: load_configuration(paths, {})) as runtime:
        bundle = new_id()
        await runtime.state.bundles.put_bundle(bundle, {"slug": "http", "isEnabled": True})
        url = f"{upstream.url}/echo?status=200&q=${{q}}"
        own = {"headers": {"Traceparent": "mine"}}
        await runtime.state.bundles.put_tool((bundle, "get", "v1"), http_tool(url, "q"))
        await runtime.state.bundles.put_tool((bundle, "own", "v1"), http_tool(url, "q", request=own))
    return home


def variables(receiver, **more):
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, **more}


def command(*words, env):
    """Run a command with these variables in addition to those of the test."""
    return onetool(*words, env=os.environ | env)


@contextmanager
def mcp_client(home, version, *options, **env):
    command = ("onetool", "mcp", *options)
    client = RawMcpClient(version, home.env | env, home.cwd, command)
    try:
        client.initialize()
        yield client
        assert client.close() == 0
    finally:
        client.kill()


def sent_to_server(upstream):
    """Return the `traceparent` that the MCP server received with the call of its tool."""
    bodies = [json.loads(request.body) for request in upstream.requests if request.path == "/mcp"]
    (call,) = [body for body in bodies if body.get("method") == "tools/call"]
    return call["params"]["_meta"]["traceparent"]


def header(upstream, path):
    (request,) = [request for request in upstream.requests if request.path.startswith(path)]
    return {name.lower(): value for name, value in request.headers.items()}.get("traceparent")


@pytest.mark.parametrize("version", [LEGACY, MODERN])
async def test_one_trace_from_the_client_to_servers_and_http_apis(world, receiver, upstream, version):
    code = "[remote.echo(status='200'), http.get(q='7')]"
    with mcp_client(world, version, **variables(receiver, OTEL_SERVICE_NAME="gateway")) as client:
        meta = {"traceparent": TRACEPARENT, "baggage": f"user={CANARY}"}
        failed, text = client.run(code, **meta)
        assert not failed, text
    spans = receiver.spans_by_name()
    request, run = spans["tools/call run"], spans["execute_tool run"]
    server, http = spans["execute_tool remote.echo"], spans["execute_tool http.get"]
    sent = spans["MCP send tools/call echo"]
    assert (request.trace_id, request.parent) == (TRACE, PARENT)
    assert {span.trace_id for span in (request, run, server, http, sent)} == {TRACE}
    assert [run.parent, server.parent, http.parent, sent.parent] == [request.id, run.id, run.id, server.id]
    assert sent_to_server(upstream) == f"00-{TRACE}-{sent.id}-01"
    assert header(upstream, "/echo") == f"00-{TRACE}-{http.id}-01"
    assert run.resource["service.name"] == "gateway"
    assert CANARY not in upstream.seen


def test_header_of_a_tool_is_not_replaced(world, receiver, upstream):
    done = command("tools", "invoke", "http.own", "--args", '{"q": 1}', env=variables(receiver))
    assert done.returncode == 0, done.stderr
    assert header(upstream, "/echo") == "mine"


@pytest.mark.guards("record-telemetry")
def test_http_header_continues_a_trace(world, receiver, upstream, tmp_path):
    """For REST, and for MCP clients that send no `_meta`."""
    server = RestProcess(tmp_path / "serve", **variables(receiver))
    headers = {"traceparent": TRACEPARENT, "baggage": f"user={CANARY}"}
    with server:
        body = {"name": "time.now", "args": {}}
        assert server.client.post("/tools/call", json=body, headers=headers).status_code == 200
        params = {"name": "run", "arguments": {"command": "time.now()"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        accept = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": LEGACY}
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        opened = server.client.post("/mcp", json=first, headers=accept)
        accept["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
        assert server.client.post("/mcp", json=message, headers=accept | headers).status_code == 200
        assert server.client.get("/tools/tools/search", params={"q": CANARY}).status_code == 200
        assert server.client.get(f"/{CANARY}", headers=headers).status_code == 404
        broken = {"traceparent": "00-zz-1-01"}
        assert server.client.post("/tools/call", json=body, headers=broken).status_code == 200
    spans = receiver.spans()
    (request,) = [span for span in spans if span.name == "tools/call run"]
    (run,) = [span for span in spans if span.name == "execute_tool run"]
    calls = [span for span in spans if span.name == "execute_tool time.now"]
    (nested,) = [span for span in calls if span.attributes[names.INTERFACE] == "mcp"]
    direct = [span for span in calls if span.attributes[names.INTERFACE] == "rest"]
    assert (request.trace_id, request.parent) == (TRACE, PARENT)
    assert (nested.trace_id, nested.parent) == (TRACE, run.id)
    assert sorted(span.parent for span in direct) == ["", PARENT]
    assert [span.trace_id == TRACE for span in direct].count(True) == 1
    assert run.attributes[names.INTERFACE] == "mcp"
    assert CANARY not in receiver.received()


@pytest.mark.guards("record-telemetry")
@pytest.mark.parametrize("version", [LEGACY, MODERN])
async def test_no_secret_argument_or_invented_name_is_exported(world, receiver, version):
    with mcp_client(world, version, "--expose", "all", **variables(receiver)) as client:
        for tool in ("mine__fail", "mine__give", f"no-{CANARY}"):
            client.request("tools/call", name=tool, arguments={"text": CANARY})
        client.request(f"x/{CANARY}")
        client.request("prompts/get", name=CANARY)
        client.request("resources/read", uri=f"file:///{CANARY}")
        client.request("tools/call", name=5, arguments=CANARY)
    done = command("run", f"mine.fail(text='{CANARY}')", env=variables(receiver))
    assert done.returncode == 1
    done = command("tools", "invoke", f"mine.{CANARY}", env=variables(receiver))
    assert done.returncode == 1
    spans = receiver.spans_by_name()
    assert {"execute_tool mine.fail", "execute_tool mine.give", "execute_tool (unknown)"} <= spans.keys()
    assert {"tools/call (unknown)", "(unknown)", "prompts/get", "tools/call mine__give"} <= spans.keys()
    assert spans["execute_tool (unknown)"].attributes[names.ERROR] == "unknown"
    assert CANARY not in receiver.received()


def test_commands_without_an_endpoint_export_nothing(world, receiver):
    """The SDK can be disabled, and so can each signal."""
    for more in ({"OTEL_SDK_DISABLED": "true"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": ""}):
        done = command("tools", "invoke", "time.now", env=variables(receiver, **more))
        assert done.returncode == 0
    assert receiver.requests == []
    off = {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}
    assert command("tools", "invoke", "time.now", env=variables(receiver, **off)).returncode == 0
    assert receiver.requests == []


@pytest.mark.parametrize("is_listening", [True, False], ids=["hangs", "refuses"])
def test_endpoint_that_does_not_answer_delays_nothing(world, is_listening):
    """A command that waited for the exporter would not end."""
    with socket.socket() as endpoint:
        endpoint.bind(("127.0.0.1", 0))
        if is_listening:
            endpoint.listen()
        url = f"http://127.0.0.1:{endpoint.getsockname()[1]}"
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_TIMEOUT": "3600"}
        done = command("run", "[time.now() for _ in range(3)] and 7", env=env)
    assert (done.returncode, json.loads(done.stdout)) == (0, 7), done.stderr
    assert "Traceback" not in done.stderr


def test_endpoint_that_fails_is_reported_once(world):
    """And again once it has worked."""
    answers = iter([500, 500, 200])
    with HttpStub({"/v1/traces": lambda request: StubResponse("", next(answers, 500))}) as endpoint:
        env = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{endpoint.url}/v1/traces"}
        with mcp_client(world, LEGACY, **env, OTEL_BSP_SCHEDULE_DELAY="5") as client:
            for number in range(1, 5):
                client.run("1")
                wait_until(lambda number=number: len(endpoint.requests) >= number)
        errors = client.errors.decode()
    assert errors.count("cannot send spans to the OTLP endpoint") == 2
    assert errors.count("spans are sent to the OTLP endpoint again") == 1


def test_wrong_variable_is_reported_and_stops_nothing(world, receiver):
    wrong = {"OTEL_BSP_MAX_QUEUE_SIZE": "-1"}
    done = command("tools", "invoke", "time.now", env=variables(receiver, **wrong))
    assert done.returncode == 0
    assert done.stderr.count("nothing is exported: ValueError") == 1
    assert receiver.requests == []


def test_missing_extra_is_reported_once(world, receiver, tmp_path):
    """The warning names the command that installs it."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['opentelemetry.sdk'] = None\n")
    env = os.environ | variables(receiver, PYTHONPATH=str(tmp_path))
    words = [sys.executable, "-m", "onetool", "tools", "invoke", "time.now"]
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.count(extra_command("otel")) == 1
    assert receiver.requests == []
