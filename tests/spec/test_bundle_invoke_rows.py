"""Calls of stored tools over REST: arguments, HTTP, limits, streams, archives; rows BND-01 to BND-69."""

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
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rest_server import BOUND, KEY, SETTINGS, Answer, Seen, Server, Upstream, http_tool, new_id, python_tool
from rest_server import shared_server as shared_server
from rest_server import shared_upstream as shared_upstream

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ZIP = {"Content-Type": "application/zip"}


@pytest.fixture
def web(server: Server, upstream: Upstream) -> Callable[..., Any]:
    """Make an HTTP tool of a path of the upstream."""

    def make(path: str, *args: str, **fields: Any) -> Any:
        return server.tool(slug="web", **http_tool(upstream.url + path, *args, **fields))

    return make


def gaps(seen: list[Seen]) -> list[float]:
    return [later.at - earlier.at for earlier, later in pairwise(seen)]


# Local functions


@pytest.mark.spec("BND-01", "BND-10", "BND-39", "BND-58")
def test_both_kinds_are_invoked_alike(server: Server, upstream: Upstream, web: Any) -> None:
    """A local function and an HTTP request are called by the same route and answer {ok: true, value}."""
    local, remote = server.tool(func="probes.add"), web(upstream.script(Answer(200, {"sum": 5})))
    for tool, args, value in ((local, {"a": 2, "b": 3}, 5), (remote, {}, {"sum": 5})):
        response = server.invoke(tool, **args)
        body = response.json()
        assert (response.status_code, body["ok"], body["value"], "error" in body) == (200, True, value, False)


@pytest.mark.spec("BND-10", "BND-11")
def test_a_local_call_costs_next_to_nothing(server: Server) -> None:
    """At best a local call takes no 50 ms more than a request that does nothing, in one of three attempts."""
    tool = server.tool(func="probes.one")

    def seconds(act: Callable[[], Any]) -> float:
        start = time.perf_counter()
        act()
        return time.perf_counter() - start

    def overhead() -> float:
        pairs = [
            (seconds(lambda: server.value(tool)), seconds(lambda: server.client.get("/healthz")))
            for _ in range(10)
        ]
        return min(call for call, _ in pairs) - min(nothing for _, nothing in pairs)

    assert any(overhead() < 0.05 for _ in range(3))


@pytest.mark.spec("BND-11", "BND-54")
def test_a_function_gets_its_context(server: Server) -> None:
    """`ctx` tells call id, deadline and JSON arguments; it is in no schema and cannot be given."""
    bundle = server.shipped("probes")
    packed = server.client.get(server.tool_url(bundle["id"], "context", "current")).json()
    assert set(packed["argSchema"]["properties"]) == {"n"}
    strict = NUMBER | {"additionalProperties": False}
    stored = server.tool(func="probes.context", argSchema=strict)
    seen = []
    for tool in (packed, stored):
        value = server.value(tool, n=2)
        assert (value["n"], value["cancelled"], value["args"]) == (2, False, {"n": 2})
        assert 0 < value["left"] <= 8
        seen.append(value["call_id"])
        assert server.error(tool, 400, n=2, ctx=1)["error"]["code"] == "invalid_args"
    assert (len(set(seen)), all(seen)) == (2, True)
    assert server.value(server.tool(func="probes.one")) == 1


@pytest.mark.spec("BND-54", "BND-59")
@pytest.mark.parametrize("why", ["it went wrong", "Fehler: ünïcode 😀"])
def test_a_function_that_raises_is_an_answer(server: Server, why: str) -> None:
    """An exception is 200 {ok: false, error} with its message, without a value and without a traceback."""
    body = server.error(server.tool(func="probes.fail"), 200, why=why)
    error = body["error"]
    assert (error["code"], why in error["message"], bool(error["tool"])) == ("execution_error", True, True)
    assert (body["meta"]["reason"], "Traceback" in str(body)) == ("raised", False)


@pytest.mark.spec("BND-53")
@pytest.mark.parametrize("args", [{}, {"path": 5}, {"path": None}, {"path": "x", "more": 1}], ids=str)
def test_wrong_arguments_reach_no_function(server: Server, tmp_path: Path, args: dict[str, Any]) -> None:
    """What does not fit argSchema is a 400 with code invalid_args, and the function was not called."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tool = server.tool(func="probes.mark", argSchema=schema | {"additionalProperties": False})
    file = tmp_path / "called"
    wrong = args | {"path": str(file)} if "more" in args else args
    assert server.error(tool, 400, **wrong)["error"]["code"] == "invalid_args"
    assert not file.exists()
    assert (server.value(tool, path=str(file)), file.exists()) == (str(file), True)


@pytest.mark.spec("BND-53")
def test_wrong_arguments_send_no_request(server: Server, upstream: Upstream, web: Any) -> None:
    """The same holds for an HTTP tool: 400, and the upstream heard nothing."""
    path = upstream.script()
    tool = web(f"{path}/${{n}}", argSchema=NUMBER)
    for args in ({}, {"n": "5"}, {"n": 1.5}, {"n": None}):
        assert server.error(tool, 400, **args)["error"]["code"] == "invalid_args"
    assert upstream.seen(path) == []
    server.value(tool, n=5)
    assert [it.path for it in upstream.seen(path)] == [f"{path}/5"]


@pytest.mark.spec("BND-53", "BND-59")
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"args": 5}', b'{"args": []}', b"\xff"], ids=repr)
def test_a_call_always_answers_in_its_own_shape(server: Server, content: bytes) -> None:
    """What cannot be read as a call is a 400, and the body is {ok: false, error} all the same."""
    tool = server.tool(func="probes.add")
    for url in (f"{server.url_of(tool)}/invoke", "/tools/call"):
        response = server.client.post(url, content=content, headers={"Content-Type": "application/json"})
        body = response.json()
        assert (response.status_code, body["ok"]) == (400, False), response.text
        assert (body["error"]["code"], bool(body["error"]["message"])) == ("invalid_args", True)


def test_a_name_that_is_none_is_a_404(server: Server) -> None:
    """Calling by an unknown name says tool_not_found with status 404."""
    response = server.client.post("/tools/call", json={"name": "nobody.nothing", "args": {}})
    assert (response.status_code, response.json()["ok"]) == (404, False)
    assert response.json()["error"]["code"] == "tool_not_found"


@pytest.mark.spec("BND-57")
@pytest.mark.parametrize(
    ("schema", "fits"), [({"const": 1}, True), ({"type": "string"}, False), (None, True)]
)
def test_what_a_function_returns_is_checked(server: Server, schema: Any, fits: bool) -> None:
    """A value that violates outputSchema is an error that speaks of the output; no schema, no check."""
    tool = server.tool(func="probes.one", **{"outputSchema": schema} if schema else {})
    if fits:
        assert server.value(tool) == 1
    else:
        body = server.error(tool, 200)
        assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "bad_output")
        assert "output" in body["error"]["message"].lower()


# HTTP tools


@pytest.mark.spec("BND-57", "BND-58")
def test_what_an_upstream_answers_is_checked(server: Server, upstream: Upstream, web: Any) -> None:
    """JSON is parsed and held to outputSchema; text is a value too."""
    answers = (Answer(200, {"n": 5}), Answer(200, {"n": "five"}), Answer(200, {}), Answer(200, "text"))
    tool = web(upstream.script(*answers), outputSchema=NUMBER)
    assert server.value(tool) == {"n": 5}
    for _ in range(3):
        body = server.error(tool, 200)
        assert (body["meta"]["reason"], "output" in body["error"]["message"].lower()) == ("bad_output", True)
    assert server.value(web(upstream.script(Answer(200, "text")))) == "text"
    assert server.value(web(upstream.script(Answer(200, [1, None])))) == [1, None]


@pytest.mark.spec("BND-12", "BND-18")
@pytest.mark.parametrize("value", ["7", "a/b c", "ü?x=1#y", "50%", "a&b=c", 7, True], ids=str)
def test_arguments_fill_the_path(server: Server, upstream: Upstream, web: Any, value: Any) -> None:
    """`${id}` in the URL is the argument, percent-encoded whole: it cannot leave its part."""
    path = upstream.script()
    server.value(web(f"{path}/items/${{id}}/end", "id"), id=value)
    text = "true" if value is True else str(value)
    (seen,) = upstream.seen(path)
    assert seen.target == f"{path}/items/{quote(text, safe='')}/end"


@pytest.mark.parametrize("value", ["..", "."])
def test_a_path_is_not_climbed(server: Server, upstream: Upstream, web: Any, value: str) -> None:
    """A value that would be a dot segment is refused."""
    path = upstream.script()
    server.error(web(f"{path}/items/${{id}}/end", "id"), id=value)
    assert upstream.seen(path) == []


@pytest.mark.spec("BND-12")
def test_many_requests_run_in_order(server: Server, upstream: Upstream) -> None:
    """Each request may use what earlier ones answered; the last answer is the value."""
    first, last = upstream.script(Answer(200, {"id": "x7"})), upstream.script(Answer(200, {"done": True}))
    urls = [f"{upstream.url}{first}/find", f"{upstream.url}{last}/${{steps.0.id}}/${{name}}"]
    requests = [{"method": verb, "urlTemplate": url} for verb, url in zip(("GET", "POST"), urls, strict=True)]
    body = http_tool(urls[0], "name") | {"httpImpl": {"requests": requests}}
    assert server.value(server.tool(slug="steps", **body), name="ann") == {"done": True}
    (find,), (use,) = upstream.seen(first), upstream.seen(last)
    assert (find.method, find.target) == ("GET", f"{first}/find")
    assert (use.method, use.target, find.at < use.at) == ("POST", f"{last}/x7/ann", True)


@pytest.mark.spec("BND-12", "BND-59")
def test_a_failed_step_ends_the_tool(server: Server, upstream: Upstream) -> None:
    """When the first request fails, the second is not sent."""
    first, last = upstream.script(Answer(400, "no")), upstream.script()
    requests = [{"method": "GET", "urlTemplate": upstream.url + path} for path in (first, last)]
    body = http_tool(upstream.url) | {"httpImpl": {"requests": requests}}
    assert server.error(server.tool(slug="steps", **body), 200)["meta"]["reason"] == "upstream"
    assert (len(upstream.seen(first)), upstream.seen(last)) == (1, [])


@pytest.mark.spec("BND-55", "BND-18")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET"])
def test_a_request_is_built_from_templates(server: Server, upstream: Upstream, web: Any, method: str) -> None:
    """Method, path, query, headers and body reach the upstream as expanded, values untouched."""
    path = upstream.script()
    request = {
        "method": method,
        "query": {"q": "${text}", "fixed": "1", "both": "n=${n}"},
        "headers": {"X-Name": "${word}", "X-Key": "key ${API_KEY}"},
    }
    if method != "GET":
        request["body"] = {"text": "${text}", "n": "${n}", "in": ["say ${word}", True, None]}
    tool = web(f"{path}/${{word}}", "text", "word", "n", request=request)
    text = 'a&b="c"\n\\ ü😀 ${API_KEY}'
    server.value(tool, text=text, word="ann", n=5)
    (seen,) = upstream.seen(path)
    assert (seen.method, seen.path) == (method, f"{path}/ann")
    assert seen.query == {"q": text, "fixed": "1", "both": "n=5"}
    assert (seen.headers["x-name"], seen.headers["x-key"]) == ("ann", f"key {KEY}")
    if method != "GET":
        assert json.loads(seen.body) == {"text": text, "n": 5, "in": ["say ann", True, None]}
        assert seen.headers["content-type"].startswith("application/json")


@pytest.mark.spec("BND-55")
def test_a_body_may_be_a_text(server: Server, upstream: Upstream, web: Any) -> None:
    """A template that is a text is sent as that text."""
    path = upstream.script()
    request = {"method": "POST", "body": "hello ${word}!", "headers": {"Content-Type": "text/plain"}}
    server.value(web(path, "word", request=request), word="Änn")
    (seen,) = upstream.seen(path)
    assert (seen.body.decode(), seen.headers["content-type"]) == ("hello Änn!", "text/plain")


@pytest.mark.spec("BND-55")
@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\x00b"], ids=repr)
def test_a_header_cannot_be_smuggled_in(server: Server, upstream: Upstream, web: Any, value: str) -> None:
    """A line break in a header's value is refused, and no request is sent."""
    path = upstream.script()
    server.error(web(path, "word", request={"headers": {"X-Name": "${word}"}}), word=value)
    assert upstream.seen(path) == []


@pytest.mark.spec("BND-55")
@pytest.mark.parametrize(
    ("auth", "header", "query"),
    [
        ({"type": "bearer", "token": "${API_KEY}"}, ("authorization", f"Bearer {KEY}"), {}),
        (
            {"type": "basic", "username": "ann", "password": "${API_KEY}"},
            ("authorization", "Basic " + base64.b64encode(f"ann:{KEY}".encode()).decode()),
            {},
        ),
        ({"type": "apiKey", "in": "header", "name": "X-Key", "value": "${API_KEY}"}, ("x-key", KEY), {}),
        ({"type": "apiKey", "in": "query", "name": "key", "value": "${API_KEY}"}, None, {"key": KEY}),
    ],
    ids=["bearer", "basic", "header", "query"],
)
def test_a_request_proves_who_sends_it(
    server: Server, upstream: Upstream, web: Any, auth: dict[str, str], header: Any, query: dict[str, str]
) -> None:
    """Credentials stand where their kind wants them, and the tool shows only their template."""
    path = upstream.script()
    tool = web(path, request={"auth": auth})
    server.value(tool)
    (seen,) = upstream.seen(path)
    assert seen.query == query
    assert not header or seen.headers[header[0]] == header[1]
    assert (KEY in json.dumps(server.get(tool)), KEY in server.file(tool).read_text()) == (False, False)


@pytest.mark.spec("BND-18")
def test_what_cannot_be_filled_in_is_not_sent(server: Server, upstream: Upstream, web: Any) -> None:
    """A placeholder that is neither argument nor secret refuses the call; it never becomes nothing."""
    for where in (
        {"query": {"q": "x ${NOBODY}"}},
        {"headers": {"X-A": "x ${NOBODY}"}},
        {"body": "x ${NOBODY}"},
    ):
        path = upstream.script()
        response = server.put_tool(
            server.bundle(), "web", **http_tool(upstream.url + path, request={"method": "POST"} | where)
        )
        if response.status_code == 201:
            assert "NOBODY" in server.error(response.json())["error"]["message"]
        else:
            assert (response.status_code, "NOBODY" in response.text) == (400, True)
        assert upstream.seen(path) == []


@pytest.mark.spec("BND-18")
def test_an_argument_is_never_a_secret(server: Server, upstream: Upstream, web: Any) -> None:
    """A name that argSchema declares is the caller's alone: left out, the secret of that name is not sent."""
    path = upstream.script()
    server.error(web(f"{path}/${{API_KEY}}", "API_KEY"))
    assert upstream.seen(path) == []
    tool = web(path, "API_KEY", request={"headers": {"X-Key": "${API_KEY}"}, "query": {"k": "${API_KEY}"}})
    server.invoke(tool)
    server.value(tool, API_KEY="mine")
    assert KEY not in str(upstream.seen(path))
    assert upstream.seen(path)[-1].headers["x-key"] == "mine"


@pytest.mark.spec("BND-18")
def test_an_argument_cannot_name_a_secret(server: Server, upstream: Upstream, web: Any) -> None:
    """Text that looks like a placeholder in an argument stays text."""
    path = upstream.script()
    request = {"method": "POST", "body": {"t": "${text}"}, "headers": {"X-T": "${text}"}}
    server.value(web(path, "text", request=request), text="${API_KEY}")
    (seen,) = upstream.seen(path)
    assert (json.loads(seen.body), seen.headers["x-t"]) == ({"t": "${API_KEY}"}, "${API_KEY}")


@pytest.mark.spec("BND-18")
@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_secret_is_in_no_answer(server: Server, upstream: Upstream, web: Any, status: int) -> None:
    """Also when the upstream sends it back, in a value or in an error, nobody reads a secret."""
    path = upstream.script(lambda seen: Answer(status, {"got": seen.headers["x-key"], "at": seen.target}))
    request = {"method": "POST", "headers": {"X-Key": "${API_KEY}"}, "query": {"k": "${API_KEY}"}}
    response = server.invoke(web(path, request=request))
    assert (response.json()["ok"], KEY in response.text) == (status == 200, False)
    assert (len(upstream.seen(path)), upstream.seen(path)[0].query) == (1, {"k": KEY})
    assert KEY not in server.errors.read_text()


@pytest.mark.spec("BND-18")
def test_a_secret_stays_with_its_hosts(server: Server, upstream: Upstream, web: Any) -> None:
    """A secret that is bound to other hosts is not sent here, and the refusal does not tell it."""
    path = upstream.script()
    body = server.error(web(path, request={"headers": {"X-Key": "${BOUND}"}}))
    assert ("BOUND" in body["error"]["message"], BOUND in str(body), upstream.seen(path)) == (True, False, [])


@pytest.mark.spec("BND-19")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_leads_only_to_listed_hosts(
    server: Server, upstream: Upstream, web: Any, status: int
) -> None:
    """Within the list a redirect is followed; to a host outside of it the call ends unsent."""
    end = upstream.script(Answer(200, {"arrived": True}))
    inside = upstream.script(Answer(status, "", {"Location": upstream.url + end}))
    assert server.value(web(inside)) == {"arrived": True}
    outside = f"http://localhost:{upstream.server_port}{end}"
    for target in (
        outside,
        outside.replace("localhost", "127.0.0.1@localhost"),
        outside.replace("http:", ""),
    ):
        path = upstream.script(Answer(status, "", {"Location": target}))
        body = server.error(web(path))
        assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "host_not_allowed")
    assert len(upstream.seen(end)) == 1


@pytest.mark.spec("BND-56")
def test_a_busy_upstream_is_asked_again(server: Server, upstream: Upstream, web: Any) -> None:
    """503, 503, 200 on GET succeeds with the third request, and each pause is twice the last or more."""
    path = upstream.script(Answer(503), Answer(503), Answer(200, {"n": 3}))
    assert server.value(web(path)) == {"n": 3}
    pauses = gaps(upstream.seen(path))
    assert len(pauses) == 2
    assert (pauses[0] > 0.19, pauses[1] > 0.39, sum(pauses) < 5) == (True, True, True), pauses


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
def test_only_what_may_be_repeated_is(
    server: Server, upstream: Upstream, web: Any, method: str, status: int, hits: int
) -> None:
    """Three attempts where a repetition does no harm and may help, else one; the failure is an answer."""
    path = upstream.script(Answer(status, "why it failed"))
    body = server.error(web(path, request={"method": method}), 200)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "upstream")
    assert str(status) in body["error"]["message"]
    assert len(upstream.seen(path)) == hits


@pytest.mark.spec("BND-56")
def test_the_upstream_says_when_to_come_again(server: Server, upstream: Upstream, web: Any) -> None:
    """Retry-After is waited for."""
    path = upstream.script(Answer(503, "", {"Retry-After": "1"}), Answer(200, {}))
    assert server.value(web(path)) == {}
    assert 0.99 < gaps(upstream.seen(path))[0] < 4


@pytest.mark.spec("BND-55")
def test_a_tool_says_which_statuses_are_good(server: Server, upstream: Upstream, web: Any) -> None:
    """With successCodes the listed statuses are answers, and others are not."""
    path = upstream.script(Answer(404, {"n": 0}), Answer(200, {"n": 1}))
    request = {"method": "POST", "urlTemplate": upstream.url + path}
    tool = web(path, httpImpl={"request": request, "response": {"successCodes": [404]}})
    assert server.value(tool) == {"n": 0}
    server.error(tool, 200)


# Usage


@pytest.mark.spec("BND-60")
def test_calls_are_counted_soon_after(server: Server) -> None:
    """Within two seconds callCount and lastCalledAt tell of three calls; the tool's file is not touched."""
    tool = server.tool(func="probes.add")
    stored = server.file(tool).read_bytes()
    for number in range(3):
        server.value(tool, a=number, b=1)
    end = time.monotonic() + 2
    while (shown := server.get(tool))["callCount"] < 3 and time.monotonic() < end:
        time.sleep(0.02)
    assert shown["callCount"] == 3
    assert abs(datetime.fromisoformat(shown["lastCalledAt"]) - datetime.now(UTC)) < timedelta(seconds=30)
    assert (shown["modifiedAt"], server.file(tool).read_bytes()) == (tool["modifiedAt"], stored)
    (listed,) = server.every("/tools/tools", bundleIDs=tool["bundleID"])
    assert listed["callCount"] == 3


@pytest.mark.spec("BND-60")
def test_no_call_waits_for_its_count(server: Server) -> None:
    """While the counters cannot be written a call answers as fast as ever, and is counted afterwards."""
    tool = server.tool()
    server.value(tool)
    end = time.monotonic() + 2
    while server.get(tool)["callCount"] < 1 and time.monotonic() < end:
        time.sleep(0.02)
    files = [it for it in server.root.rglob("*.sqlite3") if it.name != "index.sqlite3"]
    with ExitStack() as held:
        for file in files:
            lock = held.enter_context(closing(sqlite3.connect(file, isolation_level=None)))
            lock.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        assert server.value(tool) == 1
        assert time.monotonic() - start < 1
    end = time.monotonic() + 10
    while (count := server.get(tool)["callCount"]) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    assert count == 2


# Auth helpers


@pytest.mark.spec("BND-65")
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_is_signed(server: Server, upstream: Upstream, web: Any, method: str) -> None:
    """The upstream can recompute the HMAC of exactly what it got, with the secret that both know."""
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
    tool = web(path, "text", request=request)
    for text in ("plain", "ü & more"):
        server.value(tool, text=text)
    for seen in upstream.seen(path):
        stamp = seen.headers["x-time"]
        signed = "\n".join([method, seen.path, seen.raw_query, stamp, seen.body.decode()])
        expected = hmac.new(KEY.encode(), signed.encode(), hashlib.sha256).hexdigest()
        assert hmac.compare_digest(seen.headers["x-signature"], expected)
        assert KEY not in str(seen)
    assert len(upstream.seen(path)) == 2


def token_server(upstream: Upstream, **fields: Any) -> str:
    """A token endpoint that gives t1, t2, t3 and so on."""
    issued: list[Seen] = []

    def issue(seen: Seen) -> Answer:
        issued.append(seen)
        return Answer(200, {"access_token": f"t{len(issued)}", "token_type": "Bearer"} | fields)

    return upstream.script(issue)


def only(*tokens: str) -> Callable[[Seen], Answer]:
    """An API that knows some tokens, and answers 401 to any other."""

    def answer(seen: Seen) -> Answer:
        good = seen.headers.get("authorization") in [f"Bearer {token}" for token in tokens]
        return Answer(200, {"fine": True}) if good else Answer(401, "who are you?")

    return answer


@pytest.mark.spec("BND-65")
@pytest.mark.parametrize("grant", ["client_credentials", "refresh_token"])
def test_a_token_is_got_once_and_used_until_it_ends(
    server: Server, upstream: Upstream, web: Any, grant: str
) -> None:
    """Three calls need one token; when the upstream takes it no more, one renewal and the call succeeds."""
    tokens, path = token_server(upstream, expires_in=3600), upstream.script(*[only("t1")] * 3, only("t2"))
    auth = {
        "type": "oauth2",
        "grant": grant,
        "tokenUrl": upstream.url + tokens,
        "clientId": f"client-{new_id()}",
    }
    auth |= {"clientSecret": "${API_KEY}", "scope": "read"}
    auth |= {"refreshToken": "long-lived"} if grant == "refresh_token" else {}
    tool = web(path, request={"auth": auth})
    assert [server.value(tool) for _ in range(3)] == [{"fine": True}] * 3
    (asked,) = upstream.seen(tokens)
    assert (asked.method, asked.form["grant_type"], asked.form["scope"]) == ("POST", grant, "read")
    assert asked.form.get("refresh_token") == auth.get("refreshToken")
    basic = base64.b64encode(f"{auth['clientId']}:{KEY}".encode()).decode()
    in_form = (asked.form.get("client_id"), asked.form.get("client_secret")) == (auth["clientId"], KEY)
    assert in_form or asked.headers.get("authorization") == f"Basic {basic}"
    assert server.value(tool) == {"fine": True}
    assert len(upstream.seen(tokens)) == 2
    assert [it.headers["authorization"][-2:] for it in upstream.seen(path)] == ["t1"] * 4 + ["t2"]


@pytest.mark.spec("BND-65")
def test_an_expired_token_is_renewed_before_the_call(server: Server, upstream: Upstream, web: Any) -> None:
    """A token whose time is over is not tried: one renewal, then the call with the new one."""
    tokens, path = token_server(upstream, expires_in=1), upstream.script(only("t1", "t2"))
    auth = {"type": "oauth2", "grant": "client_credentials", "tokenUrl": upstream.url + tokens}
    auth |= {"clientId": f"client-{new_id()}", "clientSecret": "${API_KEY}"}
    tool = web(path, request={"auth": auth})
    server.value(tool)
    time.sleep(1.1)
    server.value(tool)
    assert [it.headers["authorization"] for it in upstream.seen(path)] == ["Bearer t1", "Bearer t2"]
    assert len(upstream.seen(tokens)) == 2


@pytest.mark.spec("BND-65")
def test_a_refused_token_is_renewed_only_once(server: Server, upstream: Upstream, web: Any) -> None:
    """An upstream that takes no token at all is an error after one renewal, not a loop."""
    tokens, path = token_server(upstream, expires_in=3600), upstream.script(only())
    auth = {"type": "oauth2", "grant": "client_credentials", "tokenUrl": upstream.url + tokens}
    auth |= {"clientId": f"client-{new_id()}", "clientSecret": "${API_KEY}"}
    body = server.error(web(path, request={"auth": auth}), 200)
    assert (body["meta"]["reason"], KEY in str(body)) == ("upstream", False)
    assert len(upstream.seen(tokens)) <= 2
    assert len(upstream.seen(path)) <= 2


@pytest.mark.spec("BND-65", "BND-19")
def test_tokens_come_from_listed_hosts_only(server: Server, upstream: Upstream) -> None:
    """A token endpoint on a host that is not listed is refused when the tool is stored."""
    tokens = f"http://localhost:{upstream.server_port}{upstream.script()}"
    auth = {"type": "oauth2", "grant": "client_credentials", "tokenUrl": tokens, "clientId": "c"}
    body = http_tool(f"{upstream.url}/x", request={"auth": auth | {"clientSecret": "${API_KEY}"}})
    assert server.put_tool(server.bundle(), "web", **body).status_code == 400


# Limits


@pytest.mark.spec("BND-66")
def test_a_tool_sends_no_more_than_it_may(server: Server, upstream: Upstream, web: Any) -> None:
    """Above maxSentBytes the call is refused before it is sent; below it goes out."""
    path = upstream.script()
    request = {"method": "POST", "body": "${text}"}
    tool = web(path, "text", request=request, limits={"maxSentBytes": 1000})
    body = server.error(tool, text="x" * 1001)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("invalid_args", "too_large_in")
    assert re.search("maxSentBytes|1,?000", body["error"]["message"])
    assert upstream.seen(path) == []
    server.value(tool, text="x" * 100)


@pytest.mark.spec("BND-66")
def test_a_tool_takes_no_more_than_it_may(server: Server, upstream: Upstream, web: Any) -> None:
    """An answer above maxRespBytes is an error; one below is a value."""
    path = upstream.script(Answer(200, "x" * 100), Answer(200, "x" * 1001))
    tool = web(path, limits={"maxRespBytes": 1000})
    assert server.value(tool) == "x" * 100
    body = server.error(tool, 200)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "too_large_out")
    assert re.search("maxRespBytes|1,?000", body["error"]["message"])
    assert "x" * 100 not in str(body)


@pytest.mark.spec("BND-66")
@pytest.mark.parametrize(("retries", "hits"), [(0, 1), (1, 2)])
def test_a_tool_tries_no_more_than_it_may(
    server: Server, upstream: Upstream, web: Any, retries: int, hits: int
) -> None:
    """maxRetries is how often a request is repeated."""
    path = upstream.script(Answer(503))
    server.error(web(path, limits={"maxRetries": retries}), 200)
    assert len(upstream.seen(path)) == hits


@pytest.mark.spec("BND-66")
@pytest.mark.parametrize("place", ["limits", "request"])
def test_a_tool_takes_no_longer_than_it_may(server: Server, upstream: Upstream, web: Any, place: str) -> None:
    """After timeoutMS the call is an error, of the tool or of one request."""
    fields = {"limits": {"timeoutMS": 200}} if place == "limits" else {"request": {"timeoutMS": 200}}
    path = upstream.script(Answer(200, {}, wait=6))
    start = time.monotonic()
    body = server.error(web(path, **fields), 200)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "timeout")
    assert time.monotonic() - start < 5


@pytest.mark.spec("BND-66")
def test_there_are_no_more_tools_than_allowed(tmp_path: Path) -> None:
    """A PUT beyond execution.max_tools is a 409 that names the setting; a deleted tool makes room."""
    with Server(tmp_path, settings=f"{SETTINGS}execution: {{max_tools: 2}}\n") as server:
        bundle = server.bundle()
        tools = [server.tool(bundle, slug) for slug in ("a", "b")]
        response = server.put_tool(server.bundle(), "c")
        assert (response.status_code, "execution.max_tools" in response.json()["detail"]) == (409, True)
        assert server.put_tool(bundle, "a").status_code == 409
        assert len(server.tool_files(bundle)) == 2
        server.client.delete(server.url_of(tools[0]))
        assert server.put_tool(bundle, "c").status_code == 201


@pytest.mark.spec("BND-69")
def test_a_tool_is_called_no_more_often_than_allowed(server: Server, size: Callable[[int, int], int]) -> None:
    """With maxCallsPerMinute 2 the third call is a 429, other tools go on; after the minute it is allowed."""
    tool, other = server.tool(limits={"maxCallsPerMinute": 2}), server.tool()
    assert [server.value(tool) for _ in range(2)] == [1, 1]
    body = server.error(tool, 429)
    assert (body["error"]["code"], body["meta"]["reason"]) == ("execution_error", "rate_limited")
    assert [server.value(other) for _ in range(3)] == [1, 1, 1]
    if wait := size(0, 61):
        time.sleep(wait)
        assert server.value(tool) == 1


@pytest.mark.spec("BND-69")
def test_a_refused_call_runs_nothing(server: Server, upstream: Upstream, web: Any) -> None:
    """What is refused as too often is not sent."""
    path = upstream.script()
    tool = web(path, limits={"maxCallsPerMinute": 1})
    server.value(tool)
    for _ in range(3):
        server.error(tool, 429)
    assert len(upstream.seen(path)) == 1


# Streams


def events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """The events of a stream, as they come: their kind and their data."""
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
def test_a_stream_tells_while_the_tool_runs(server: Server, tmp_path: Path) -> None:
    """Progress arrives before the tool has ended, as its gate opens only then; the result is last."""
    tool, gate = server.tool(func="probes.stepwise"), tmp_path / "gate"
    ask: dict[str, Any] = {"json": {"args": {"gate": str(gate)}}, "headers": {"Accept": "text/event-stream"}}
    seen = []
    with server.client.stream("POST", f"{server.url_of(tool)}/invoke", **ask) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        for kind, data in events(response.iter_lines()):
            seen.append((kind, data))
            gate.touch()
    (first, *_, last) = seen
    assert first == ("progress", {"done": 1, "total": 2, "message": "half"})
    assert ("progress", {"done": 2, "total": 2, "message": "whole"}) in seen
    assert (last[0], last[1]["ok"], last[1]["value"]) == ("result", True, "opened")
    assert [kind for kind, _ in seen].count("result") == 1


def test_a_stream_tells_what_was_sent(server: Server, upstream: Upstream, web: Any) -> None:
    """Every request of a stored tool as it went out, with a mask where a secret stood."""
    path = upstream.script(Answer(body="{}"))
    request = {"method": "POST", "headers": {"X-Key": "${API_KEY}"}, "body": {"city": "${city}"}}
    tool = web(path, "city", request=request)
    ask: dict[str, Any] = {"json": {"args": {"city": "Oslo"}}, "headers": {"Accept": "text/event-stream"}}
    with server.client.stream("POST", f"{server.url_of(tool)}/invoke", **ask) as response:
        ((kind, sent), _) = events(response.iter_lines())
    assert kind == "request"
    first, *headers = sent["text"].splitlines()
    assert first == f"POST {upstream.url}{path}"
    assert {"X-Key: [secret]", '{"city":"Oslo"}'} <= set(headers)
    assert KEY not in sent["text"]


@pytest.mark.spec("BND-67")
def test_a_stream_ends_with_the_error(server: Server) -> None:
    """A tool that fails ends its stream with {ok: false, error}; asked for JSON it answers in JSON."""
    tool = server.tool(func="probes.fail")
    url, ask = f"{server.url_of(tool)}/invoke", {"args": {"why": "it broke"}}
    with server.client.stream("POST", url, json=ask, headers={"Accept": "text/event-stream"}) as response:
        (*_, (kind, body)) = events(response.iter_lines())
    assert (kind, body["ok"], "it broke" in body["error"]["message"]) == ("result", False, True)
    plain = server.client.post(url, json=ask, headers={"Accept": "application/json"})
    assert (plain.headers["content-type"], plain.json()["error"]) == ("application/json", body["error"])


# Archives


def zipped(files: dict[str, Any]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return content.getvalue()


@pytest.mark.spec("BND-68")
def test_a_bundle_moves_as_a_zip(server: Server, tmp_path: Path) -> None:
    """Export is a ZIP of JSON; elsewhere it gives the same ids, times and tools, off until it is enabled."""
    bundle = server.bundle(displayName="To move", description="moves")
    on = server.tool(bundle, "été", "1.0", func="time.now", tags=["x"], description="Tells the time.")
    off = server.tool(bundle, "off", "v1", **http_tool("http://127.0.0.1/${API_KEY}") | {"isEnabled": False})
    exported = server.client.get(f"/tools/bundles/{bundle}/export")
    assert (exported.status_code, exported.headers["content-type"]) == (200, "application/zip")
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        read = [json.loads(archive.read(name)) for name in archive.namelist()]
    assert {bundle, on["id"], off["id"]} <= {it["id"] for it in read}
    assert KEY.encode() not in exported.content
    assert server.client.post("/tools/import", content=exported.content, headers=ZIP).status_code == 409

    with Server(tmp_path) as other:
        imported = other.client.post("/tools/import", content=exported.content, headers=ZIP)
        assert imported.status_code == 201, imported.text
        assert (imported.json()["bundle"]["id"], imported.json()["tools"]) == (bundle, 2)
        found, before = other.find_bundle(bundle), server.find_bundle(bundle)
        assert before
        assert found == before | {"isEnabled": False}
        assert other.slugs(bundle) == []
        other.error(on, 409)
        assert other.switch(f"/tools/bundles/{bundle}", True).json()["isEnabled"] is True
        for tool in (on, off):
            counted = ("callCount", "lastCalledAt")
            shown = {key: value for key, value in other.get(tool).items() if key not in counted}
            assert shown == {key: value for key, value in tool.items() if key not in counted}
        assert (other.slugs(bundle), set(other.value(on))) == (["été"], {"iso", "timestamp"})
        other.error(off, 409)
        again = other.client.post("/tools/import", content=exported.content, headers=ZIP)
        assert again.status_code == 409


@pytest.mark.spec("BND-68")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no zip",
        zipped({}),
        zipped({"../../evil.json": {}}),
        zipped({"/evil.json": {}}),
        zipped({"bundle.json": "{"}),
        zipped({"bundle.json": []}),
        zipped({"bundle.json": {"id": "x", "slug": "a_b"}}),
    ],
    ids=["nothing", "no zip", "empty", "climbs", "absolute", "torn", "a list", "bad ids"],
)
def test_a_bad_archive_is_refused_whole(server: Server, content: bytes) -> None:
    """What is no archive of ours is a 400, and no file comes of it, least of all outside of the store."""
    before = {it for it in server.root.rglob("*") if it.suffix == ".json"}
    response = server.client.post("/tools/import", content=content, headers=ZIP)
    assert response.status_code == 400, response.text
    assert {it for it in server.root.rglob("*") if it.suffix == ".json"} == before


@pytest.mark.spec("BND-68")
def test_what_is_not_there_is_not_exported(server: Server) -> None:
    """An unknown and a deleted bundle are a 404."""
    bundle = server.bundle()
    server.client.delete(f"/tools/bundles/{bundle}")
    for missing in (bundle, new_id()):
        assert server.client.get(f"/tools/bundles/{missing}/export").status_code == 404
    assert server.put_tool(new_id(), "x", **python_tool()).status_code == 404
