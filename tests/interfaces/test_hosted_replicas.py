"""Clients of a workspace work at every hosted process, also when one of them is killed."""

import re
import threading

import pytest

from interfaces.hosted_replicas import HostedReplicas
from interfaces.replicas import new_id
from support.asking_client import DECLINE, FORM, FORM_AND_URL, accept, is_approval, is_failed, text_of
from support.processes import wait_until
from support.raw_mcp import LEGACY, MODERN
from support.rest_process import new_id as new_bundle_id
from support.rest_process import python_tool
from support.waiting import HANG_S

ALLOW, ANN = accept(allow=True), accept(name="Ann")
PING = {"jsonrpc": "2.0", "id": 99, "method": "ping"}
LIST_CHANGED = "notifications/tools/list_changed"
EVERYTHING = FORM_AND_URL | {"sampling": {}, "roots": {}}
VERSIONS = pytest.mark.parametrize("version", [LEGACY, MODERN])


@pytest.fixture
def world(hosted_replicas):
    return hosted_replicas


@VERSIONS
@pytest.mark.parametrize("server", ["old_http", "new_http"])
def test_answers_reach_the_call_from_every_process(world, version, server):
    client = world.connect(version, FORM)
    for _ in range(3):
        id = new_id("two")
        client.answers(ANN, accept(name="Lee"))
        assert text_of(client.call(f"{server}__ask_two", {"id": id})) == "hello Ann and Lee"
        assert world.runs(id) == [f"{server}.ask_two"]


@pytest.mark.parametrize(
    ("tool", "answer", "expected"),
    [
        ("roots", {"roots": [{"uri": "file:///tmp"}]}, '["file:///tmp"]'),
        ("open_page", accept(), "opened"),
        ("ask_name", DECLINE, "decline"),
    ],
)
def test_every_kind_of_question_can_be_answered_at_another_process(world, tool, answer, expected):
    client = world.connect(LEGACY, EVERYTHING, "a").answers(answer)
    answer_here = client.answer

    def answer_there(question):
        world.route(client, "b")
        return answer_here(question)

    client.answer = answer_there
    assert expected in text_of(client.call(f"new_http__{tool}", {"id": new_id(tool)}))
    assert len(client.questions) == 1


@VERSIONS
@pytest.mark.parametrize("answer", [ALLOW, DECLINE])
def test_approvals_count_at_every_process(world, version, answer):
    client = world.connect(version, FORM)
    for _ in range(3):
        id = new_id("write")
        response = client.answers(answer).call("old_http__write", {"id": id, "text": "x"})
        assert [is_approval(question) for question in client.questions] == [True]
        assert (is_failed(response), len(world.runs(id))) == ((False, 1) if answer == ALLOW else (True, 0))


def test_a_session_that_was_ended_is_refused_at_every_process(world):
    """Also where it was in use before."""
    client = world.connect(LEGACY, {}, "a")
    for at in ("b", "c"):
        world.route(client, at)
        assert client.request("tools/list")["result"]["tools"]
    world.route(client, "b")
    assert client.transport.end_session() == 200
    for at in ("a", "b", "c"):
        world.route(client, at)
        assert wait_until(lambda: client.transport.post(PING)[0] == 404)


@pytest.mark.parametrize("at", ["a", "b"])
def test_a_call_can_be_cancelled_at_every_process(world, at, tmp_path):
    client, id = world.connect(LEGACY, {}, "a"), new_id("slow")
    arguments = {"id": id, "gate": str(tmp_path / "gate")}
    number, response = client.start("tools/call", name="old_http__slow", arguments=arguments)
    assert wait_until(lambda: world.count("old_http", "slow", id, "waiting"))
    world.route(client, at)
    client.transport.cancel(number)
    assert "cancelled" in text_of(response.result(HANG_S))
    assert wait_until(lambda: world.count("old_http", "slow", id, "cancelled"))


def test_the_level_of_log_messages_holds_at_every_process(world):
    client = world.connect(LEGACY, {}, "a")
    client.request("logging/setLevel", level="error")
    world.route(client, "b")
    client.transport.listen()
    id = new_id("log")
    assert not is_failed(client.call("old_http__image", {"id": id}))
    levels = [notice["params"]["level"] for notice in client.notifications if "level" in notice["params"]]
    assert [level for level in levels if level in ("debug", "info")] == []


def tool_names(client):
    """Return the names of the tools that an MCP client lists."""
    return [tool["name"] for tool in client.request("tools/list")["result"]["tools"]]


@VERSIONS
def test_a_client_is_told_of_a_tool_that_was_added_at_another_process(world, version):
    client = world.connect(version, {}, "b")
    if version == LEGACY:
        client.transport.listen()
    else:
        client.start("subscriptions/listen", notifications={"toolsListChanged": True})
    bundle = new_bundle_id()
    slug = f"b-{bundle[-12:]}"
    body = {"slug": slug, "displayName": "B", "description": "", "isEnabled": True}
    assert world.client("a").put(f"/tools/bundles/{bundle}", json=body).status_code == 201
    url = f"/tools/bundles/{bundle}/tools/probe/version/v1"
    assert world.client("c").put(url, json=python_tool()).status_code == 201
    assert wait_until(lambda: LIST_CHANGED in [notice["method"] for notice in client.notifications])

    name = f"{slug}__probe".replace("-", "_")
    assert wait_until(lambda: name in tool_names(client))


def test_a_result_that_was_stored_at_one_process_is_read_at_another(world):
    client = world.connect(LEGACY, {}, "a")
    response = client.call("tools__echo", {"message": "x" * 200_000})
    (handle,) = set(re.findall(r"[0-9a-f]{32}", text_of(response)))
    found = world.client("b").get(f"/results/{handle}")
    assert (found.status_code, found.text.count("x")) == (200, 200_000)


@pytest.fixture(scope="module")
def own_world(tmp_path_factory, installation):
    """Processes of which a test may kill the first one, if it starts it again."""
    with HostedReplicas(tmp_path_factory.mktemp("killed"), installation, processes=2) as world:
        yield world


@VERSIONS
def test_a_client_continues_after_the_process_of_its_session_was_killed(own_world, version):
    world = own_world
    client = world.connect(version, FORM, "a")
    world.kill("a")
    world.route(client)
    for _ in range(4):
        assert client.request("tools/list")["result"]["tools"]
        assert text_of(client.answers(ANN).call("new_http__ask_name", {"id": new_id("x")})) == "hello Ann"
    world.restart("a")
    world.route(client, "a")
    assert text_of(client.answers(ANN).call("new_http__ask_name", {"id": new_id("x")})) == "hello Ann"


@VERSIONS
def test_a_killed_process_that_owns_nothing_of_a_client_costs_it_nothing(own_world, version):
    world = own_world
    client, id, gate = world.connect(version, FORM, "b"), new_id("kept"), threading.Event()

    def answer(_question):
        assert gate.wait(HANG_S)
        return ANN

    client.answer, results = answer, []
    calls = threading.Thread(target=lambda: results.append(client.call("old_http__ask_name", {"id": id})))
    calls.start()
    assert wait_until(lambda: client.questions)
    world.kill("a")
    world.route(client)
    gate.set()
    calls.join(HANG_S)
    assert [text_of(response) for response in results] == ["hello Ann"]
    assert world.runs(id) == ["old_http.ask_name"]
    world.restart("a")
