"""Clients of both protocol versions work at every process of a user, also when one of them is killed."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from interfaces.replicas import Replicas, new_id
from support.asking_client import (
    DECLINE,
    FORM,
    FORM_AND_URL,
    accept,
    changed_at,
    is_approval,
    is_failed,
    text_of,
)
from support.processes import wait_until
from support.raw_mcp import LEGACY, MODERN
from support.waiting import HANG_S

ALLOW, ANN = accept(allow=True), accept(name="Ann")
NOT_FOUND = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}'
PING = {"jsonrpc": "2.0", "id": 99, "method": "ping"}
EVERYTHING = FORM_AND_URL | {"sampling": {}, "roots": {}}
TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
LIST_CHANGED = "notifications/tools/list_changed"
PACK = """pack = "{name}"


def one() -> int:
    '''Return one.'''
    return 1
"""
VERSIONS = pytest.mark.parametrize("version", [LEGACY, MODERN])


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp("replicas")
    with Replicas(root, "old", "new", server_settings={"sampling": "ask"}) as world:
        yield world


class Held:
    """An answer that a client gives when a test allows it."""

    def __init__(self, *answers):
        self.answers, self.gate = list(answers), threading.Event()

    def __call__(self, _question):
        assert self.gate.wait(HANG_S)
        return self.answers.pop(0)


@pytest.mark.spec("MCP-53", "MCP-54", "MCP-55")
@VERSIONS
@pytest.mark.parametrize("server", ["old", "new"])
def test_answers_reach_the_call_from_every_process(world, version, server):
    """Two questions in one call: whatever process gets the answers, the server runs once."""
    client = world.connect(version, FORM)
    for _ in range(3):
        id = new_id("two")
        client.answers(ANN, accept(name="Lee"))
        response = client.call(f"{server}__ask_two", {"id": id})
        assert text_of(response) == "hello Ann and Lee"
        assert world.runs(id) == [f"{server}.ask_two"]


@pytest.mark.spec("MCP-54")
@pytest.mark.parametrize("owner", ["a", "b"])
def test_an_answer_that_does_not_fit_is_asked_again_from_every_process(world, owner):
    client = world.connect(LEGACY, FORM, owner).answers(accept(age="old"), accept(age=7))
    id = new_id("typed")
    client.answer = switching(world, client, "b" if owner == "a" else "a", client.answer)
    response = client.call("old__typed", {"id": id})
    assert (text_of(response), len(client.questions)) == ("age 7", 2)
    assert world.count("old", "typed", id, "answered") == 1


def switching(world, client, at, answer):
    """Return a function that answers at another process."""

    def answer_there(question):
        world.route(client, at)
        return answer(question)

    return answer_there


@pytest.mark.spec("MCP-54")
@pytest.mark.parametrize(
    ("tool", "answer", "expected"),
    [
        ("sample", {"role": "assistant", "content": {"type": "text", "text": "red"}, "model": "m"}, "red"),
        ("sample", {"error": {"code": -1, "message": "no"}}, "did not answer"),
        ("roots", {"roots": [{"uri": "file:///tmp"}]}, '["file:///tmp"]'),
        ("open_page", accept(), "opened"),
        ("ask_name", DECLINE, "decline"),
    ],
)
def test_every_kind_of_question_can_be_answered_at_another_process(world, tool, answer, expected):
    client = world.connect(LEGACY, EVERYTHING, "a").answers(answer)
    client.answer = switching(world, client, "b", client.answer)
    assert expected in text_of(client.call(f"new__{tool}", {"id": new_id(tool)}))
    assert len(client.questions) == 1


@pytest.mark.spec("MCP-48", "MCP-53", "MCP-54")
@VERSIONS
@pytest.mark.parametrize("answer", [ALLOW, DECLINE])
def test_approvals_count_at_every_process(world, version, answer):
    client = world.connect(version, FORM)
    for _ in range(2):
        id = new_id("write")
        response = client.answers(answer).call("old__write", {"id": id, "text": "x"})
        assert [is_approval(question) for question in client.questions] == [True]
        assert (is_failed(response), len(world.runs(id))) == ((False, 1) if answer == ALLOW else (True, 0))


@pytest.mark.spec("MCP-54")
@pytest.mark.parametrize(("posted", "listening"), [("a", "b"), ("b", "a")])
def test_the_stream_of_notices_can_be_at_any_process(world, posted, listening):
    client = world.connect(LEGACY, {}, posted)
    world.route(client, listening)
    client.transport.listen()
    world.route(client, posted)
    add_pack(world)
    assert wait_until(lambda: LIST_CHANGED in [notice["method"] for notice in client.notifications])


def add_pack(world):
    """Add a pack with one tool."""
    name = new_id("added").replace("-", "_")
    world.home.write(f"tools/{name}.py", PACK.format(name=name))


@pytest.mark.guards("client-sessions")
@pytest.mark.spec("MCP-54")
def test_a_session_that_was_deleted_is_unknown_at_every_process(world):
    client = world.connect(LEGACY, {}, "a")
    world.route(client, "b")
    client.request("tools/list")
    assert client.transport.end_session() == 200
    for at in ("a", "b"):
        world.route(client, at)
        assert client.transport.post(PING) == (404, NOT_FOUND)
        assert client.transport.end_session() == 404


@pytest.mark.spec("MCP-54")
@pytest.mark.parametrize("at", ["a", "b"])
def test_a_call_can_be_cancelled_at_every_process(world, at, tmp_path):
    client, id = world.connect(LEGACY, {}, "a"), new_id("slow")
    number, response = client.start(
        "tools/call", name="old__slow", arguments={"id": id, "gate": str(tmp_path / "gate")}
    )
    assert wait_until(lambda: world.count("old", "slow", id, "waiting"))
    world.route(client, at)
    client.transport.cancel(number)
    assert "cancelled" in text_of(response.result(HANG_S))
    assert wait_until(lambda: world.count("old", "slow", id, "cancelled"))


@pytest.mark.guards("client-sessions")
@pytest.mark.spec("MCP-54")
def test_a_replayed_response_is_refused_at_every_process(world):
    client, id = world.connect(LEGACY, FORM, "a"), new_id("replay")
    requests = []
    client.transport.open(recording(requests, client._receive))
    client.answers(ANN)
    client.answer = switching(world, client, "b", client.answer)
    assert text_of(client.call("old__ask_name", {"id": id})) == "hello Ann"
    response = {"jsonrpc": "2.0", "id": requests[0]["id"], "result": accept(name="Eve")}
    statuses = []
    for at in ("a", "b"):
        world.route(client, at)
        statuses.append(client.transport.post(response)[0])
    assert (statuses, world.runs(id)) == ([400, 400], ["old.ask_name"])


def recording(requests, receive):
    """Return a function that receives messages and records the requests of the server."""

    def record(message):
        if "method" in message and "id" in message:
            requests.append(message)
        receive(message)

    return record


@pytest.mark.guards("client-sessions")
@pytest.mark.spec("MCP-54")
@pytest.mark.parametrize("at", ["a", "b"])
def test_a_response_of_another_session_is_refused(world, at):
    client, other = world.connect(LEGACY, FORM, "a"), world.connect(LEGACY, FORM, at)
    id, requests, held = new_id("foreign"), [], Held(ANN)
    client.transport.open(recording(requests, client._receive))
    client.answers().answer = held
    _, future = client.start("tools/call", name="old__ask_name", arguments={"id": id})
    assert wait_until(lambda: requests)
    response = {"jsonrpc": "2.0", "id": requests[0]["id"], "result": accept(name="Eve")}
    assert other.transport.post(response)[0] == 400
    forged = requests[0]["id"][:-1] + ("0" if requests[0]["id"][-1] != "0" else "1")
    assert client.transport.post(response | {"id": forged})[0] == 400
    held.gate.set()
    assert text_of(future.result(HANG_S)) == "hello Ann"


@pytest.mark.guards("client-sessions")
@pytest.mark.spec("MCP-54")
@pytest.mark.parametrize("at", ["a", "b"])
def test_a_forged_session_is_unknown(world, at):
    client = world.connect(LEGACY, {}, "a")
    world.route(client, at)
    sealed = client.transport.session
    changed = [changed_at(sealed, index) for index in (3, len(sealed) // 2, len(sealed) - 1)]
    modern = world.connect(MODERN, FORM, "a").answers(DECLINE)
    asked = modern.call_once("new__ask_name", {"id": new_id("state")})["result"]
    modern.call_once("new__ask_name", {"id": new_id("state")}, **modern.retry_params(asked))
    for forged in ("x", "0" * 32, *changed, sealed[:-1], sealed + "A", asked["requestState"]):
        client.transport.session = forged
        assert client.transport.post(PING) == (404, NOT_FOUND)
        assert client.transport.end_session() == 404
    client.transport.session = sealed
    assert client.transport.post(PING)[0] == 200


@pytest.mark.guards("client-sessions")
@pytest.mark.spec("MCP-54")
def test_a_session_belongs_to_its_token_and_its_endpoint(world):
    client = world.connect(LEGACY, {}, "a")
    other = world.serve("other", ONETOOL_TOKEN="token-of-another-user")
    client.transport.route_to(f"{other.url}/mcp")
    assert client.transport.post(PING)[0] == 401
    client.transport._token = "token-of-another-user"
    assert client.transport.post(PING) == (404, NOT_FOUND)
    client.transport._token = "token-of-the-tests"
    client.transport.route_to(f"{world.serve('b').url}/mcp/only/old")
    assert client.transport.post(PING) == (404, NOT_FOUND)


@pytest.fixture
def own_world(tmp_path):
    """Processes that a test may kill."""
    with Replicas(tmp_path, "old", "new") as world:
        yield world


@pytest.mark.spec("MCP-51", "MCP-54")
def test_a_killed_process_breaks_off_the_calls_of_an_earlier_client_that_it_owns(own_world):
    """What was approved may have run, and says so. Everything else works without a new session."""
    world = own_world
    client, id, held = world.connect(LEGACY, FORM, "a"), new_id("lost"), Held(ANN)
    client.answer = lambda question: ALLOW if is_approval(question) else held(question)
    requests = []
    client.transport.open(recording(requests, client._receive))
    _, future = client.start("tools/call", name="old__write_asking", arguments={"id": id, "text": "x"})
    assert wait_until(lambda: len(requests) == 2)
    world.kill("a")
    with pytest.raises(ConnectionError):
        future.result(HANG_S)
    world.route(client, "b")
    response = {"jsonrpc": "2.0", "id": requests[1]["id"], "result": ANN}
    status, body = client.transport.post(response)
    assert status == 400
    assert "The process that ran old.write_asking has ended. Nothing was repeated." in body
    assert "May have run: old.write_asking." in body
    assert world.runs(id) == ["old.write_asking"]
    held.gate.set()
    assert client.request("tools/list")["result"]["tools"]
    assert text_of(client.answers(ANN).call("new__ask_name", {"id": new_id("next")})) == "hello Ann"


@pytest.mark.spec("MCP-54")
def test_a_killed_process_that_owns_nothing_of_a_client_costs_it_nothing(own_world):
    """For a client of each version, both with an open question."""
    world, held, calls = own_world, Held(ANN, ANN), []
    with ThreadPoolExecutor() as pool:
        for version, server in ((LEGACY, "new"), (MODERN, "old")):
            client, id = world.connect(version, FORM, "b"), new_id("kept")
            world.route(client)
            client.request("tools/list")
            client.request("tools/list")
            world.route(client, "b")
            client.answers().answer = held
            call = pool.submit(client.call, f"{server}__ask_name", {"id": id})
            calls.append((client, call, id, f"{server}.ask_name"))
            assert wait_until(lambda client=client: client.questions)
        world.kill("a")
        for client, *_ in calls:
            world.route(client)
        held.gate.set()
        for client, call, id, tool in calls:
            assert text_of(call.result(HANG_S)) == "hello Ann"
            assert world.runs(id) == [tool]
            for _ in range(3):
                assert client.request("tools/list")["result"]["tools"]
    listener = calls[0][0]
    listener.transport.listen()
    add_pack(world)
    assert wait_until(lambda: LIST_CHANGED in [notice["method"] for notice in listener.notifications])


@pytest.mark.spec("MCP-53", "MCP-54", "MCP-55", "MCP-57")
def test_no_request_is_lost_behind_three_processes(tmp_path, size):
    """Lists, calls, questions, approvals and tasks of clients of both versions, at the processes in turn."""
    rounds = size(3, 44)
    settings = {"execution": {"handover_s": 0.3}}
    with Replicas(tmp_path, "old", "new", processes=3, **settings) as world:
        for name in world.process_names:  # from its first question on, a server runs one call at a time
            world.connect(LEGACY, FORM, name).answers(ANN).call("old__ask_name", {"id": new_id("first")})
        clients = [world.connect(version, FORM) for version in (LEGACY, MODERN, LEGACY, MODERN)]
        workers = [Worker(world, client) for client in clients]
        threads = [threading.Thread(target=worker.work, args=(rounds,)) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(f"{sum(worker.requests for worker in workers)} requests")
        assert [worker.problems for worker in workers] == [[]] * len(workers)
        ids = [id for worker in workers for id in worker.ids]
        assert [id for id in ids if len(world.runs(id)) != 1] == []


class Worker:
    """One client that makes requests of every kind, and notes those that do not succeed."""

    def __init__(self, world, client):
        self.world, self.client = world, client
        self.requests, self.ids, self.problems = 0, [], []

    def work(self, rounds):
        for number in range(rounds):
            try:
                self._work_once("old" if number % 2 else "new")
            except Exception as error:
                self.problems.append(repr(error))

    def _work_once(self, server):
        self.requests += 1
        if not self.client.request("tools/list")["result"]["tools"]:
            self.problems.append("no tools")
        self._call("hello Ann", f"{server}__ask_name", ANN)
        self._call("wrote x", f"{server}__write", ALLOW, text="x")
        if self.client.version == MODERN:
            self.client.capabilities = FORM | TASKS
            self._run_task()
            self.client.capabilities = FORM

    def _call(self, expected, tool, *answers, **arguments):
        id = self._new_id(tool)
        arguments = {"id": id} | arguments
        self.requests += 1 + len(answers)
        response = self.client.answers(*answers).call(tool, arguments)
        if text_of(response) != expected:
            self.problems.append(f"{tool}: {response}")

    def _run_task(self):
        id = self._new_id("slow")
        gate = self.world.root / id
        arguments = {"id": id, "gate": str(gate)}
        self.requests += 2  # the polls count once
        task = self.client.request("tools/call", name="new__slow", arguments=arguments)["result"]
        gate.touch()

        def is_done():
            state = self.client.request("tasks/get", taskId=task["taskId"])["result"]
            return state["status"] == "completed"

        assert wait_until(is_done)

    def _new_id(self, stem):
        self.ids.append(new_id(stem))
        return self.ids[-1]
