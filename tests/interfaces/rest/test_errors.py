"""Errors of the REST API: status, message and access control."""

import asyncio
import re
from typing import Any

import pytest
from inline_snapshot import snapshot

from onetool.interfaces.rest.auth.middleware import GuardMiddleware
from onetool.interfaces.rest.server import create_server
from onetool.testing import memory_runtime
from support.onetool_process import onetool
from support.rest_in_process import serve_home, serve_memory, serve_rest

pytestmark = pytest.mark.asyncio(loop_scope="module")
ID = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
BUNDLE, TOOL = f"/tools/bundles/{ID}", f"/tools/bundles/{ID}/tools/get/version/v1"
PYTHON = {"type": "python", "pythonImpl": {"func": "time.now"}}
HTTP = {"type": "http", "httpImpl": {"request": {"urlTemplate": "https://api.test/x"}}}
OFF = "/tools/bundles/0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c88"


def request_of(url: str) -> dict[str, Any]:
    return {"type": "http", "httpImpl": {"request": {"urlTemplate": url}}}


INVALID_REQUESTS: list[tuple[str, str, Any]] = [
    ("PUT", "/tools/bundles/0198c5a0-7e4d-4c3a-8a51-1f0e5b2d9c77", {"slug": "a"}),
    ("PUT", BUNDLE, {"slug": "a_b"}),
    ("PUT", BUNDLE, {"slug": "x" * 65}),
    ("PUT", BUNDLE, {"slug": "a", "isEnabled": "yes"}),
    ("PUT", BUNDLE, {"slug": "a", "displayname": "A"}),
    ("PUT", BUNDLE, "not an object"),
    ("PATCH", BUNDLE, {"isEnabled": True, "slug": "b"}),
    ("PATCH", BUNDLE[:-1] + "0", {"isEnabled": True}),
    ("PUT", TOOL, PYTHON),
    ("PUT", f"{BUNDLE}/tools/get/version/...", PYTHON),
    ("PUT", f"{BUNDLE}/tools/new/version/v1", {"type": "ftp"}),
    ("PUT", f"{BUNDLE}/tools/new/version/v1", {"type": "python", "pythonImpl": {"func": "time.nwo"}}),
    ("PUT", f"{BUNDLE}/tools/new/version/v1", request_of("ftp://api.test/x")),
    ("PUT", f"{BUNDLE}/tools/new/version/v1", request_of("https://${host}/x")),
    ("PUT", f"{BUNDLE}/tools/new/version/v1", request_of("https://evil.test/x")),
    ("PUT", f"{BUNDLE}/tools/new/version/v1", {**HTTP, "argSchema": {"type": "array"}}),
    ("PUT", f"{BUNDLE}/tools/new/version/v1", {**HTTP, "argSchema": {"type": "objekt"}}),
    ("PUT", f"{OFF}/tools/new/version/v1", PYTHON),
    ("GET", f"{BUNDLE}/tools/gte/version/v1", None),
    ("GET", "/tools/tools/search?q=%20", None),
    ("GET", "/tools/tools?pageToken=nonsense", None),
    ("GET", "/tools/bundles?pageSize=0", None),
    ("POST", f"{TOOL}/invoke", {"args": {"zone": "x"}}),
    ("POST", "/tools/call", {"name": "time.nwo"}),
    ("POST", "/tools/call", {"name": "time.now", "args": []}),
    ("DELETE", "/tools/tools", None),
    ("GET", "/tols", None),
]


# ruff: noqa: E501 - messages
async def test_messages_for_invalid_requests():
    """Statuses and messages are part of the interface."""
    messages = []
    async with serve_memory(settings={"allowedHosts": ["api.test"]}) as client:
        await client.put(BUNDLE, json={"slug": "mine"})
        await client.put(TOOL, json=PYTHON)
        await client.put(OFF, json={"slug": "off", "isEnabled": False})
        for method, path, body in INVALID_REQUESTS:
            response = await client.request(method, path, json=body)
            data = response.json()
            message = data["detail"] if "detail" in data else data["error"]["message"]
            media_type = response.headers["content-type"]
            assert media_type == ("application/problem+json" if "detail" in data else "application/json")
            messages.append(f"{response.status_code} {message}")
    assert messages == snapshot(
        [
            "400 bundleID '0198c5a0-7e4d-4c3a-8a51-1f0e5b2d9c77' is not a UUIDv7 such as 0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77.",
            "400 slug 'a_b' contains '_'. Allowed: letters, digits and dashes. Example: read-file",
            "400 slug has 65 characters. Maximum: 64.",
            "400 isEnabled: should be true or false, not 'yes'",
            "400 displayname: unknown field. Did you mean displayName?",
            "400 the body: should be a JSON object, not 'not an object'",
            "400 slug: not allowed here.",
            "404 There is no bundle 0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c70.",
            "409 'get' version 'v1' already exists and cannot be changed. Choose another version, or delete this one first.",
            "400 version '...' contains only dots. Example: 1.0.0",
            "400 type: should be 'python', 'http' or 'code', not 'ftp'",
            "400 pythonImpl.func: no function 'time.nwo' is registered. Did you mean time.now?",
            "400 request: urlTemplate 'ftp://api.test/x' must start with http:// or https://. Example: https://api.example.com/cities/${city}",
            "400 request: urlTemplate has a placeholder in '${host}'. The host and port must be literal. Placeholders are allowed in the path, query, headers and body. Example: https://api.example.com/cities/${city}",
            "400 request: urlTemplate has the host 'evil.test', which is not in allowedHosts. Add it to this setting. Listed: api.test.",
            '400 argSchema: must have "type": "object", because arguments are passed by name.',
            "400 argSchema: not valid JSON Schema: \"objekt\" is not valid under any of the schemas listed in the 'anyOf' keyword",
            "409 Bundle 'off' is disabled. Enable it before you change its tools.",
            "404 There is no tool 'gte' version 'v1' in bundle 0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77.",
            "400 q is empty. Example: /tools/tools/search?q=read",
            "400 pageToken is not valid for this listing. Omit it to start at the first page.",
            "400 pageSize: should be greater than or equal to 1, not '0'",
            "400 Invalid arguments for time.now: unknown parameter 'zone'. Valid: none.",
            "404 Tool not found: 'time.nwo'. Did you mean time.now?",
            "400 args: should be a JSON object",
            "405 Method DELETE is not allowed for /tools/tools.",
            "404 Path /tols not found. See /openapi.json.",
        ]
    )


@pytest.mark.guards("browser-origin")
@pytest.mark.parametrize(
    ("headers", "status", "message"),
    [
        ({"Authorization": ""}, 401, "Missing or wrong token"),
        ({"Authorization": "Bearer wrong"}, 401, "Missing or wrong token"),
        ({"Authorization": "Basic token-of-this-test"}, 401, "Missing or wrong token"),
        ({"Host": "evil.test"}, 403, "--allow-host"),
        ({"Host": "localhost.evil.test"}, 403, "--allow-host"),
        ({"Host": "localhost:evil.test"}, 403, "--allow-host"),
        ({"Host": "localhost:80:evil.test"}, 403, "--allow-host"),
        ({"Origin": "https://evil.test"}, 403, "is not allowed"),
        ({"Origin": "null"}, 403, "is not allowed"),
        ({"Origin": "http://["}, 403, "is not allowed"),
    ],
)
async def test_requests_with_wrong_token_host_or_origin_are_rejected(headers, status, message, client):
    response = await client.get("/tools/tools", headers=headers)
    assert (response.status_code, message in response.text) == (status, True)
    assert (await client.get("/healthz", headers={"Authorization": ""})).json() == {"status": "ok"}


REQUEST = {"urlTemplate": "https://api.test/x"}
INVALID_FIELDS: list[tuple[str, Any, list[str]]] = [
    (BUNDLE, {"slug": "a_b"}, ["slug"]),
    (BUNDLE, {"slug": ""}, ["slug"]),
    (BUNDLE, {"slug": "x" * 65}, ["slug"]),
    (
        BUNDLE,
        {"displayName": 5, "isEnabled": "yes", "color": "red"},
        ["slug", "displayName", "isEnabled", "color"],
    ),
    (BUNDLE, [], [""]),
    ("/tools/bundles/nothing", {"slug": "a"}, ["bundleID"]),
    (f"{BUNDLE}/tools/a_b/version/v1", PYTHON, ["slug"]),
    (f"{BUNDLE}/tools/get/version/...", PYTHON, ["version"]),
    (TOOL, {**HTTP, "tags": ["a", "b,c", ""]}, ["tags.1", "tags.2"]),
    (TOOL, {**HTTP, "argSchema": {"type": "array"}}, ["argSchema"]),
    (TOOL, {**HTTP, "argSchema": {"type": "objekt"}}, ["argSchema"]),
    (TOOL, {**HTTP, "outputSchema": {"type": "objekt"}}, ["outputSchema"]),
    (TOOL, {**HTTP, "tags": "x"}, ["tags"]),
    (TOOL, {"type": "python"}, [""]),
    (TOOL, {"type": "python", "pythonImpl": {"func": "time.nwo"}}, ["pythonImpl.func"]),
    (TOOL, {"type": "python", "pythonImpl": {}}, ["pythonImpl.func"]),
    (TOOL, request_of("ftp://api.test/x"), ["httpImpl.request.urlTemplate"]),
    (TOOL, request_of("https://evil.test/x"), ["httpImpl.request.urlTemplate"]),
    (TOOL, request_of("https://api.test/${"), ["httpImpl.request"]),
    (TOOL, request_of("https://api.test/${steps.0}"), ["httpImpl.request"]),
    (
        TOOL,
        {"type": "http", "httpImpl": {"requests": [REQUEST, REQUEST | {"headers": {"Host": "x"}}]}},
        ["httpImpl.requests.1.headers"],
    ),
    (
        TOOL,
        {"type": "http", "httpImpl": {"request": REQUEST | {"headers": {"X-A": "1", "x-a": "2"}}}},
        ["httpImpl.request.headers"],
    ),
    (
        TOOL,
        {"type": "http", "httpImpl": {"request": REQUEST | {"body": 5, "method": "GRAB"}}},
        ["httpImpl.request.method"],
    ),
    (
        TOOL,
        {
            "type": "http",
            "httpImpl": {"request": REQUEST | {"body": "x", "headers": {"Content-Type": "application/json"}}},
        },
        ["httpImpl.request.body"],
    ),
    (
        TOOL,
        {
            "type": "http",
            "httpImpl": {"request": REQUEST | {"auth": {"type": "apiKey", "name": "a b", "value": "x"}}},
        },
        ["httpImpl.request.auth.name"],
    ),
    (
        TOOL,
        {
            "type": "http",
            "httpImpl": {"request": REQUEST | {"auth": {"type": "hmac", "secret": "x", "header": "Host"}}},
        },
        ["httpImpl.request.auth.header"],
    ),
    (
        TOOL,
        {
            "type": "http",
            "httpImpl": {"request": REQUEST | {"auth": {"type": "oauth2", "tokenUrl": "https://evil.test"}}},
        },
        ["httpImpl.request.auth.tokenUrl"],
    ),
    (
        TOOL,
        {
            "type": "http",
            "httpImpl": {"request": REQUEST | {"auth": {"type": "oauth2", "tokenUrl": "https://api.test/t"}}},
        },
        ["httpImpl.request.auth.clientId"],
    ),
]


async def test_problems_name_the_fields():
    """With paths that a form can use. The detail contains every message."""
    settings = {"allowedHosts": ["api.test"]}
    async with serve_memory(settings=settings) as client:
        await client.put(BUNDLE, json={"slug": "mine"})
        for url, body, paths in INVALID_FIELDS:
            problem = (await client.put(url, json=body)).json()
            assert [error["path"] for error in problem["errors"]] == paths, (body, problem)
            assert all(error["message"] in problem["detail"] for error in problem["errors"]), problem
        assert (await client.get("/tools/bundles", params={"pageSize": 0})).json()["errors"][0][
            "path"
        ] == "pageSize"
        chat = (await client.post("/chat", json={"text": "x", "withTools": "yes"})).json()
        assert chat["errors"] == [{"path": "withTools", "message": "should be true or false, not 'yes'"}]
        assert "errors" not in (await client.get("/nothing")).json()


async def test_messages_about_fields_contain_no_secrets():
    secret = "hunter2hunter2"
    async with serve_memory(secrets={"KEY": secret}) as client:
        response = await client.put(BUNDLE, json={"slug": "a", "isEnabled": secret})
    assert response.json()["errors"] == [
        {"path": "isEnabled", "message": "should be true or false, not '[secret]'"}
    ]


MALFORMED = [
    (b'{"name": "time.now",\n "args": {zone}}', "line 2 column 11 (char 31)"),
    (b"{", "line 1 column 2 (char 1)"),
    (b"'" + b"x" * 10_000, "line 1 column 1 (char 0)"),
    (b'{"name": "\xff"}', "can't decode byte 0xff"),
    (b"[" * 100_000, "recursion"),
]


@pytest.mark.parametrize(("body", "position"), MALFORMED)
async def test_malformed_json_is_rejected_with_its_position(body, position, client):
    """In the words of the CLI, and without the whole body."""
    headers = {"Content-Type": "application/json"}
    call = await client.post("/tools/call", content=body, headers=headers)
    run = await client.post("/run", content=body, headers=headers)
    assert (call.status_code, run.status_code) == (400, 400)
    message = run.json()["detail"]
    assert call.json()["error"]["message"] == message
    assert message.startswith("The body is not valid JSON: ")
    assert position in message
    assert message.endswith(".")
    assert len(message) < 400


@pytest.mark.parametrize("tag", ["a,b", ",", "", " "])
async def test_tag_by_which_no_list_can_be_filtered_is_refused(tag, client):
    await client.put(BUNDLE, json={"slug": "a"})
    path = f"{BUNDLE}/tools/tagged/version/v1"
    response = await client.put(path, json={**PYTHON, "tags": ["fine", tag]})
    assert response.status_code == 400
    assert response.json()["errors"][0]["path"] == "tags.1"
    assert "must be a text without commas" in response.json()["detail"]


async def test_version_is_a_label_without_a_meaning(client):
    """Also the one that tools have which are not stored."""
    await client.put(BUNDLE, json={"slug": "a"})
    path = f"{BUNDLE}/tools/labelled/version"
    for version in ("1.0.0", "current"):
        assert (await client.put(f"{path}/{version}", json=PYTHON)).status_code < 300
    assert (await client.post(f"{path}/current/invoke", json={"args": {}})).json()["meta"][
        "version"
    ] == "current"
    called = (await client.post("/tools/call", json={"name": "a.labelled@1.0.0"})).json()
    assert (called["ok"], called["meta"]["version"]) == (True, "1.0.0")
    assert (await client.delete(f"{path}/current")).status_code == 204


@pytest.mark.parametrize("name", ["recommendedPageSize", "pageSize"])
async def test_recommendation_of_a_size_is_capped(name, client):
    largest = (await client.get(f"/tools/tools?{name}=256")).json()
    for size in (257, 100_000, 10**30):
        response = await client.get(f"/tools/tools?{name}={size}")
        assert (response.status_code, response.json().keys()) == (200, largest.keys())
    assert (await client.get(f"/tools/tools?{name}=0")).status_code == 400
    assert (await client.get("/tools/bundles?pageSize=257")).status_code == 400


NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400", "-1E+400", "1" * 400 + ".0", "1" * 250 + "e99"]


@pytest.mark.parametrize("number", NUMBERS)
async def test_number_that_json_does_not_have_is_refused_by_every_route(number, client):
    """It would become null without a word."""
    headers = {"Content-Type": "application/merge-patch+json; charset=utf-8"}
    bodies = [
        ("POST", "/tools/call", '{"name": "tools.echo", "args": {"message": %s}}'),
        ("POST", "/run", '{"code": "1", "x": [%s]}'),
        ("PUT", BUNDLE, '{"slug": "a", "metadata": {"deep": {"a": %s}}}'),
        ("POST", "/chat", '{"a": %s}'),
    ]
    for method, path, body in bodies:
        response = await client.request(method, path, content=(body % number).encode(), headers=headers)
        text = (
            response.json()["error"]["message"] if "error" in response.json() else response.json()["detail"]
        )
        assert (response.status_code, text.startswith("The body is not valid JSON: ")) == (400, True), text
        assert number[:20].lower() in text.lower() or "is too large for a number; send a text" in text
        assert len(text) < 120


async def test_large_numbers_and_texts_about_them_are_accepted(client):
    for number in ('"NaN and Infinity"', "1e99", '"1e400"', "1" * 400, "1e308"):
        body = f'{{"name": "tools.echo", "args": {{"message": "a", "x": {number}}}}}'
        response = await client.post(
            "/tools/call", content=body.encode(), headers={"Content-Type": "application/json"}
        )
        assert "not valid JSON" not in response.text


@pytest.mark.parametrize(
    ("content_type", "found"),
    [(None, "missing"), ("text/plain", "'text/plain'"), ("text/json", "'text/json'")],
)
async def test_body_without_the_content_type_of_json_is_refused(content_type, found, client):
    headers = {"Content-Type": content_type} if content_type else {}
    call = await client.post("/tools/call", content=b'{"name": "time.now"}', headers=headers)
    run = await client.post("/run", content=b'{"code": "1"}', headers=headers)
    expected = f"The body is not valid JSON: its Content-Type is {found}; send application/json."
    assert (call.status_code, run.status_code) == (400, 400)
    assert (call.json()["error"]["message"], run.json()["detail"]) == (expected, expected)


async def test_malformed_json_is_described_as_by_the_cli(home, client):
    text = '{"zone": }'
    done = await asyncio.to_thread(onetool, "tools", "invoke", "time.now", "--args", text)
    response = await client.post("/run", content=text.encode(), headers={"Content-Type": "application/json"})
    sentence = response.json()["detail"].removeprefix("The body is ")
    assert sentence == "not valid JSON: '{\"zone\": }': Expecting value: line 1 column 10 (char 9)."
    assert sentence in done.stderr


async def test_own_origin_and_allowed_hosts_are_accepted(home):
    async with memory_runtime() as ot, serve_rest(ot.runtime, hosts=["tools.internal"]) as client:
        own = str(client.base_url).rstrip("/")
        assert (await client.get("/tools/tools", headers={"Origin": own})).status_code == 200
        assert (await client.get("/tools/tools", headers={"Host": "tools.internal:8080"})).status_code == 200
        assert (await client.get("/tools/tools", headers={"Host": "[::1]"})).status_code == 200


async def test_a_large_body_without_content_length_is_rejected(monkeypatch, client):
    """Its bytes are counted while they arrive."""
    monkeypatch.setattr("onetool.interfaces.rest.auth.middleware.MAX_BYTES", 1000)

    async def endless():
        for _ in range(100):
            yield b"x" * 100

    response = await client.post("/tools/call", content=endless())
    assert response.status_code == 413


async def test_a_large_content_length_is_rejected_without_reading_the_body(client):
    reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
    writer.write(b"POST /tools/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n")
    assert b"413" in await reader.readline()
    writer.close()


async def test_metrics_and_readiness():
    """Metrics are in the Prometheus format. A server that has failed makes the readiness fail."""
    settings = {"servers": {"gone": {"command": "no-such-program"}}}
    async with serve_memory(settings=settings) as client:
        await client.post("/tools/call", json={"name": "time.now"})
        text = (await client.get("/metrics")).text
        assert 'onetool_calls_total{tool="time.now",ok="true"} 1' in text
        assert re.search(r"^onetool_tools \d+$", text, re.M)
        assert (await client.get("/readyz")).status_code == 200, "no server is started by the check"
    async with serve_memory(settings=settings) as client:
        await client.post("/servers/gone/probe")
        response = await client.get("/readyz")
        assert (response.status_code, response.json()) == (503, {"status": "degraded"})


async def test_responses_contain_no_secrets():
    """Even if a template or a description contains one."""
    secret = "hunter2hunter2"
    body = request_of(f"https://api.test/{secret}")
    settings = {"allowedHosts": ["api.test"]}
    async with serve_memory(settings=settings, secrets={"KEY": secret}) as client:
        await client.put(BUNDLE, json={"slug": "mine", "description": secret})
        responses = [
            await client.put(TOOL, json=body),
            await client.get("/tools/tools"),
            await client.get("/tools/bundles"),
        ]
        assert all(response.status_code < 300 for response in responses)
        assert all(secret not in response.text for response in responses)


async def test_a_server_without_a_token_does_not_start():
    """An empty token would accept every request."""
    with pytest.raises(ValueError, match="token"):
        GuardMiddleware(lambda *_: None, token="", hosts=())


async def test_internal_errors_are_logged_once(home, caplog):
    """By OneTool, which masks secrets, and not by uvicorn."""
    (home.root / "data").mkdir()
    (home.root / "data" / "sessions").write_text("no directory")
    async with serve_home(home) as client:
        response = await client.get("/sessions")
    assert (response.status_code, "See the log" in response.text) == (500, True)
    assert [record["logger"] for record in home.log() if "exception" in record] == [
        "onetool.interfaces.rest.auth.middleware"
    ]
    assert [
        record for record in caplog.records if record.name.startswith("uvicorn") and record.exc_info
    ] == []


async def test_metrics_and_unknown_tools_start_no_server(home, tmp_path):
    started = tmp_path / "started"
    home.write("onetool.yaml", f"servers: {{s: {{command: touch, args: [{started}]}}}}")
    async with serve_home(home) as client:
        assert "onetool_tools" in (await client.get("/metrics")).text
        result = (await client.post("/tools/call", json={"name": "time.nwo"})).json()
    assert "Did you mean time.now" in result["error"]["message"]
    assert not started.exists()


async def test_the_second_stop_forces_the_exit():
    """The first one lets calls finish."""
    server = create_server(None)
    server.stop()
    assert (server.should_exit, server.force_exit) == (True, False)
    server.stop()
    assert server.force_exit


async def test_progress_is_masked_and_invalid_text_does_not_end_the_stream():
    def report(ctx) -> str:
        """Report progress."""
        ctx.progress(1, 2, "using hunter2hunter2")
        ctx.progress(2, 2, "file \udcff")
        return "done"

    async with serve_memory({"demo": [report]}, secrets={"K": "hunter2hunter2"}) as client:
        headers = {"Accept": "text/event-stream"}
        text = (await client.post("/tools/call", json={"name": "demo.report"}, headers=headers)).text
        assert "hunter2" not in text
        assert text.count("event: progress") == 2
        assert '"value":"done"' in text


async def test_a_busy_store_returns_503_with_retry_after():
    """Other exceptions on call routes return a failed call."""
    from fastapi import FastAPI
    from starlette.testclient import TestClient

    from onetool.interfaces.rest.problems import add_handlers

    app = FastAPI()
    add_handlers(app, str)

    @app.get("/busy")
    async def busy() -> None:
        raise TimeoutError

    @app.post("/broken/invoke")
    async def broken() -> None:
        raise RuntimeError

    client = TestClient(app, raise_server_exceptions=False)
    assert (client.get("/busy").status_code, client.get("/busy").headers["retry-after"]) == (503, "1")
    assert client.post("/broken/invoke").json()["ok"] is False
