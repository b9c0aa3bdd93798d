"""Wrong use of the REST API: every answer says what was wrong, and what would be right."""

import asyncio
import re
from contextlib import asynccontextmanager
from typing import Any

import pytest
from inline_snapshot import snapshot

from onetool.bootstrap import open_runtime
from onetool.doors.rest.guard import Guard
from onetool.doors.rest.listening import make_server
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places
from onetool.testing import memory_runtime
from rest_app import served

ID = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
BUNDLE, TOOL = f"/tools/bundles/{ID}", f"/tools/bundles/{ID}/tools/get/version/v1"
PYTHON = {"type": "python", "pythonImpl": {"func": "time.now"}}
HTTP = {"type": "http", "httpImpl": {"request": {"urlTemplate": "https://api.test/x"}}}
OFF = "/tools/bundles/0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c88"


def request_of(url: str) -> dict[str, Any]:
    return {"type": "http", "httpImpl": {"request": {"urlTemplate": url}}}


WRONG: list[tuple[str, str, Any]] = [
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


# ruff: noqa: E501 - sentences that people read
async def test_what_wrong_requests_are_told():
    """Status and words of each: they are a part of the interface."""
    answers = []
    async with memory_runtime(settings={"allowedHosts": ["api.test"]}) as ot, served(ot.runtime) as client:
        await client.put(BUNDLE, json={"slug": "mine"})
        await client.put(TOOL, json=PYTHON)
        await client.put(OFF, json={"slug": "off", "isEnabled": False})
        for method, path, body in WRONG:
            answer = await client.request(method, path, json=body)
            said = answer.json()
            words = said["detail"] if "detail" in said else said["error"]["message"]
            kind = answer.headers["content-type"]
            assert kind == ("application/problem+json" if "detail" in said else "application/json")
            answers.append(f"{answer.status_code} {words}")
    assert answers == snapshot(
        [
            "400 bundleID '0198c5a0-7e4d-4c3a-8a51-1f0e5b2d9c77' is not a UUIDv7 such as 0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77.",
            "400 slug 'a_b' holds '_'. Allowed: letters, digits and dashes. Example: read-file",
            "400 slug has 65 characters; 64 are allowed.",
            "400 isEnabled: should be true or false, not 'yes'",
            "400 displayname: unknown field. Did you mean displayName?",
            "400 the body: should be a JSON object, not 'not an object'",
            "400 slug: does not belong here.",
            "404 There is no bundle 0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c70.",
            "409 'get' version 'v1' is there already and stays as it is. Choose another version, or delete that one first.",
            "400 version '...' consists of dots alone. Example: 1.0.0",
            "400 type: should be 'python' or 'http', not 'ftp'",
            "400 pythonImpl.func: no function 'time.nwo' is registered. Did you mean time.now?",
            "400 request: urlTemplate 'ftp://api.test/x' must start with http:// or https://. Example: https://api.example.com/cities/${city}",
            "400 request: urlTemplate has a placeholder in '${host}'. The host and port are written out; placeholders stand in path, query, headers and body. Example: https://api.example.com/cities/${city}",
            "400 request: urlTemplate leads to 'evil.test', which is not in allowedHosts. Add it there. Listed: api.test.",
            '400 argSchema: must have "type": "object"; arguments are given by name.',
            "400 argSchema: not valid JSON Schema: \"objekt\" is not valid under any of the schemas listed in the 'anyOf' keyword",
            "409 Bundle 'off' is switched off: nothing in it changes until it is on again.",
            "404 There is no tool 'gte' version 'v1' in bundle 0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77.",
            "400 q is empty. Example: /tools/tools/search?q=read",
            "400 pageToken is not one that this listing gave. Leave it out to start anew.",
            "400 pageSize: should be greater than or equal to 1, not '0'",
            "400 Invalid arguments for time.now: unknown parameter 'zone'. Valid: none.",
            "404 Tool not found: 'time.nwo'. Did you mean time.now?",
            "400 args: should be a JSON object",
            "405 DELETE is not for /tools/tools.",
            "404 There is nothing at /tols. See /openapi.json.",
        ]
    )


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({"Authorization": ""}, 401, "A token is needed"),
        ({"Authorization": "Bearer wrong"}, 401, "A token is needed"),
        ({"Authorization": "Basic token-of-this-test"}, 401, "A token is needed"),
        ({"Host": "evil.test"}, 403, "--allow-host"),
        ({"Host": "localhost.evil.test"}, 403, "--allow-host"),
        ({"Origin": "https://evil.test"}, 403, "may not call this server"),
        ({"Origin": "null"}, 403, "may not call this server"),
        ({"Origin": "http://["}, 403, "may not call this server"),
    ],
)
async def test_who_is_not_let_in(headers, status, words):
    """No token, a foreign name of this server, a foreign page, a body without end."""
    async with memory_runtime() as ot, served(ot.runtime) as client:
        answer = await client.get("/tools/tools", headers=headers)
        assert (answer.status_code, words in answer.text) == (status, True)
        assert (await client.get("/healthz", headers={"Authorization": ""})).json() == {"status": "ok"}


async def test_who_is_let_in(home):
    """A page of this very server, and another name that the operator has allowed."""
    async with memory_runtime() as ot, served(ot.runtime, hosts=["tools.internal"]) as client:
        own = str(client.base_url).rstrip("/")
        assert (await client.get("/tools/tools", headers={"Origin": own})).status_code == 200
        assert (await client.get("/tools/tools", headers={"Host": "tools.internal:8080"})).status_code == 200
        assert (await client.get("/tools/tools", headers={"Host": "[::1]"})).status_code == 200


async def test_a_body_that_never_ends_is_cut_off(monkeypatch):
    """One without a length is counted while it arrives."""
    monkeypatch.setattr("onetool.doors.rest.guard.MOST_BYTES", 1000)

    async def endless():
        for _ in range(100):
            yield b"x" * 100

    async with memory_runtime() as ot, served(ot.runtime) as client:
        answer = await client.post("/tools/call", content=endless())
        assert answer.status_code == 413


async def test_a_body_that_says_it_is_too_large_is_not_read():
    """The length alone is enough."""
    async with memory_runtime() as ot, served(ot.runtime) as client:
        reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
        writer.write(b"POST /tools/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n")
        assert b"413" in await reader.readline()
        writer.close()


async def test_metrics_and_readiness():
    """Figures in the usual format; names cannot break out of their quotes."""
    async with memory_runtime() as ot, served(ot.runtime) as client:
        await client.post("/tools/call", json={"name": "time.now"})
        text = (await client.get("/metrics")).text
        assert 'onetool_calls_total{tool="time.now",ok="true"} 1' in text
        assert re.search(r"^onetool_tools \d+$", text, re.M)
        assert (await client.get("/readyz")).status_code == 200


async def test_a_server_that_does_not_answer_makes_it_not_ready():
    """A balancer sends nobody here until it does."""
    settings = {"servers": {"gone": {"command": "no-such-program"}}}
    async with memory_runtime(settings=settings) as ot, served(ot.runtime) as client:
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.json()) == (503, {"status": "degraded"})


async def test_secrets_are_in_no_answer():
    """Not even where somebody has written one into a template."""
    secret = "hunter2hunter2"
    body = request_of(f"https://api.test/{secret}")
    settings = {"allowedHosts": ["api.test"]}
    async with memory_runtime(settings=settings, secrets={"KEY": secret}) as ot, served(ot.runtime) as client:
        await client.put(BUNDLE, json={"slug": "mine", "description": secret})
        shown = [
            await client.put(TOOL, json=body),
            await client.get("/tools/tools"),
            await client.get("/tools/bundles"),
        ]
        assert all(answer.status_code < 300 for answer in shown)
        assert all(secret not in answer.text for answer in shown)


def test_a_server_without_a_token_does_not_start():
    """An empty one would let everybody in."""
    with pytest.raises(ValueError, match="token"):
        Guard(lambda *_: None, token="", hosts=())


@asynccontextmanager
async def served_home(home):
    places = find_places(home.env, home.cwd)
    async with (
        open_runtime(lambda: load_configuration(places, {})) as runtime,
        served(runtime) as client,
    ):
        yield client


async def test_what_went_wrong_here_stands_in_our_log(home, caplog):
    """The answer says that, the log says what; the server underneath, which masks nothing, says nothing."""
    (home.root / "data").mkdir()
    (home.root / "data" / "sessions").write_text("no directory")
    async with served_home(home) as client:
        answer = await client.get("/sessions")
    assert (answer.status_code, "the log says what" in answer.text) == (500, True)
    assert [record["logger"] for record in home.log() if "exception" in record] == [
        "onetool.doors.rest.guard"
    ]
    assert [
        record for record in caplog.records if record.name.startswith("uvicorn") and record.exc_info
    ] == []


async def test_looking_on_starts_no_server(home, tmp_path):
    """Neither a figure nor a name that does not exist is worth the start of a program."""
    started = tmp_path / "started"
    home.write("onetool.yaml", f"servers: {{s: {{command: touch, args: [{started}]}}}}")
    async with served_home(home) as client:
        assert "onetool_tools" in (await client.get("/metrics")).text
        wrong = (await client.post("/tools/call", json={"name": "time.nwo"})).json()
    assert "Did you mean time.now" in wrong["error"]["message"]
    assert not started.exists()


def test_a_second_signal_ends_the_server_at_once():
    """The first lets calls end."""
    server = make_server(None)
    server.end()
    assert (server.should_exit, server.force_exit) == (True, False)
    server.end()
    assert server.force_exit


async def test_progress_is_masked_and_never_ends_a_stream():
    """Whatever a tool reports on its way."""

    def tell(ctx) -> str:
        """Report."""
        ctx.progress(1, 2, "using hunter2hunter2")
        ctx.progress(2, 2, "file \udcff")
        return "done"

    async with (
        memory_runtime({"demo": [tell]}, secrets={"K": "hunter2hunter2"}) as ot,
        served(ot.runtime) as client,
    ):
        headers = {"Accept": "text/event-stream"}
        text = (await client.post("/tools/call", json={"name": "demo.tell"}, headers=headers)).text
        assert "hunter2" not in text
        assert text.count("event: progress") == 2
        assert '"value":"done"' in text


async def test_a_model_that_is_busy_elsewhere_is_told_to_come_again():
    """What waits too long for another process is no mistake of the caller's."""
    from fastapi import FastAPI
    from starlette.testclient import TestClient

    from onetool.doors.rest.problems import add_handlers

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
