"""Calls that clients do not wait for, in one process: `Prefer: respond-async`, and jobs as streams."""

import asyncio
import json
import sys

import pytest
from starlette.datastructures import Headers

from interfaces.rest.asking_tools import AskingTools
from onetool.domain.jobs.job import KEY_RETENTION_S
from onetool.interfaces.rest.prefer import Preferences, preferences
from onetool.runtime import job_limits
from onetool.sdk import call_tool_async
from onetool.testing import memory_runtime
from support.paths import MCP_SERVERS
from support.rest_in_process import serve_rest
from support.waiting import HANG_S

ASYNC = {"Prefer": "respond-async"}
STREAM = {"Accept": "text/event-stream"}
ACCEPT = {"action": "accept", "content": {"name": "Ada"}}


async def twice() -> list:
    """Call a tool of a server two times."""
    return [await call_tool_async("far.act") for _ in range(2)]


@pytest.fixture
async def tools():
    return AskingTools()


@pytest.fixture
async def runtime(tools, tmp_path):
    listing = tmp_path / "listing.json"
    schema = {"type": "object", "properties": {}}
    described = {"name": "act", "description": "Acts.", "inputSchema": schema}
    listing.write_text(json.dumps({"tools": [described], "handshake": {}}))
    script = [str(MCP_SERVERS / "listing_server.py"), str(listing)]
    server = {"command": sys.executable, "args": script, "sandbox": False}
    settings = {"execution": {"timeout_s": 3600}, "servers": {"far": server}}
    packs = {"demo": [*tools.packs["demo"], twice]}
    async with memory_runtime(packs, settings=settings) as ot:
        yield ot.runtime


@pytest.fixture
async def client(runtime):
    async with serve_rest(runtime) as client:
        yield client


async def submit(client, name, args=None, *, key="", interactive=False):
    body = {"name": name, "args": args or {}, "interactive": interactive}
    headers = ASYNC | ({"Idempotency-Key": key} if key else {})
    return await client.post("/tools/call", json=body, headers=headers)


async def ended(client, response):
    job = (await client.get(response.headers["location"], headers={"Prefer": "wait=55"})).json()
    assert job["endedAt"] is not None, job
    return job


def events_of(text):
    """Return the events of a stream as pairs of kind and data."""
    lines = [line.partition(": ") for line in text.splitlines()]
    kinds = [value for name, _, value in lines if name == "event"]
    return list(zip(kinds, [json.loads(value) for name, _, value in lines if name == "data"], strict=True))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], Preferences()),
        (["respond-async"], Preferences(True)),
        (["Respond-Async, wait=10"], Preferences(True, 10)),
        (["handling=lenient; wait=3, wait = 7 , respond-async; x"], Preferences(True, 7)),
        (['return=minimal; foo="a b"', 'wait="5"', "wait=6"], Preferences(False, 5)),
        (["wait=-1"], Preferences()),
        (["wait=1e3, respond-asynchronously"], Preferences()),
        (["wait=99999999999999999999"], Preferences()),
        (["wait=٣"], Preferences()),
        ([",,;==\"'"], Preferences()),
    ],
)
def test_preferences(headers, expected):
    raw = [(b"prefer", value.encode("utf-8")) for value in headers]
    assert preferences(Headers(raw=raw)) == expected


async def test_stream_has_progress_questions_and_the_job(client):
    response = await submit(client, "demo.ask_name", interactive=True)
    path, seen = response.headers["location"], ""
    async with client.stream("GET", path, headers=STREAM) as stream:
        async for text in stream.aiter_text():
            seen += text
            if "question" in seen and "answered" not in seen:
                ((kind, question),) = events_of(seen)
                assert (kind, question["job"], question["message"]) == (
                    "question",
                    response.json()["job"],
                    "What is your name?",
                )
                await client.post(f"{path}/answers", json={"answers": {question["id"]: ACCEPT}})
                seen += ": answered\n\n"
    assert [kind for kind, _ in events_of(seen)] == ["question", "job"]
    assert events_of(seen)[-1][1]["result"]["value"] == "Ada"


async def test_stream_of_an_ended_job_has_its_progress_and_the_job(client, tools):
    response = await submit(client, "demo.wait")
    await tools.started.wait()
    await client.post(f"{response.headers['location']}/cancel")
    await ended(client, response)
    text = (await client.get(response.headers["location"], headers=STREAM)).text
    (first, progress), (last, job) = events_of(text)
    assert (first, progress["message"], last, job["status"]) == ("progress", "a quarter", "job", "cancelled")


async def test_stream_of_an_unknown_job_is_not_found(client):
    assert (await client.get(f"/jobs/{'0' * 32}", headers=STREAM)).status_code == 404


async def test_stream_ends_if_the_job_is_deleted(client, runtime, tools, monkeypatch):
    monkeypatch.setattr("onetool.interfaces.rest.sse.HEARTBEAT_S", 0.01)
    response = await submit(client, "demo.wait")
    await tools.started.wait()
    jobs = runtime.jobs
    async with (
        asyncio.timeout(HANG_S),
        client.stream("GET", response.headers["location"], headers=STREAM) as stream,
    ):
        seen = ""
        async for text in stream.aiter_text():
            seen += text
            if "progress" in seen:
                jobs._active.clear()
                jobs._store._jobs.clear()
    assert [kind for kind, _ in events_of(seen)] == ["progress"]


async def test_one_key_is_one_job_for_a_day(client, runtime, tools):
    submitted = runtime.submitted
    responses = await asyncio.gather(
        *(submit(client, "demo.change", {"what": "x"}, key="k") for _ in range(9))
    )
    (job,) = {response.json()["job"] for response in responses}
    assert (await ended(client, responses[0]))["result"]["value"] == "changed x"
    again = await submit(client, "demo.change", {"what": "x"}, key="k")
    assert (again.json()["job"], again.json()["status"], tools.changed) == (job, "succeeded", 1)
    refused = await submit(client, "demo.change", {"what": "y"}, key="k")
    assert (refused.status_code, "'k' was used" in refused.json()["detail"]) == (422, True)
    too_long = await submit(client, "demo.change", {"what": "x"}, key="k" * 256)
    assert (too_long.status_code, "256 characters" in too_long.json()["detail"]) == (400, True)
    start = submitted._now()
    submitted._now = lambda: start + KEY_RETENTION_S
    later = await submit(client, "demo.change", {"what": "x"}, key="k")
    assert later.json()["job"] != job
    await ended(client, later)
    assert tools.changed == 2


async def test_too_many_jobs_are_refused(client, tools, monkeypatch):
    monkeypatch.setattr(job_limits, "MAX_STARTED_PER_PRINCIPAL", 1)
    first = await submit(client, "demo.wait")
    refused = await submit(client, "demo.wait")
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "execution_error")
    assert "too many jobs are running" in refused.json()["error"]["message"]
    await client.post(f"{first.headers['location']}/cancel")
    await ended(client, first)


async def test_server_gets_the_id_of_the_job_as_key(client):
    response = await submit(client, "far.act")
    assert (await ended(client, response))["result"]["value"]["key"] == response.json()["job"]
    direct = await client.post("/tools/call", json={"name": "far.act", "args": {}})
    assert "key" not in direct.json()["value"]


async def test_calls_inside_a_job_have_no_key(client):
    """They are different calls, but would have the same key."""
    job = await ended(client, await submit(client, "demo.twice"))
    assert ["key" in value for value in job["result"]["value"]] == [False, False]
