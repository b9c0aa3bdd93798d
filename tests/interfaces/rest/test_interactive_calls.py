"""Calls over REST that ask their caller."""

import pytest

from interfaces.rest.asking_tools import PAGE, AskingTools
from support.chat_client import read_events
from support.rest_in_process import serve_memory

EVENTS = {"Accept": "text/event-stream"}
ACCEPT = {"action": "accept", "content": {"name": "Ada"}}


@pytest.fixture
async def client():
    async with serve_memory(AskingTools().packs) as client:
        yield client


async def call(client, name, **fields):
    return await client.post("/tools/call", json={"name": name, **fields})


async def answer(client, url, question, answer):
    return await client.post(f"{url}/answers?wait=55", json={"answers": {question["id"]: answer}})


@pytest.mark.spec("MCP-45")
async def test_an_interactive_call_that_asks_becomes_a_job(client):
    """Two rounds are answered at the job, which then has the response to the call."""
    response = await call(client, "demo.ask_two", interactive=True)
    body, url = response.json(), response.headers["location"]
    assert (response.status_code, body["status"], url) == (202, "input_required", f"/jobs/{body['job']}")
    (first,) = body["questions"]
    assert (first["kind"], first["server"], first["message"]) == ("form", "people", "First name?")
    (second,) = (await answer(client, url, first, ACCEPT)).json()["questions"]
    ended = (await answer(client, url, second, ACCEPT)).json()
    assert (ended["status"], ended["result"]["value"]) == ("succeeded", "Ada Ada")
    assert (await answer(client, url, second, ACCEPT)).status_code == 409


@pytest.mark.spec("MCP-45")
async def test_an_interactive_run_that_asks_becomes_a_job(client):
    code = "'Hello ' + demo.ask_name()"
    response = await client.post("/run", json={"command": code, "interactive": True})
    assert response.status_code == 202
    (question,) = response.json()["questions"]
    ended = (await answer(client, response.headers["location"], question, ACCEPT)).json()
    result = ended["result"]
    assert (ended["tool"], result["ok"], result["data"], result["text"]) == ("run", True, *["Hello Ada"] * 2)
    assert [call["name"] for call in result["calls"]] == ["demo.ask_name"]


@pytest.mark.spec("MCP-45")
async def test_callers_that_do_not_say_so_are_not_asked(client):
    assert (await call(client, "demo.ask_name")).json()["value"] == "cannot ask"
    run = await client.post("/run", json={"command": "demo.ask_name()"})
    assert run.json()["data"] == "cannot ask"
    assert (await client.get("/jobs")).json() == {"jobs": []}


async def test_an_interactive_call_that_does_not_ask_is_answered_at_once(client):
    """Also one that fails, with the status of its reason. Approval is not needed: the user calls."""
    changed = await call(client, "demo.change", args={"what": "it"}, interactive=True)
    assert (changed.status_code, changed.json()["value"]) == (200, "changed it")
    assert (await call(client, "demo.nothing", interactive=True)).status_code == 404
    assert (await call(client, "demo.change", interactive=True)).status_code == 400
    run = await client.post("/run", json={"command": "1 + 1", "interactive": True})
    assert (run.status_code, run.json()["data"]) == (200, 2)
    assert (await client.get("/jobs")).json() == {"jobs": []}


@pytest.mark.spec("MCP-45")
async def test_a_stream_sends_each_question_as_an_event(client):
    events = []
    body = {"name": "demo.ask_two"}
    async with client.stream("POST", "/tools/call", json=body, headers=EVENTS) as response:
        async for kind, data in read_events(response):
            events.append((kind, data))
            if kind == "question":
                answers = {"answers": {data["id"]: ACCEPT}}
                answered = await client.post(f"/jobs/{data['job']}/answers", json=answers)
                assert answered.status_code == 200
    assert [kind for kind, _ in events] == ["question", "question", "result"]
    assert [data["message"] for _, data in events[:2]] == ["First name?", "Last name?"]
    assert events[-1][1]["value"] == "Ada Ada"


async def test_a_page_is_asked_for_by_its_address(client):
    response = await call(client, "demo.open_page", interactive=True)
    (question,) = response.json()["questions"]
    assert (question["kind"], question["url"]) == ("url", PAGE)
    ended = await answer(client, response.headers["location"], question, {"action": "accept"})
    assert ended.json()["result"]["value"] == "accept"


async def test_a_question_of_a_stream_that_ends_is_not_open_any_more(client):
    body = {"name": "demo.ask_name"}
    async with client.stream("POST", "/tools/call", json=body, headers=EVENTS) as response:
        _, question = await anext(aiter(read_events(response)))
    ended = (await client.get(f"/jobs/{question['job']}?wait=1")).json()
    while ended["status"] == "input_required":
        ended = (await client.get(f"/jobs/{question['job']}")).json()
    assert (ended["status"], ended["questions"]) == ("cancelled", [])
    assert (await answer(client, f"/jobs/{question['job']}", question, ACCEPT)).status_code == 410
