"""Calls that take long: as tasks for clients that declare the extension, as jobs by id for the others."""

import json
import re

import pytest

from support.asking_client import (
    FORM,
    NAME_PARAMS,
    AskingClient,
    HttpTransport,
    accept,
    read_log,
    text_of,
)
from support.asking_world import AskingWorld
from support.processes import wait_until
from support.raw_mcp import LEGACY, MODERN
from support.rest_process import TOKEN

EXTENSION = "io.modelcontextprotocol/tasks"
TASKS = {"extensions": {EXTENSION: {}}}
WAIT = re.compile(r'ot\.wait\(id="[0-9a-f]{32}"\)')


def open_world(root, expose="all", **execution):
    """Return OneTool with a server that answers at once or slowly, and one that has tasks."""
    settings = {"execution": {"handover_s": 0.3} | execution, "approval": {"mcp": "allow"}}
    return AskingWorld(root, "old", "tasks", expose=expose, **settings)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with open_world(tmp_path_factory.mktemp("tasks")) as world:
        yield world


@pytest.fixture
def client(world):
    return world.client(MODERN, "stdio", FORM | TASKS)


def call(client, name, **args):
    return client.request("tools/call", name=name, arguments=args)["result"]


def run(client, command):
    """Return what a command of `run` gives. On a loaded machine, it may become a job itself."""
    while True:
        reply = text_of({"result": call(client, "run", command=command)})
        if "still running" not in reply:
            return reply
        command = WAIT.search(reply)[0]


def ended(client, task):
    """Wait until a task has ended and return it."""
    states = []

    def is_ended():
        states.append(client.request("tasks/get", taskId=task)["result"])
        return states[-1]["status"] not in ("working", "input_required")

    assert wait_until(is_ended)
    return states[-1]


@pytest.mark.spec("MCP-57")
def test_a_long_call_becomes_a_task_for_clients_that_declare_it(client, tmp_path):
    created = call(client, "old__slow", gate=str(tmp_path / "gate"))
    assert (created["resultType"], created["status"]) == ("task", "working")
    assert re.fullmatch("[0-9a-f]{32}", created["taskId"])
    assert all(isinstance(created[key], int) and created[key] > 0 for key in ("ttlMs", "pollIntervalMs"))
    states = []

    def has_progress():
        states.append(client.request("tasks/get", taskId=created["taskId"])["result"])
        return "statusMessage" in states[-1]

    assert wait_until(has_progress)
    assert (states[-1]["status"], states[-1]["statusMessage"]) == ("working", "half")
    assert not any("result" in state for state in states)
    (tmp_path / "gate").touch()
    done = ended(client, created["taskId"])
    assert (done["status"], done["result"]["content"]) == ("completed", [{"type": "text", "text": "done"}])
    assert ended(client, created["taskId"]) == done


@pytest.mark.spec("MCP-57")
def test_a_short_call_is_answered_at_once(client):
    assert text_of({"result": call(client, "old__capabilities")}) == json.dumps(FORM)


@pytest.mark.spec("MCP-57")
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_client_that_does_not_declare_tasks_waits(world, version, tmp_path):
    check_that_a_call_waits(world, world.client(version, "stdio", FORM), tmp_path / "gate")


@pytest.mark.spec("MCP-57")
def test_handover_can_be_turned_off(tmp_path):
    with open_world(tmp_path, handover="never") as world:
        check_that_a_call_waits(world, world.client(MODERN, "stdio", FORM | TASKS), tmp_path / "gate")


def check_that_a_call_waits(world, client, gate):
    """Check that the response to a long call is its result."""
    id = f"waits-{client.version}"
    _, slow = client.start("tools/call", name="old__slow", arguments={"gate": str(gate), "id": id})
    assert wait_until(lambda: world.count("old", "slow", id, "waiting") == 1)
    gate.touch()
    assert text_of(slow.result()) == "done"


@pytest.mark.spec("MCP-56", "MCP-57")
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_run_answers_with_the_id_of_a_job(tmp_path, version):
    with open_world(tmp_path, expose="run") as world:
        client = world.client(version, "stdio", {})
        gate = tmp_path / "gate"
        reply = text_of({"result": call(client, "run", command=f"old.slow(gate={str(gate)!r})")})
        assert "still running" in reply
        wait = WAIT.search(reply)[0]
        assert "status: running" in run(client, wait.replace(")", ", seconds=0)"))
        gate.touch()
        assert wait_until(lambda: "result: done" in run(client, wait))


@pytest.mark.spec("MCP-56")
def test_cancelling_a_task_cancels_the_call_at_the_server(world, client, tmp_path):
    created = call(client, "old__slow", gate=str(tmp_path / "gate"), id="cancelled")
    assert client.request("tasks/cancel", taskId=created["taskId"])["result"]["resultType"] == "complete"
    assert wait_until(lambda: world.count("old", "slow", "cancelled", "cancelled") == 1)
    assert ended(client, created["taskId"])["status"] == "cancelled"
    client.request("tasks/cancel", taskId=created["taskId"])  # it has ended: nothing changes
    assert ended(client, created["taskId"])["status"] == "cancelled"


@pytest.mark.spec("MCP-59")
@pytest.mark.parametrize("method", ["get", "cancel", "update"])
@pytest.mark.parametrize("id", ["0" * 32, "../x", ""])
def test_unknown_tasks_are_errors(client, method, id):
    assert client.request(f"tasks/{method}", taskId=id, inputResponses={})["error"]["code"] == -32602


@pytest.mark.spec("MCP-59")
@pytest.mark.parametrize("version", [LEGACY, MODERN])
@pytest.mark.parametrize("method", ["get", "cancel", "update"])
def test_clients_that_do_not_declare_tasks_cannot_use_them(world, method, version):
    client = world.client(version, "stdio", FORM)
    error = client.request(f"tasks/{method}", taskId="0" * 32, inputResponses={})["error"]
    assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": TASKS})


@pytest.mark.spec("MCP-59")
def test_the_header_of_a_request_about_a_task_must_name_it(world, tmp_path, monkeypatch):
    client = world.client(MODERN, "http", FORM | TASKS)
    created = call(client, "old__slow", gate=str(tmp_path / "gate"))
    assert client.request("tasks/get", taskId=created["taskId"])["result"]["status"] == "working"
    monkeypatch.setitem(NAME_PARAMS, "tasks/get", "other")
    response = client.request("tasks/get", taskId=created["taskId"], other="0" * 32)
    assert response["error"]["code"] == -32020
    (tmp_path / "gate").touch()


@pytest.mark.spec("MCP-58")
def test_a_task_of_a_server_becomes_a_task_at_once_and_asks_through_it(world, client, tmp_path):
    created = call(client, "tasks__job", gate=str(tmp_path / "gate"), ask=True)
    assert created["resultType"] == "task"
    asked = []

    def is_asked():
        asked.append(client.request("tasks/get", taskId=created["taskId"])["result"])
        return asked[-1]["status"] == "input_required"

    assert wait_until(is_asked)
    [(key, question)] = asked[-1]["inputRequests"].items()
    assert key == "who", "the server's own name of its request"
    assert "Who?" in question["params"]["message"]
    refused = client.request("tasks/update", taskId=created["taskId"], inputResponses=[])
    assert refused["error"]["code"] == -32602
    unknown = client.request("tasks/update", taskId=created["taskId"], inputResponses={"unknown": accept()})
    assert unknown["result"]["resultType"] == "complete"
    answers = {key: accept(name="Ada")}
    client.request("tasks/update", taskId=created["taskId"], inputResponses=answers)
    (tmp_path / "gate").touch()
    assert ended(client, created["taskId"])["result"]["content"][0]["text"] == "done for Ada"
    again = client.request("tasks/update", taskId=created["taskId"], inputResponses=answers)
    assert again["error"]["code"] == -32602


@pytest.mark.spec("MCP-58")
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_task_of_a_server_is_waited_for_if_the_client_has_no_tasks(world, version, tmp_path):
    client = world.client(version, "stdio", FORM).answers(accept(name="Ada"))
    (tmp_path / "gate").touch()
    assert text_of(client.call("tasks__job", {"gate": str(tmp_path / "gate"), "ask": True})) == "done for Ada"
    assert read_log(world.log("tasks"))[-1] == {"event": "run", "extensions": [EXTENSION]}


@pytest.mark.spec("MCP-58")
def test_a_task_that_fails_at_the_server_fails(world, tmp_path):
    client = world.client(MODERN, "stdio", FORM)
    (tmp_path / "fail").touch()
    response = client.call("tasks__job", {"gate": str(tmp_path / "fail")})
    assert response["result"]["isError"]
    assert "it broke" in text_of(response)


@pytest.mark.spec("MCP-58")
def test_cancelling_reaches_the_task_of_the_server(world, client, tmp_path):
    created = call(client, "tasks__job", gate=str(tmp_path / "gate"))
    client.request("tasks/cancel", taskId=created["taskId"])
    assert wait_until(lambda: {"event": "cancelled"} in read_log(world.log("tasks")))
    assert ended(client, created["taskId"])["status"] == "cancelled"


def listen(client, *ids):
    """Listen to tasks and return the observed ones."""
    client.start("subscriptions/listen", notifications={"taskIds": list(ids)})
    assert wait_until(lambda: bool(client.notifications))
    acknowledged = client.notifications[0]
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    return acknowledged["params"]["notifications"]["taskIds"]


def told(client):
    """Return what a client was told about tasks so far."""
    return [note["params"] for note in client.notifications if note["method"] == "notifications/tasks"]


@pytest.mark.spec("MCP-59")
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_clients_that_listen_are_told_about_their_tasks(world, transport, tmp_path):
    with world.open(MODERN, transport, FORM | TASKS) as client:
        created = call(client, "tasks__job", gate=str(tmp_path / "gate"), ask=True)
        other = call(client, "tasks__job", gate=str(tmp_path / "never"))
        assert listen(client, created["taskId"], "0" * 32, "../x") == [created["taskId"]]
        assert wait_until(lambda: bool(told(client)) and told(client)[-1]["status"] == "input_required")
        [key] = told(client)[-1]["inputRequests"]
        client.request("tasks/update", taskId=created["taskId"], inputResponses={key: accept(name="Ada")})
        (tmp_path / "gate").touch()
        assert wait_until(lambda: told(client)[-1]["status"] == "completed")
        last = told(client)[-1]
        subscription = client.notifications[0]["params"]["_meta"]
        assert all(task["_meta"] == subscription for task in told(client))
        assert {task["taskId"] for task in told(client)} == {created["taskId"]}
        assert last["result"]["content"][0]["text"] == "done for Ada"
        assert {**ended(client, created["taskId"]), "_meta": last["_meta"]} == {
            "resultType": "complete"
        } | last
        client.request("tasks/cancel", taskId=other["taskId"])


@pytest.mark.spec("MCP-59")
def test_listening_to_tasks_needs_the_extension_and_a_short_list(world, client):
    ids = {"taskIds": ["0" * 32] * 101}
    assert client.request("subscriptions/listen", notifications=ids)["error"]["code"] == -32602
    plain = world.client(MODERN, "stdio", FORM)
    response = plain.request("subscriptions/listen", notifications={"taskIds": ["0" * 32]})
    assert response["error"]["code"] == -32021


@pytest.mark.spec("MCP-57")
def test_a_task_that_the_server_refuses_fails_with_its_error_if_the_server_is_passed_on(world, tmp_path):
    (tmp_path / "fail").touch()
    transport = HttpTransport(f"{world.serve().url}/mcp/only/tasks", MODERN, TOKEN)
    with AskingClient(transport, MODERN, FORM | TASKS) as client:
        failed = ended(client, call(client, "job", gate=str(tmp_path / "fail"))["taskId"])
    assert (failed["status"], failed["error"]["code"]) == ("failed", -32000)
    assert "it broke" in failed["error"]["message"]
    assert "result" not in failed


@pytest.mark.spec("MCP-57")
def test_a_call_that_has_asked_becomes_a_task_when_the_server_continues_it_as_one(tmp_path):
    """As soon as the server does, not only after `execution.handover_s`. Answers to nothing are ignored."""
    call = {"name": "tasks__ask_first", "arguments": {"gate": str(tmp_path / "gate")}}
    with open_world(tmp_path, handover_s=600) as world:
        client = world.client(MODERN, "stdio", FORM | TASKS)
        asked = client.request("tools/call", **call)["result"]
        assert asked["resultType"] == "input_required"
        responses = {"who": accept(name="Ada"), "more": accept()}
        state = asked["requestState"]
        created = client.request("tools/call", **call, inputResponses=responses, requestState=state)["result"]
        assert created["resultType"] == "task"
        (tmp_path / "gate").touch()
        assert ended(client, created["taskId"])["result"]["content"][0]["text"] == "done for Ada"
