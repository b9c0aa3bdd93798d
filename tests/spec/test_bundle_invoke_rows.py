"""Calls of stored tools over REST: arguments, HTTP, limits, streams and archives; rows BND-01 to BND-71."""

import io
import json
import sqlite3
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from onetool.pipeline.recorder import DELAY as RECORDER_DELAY_S
from onetool.storage.files.activity import TIMEOUT_S as LOCK_TIMEOUT_S
from support.processes import wait_until
from support.rest_process import (
    API_KEY,
    BOUND_KEY,
    SETTINGS,
    RecordedRequest,
    RestProcess,
    RestReply,
    Upstream,
    code_tool,
    http_tool,
    new_id,
    python_tool,
)
from support.rest_process import shared_upstream as shared_upstream
from support.waiting import HANG_S

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ZIP = {"Content-Type": "application/zip"}
MAX_RATIO = 8
"""How many times as long as an empty request a call of a local function may take."""


@pytest.fixture
def remote_tool(server: RestProcess, upstream: Upstream) -> Callable[..., Any]:
    """Return a function that creates an HTTP tool for a path of the upstream."""

    def create(path: str, *args: str, **fields: Any) -> Any:
        return server.create_tool(slug="web", **http_tool(upstream.url + path, *args, **fields))

    return create


# Local functions


@pytest.mark.spec("BND-01", "BND-10", "BND-39", "BND-58")
def test_python_and_http_tools_are_invoked_by_the_same_route(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    """Both return {ok: true, value}."""
    local, remote = (
        server.create_tool(func="probes.add"),
        remote_tool(upstream.script(RestReply(200, {"sum": 5}))),
    )
    for tool, args, value in ((local, {"a": 2, "b": 3}, 5), (remote, {}, {"sum": 5})):
        response = server.invoke(tool, **args)
        body = response.json()
        assert (response.status_code, body["ok"], body["value"], "error" in body) == (200, True, value, False)


@pytest.mark.spec("BND-10", "BND-11")
def test_local_call_takes_about_as_long_as_an_empty_request(server: RestProcess) -> None:
    """In one of three attempts, the fastest call takes at most MAX_RATIO times the fastest empty request."""
    tool, health = server.create_tool(func="probes.one"), f"{server.origin}/healthz"

    def seconds(action: Callable[[], Any]) -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    def ratio() -> float:
        pairs = [
            (seconds(lambda: server.invoke_value(tool)), seconds(lambda: server.client.get(health)))
            for _ in range(10)
        ]
        return min(call for call, _ in pairs) / min(empty for _, empty in pairs)

    assert any(ratio() < MAX_RATIO for _ in range(3))


@pytest.mark.spec("BND-11", "BND-54")
def test_function_receives_its_call_context(server: RestProcess) -> None:
    """`ctx` has call id, deadline and arguments; it is not in the schema and cannot be passed."""
    bundle = server.pack_bundle("probes")
    pack_tool = server.client.get(server.tool_url(bundle["id"], "context", "current")).json()
    assert set(pack_tool["argSchema"]["properties"]) == {"n"}
    strict = NUMBER | {"additionalProperties": False}
    stored = server.create_tool(func="probes.context", argSchema=strict)
    call_ids = []
    for tool in (pack_tool, stored):
        value = server.invoke_value(tool, n=2)
        assert (value["n"], value["cancelled"], value["args"]) == (2, False, {"n": 2})
        assert 0 < value["left"] <= 8
        call_ids.append(value["call_id"])
        assert server.invoke_error(tool, 400, n=2, ctx=1)["error"]["code"] == "invalid_args"
    assert (len(set(call_ids)), all(call_ids)) == (2, True)
    assert server.invoke_value(server.create_tool(func="probes.one")) == 1


@pytest.mark.spec("BND-54", "BND-59")
@pytest.mark.parametrize("why", ["it failed", "Fehler: ünïcode 😀"])
def test_exception_in_a_function_returns_200_with_an_error(server: RestProcess, why: str) -> None:
    """The body is {ok: false, error} with the message, without a value or a traceback."""
    body = server.invoke_error(server.create_tool(func="probes.fail"), 200, why=why)
    error = body["error"]
    assert (error["code"], why in error["message"], bool(error["tool"])) == ("execution_error", True, True)
    assert (body["meta"]["reason"], "Traceback" in str(body)) == ("raised", False)


@pytest.mark.spec("BND-53")
@pytest.mark.parametrize("args", [{}, {"path": 5}, {"path": None}, {"path": "x", "more": 1}], ids=str)
def test_invalid_arguments_return_400_and_do_not_call_the_function(
    server: RestProcess, tmp_path: Path, args: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tool = server.create_tool(func="probes.mark", argSchema=schema | {"additionalProperties": False})
    file = tmp_path / "called"
    invalid = args | {"path": str(file)} if "more" in args else args
    assert server.invoke_error(tool, 400, **invalid)["error"]["code"] == "invalid_args"
    assert not file.exists()
    assert (server.invoke_value(tool, path=str(file)), file.exists()) == (str(file), True)


@pytest.mark.spec("BND-53", "BND-59")
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"args": 5}', b'{"args": []}', b"\xff"], ids=repr)
def test_malformed_call_body_returns_400_in_the_format_of_a_call(server: RestProcess, content: bytes) -> None:
    """The body is {ok: false, error} even if the request cannot be parsed."""
    tool = server.create_tool(func="probes.add")
    for url in (f"{server.url_of(tool)}/invoke", "/tools/call"):
        response = server.client.post(url, content=content, headers={"Content-Type": "application/json"})
        body = response.json()
        assert (response.status_code, body["ok"]) == (400, False), response.text
        assert (body["error"]["code"], bool(body["error"]["message"])) == ("invalid_args", True)


# HTTP tools


@pytest.mark.spec("BND-57", "BND-58")
def test_upstream_response_is_validated_against_the_output_schema(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    """JSON is parsed first; text is a valid value too."""
    replies = (
        RestReply(200, {"n": 5}),
        RestReply(200, {"n": "five"}),
        RestReply(200, {}),
        RestReply(200, "text"),
    )
    tool = remote_tool(upstream.script(*replies), outputSchema=NUMBER)
    assert server.invoke_value(tool) == {"n": 5}
    for _ in range(3):
        body = server.invoke_error(tool, 200)
        assert (body["meta"]["reason"], "output" in body["error"]["message"].lower()) == ("bad_output", True)
    assert server.invoke_value(remote_tool(upstream.script(RestReply(200, "text")))) == "text"
    assert server.invoke_value(remote_tool(upstream.script(RestReply(200, [1, None])))) == [1, None]


@pytest.mark.spec("BND-18")
@pytest.mark.parametrize("status", [200, 400, 500])
def test_secret_echoed_by_the_upstream_is_masked(
    server: RestProcess, upstream: Upstream, remote_tool: Any, status: int
) -> None:
    """This applies to values and to errors."""
    path = upstream.script(
        lambda request: RestReply(status, {"got": request.headers["x-key"], "at": request.target})
    )
    request = {"method": "POST", "headers": {"X-Key": "${API_KEY}"}, "query": {"k": "${API_KEY}"}}
    response = server.invoke(remote_tool(path, request=request))
    assert (response.json()["ok"], API_KEY in response.text) == (status == 200, False)
    assert (len(upstream.requests_to(path)), upstream.requests_to(path)[0].query) == (1, {"k": API_KEY})
    assert API_KEY not in server.errors.read_text()


@pytest.mark.spec("BND-18")
def test_secret_bound_to_other_hosts_is_not_sent(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    """The error names the secret but does not contain its value."""
    path = upstream.script()
    body = server.invoke_error(remote_tool(path, request={"headers": {"X-Key": "${BOUND}"}}))
    assert ("BOUND" in body["error"]["message"], BOUND_KEY in str(body), upstream.requests_to(path)) == (
        True,
        False,
        [],
    )


# Usage


def wait_for_count(server: RestProcess, tool: Any, count: int) -> dict[str, Any]:
    """Wait until the server has counted so many calls of a tool, and return the tool."""
    assert wait_until(lambda: server.get_tool(tool)["callCount"] >= count)
    current = server.get_tool(tool)
    assert current["callCount"] == count
    return current


@pytest.mark.spec("BND-60")
def test_calls_are_counted_while_the_server_runs(server: RestProcess) -> None:
    """callCount and lastCalledAt change soon; the record of the tool does not."""
    assert RECORDER_DELAY_S < 2
    tool, before = server.create_tool(func="probes.add"), datetime.now(UTC)
    stored = server.stored_tool(tool)
    for number in range(3):
        server.invoke_value(tool, a=number, b=1)
    after = datetime.now(UTC)
    current = wait_for_count(server, tool, 3)
    assert before <= datetime.fromisoformat(current["lastCalledAt"]) <= after
    assert (current["modifiedAt"], server.stored_tool(tool)) == (tool["modifiedAt"], stored)
    (listed,) = server.list_all("/tools/tools", bundleIDs=tool["bundleID"])
    assert listed["callCount"] == 3


@pytest.mark.spec("BND-60")
def test_call_does_not_wait_for_locked_counters(server: RestProcess) -> None:
    """It returns while another writer still waits for the lock. It is counted once the lock is released."""
    tool, waiting, outcomes = server.create_tool(), Event(), []
    server.invoke_value(tool)
    wait_for_count(server, tool, 1)
    files = [file for file in server.root.rglob("*.sqlite3") if file.name != "index.sqlite3"]
    (counters,) = [file for file in files if file.name == "activity.sqlite3"]

    def write() -> None:
        """Wait for the lock as long as the server does before it gives up."""
        with closing(sqlite3.connect(counters, timeout=LOCK_TIMEOUT_S, isolation_level=None)) as connection:
            waiting.set()
            try:
                connection.execute("BEGIN IMMEDIATE")
                outcomes.append("locked")
            except sqlite3.OperationalError:
                outcomes.append("gave up")

    writer = Thread(target=write)
    with ExitStack() as stack:
        for file in files:
            lock = stack.enter_context(closing(sqlite3.connect(file, isolation_level=None)))
            lock.execute("BEGIN IMMEDIATE")
        writer.start()
        assert waiting.wait(HANG_S)
        assert server.invoke_value(tool) == 1
        assert outcomes == []
    writer.join()
    wait_for_count(server, tool, 2)


# Auth helpers


@pytest.mark.spec("BND-65")
def test_oauth_token_is_reused_until_the_upstream_rejects_it(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    """Three calls use one token; when the upstream rejects it, one refresh makes the call succeed."""
    issued: list[str] = []

    def issue(request: RecordedRequest) -> RestReply:
        issued.append(request.form["grant_type"])
        return RestReply(200, {"access_token": f"t{len(issued)}", "token_type": "Bearer", "expires_in": 3600})

    def accept(token: str) -> Callable[[RecordedRequest], RestReply]:
        """Return a handler that replies 401 to any other token."""
        return lambda request: RestReply(
            200 if request.headers["authorization"] == f"Bearer {token}" else 401, {"fine": True}
        )

    path = upstream.script(*[accept("t1")] * 3, accept("t2"))
    auth = {
        "type": "oauth2",
        "grant": "client_credentials",
        "tokenUrl": upstream.url + upstream.script(issue),
    }
    auth |= {"clientId": f"client-{new_id()}", "clientSecret": "${API_KEY}"}
    tool = remote_tool(path, request={"auth": auth})
    assert [server.invoke_value(tool) for _ in range(3)] == [{"fine": True}] * 3
    assert issued == ["client_credentials"]
    assert server.invoke_value(tool) == {"fine": True}
    tokens = [request.headers["authorization"][-2:] for request in upstream.requests_to(path)]
    assert (len(issued), tokens) == (2, ["t1"] * 4 + ["t2"])


# Limits


@pytest.mark.spec("BND-66")
def test_request_over_max_sent_bytes_is_not_sent(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    path = upstream.script()
    request = {"method": "POST", "body": "${text}"}
    tool = remote_tool(path, "text", request=request, limits={"maxSentBytes": 1000})
    body = server.invoke_error(tool, text="x" * 1001)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "too_large_out")
    assert "maxSentBytes" in body["error"]["message"]
    assert upstream.requests_to(path) == []
    server.invoke_value(tool, text="x" * 100)


@pytest.mark.spec("BND-66")
def test_put_beyond_max_tools_returns_409(new_server: Callable[..., RestProcess], tmp_path: Path) -> None:
    """The problem names the setting; deleting a tool makes a new one possible."""
    with new_server(tmp_path, settings=f"{SETTINGS}execution: {{max_tools: 2}}\n") as server:
        bundle = server.create_bundle()
        tools = [server.create_tool(bundle, slug) for slug in ("a", "b")]
        response = server.put_tool(server.create_bundle(), "c")
        assert (response.status_code, "execution.max_tools" in response.json()["detail"]) == (409, True)
        assert server.put_tool(bundle, "a").status_code == 409
        assert len(server.stored_tools(bundle)) == 2
        server.client.delete(server.url_of(tools[0]))
        assert server.put_tool(bundle, "c").status_code == 201


@pytest.mark.spec("BND-69")
def test_call_beyond_max_calls_per_minute_returns_429_and_sends_no_request(
    server: RestProcess, upstream: Upstream, remote_tool: Any, size: Callable[[int, int], int]
) -> None:
    """The error says how long to wait. Other tools are not affected; a minute later the call succeeds."""
    path = upstream.script()
    tool, other = remote_tool(path, limits={"maxCallsPerMinute": 2}), server.create_tool()
    assert [server.invoke_value(tool) for _ in range(2)] == [{"fine": True}] * 2
    body = server.invoke_error(tool, 429)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "rate_limited")
    assert "Try again in " in body["error"]["message"]
    assert [server.invoke_value(other) for _ in range(3)] == [1, 1, 1]
    assert len(upstream.requests_to(path)) == 2
    if wait := size(0, 61):
        time.sleep(wait)
        assert server.invoke_value(tool) == {"fine": True}


# Streams


def read_events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Yield the kind and the data of each server-sent event."""
    kind, data = "message", []
    for line in lines:
        name, _, value = line.partition(":")
        if name == "event":
            kind = value.strip()
        elif name == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            yield kind, json.loads("\n".join(data))
            kind, data = "message", []


@pytest.mark.spec("BND-67")
def test_stream_sends_progress_while_the_tool_runs(server: RestProcess, tmp_path: Path) -> None:
    """The tool waits for a gate that opens after the first event; the result is last."""
    tool, gate = server.create_tool(func="probes.stepwise"), tmp_path / "gate"
    options: dict[str, Any] = {
        "json": {"args": {"gate": str(gate)}},
        "headers": {"Accept": "text/event-stream"},
    }
    received = []
    with server.client.stream("POST", f"{server.url_of(tool)}/invoke", **options) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        for kind, data in read_events(response.iter_lines()):
            received.append((kind, data))
            gate.touch()
    (first, *_, last) = received
    assert first == ("progress", {"done": 1, "total": 2, "message": "half"})
    assert ("progress", {"done": 2, "total": 2, "message": "whole"}) in received
    assert (last[0], last[1]["ok"], last[1]["value"]) == ("result", True, "opened")
    assert [kind for kind, _ in received].count("result") == 1


def test_stream_reports_each_sent_request_with_masked_secrets(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    path = upstream.script(RestReply(body="{}"))
    request = {"method": "POST", "headers": {"X-Key": "${API_KEY}"}, "body": {"city": "${city}"}}
    tool = remote_tool(path, "city", request=request)
    options: dict[str, Any] = {"json": {"args": {"city": "Oslo"}}, "headers": {"Accept": "text/event-stream"}}
    with server.client.stream("POST", f"{server.url_of(tool)}/invoke", **options) as response:
        ((kind, sent), _) = read_events(response.iter_lines())
    assert kind == "request"
    first, *headers = sent["text"].splitlines()
    assert first == f"POST {upstream.url}{path}"
    assert {"X-Key: [secret]", '{"city":"Oslo"}'} <= set(headers)
    assert API_KEY not in sent["text"]


@pytest.mark.spec("BND-67")
def test_stream_of_a_failed_call_ends_with_the_error(server: RestProcess) -> None:
    """With `Accept: application/json` the same error is returned as JSON."""
    tool = server.create_tool(func="probes.fail")
    url, body = f"{server.url_of(tool)}/invoke", {"args": {"why": "it broke"}}
    with server.client.stream("POST", url, json=body, headers={"Accept": "text/event-stream"}) as response:
        (*_, (kind, result)) = read_events(response.iter_lines())
    assert (kind, result["ok"], "it broke" in result["error"]["message"]) == ("result", False, True)
    plain = server.client.post(url, json=body, headers={"Accept": "application/json"})
    assert (plain.headers["content-type"], plain.json()["error"]) == ("application/json", result["error"])


# Archives


def zip_archive(files: dict[str, Any]) -> bytes:
    """Return a ZIP archive of texts and JSON values."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return content.getvalue()


@pytest.mark.spec("BND-68")
def test_exported_bundle_can_be_imported_by_another_server(
    server: RestProcess, new_server: Callable[..., RestProcess], tmp_path: Path
) -> None:
    """Ids, times and tools are the same; the imported bundle is disabled."""
    bundle = server.create_bundle(displayName="To move", description="moves")
    on = server.create_tool(
        bundle, "été", "1.0", func="time.now", tags=["x"], description="Returns the time."
    )
    off = server.create_tool(
        bundle, "off", "v1", **http_tool("http://127.0.0.1/${API_KEY}") | {"isEnabled": False}
    )
    exported = server.client.get(f"/tools/bundles/{bundle}/export")
    assert (exported.status_code, exported.headers["content-type"]) == (200, "application/zip")
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        records = [json.loads(archive.read(name)) for name in archive.namelist()]
    assert {bundle, on["id"], off["id"]} <= {record["id"] for record in records}
    assert API_KEY.encode() not in exported.content
    assert server.client.post("/tools/import", content=exported.content, headers=ZIP).status_code == 409

    with new_server(tmp_path) as other:
        imported = other.client.post("/tools/import", content=exported.content, headers=ZIP)
        assert imported.status_code == 201, imported.text
        assert (imported.json()["bundle"]["id"], imported.json()["tools"]) == (bundle, 2)
        found, before = other.find_bundle(bundle), server.find_bundle(bundle)
        assert before
        assert found == before | {"isEnabled": False}
        assert other.list_slugs(bundle) == []
        other.invoke_error(on, 409)
        assert other.set_enabled(f"/tools/bundles/{bundle}", True).json()["isEnabled"] is True
        for tool in (on, off):
            counted = ("callCount", "lastCalledAt")
            imported_tool = {key: value for key, value in other.get_tool(tool).items() if key not in counted}
            assert imported_tool == {key: value for key, value in tool.items() if key not in counted}
        assert (other.list_slugs(bundle), set(other.invoke_value(on))) == (["été"], {"iso", "timestamp"})
        other.invoke_error(off, 409)
        again = other.client.post("/tools/import", content=exported.content, headers=ZIP)
        assert again.status_code == 409


@pytest.mark.spec("BND-68")
@pytest.mark.parametrize(
    "content",
    [
        b"no zip",
        zip_archive({"../../evil.json": {}}),
        zip_archive({"bundle.json": {"id": "x", "slug": "a_b"}}),
    ],
    ids=["not a zip", "parent path", "bad ids"],
)
def test_invalid_archive_returns_400_and_writes_no_file(server: RestProcess, content: bytes) -> None:
    before = set(server.root.rglob("*.json"))
    response = server.client.post("/tools/import", content=content, headers=ZIP)
    assert response.status_code == 400, response.text
    assert set(server.root.rglob("*.json")) == before


@pytest.mark.spec("BND-68")
def test_export_of_an_unknown_or_deleted_bundle_returns_404(server: RestProcess) -> None:
    bundle = server.create_bundle()
    server.client.delete(f"/tools/bundles/{bundle}")
    for missing in (bundle, new_id()):
        assert server.client.get(f"/tools/bundles/{missing}/export").status_code == 404
    assert server.put_tool(new_id(), "x", **python_tool()).status_code == 404


@pytest.mark.spec("BND-71")
def test_two_steps_equal_the_manual_composition(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    """The output of the first tool feeds the second one: with steps, with code, and with calls by hand."""
    first = remote_tool(upstream.script(RestReply(body={"items": [{"city": "Paris"}]})))
    echo = upstream.script(lambda request: RestReply(body={"path": request.path}))
    second = remote_tool(echo + "/${city}", "city")
    city = server.invoke_value(first)["items"][0]["city"]
    manual = server.invoke_value(second, city=city)
    steps = [
        {"name": "found", "tool": first["name"]},
        {
            "name": "page",
            "tool": second["name"],
            "args": {"city": {"from": "found.items[0].city"}},
            "when": {"from": "found.items[0].city", "is": "present"},
        },
    ]
    program = f"found = {first['name']}()\n{second['name']}(city=found['items'][0]['city'])"
    bundle = server.create_bundle()
    for version, body in (("v1", code_tool(steps=steps)), ("v2", code_tool(program))):
        composed = server.create_tool(bundle, "composed", version, **body)
        assert server.invoke_value(composed) == manual
        assert server.get_tool(composed)["codeImpl"]["program"]
    versions = [
        server.invoke_value({"bundleID": bundle, "slug": "composed", "version": v}) for v in ("v1", "v2")
    ]
    assert versions == [manual, manual]
