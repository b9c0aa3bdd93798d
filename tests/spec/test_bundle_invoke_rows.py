"""Calls of stored tools over REST: arguments, HTTP, limits, streams and archives; rows BND-01 to BND-71."""

import base64
import hashlib
import hmac
import io
import json
import re
import sqlite3
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import quote

import pytest

from onetool.pipeline.recorder import DELAY as RECORDER_DELAY_S
from onetool.storage.files.activity import TIMEOUT_S as LOCK_TIMEOUT_S
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

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ZIP = {"Content-Type": "application/zip"}
MAX_RATIO = 8
"""How many times as long as an empty request a call of a local function may take."""
HANG_S = 60.0
"""Seconds after which a test that hangs fails."""


@pytest.fixture
def remote_tool(server: RestProcess, upstream: Upstream) -> Callable[..., Any]:
    """Return a function that creates an HTTP tool for a path of the upstream."""

    def create(path: str, *args: str, **fields: Any) -> Any:
        return server.create_tool(slug="web", **http_tool(upstream.url + path, *args, **fields))

    return create


def gaps(requests: list[RecordedRequest]) -> list[float]:
    """Return the seconds between consecutive requests."""
    return [later.received_at - earlier.received_at for earlier, later in pairwise(requests)]


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


@pytest.mark.spec("BND-53")
def test_invalid_arguments_return_400_and_send_no_request(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    path = upstream.script()
    tool = remote_tool(f"{path}/${{n}}", argSchema=NUMBER)
    for args in ({}, {"n": "5"}, {"n": 1.5}, {"n": None}):
        assert server.invoke_error(tool, 400, **args)["error"]["code"] == "invalid_args"
    assert upstream.requests_to(path) == []
    server.invoke_value(tool, n=5)
    assert [request.path for request in upstream.requests_to(path)] == [f"{path}/5"]


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


def test_call_by_an_unknown_name_returns_404(server: RestProcess) -> None:
    """The error code is tool_not_found."""
    response = server.client.post("/tools/call", json={"name": "unknown.tool", "args": {}})
    assert (response.status_code, response.json()["ok"]) == (404, False)
    assert response.json()["error"]["code"] == "tool_not_found"


@pytest.mark.spec("BND-57")
@pytest.mark.parametrize(
    ("schema", "fits"), [({"const": 1}, True), ({"type": "string"}, False), (None, True)]
)
def test_return_value_is_validated_against_the_output_schema(
    server: RestProcess, schema: Any, fits: bool
) -> None:
    """A violation is an error about the output; without a schema there is no validation."""
    tool = server.create_tool(func="probes.one", **{"outputSchema": schema} if schema else {})
    if fits:
        assert server.invoke_value(tool) == 1
    else:
        body = server.invoke_error(tool, 200)
        assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "bad_output")
        assert "output" in body["error"]["message"].lower()


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


@pytest.mark.spec("BND-12", "BND-18")
@pytest.mark.parametrize("value", ["7", "a/b c", "ü?x=1#y", "50%", "a&b=c", 7, True], ids=str)
def test_path_argument_is_percent_encoded(
    server: RestProcess, upstream: Upstream, remote_tool: Any, value: Any
) -> None:
    """The whole argument is encoded, so it cannot add path segments."""
    path = upstream.script()
    server.invoke_value(remote_tool(f"{path}/items/${{id}}/end", "id"), id=value)
    text = "true" if value is True else str(value)
    (received,) = upstream.requests_to(path)
    assert received.target == f"{path}/items/{quote(text, safe='')}/end"


@pytest.mark.parametrize("value", ["..", "."])
def test_dot_segment_as_path_argument_is_rejected(
    server: RestProcess, upstream: Upstream, remote_tool: Any, value: str
) -> None:
    path = upstream.script()
    server.invoke_error(remote_tool(f"{path}/items/${{id}}/end", "id"), id=value)
    assert upstream.requests_to(path) == []


@pytest.mark.spec("BND-12")
def test_steps_run_in_order_and_can_use_earlier_responses(server: RestProcess, upstream: Upstream) -> None:
    """The response of the last step is the value."""
    first, last = (
        upstream.script(RestReply(200, {"id": "x7"})),
        upstream.script(RestReply(200, {"done": True})),
    )
    urls = [f"{upstream.url}{first}/find", f"{upstream.url}{last}/${{steps.0.id}}/${{name}}"]
    requests = [{"method": verb, "urlTemplate": url} for verb, url in zip(("GET", "POST"), urls, strict=True)]
    body = http_tool(urls[0], "name") | {"httpImpl": {"requests": requests}}
    assert server.invoke_value(server.create_tool(slug="steps", **body), name="ann") == {"done": True}
    (find,), (use,) = upstream.requests_to(first), upstream.requests_to(last)
    assert (find.method, find.target) == ("GET", f"{first}/find")
    assert (use.method, use.target, find.received_at < use.received_at) == ("POST", f"{last}/x7/ann", True)


@pytest.mark.spec("BND-12", "BND-59")
def test_no_further_step_runs_after_a_failed_one(server: RestProcess, upstream: Upstream) -> None:
    first, last = upstream.script(RestReply(400, "no")), upstream.script()
    requests = [{"method": "GET", "urlTemplate": upstream.url + path} for path in (first, last)]
    body = http_tool(upstream.url) | {"httpImpl": {"requests": requests}}
    assert server.invoke_error(server.create_tool(slug="steps", **body), 200)["meta"]["reason"] == "upstream"
    assert (len(upstream.requests_to(first)), upstream.requests_to(last)) == (1, [])


@pytest.mark.spec("BND-55", "BND-18")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
def test_request_is_built_from_templates(
    server: RestProcess, upstream: Upstream, remote_tool: Any, method: str
) -> None:
    """Method, path, query, headers and body reach the upstream expanded, with unchanged values."""
    path = upstream.script()
    request = {
        "method": method,
        "query": {"q": "${text}", "fixed": "1", "both": "n=${n}"},
        "headers": {"X-Name": "${word}", "X-Key": "key ${API_KEY}"},
    }
    if method != "GET":
        request["body"] = {"text": "${text}", "n": "${n}", "in": ["say ${word}", True, None]}
    tool = remote_tool(f"{path}/${{word}}", "text", "word", "n", request=request)
    text = 'a&b="c"\n\\ ü😀 ${API_KEY}'
    server.invoke_value(tool, text=text, word="ann", n=5)
    (received,) = upstream.requests_to(path)
    assert (received.method, received.path) == (method, f"{path}/ann")
    assert received.query == {"q": text, "fixed": "1", "both": "n=5"}
    assert (received.headers["x-name"], received.headers["x-key"]) == ("ann", f"key {API_KEY}")
    if method != "GET":
        assert json.loads(received.body) == {"text": text, "n": 5, "in": ["say ann", True, None]}
        assert received.headers["content-type"].startswith("application/json")


@pytest.mark.spec("BND-55")
def test_text_body_is_sent_as_text(server: RestProcess, upstream: Upstream, remote_tool: Any) -> None:
    path = upstream.script()
    request = {"method": "POST", "body": "hello ${word}!", "headers": {"Content-Type": "text/plain"}}
    server.invoke_value(remote_tool(path, "word", request=request), word="Änn")
    (received,) = upstream.requests_to(path)
    assert (received.body.decode(), received.headers["content-type"]) == ("hello Änn!", "text/plain")


@pytest.mark.spec("BND-55")
@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\x00b"], ids=repr)
def test_control_characters_in_a_header_value_are_rejected(
    server: RestProcess, upstream: Upstream, remote_tool: Any, value: str
) -> None:
    """No request is sent."""
    path = upstream.script()
    server.invoke_error(remote_tool(path, "word", request={"headers": {"X-Name": "${word}"}}), word=value)
    assert upstream.requests_to(path) == []


@pytest.mark.spec("BND-55")
@pytest.mark.parametrize(
    ("auth", "header", "query"),
    [
        ({"type": "bearer", "token": "${API_KEY}"}, ("authorization", f"Bearer {API_KEY}"), {}),
        (
            {"type": "basic", "username": "ann", "password": "${API_KEY}"},
            ("authorization", "Basic " + base64.b64encode(f"ann:{API_KEY}".encode()).decode()),
            {},
        ),
        ({"type": "apiKey", "in": "header", "name": "X-Key", "value": "${API_KEY}"}, ("x-key", API_KEY), {}),
        ({"type": "apiKey", "in": "query", "name": "key", "value": "${API_KEY}"}, None, {"key": API_KEY}),
    ],
    ids=["bearer", "basic", "header", "query"],
)
def test_request_carries_credentials_of_each_auth_type(
    server: RestProcess,
    upstream: Upstream,
    remote_tool: Any,
    auth: dict[str, str],
    header: Any,
    query: dict[str, str],
) -> None:
    """The stored tool contains only the template of the secret."""
    path = upstream.script()
    tool = remote_tool(path, request={"auth": auth})
    server.invoke_value(tool)
    (received,) = upstream.requests_to(path)
    assert received.query == query
    assert not header or received.headers[header[0]] == header[1]
    assert API_KEY not in json.dumps(server.get_tool(tool))
    assert API_KEY not in (server.stored_tool(tool) or API_KEY)


@pytest.mark.spec("BND-18")
def test_unknown_placeholder_fails_the_call_or_the_creation(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    """An unresolved placeholder never becomes an empty string."""
    for where in (
        {"query": {"q": "x ${UNKNOWN}"}},
        {"headers": {"X-A": "x ${UNKNOWN}"}},
        {"body": "x ${UNKNOWN}"},
    ):
        path = upstream.script()
        response = server.put_tool(
            server.create_bundle(),
            "web",
            **http_tool(upstream.url + path, request={"method": "POST"} | where),
        )
        if response.status_code == 201:
            assert "UNKNOWN" in server.invoke_error(response.json())["error"]["message"]
        else:
            assert (response.status_code, "UNKNOWN" in response.text) == (400, True)
        assert upstream.requests_to(path) == []


@pytest.mark.spec("BND-18")
def test_declared_argument_is_never_replaced_by_a_secret(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    """If the argument is omitted, the secret of the same name is not sent."""
    path = upstream.script()
    server.invoke_error(remote_tool(f"{path}/${{API_KEY}}", "API_KEY"))
    assert upstream.requests_to(path) == []
    tool = remote_tool(
        path, "API_KEY", request={"headers": {"X-Key": "${API_KEY}"}, "query": {"k": "${API_KEY}"}}
    )
    server.invoke(tool)
    server.invoke_value(tool, API_KEY="mine")
    assert API_KEY not in str(upstream.requests_to(path))
    assert upstream.requests_to(path)[-1].headers["x-key"] == "mine"


@pytest.mark.spec("BND-18")
def test_placeholder_inside_an_argument_is_not_expanded(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    path = upstream.script()
    request = {"method": "POST", "body": {"t": "${text}"}, "headers": {"X-T": "${text}"}}
    server.invoke_value(remote_tool(path, "text", request=request), text="${API_KEY}")
    (received,) = upstream.requests_to(path)
    assert (json.loads(received.body), received.headers["x-t"]) == ({"t": "${API_KEY}"}, "${API_KEY}")


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


@pytest.mark.spec("BND-19")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_followed_only_to_allowed_hosts(
    server: RestProcess, upstream: Upstream, remote_tool: Any, status: int
) -> None:
    end = upstream.script(RestReply(200, {"arrived": True}))
    inside = upstream.script(RestReply(status, "", {"Location": upstream.url + end}))
    assert server.invoke_value(remote_tool(inside)) == {"arrived": True}
    outside = f"http://localhost:{upstream.server_port}{end}"
    for target in (
        outside,
        outside.replace("localhost", "127.0.0.1@localhost"),
        outside.replace("http:", ""),
    ):
        path = upstream.script(RestReply(status, "", {"Location": target}))
        body = server.invoke_error(remote_tool(path))
        assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "host_not_allowed")
    assert len(upstream.requests_to(end)) == 1


@pytest.mark.spec("BND-56")
def test_get_request_is_retried_with_growing_pauses(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    """503, 503, 200 succeeds with the third request, and the second pause is at least twice the minimum.

    The call has a limit of 8 seconds, and the pauses end long before.
    """
    path = upstream.script(RestReply(503), RestReply(503), RestReply(200, {"n": 3}))
    assert server.invoke_value(remote_tool(path)) == {"n": 3}
    pauses = gaps(upstream.requests_to(path))
    assert len(pauses) == 2
    assert (pauses[0] >= 0.2, pauses[1] >= 0.4) == (True, True), pauses


@pytest.mark.spec("BND-56", "BND-59")
@pytest.mark.parametrize(
    ("method", "status", "hits"),
    [
        *(("GET", status, 3) for status in (429, 502, 503, 504)),
        *((method, 503, 3) for method in ("PUT", "DELETE")),
        *((method, 503, 1) for method in ("POST", "PATCH")),
        *(("GET", status, 1) for status in (400, 401, 404, 500)),
    ],
)
def test_only_idempotent_requests_and_transient_statuses_are_retried(
    server: RestProcess, upstream: Upstream, remote_tool: Any, method: str, status: int, hits: int
) -> None:
    """Such a request is sent three times, any other once."""
    path = upstream.script(RestReply(status, "why it failed"))
    body = server.invoke_error(remote_tool(path, request={"method": method}), 200)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "upstream")
    assert str(status) in body["error"]["message"]
    assert len(upstream.requests_to(path)) == hits


@pytest.mark.spec("BND-56")
def test_retry_waits_for_the_retry_after_header(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    """It waits no longer than the limit of the call, which is the default of 8 seconds."""
    path = upstream.script(RestReply(503, "", {"Retry-After": "1"}), RestReply(200, {}))
    assert server.invoke_value(remote_tool(path)) == {}
    (pause,) = gaps(upstream.requests_to(path))
    assert pause >= 1


@pytest.mark.spec("BND-55")
def test_success_codes_define_which_statuses_succeed(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    path = upstream.script(RestReply(404, {"n": 0}), RestReply(200, {"n": 1}))
    request = {"method": "POST", "urlTemplate": upstream.url + path}
    tool = remote_tool(path, httpImpl={"request": request, "response": {"successCodes": [404]}})
    assert server.invoke_value(tool) == {"n": 0}
    server.invoke_error(tool, 200)


# Usage


def wait_for_count(server: RestProcess, tool: Any, count: int) -> dict[str, Any]:
    """Wait until the server has counted so many calls of a tool, and return the tool."""
    end = time.monotonic() + HANG_S
    while (current := server.get_tool(tool))["callCount"] < count and time.monotonic() < end:
        time.sleep(0.02)
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
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_request_has_a_valid_hmac_signature(
    server: RestProcess, upstream: Upstream, remote_tool: Any, method: str
) -> None:
    """The upstream can recompute the HMAC of exactly what it received."""
    path = upstream.script()
    auth = {
        "type": "hmac",
        "secret": "${API_KEY}",
        "algorithm": "sha256",
        "encoding": "hex",
        "header": "X-Signature",
        "timestampHeader": "X-Time",
        "payload": "${method}\n${path}\n${query}\n${timestamp}\n${body}",
    }
    request: dict[str, Any] = {"method": method, "query": {"q": "${text}"}, "auth": auth}
    request |= {"body": {"t": "${text}"}} if method == "POST" else {}
    tool = remote_tool(path, "text", request=request)
    for text in ("plain", "ü & more"):
        server.invoke_value(tool, text=text)
    for received in upstream.requests_to(path):
        stamp = received.headers["x-time"]
        signed = "\n".join([method, received.path, received.raw_query, stamp, received.body.decode()])
        expected = hmac.new(API_KEY.encode(), signed.encode(), hashlib.sha256).hexdigest()
        assert hmac.compare_digest(received.headers["x-signature"], expected)
        assert API_KEY not in str(received)
    assert len(upstream.requests_to(path)) == 2


def script_token_endpoint(upstream: Upstream, **fields: Any) -> str:
    """Script a token endpoint that issues t1, t2, t3 and so on; return its path."""
    requests: list[RecordedRequest] = []

    def issue(request: RecordedRequest) -> RestReply:
        requests.append(request)
        return RestReply(200, {"access_token": f"t{len(requests)}", "token_type": "Bearer"} | fields)

    return upstream.script(issue)


def accept_tokens(*tokens: str) -> Callable[[RecordedRequest], RestReply]:
    """Return a handler that replies 401 to any other token."""

    def handle(request: RecordedRequest) -> RestReply:
        accepted = request.headers.get("authorization") in [f"Bearer {token}" for token in tokens]
        return RestReply(200, {"fine": True}) if accepted else RestReply(401, "invalid token")

    return handle


@pytest.mark.spec("BND-65")
@pytest.mark.parametrize("grant", ["client_credentials", "refresh_token"])
def test_oauth_token_is_reused_until_the_upstream_rejects_it(
    server: RestProcess, upstream: Upstream, remote_tool: Any, grant: str
) -> None:
    """Three calls use one token; when the upstream rejects it, one refresh makes the call succeed."""
    tokens, path = (
        script_token_endpoint(upstream, expires_in=3600),
        upstream.script(*[accept_tokens("t1")] * 3, accept_tokens("t2")),
    )
    auth = {
        "type": "oauth2",
        "grant": grant,
        "tokenUrl": upstream.url + tokens,
        "clientId": f"client-{new_id()}",
    }
    auth |= {"clientSecret": "${API_KEY}", "scope": "read"}
    auth |= {"refreshToken": "long-lived"} if grant == "refresh_token" else {}
    tool = remote_tool(path, request={"auth": auth})
    assert [server.invoke_value(tool) for _ in range(3)] == [{"fine": True}] * 3
    (token_request,) = upstream.requests_to(tokens)
    assert (token_request.method, token_request.form["grant_type"], token_request.form["scope"]) == (
        "POST",
        grant,
        "read",
    )
    assert token_request.form.get("refresh_token") == auth.get("refreshToken")
    basic = base64.b64encode(f"{auth['clientId']}:{API_KEY}".encode()).decode()
    in_form = (token_request.form.get("client_id"), token_request.form.get("client_secret")) == (
        auth["clientId"],
        API_KEY,
    )
    assert in_form or token_request.headers.get("authorization") == f"Basic {basic}"
    assert server.invoke_value(tool) == {"fine": True}
    assert len(upstream.requests_to(tokens)) == 2
    assert [request.headers["authorization"][-2:] for request in upstream.requests_to(path)] == ["t1"] * 4 + [
        "t2"
    ]


@pytest.mark.spec("BND-65")
def test_expired_oauth_token_is_refreshed_before_the_call(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    """The expired token is not sent."""
    tokens = script_token_endpoint(upstream, expires_in=0.001)
    path = upstream.script(accept_tokens("t1", "t2"))
    auth = {"type": "oauth2", "grant": "client_credentials", "tokenUrl": upstream.url + tokens}
    auth |= {"clientId": f"client-{new_id()}", "clientSecret": "${API_KEY}"}
    tool = remote_tool(path, request={"auth": auth})
    server.invoke_value(tool)
    server.invoke_value(tool)
    assert [request.headers["authorization"] for request in upstream.requests_to(path)] == [
        "Bearer t1",
        "Bearer t2",
    ]
    assert len(upstream.requests_to(tokens)) == 2


@pytest.mark.spec("BND-65")
def test_rejected_oauth_token_is_refreshed_only_once(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    """An upstream that rejects every token is an error, not a loop."""
    tokens, path = script_token_endpoint(upstream, expires_in=3600), upstream.script(accept_tokens())
    auth = {"type": "oauth2", "grant": "client_credentials", "tokenUrl": upstream.url + tokens}
    auth |= {"clientId": f"client-{new_id()}", "clientSecret": "${API_KEY}"}
    body = server.invoke_error(remote_tool(path, request={"auth": auth}), 200)
    assert (body["meta"]["reason"], API_KEY in str(body)) == ("upstream", False)
    assert len(upstream.requests_to(tokens)) <= 2
    assert len(upstream.requests_to(path)) <= 2


@pytest.mark.spec("BND-65", "BND-19")
def test_token_url_on_a_forbidden_host_is_rejected(server: RestProcess, upstream: Upstream) -> None:
    """The tool is rejected when it is stored."""
    tokens = f"http://localhost:{upstream.server_port}{upstream.script()}"
    auth = {"type": "oauth2", "grant": "client_credentials", "tokenUrl": tokens, "clientId": "c"}
    body = http_tool(f"{upstream.url}/x", request={"auth": auth | {"clientSecret": "${API_KEY}"}})
    assert server.put_tool(server.create_bundle(), "web", **body).status_code == 400


# Limits


@pytest.mark.spec("BND-66")
def test_request_over_max_sent_bytes_is_not_sent(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    path = upstream.script()
    request = {"method": "POST", "body": "${text}"}
    tool = remote_tool(path, "text", request=request, limits={"maxSentBytes": 1000})
    body = server.invoke_error(tool, text="x" * 1001)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("invalid_args", "too_large_in")
    assert re.search("maxSentBytes|1,?000", body["error"]["message"])
    assert upstream.requests_to(path) == []
    server.invoke_value(tool, text="x" * 100)


@pytest.mark.spec("BND-66")
def test_response_over_max_resp_bytes_is_an_error(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    path = upstream.script(RestReply(200, "x" * 100), RestReply(200, "x" * 1001))
    tool = remote_tool(path, limits={"maxRespBytes": 1000})
    assert server.invoke_value(tool) == "x" * 100
    body = server.invoke_error(tool, 200)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "too_large_out")
    assert re.search("maxRespBytes|1,?000", body["error"]["message"])
    assert "x" * 100 not in str(body)


@pytest.mark.spec("BND-66")
@pytest.mark.parametrize(("retries", "hits"), [(0, 1), (1, 2)])
def test_max_retries_limits_the_repetitions(
    server: RestProcess, upstream: Upstream, remote_tool: Any, retries: int, hits: int
) -> None:
    path = upstream.script(RestReply(503))
    server.invoke_error(remote_tool(path, limits={"maxRetries": retries}), 200)
    assert len(upstream.requests_to(path)) == hits


@pytest.mark.spec("BND-66")
@pytest.mark.parametrize("scope", ["limits", "request"])
def test_call_over_timeout_ms_is_an_error(
    server: RestProcess, upstream: Upstream, remote_tool: Any, scope: str
) -> None:
    """The limit applies to the tool or to one request.

    A call with a long limit that started earlier still runs, so it is not the default limit that ends them.
    """
    received, gate = Event(), Event()

    def hang(request: RecordedRequest) -> RestReply:
        received.set()
        gate.wait(HANG_S)
        return RestReply(200, {})

    def with_timeout(milliseconds: int) -> Any:
        limits = {"limits": {"timeoutMS": 3_600_000}, scope: {"timeoutMS": milliseconds}}
        return remote_tool(upstream.script(hang), **limits)

    short, longer = with_timeout(200), with_timeout(3_600_000)
    with ThreadPoolExecutor(1) as pool:
        try:
            waiting = pool.submit(server.invoke, longer)
            assert received.wait(HANG_S)
            body = server.invoke_error(short, 200)
            assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "timeout")
            assert not waiting.done()
        finally:
            gate.set()


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
def test_call_beyond_max_calls_per_minute_returns_429(
    server: RestProcess, size: Callable[[int, int], int]
) -> None:
    """Other tools are not affected; after a minute the call succeeds again."""
    tool, other = server.create_tool(limits={"maxCallsPerMinute": 2}), server.create_tool()
    assert [server.invoke_value(tool) for _ in range(2)] == [1, 1]
    body = server.invoke_error(tool, 429)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "rate_limited")
    assert [server.invoke_value(other) for _ in range(3)] == [1, 1, 1]
    if wait := size(0, 61):
        time.sleep(wait)
        assert server.invoke_value(tool) == 1


@pytest.mark.spec("BND-69")
def test_rate_limited_call_sends_no_request(
    server: RestProcess, upstream: Upstream, remote_tool: Any
) -> None:
    path = upstream.script()
    tool = remote_tool(path, limits={"maxCallsPerMinute": 1})
    server.invoke_value(tool)
    for _ in range(3):
        server.invoke_error(tool, 429)
    assert len(upstream.requests_to(path)) == 1


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
        b"",
        b"no zip",
        zip_archive({}),
        zip_archive({"../../evil.json": {}}),
        zip_archive({"/evil.json": {}}),
        zip_archive({"bundle.json": "{"}),
        zip_archive({"bundle.json": []}),
        zip_archive({"bundle.json": {"id": "x", "slug": "a_b"}}),
    ],
    ids=["no bytes", "not a zip", "empty", "parent path", "absolute path", "bad json", "a list", "bad ids"],
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
