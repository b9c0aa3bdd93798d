"""Jobs over REST: list, wait, answer and cancel them."""

import asyncio

import pytest

from interfaces.rest.asking_tools import IMAGE, AskingTools, start_job
from onetool.domain.calls.caller import ask_user
from onetool.domain.identity.principal import Principal
from onetool.testing import memory_runtime
from support.rest_in_process import serve_rest
from support.waiting import HANG_S

ACCEPT = {"action": "accept", "content": {"name": "Ada"}}
LONG = "x" * 5_000


@pytest.fixture
async def tools():
    return AskingTools()


@pytest.fixture
async def runtime(tools):
    async with memory_runtime(tools.packs, settings={"execution": {"timeout_s": 3600}}) as ot:
        yield ot.runtime


@pytest.fixture
async def client(runtime):
    async with serve_rest(runtime) as client:
        yield client


async def open_question(client, job):
    """Wait until a job asks, and return its only question."""
    body = (await client.get(f"/jobs/{job}?wait=55")).json()
    assert body["status"] == "input_required", body
    (question,) = body["questions"]
    return question


async def answer(client, job, question, answer, **query):
    body = {"answers": {question: answer}}
    return await client.post(f"/jobs/{job}/answers", json=body, params=query)


@pytest.mark.spec("MCP-56")
async def test_a_job_is_listed_asked_answered_and_returns_its_result(runtime, client):
    job = (await start_job(runtime, "demo.ask_name")).id
    question = await open_question(client, job)
    assert (question["kind"], question["server"], question["message"]) == (
        "form",
        "people",
        "What is your name?",
    )
    assert question["schema"]["required"] == ["name"]
    (listed,) = (await client.get("/jobs")).json()["jobs"]
    assert (listed["id"], listed["tool"], listed["status"]) == (job, "demo.ask_name", "input_required")
    assert listed["createdAt"] > 1e9
    response = await answer(client, job, question["id"], ACCEPT, wait=55)
    assert response.status_code == 200
    ended = response.json()
    assert (ended["status"], ended["questions"]) == ("succeeded", [])
    assert (ended["result"]["ok"], ended["result"]["value"]) == (True, "Ada")
    assert ended["result"]["meta"]["tool"] == "demo.ask_name"
    assert (await client.get(f"/jobs/{job}")).json() == ended


@pytest.mark.spec("MCP-45")
async def test_an_answer_is_accepted_once_and_only_for_an_open_question(runtime, client):
    """Answered twice 409, expired or unknown question 410, unknown job 404."""
    job = (await start_job(runtime, "demo.ask_two")).id
    first = await open_question(client, job)
    assert (await answer(client, job, first["id"], ACCEPT, wait=55)).status_code == 200
    again = await answer(client, job, first["id"], ACCEPT)
    assert (again.status_code, "answered already" in again.json()["detail"]) == (409, True)
    gone = await answer(client, job, "0123456789abcdef", ACCEPT)
    assert (gone.status_code, "has expired" in gone.json()["detail"]) == (410, True)
    assert (await answer(client, "0" * 32, first["id"], ACCEPT)).status_code == 404
    assert (await open_question(client, job))["message"] == "Last name?"


async def test_a_refused_answer_leaves_the_others_unanswered(runtime, client):
    job = (await start_job(runtime, "demo.ask_name")).id
    question = (await open_question(client, job))["id"]
    for other in ({"gone": ACCEPT}, {"gone": {"action": "cancel"}}):
        response = await client.post(f"/jobs/{job}/answers", json={"answers": {question: ACCEPT} | other})
        assert response.status_code == 410
    assert (await open_question(client, job))["id"] == question


async def test_an_answer_that_does_not_fit_the_form_can_be_corrected(runtime, client):
    job = (await start_job(runtime, "demo.ask_name")).id
    question = (await open_question(client, job))["id"]
    for content in ({"name": 5}, {}, None):
        wrong = await answer(client, job, question, {"action": "accept", "content": content})
        assert (wrong.status_code, "does not fit the form" in wrong.json()["detail"]) == (400, True)
    for body in ({}, {"answers": {}}, {"answers": {question: {"action": "yes"}}}):
        assert (await client.post(f"/jobs/{job}/answers", json=body)).status_code == 400
    response = await answer(client, job, question, ACCEPT, wait=55)
    assert response.json()["result"]["value"] == "Ada"


@pytest.mark.guards("client-jobs")
@pytest.mark.spec("MCP-45")
async def test_jobs_of_other_principals_are_not_found(runtime, client):
    """Neither read, listed, answered nor cancelled."""
    job = await start_job(runtime, "demo.ask_name", Principal("other"))
    while not (found := await runtime.jobs.find(job.id, Principal("other"))).questions:
        await asyncio.sleep(0.01)
    question = found.questions[0].id
    responses = [
        await client.get(f"/jobs/{job.id}"),
        await client.get(f"/jobs/{job.id}/questions/{question}"),
        await answer(client, job.id, question, ACCEPT),
        await client.post(f"/jobs/{job.id}/cancel"),
    ]
    assert [response.status_code for response in responses] == [404] * 4
    assert (await client.get("/jobs")).json() == {"jobs": []}
    assert (await runtime.jobs.find(job.id, Principal("other"))).status == "input_required"


@pytest.mark.spec("MCP-56")
async def test_a_job_shows_its_progress_and_can_be_cancelled(runtime, client, tools):
    job = (await start_job(runtime, "demo.wait")).id
    await tools.started.wait()
    running = (await client.get(f"/jobs/{job}")).json()
    assert (running["status"], running["endedAt"]) == ("running", None)
    assert running["progress"] == {"done": 1, "total": 4, "message": "a quarter"}
    assert "result" not in running
    cancelled = (await client.post(f"/jobs/{job}/cancel?wait=55")).json()
    async with asyncio.timeout(HANG_S):
        await tools.cancelled.wait()
    assert (cancelled["status"], cancelled["result"]["ok"]) == ("cancelled", False)
    assert "was cancelled" in cancelled["result"]["error"]["message"]
    assert (await client.post(f"/jobs/{job}/cancel")).json() == cancelled


async def test_media_of_a_job_are_in_its_content_by_handle(runtime, client):
    job = (await start_job(runtime, "demo.draw")).id
    question = (await open_question(client, job))["id"]
    result = (await answer(client, job, question, ACCEPT, wait=55)).json()["result"]
    (image,) = result["content"]
    assert (image["type"], image["mimeType"], image["size"]) == ("image", "image/png", len(IMAGE))
    assert "data" not in image
    assert (await client.get(f"/results/{image['handle']}")).content == IMAGE
    inline = (await client.get(f"/jobs/{job}?media=inline")).json()["result"]["content"][0]
    assert inline["data"]


@pytest.mark.spec("MCP-56")
async def test_an_approval_can_be_shown_with_nothing_hidden(runtime, client, tools):
    job = (await start_job(runtime, "demo.change", args={"what": LONG}, approve=ask_user)).id
    question = await open_question(client, job)
    (short,) = question["approval"]["arguments"]
    assert (question["kind"], question["approval"]["tool"], short["hidden"] > 0) == (
        "approval",
        "demo.change",
        True,
    )
    url = f"/jobs/{job}/questions/{question['id']}"
    complete = (await client.get(url)).json()
    assert complete["digest"] == question["approval"]["digest"]
    assert complete["arguments"] == [{"name": '"what"', "value": f'"{LONG}"', "hidden": 0}]
    assert (await client.get(f"/jobs/{job}/questions/other")).status_code == 404
    allow = {"action": "accept", "content": {"allow": True}}
    ended = (await answer(client, job, question["id"], allow, wait=55)).json()
    assert (ended["status"], tools.changed) == ("succeeded", 1)
    assert (await client.get(url)).status_code == 404


async def test_requests_for_jobs_are_checked(client):
    for path in ("/jobs/x?wait=56", "/jobs/x?wait=-1", "/jobs/x?wait=soon"):
        assert (await client.get(path)).status_code == 400
    for path in ("/jobs/x", f"/jobs/{'0' * 32}", "/jobs/..%2F..%2Fetc"):
        assert (await client.get(path)).status_code == 404
