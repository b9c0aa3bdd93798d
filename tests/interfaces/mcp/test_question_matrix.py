"""Questions of servers and approvals reach the client that calls, for every pair of protocol versions."""

import base64
import json
import threading
from typing import NamedTuple

import pytest

from support.asking_client import (
    CANCEL,
    DECLINE,
    FORM,
    FORM_AND_URL,
    AskingClient,
    accept,
    is_approval,
    is_failed,
    message_of,
    text_of,
)
from support.asking_world import AskingWorld
from support.mcp_servers import asking_server
from support.processes import wait_until
from support.raw_mcp import LEGACY, MODERN
from support.waiting import HANG_S

VERSIONS = {LEGACY: "legacy", MODERN: "modern"}
CALLERS = [(version, transport) for transport in ("stdio", "http", "hosted") for version in VERSIONS]
CELLS = [(caller, server) for caller in CALLERS for server in ("old", "new")]
"""A version and a transport of a client, and a server of the legacy or of the modern protocol."""
HALF = [cell for index, cell in enumerate(CELLS) if (index // 4 + index // 2 + index) % 2 == 0]
"""Cells that have each pair of version, transport and server."""
ALLOW, REFUSE = accept(allow=True), accept(allow=False)


def pytest_generate_tests(metafunc):
    """Run a test in half of the cells; with `--stress`, or with the fixture `every_cell`, in all of them."""
    wanted = [name for name in ("caller", "upstream") if name in metafunc.fixturenames]
    is_whole = "every_cell" in metafunc.fixturenames or metafunc.config.getoption("--stress")
    if len(wanted) == 2:
        metafunc.parametrize(wanted, CELLS if is_whole else HALF, ids=name_of)
    elif wanted:
        metafunc.parametrize(wanted[0], CALLERS if wanted == ["caller"] else ["old", "new"], ids=name_of)


def name_of(value):
    """Return the name of a caller or of a server in the name of a test."""
    return value if isinstance(value, str) else f"{VERSIONS[value[0]]} {value[1]}"


@pytest.fixture(scope="module")
def world(tmp_path_factory, open_hosted):
    names = ("old", "new", "old_http", "new_http", "old_quiet")
    with AskingWorld(tmp_path_factory.mktemp("asking"), *names, hosted=open_hosted) as world:
        yield world


@pytest.fixture(scope="module")
def run_world(tmp_path_factory, open_hosted):
    root = tmp_path_factory.mktemp("running")
    with AskingWorld(root, "old", "new", expose="run", hosted=open_hosted) as world:
        yield world


class Cell(NamedTuple):
    """A client and a server of the matrix."""

    world: AskingWorld
    client: AskingClient
    server: str
    id: str

    def call(self, tool, *answers, **args):
        """Call a tool of the server with this test's id; the client gives these answers."""
        arguments = {"id": self.id} | args
        return self.client.answers(*answers).call(f"{self.server}__{tool}", arguments)

    def runs(self, tool, event="run"):
        return self.world.count(self.server, tool, self.id, event)

    def messages(self):
        """Return what the user read, in order."""
        assert self.client.undeclared == []
        return [message_of(question) for question in self.client.questions]


@pytest.fixture
def cell(world, caller, upstream, request):
    return Cell(world, world.client(*caller, FORM_AND_URL), upstream, request.node.name)


@pytest.fixture
def every_cell(cell):
    return cell


@pytest.fixture
def run(run_world, caller, upstream, request):
    """Return a function that runs code; `{id}` and `{server}` in it are replaced."""
    client, id = run_world.client(*caller, FORM_AND_URL), request.node.name.replace(" ", "-")

    def run(code, *answers):
        return client.answers(*answers).call("run", {"command": code.format(id=id, server=upstream)})

    run.cell = Cell(run_world, client, upstream, id)
    return run


@pytest.mark.spec("MCP-38")
@pytest.mark.parametrize("suffix", ["", "_http"])
def test_a_form_is_asked_once_and_its_tool_runs_once(every_cell, suffix):
    """Of a server over stdio and of one over HTTP."""
    cell = every_cell._replace(server=every_cell.server + suffix)
    assert text_of(cell.call("ask_name", accept(name="Ada"))) == "hello Ada"
    (message,) = cell.messages()
    assert "What is your name?" in message
    assert (cell.runs("ask_name"), cell.runs("ask_name", "end")) == (1, 1)


@pytest.mark.spec("MCP-38")
@pytest.mark.parametrize(("answer", "expected"), [(DECLINE, "declined"), (CANCEL, "cancelled")])
def test_a_form_that_is_not_filled_in_is_not_asked_again(cell, answer, expected):
    assert text_of(cell.call("ask_name", answer)) == expected
    assert (len(cell.messages()), cell.runs("ask_name"), cell.runs("ask_name", "end")) == (1, 1, 1)


@pytest.mark.spec("MCP-38")
def test_two_questions_of_one_call_are_asked_in_order(cell):
    response = cell.call("ask_two", accept(name="Ada"), accept(name="Lovelace"))
    assert text_of(response) == "hello Ada and Lovelace"
    first, second = cell.messages()
    assert ("first name" in first, "last name" in second) == (True, True)
    assert (cell.runs("ask_two"), cell.runs("ask_two", "between")) == (1, 1)


@pytest.mark.spec("MCP-38")
def test_two_questions_at_the_same_time_get_their_own_answers(cell):
    client = cell.client.answers()
    client.answer = lambda question: accept(name="Eve" if "friend" in message_of(question) else "Ada")
    response = client.call(f"{cell.server}__ask_both", {"id": cell.id})
    assert text_of(response) == "hello Ada and Eve"
    assert (len(cell.messages()), cell.runs("ask_both")) == (2, 1)


@pytest.mark.spec("MCP-38")
def test_every_kind_of_field_reaches_the_client_and_every_value_the_server(cell):
    chosen = {"color": "green", "size": "l", "extras": ["milk"], "count": 2, "ratio": 0.5, "gift": True}
    assert json.loads(text_of(cell.call("choices", accept(**chosen)))) == chosen
    (question,) = cell.client.questions
    schema = question["params"]["requestedSchema"]
    assert (schema["properties"], schema["required"]) == (asking_server.CHOICES, ["color"])


@pytest.mark.spec("MCP-39")
@pytest.mark.parametrize(
    ("answer", "expected"), [(accept(), "opened"), (DECLINE, "declined")], ids=["accept", "decline"]
)
def test_a_page_is_passed_on_unchanged(cell, answer, expected):
    assert text_of(cell.call("open_page", answer)) == expected
    (question,) = cell.client.questions
    assert (question["params"]["mode"], question["params"]["url"]) == ("url", asking_server.PAGE)
    assert cell.runs("open_page") == 1


@pytest.mark.spec("MCP-39")
def test_the_error_that_requires_a_page_becomes_a_question(cell):
    assert text_of(cell.call("needs_page", accept())) == "opened"
    (question,) = cell.client.questions
    assert question["params"]["url"] == asking_server.PAGE
    assert cell.runs("needs_page", "end") == 1


@pytest.mark.spec("MCP-39")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_that_cannot_show_pages_is_refused_with_the_host(world, version, request):
    client = world.client(version, "http", FORM)
    cell = Cell(world, client, "old", request.node.name)
    response = cell.call("needs_page")
    assert is_failed(response)
    assert "pages.example" in text_of(response)
    assert (cell.messages(), cell.runs("needs_page", "end")) == ([], 0)


@pytest.mark.spec("MCP-39", "MCP-41")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_modern_server_uses_its_fallback_for_a_client_that_cannot_show_pages(world, version):
    client = world.client(version, "http", FORM)
    assert text_of(client.call("new__open_page", {})) == "cannot show pages"
    assert client.questions == client.undeclared == []


@pytest.mark.guards("server-sampling")
@pytest.mark.spec("MCP-40")
def test_sampling_is_refused_by_default(world, caller, upstream):
    client = world.client(*caller, FORM_AND_URL | {"sampling": {}})
    response = client.call(f"{upstream}__sample", {})
    assert text_of(response) == "cannot sample" or is_failed(response)
    assert client.questions == []


@pytest.fixture(scope="module")
def allowed_world(tmp_path_factory):
    """A world whose settings allow sampling and name a root."""
    root = tmp_path_factory.mktemp("allowed")
    with AskingWorld(
        root, "old", "new", server_settings={"sampling": "ask"}, fs={"roots": [str(root)]}
    ) as world:
        yield world


@pytest.mark.guards("server-sampling")
@pytest.mark.spec("MCP-40")
@pytest.mark.parametrize("version", VERSIONS)
def test_sampling_that_the_settings_allow_reaches_the_client(allowed_world, version):
    """The client shows its user the whole request, as the protocol demands."""
    reply = {"role": "assistant", "content": {"type": "text", "text": "blue"}, "model": "m"}
    client = allowed_world.client(version, "stdio", FORM | {"sampling": {}})
    assert text_of(client.answers(reply).call("new__sample", {})) == "blue"
    [request] = client.questions
    assert request["method"] == "sampling/createMessage"
    assert "Name a color." in json.dumps(request["params"]["messages"])


@pytest.mark.spec("MCP-40")
def test_roots_are_those_of_the_client(world, caller, tmp_path):
    """Of a modern server, which sees what this client declares."""
    client = world.client(*caller, FORM_AND_URL | {"roots": {}})
    uri = tmp_path.as_uri()
    response = client.answers({"roots": [{"uri": uri}]}).call("new__roots", {})
    assert json.loads(text_of(response)) == [uri]


@pytest.mark.spec("MCP-40")
@pytest.mark.parametrize("version", VERSIONS)
def test_roots_of_the_settings_are_those_of_a_client_without_its_own(allowed_world, version, upstream):
    """But never in addition to those of a client, and not for one that cannot be asked anything."""
    world, tool = allowed_world, f"{upstream}__roots"
    client = world.client(version, "stdio", FORM)
    assert json.loads(text_of(client.call(tool, {}))) == [world.root.as_uri()]
    assert client.questions == client.undeclared == []
    own = world.client(version, "stdio", FORM | {"roots": {}}).answers({"roots": []})
    assert json.loads(text_of(own.call(tool, {}))) == []
    assert text_of(world.client(version, "stdio", {}).call(tool, {})) == "no roots"


@pytest.mark.spec("MCP-40")
def test_the_default_root_is_not_told(world):
    """The working directory, which `fs` can access unless the settings say otherwise."""
    assert text_of(world.client(MODERN, "http", FORM).call("new__roots", {})) == "no roots"


@pytest.mark.spec("MCP-41")
@pytest.mark.parametrize("declared", [{}, FORM, FORM_AND_URL], ids=["nothing", "form", "form and url"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_modern_server_sees_what_this_client_can_answer(world, version, declared):
    """Also while other clients of the same process can answer more."""
    world.client(LEGACY, "http", FORM_AND_URL).answers(accept(name="Ada")).call("new__ask_name", {})
    seen = json.loads(text_of(world.client(version, "http", declared).call("new__capabilities", {})))
    assert seen == declared


@pytest.mark.guards("server-sampling")
@pytest.mark.spec("MCP-41")
def test_sampling_that_the_settings_refuse_is_not_declared(world):
    client = world.client(MODERN, "http", FORM | {"sampling": {}})
    assert json.loads(text_of(client.call("new__capabilities", {}))) == FORM


@pytest.mark.spec("MCP-41")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_legacy_server_that_asks_uses_its_fallback_for_clients_that_cannot_be_asked(world, version):
    able, unable = world.client(LEGACY, "http", FORM), world.client(version, "http", {})
    assert text_of(able.answers(accept(name="Ada")).call("old__ask_name", {})) == "hello Ada"
    assert text_of(unable.call("old__ask_name", {})) == "cannot ask"
    assert json.loads(text_of(unable.call("old__capabilities", {}))) == {}
    assert unable.undeclared == []


@pytest.mark.spec("MCP-41")
def test_a_rest_caller_without_questions_declares_nothing(world, upstream):
    """Also to a legacy server, once it has asked."""
    able = world.client(LEGACY, "http", FORM).answers(accept(name="Ada"))
    assert text_of(able.call(f"{upstream}__ask_name", {})) == "hello Ada"
    response = world.serve().client.post("/tools/call", json={"name": f"{upstream}.capabilities", "args": {}})
    assert json.loads(response.json()["value"]) == {}


@pytest.mark.guards("server-questions")
@pytest.mark.spec("MCP-42")
def test_two_clients_that_call_in_parallel_get_only_their_own_questions(world, upstream, size):
    rounds, names = size(50, 500), {LEGACY: "Ada", MODERN: "Grace"}
    clients = {version: world.open(version, "http", FORM) for version in names}
    clients[LEGACY].answers(accept(name="first")).call(f"{upstream}__ask_name", {})  # now it is known to ask
    texts = {version: [] for version in names}
    start = threading.Barrier(len(names))

    def call(version):
        client = clients[version].answers(*[accept(name=names[version])] * rounds)
        start.wait(HANG_S)
        for _ in range(rounds):
            texts[version].append(text_of(client.call(f"{upstream}__ask_name", {"id": version})))

    threads = [threading.Thread(target=call, args=(version,)) for version in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * HANG_S)
    for version, name in names.items():
        assert texts[version] == [f"hello {name}"] * rounds
        assert len(clients[version].questions) == rounds
        assert world.count(upstream, "ask_name", version) == rounds


@pytest.mark.guards("server-questions")
@pytest.mark.spec("MCP-42")
def test_a_question_that_no_call_can_be_found_for_is_cancelled(world, tmp_path):
    """A legacy server asks for the first time while two calls are in progress."""
    waiting, asking = world.open(LEGACY, "http", FORM), world.open(MODERN, "http", FORM)
    gate = tmp_path / "gate"
    arguments = {"id": "unattributed", "gate": str(gate)}
    _, slow = waiting.start("tools/call", name="old_quiet__slow", arguments=arguments)
    assert wait_until(lambda: world.count("old_quiet", "slow", "unattributed", "waiting") == 1)
    response = asking.call("old_quiet__ask_name", {"id": "unattributed"})
    gate.touch()
    assert text_of(slow.result(HANG_S)).startswith("done")  # it may have asked, so it is told as well
    assert waiting.questions == asking.questions == []
    assert "cancelled" in text_of(response)
    assert "question" in text_of(response).lower()
    assert world.count("old_quiet", "ask_name", "unattributed") == 1


@pytest.mark.guards("client-jobs")
@pytest.mark.spec("MCP-43")
@pytest.mark.parametrize(
    ("answer", "expected"),
    [(accept(name="Ada"), "hello Ada"), (DECLINE, "declined")],
    ids=["accept", "decline"],
)
def test_a_question_inside_run_repeats_no_call(run, answer, expected):
    code = "\n".join(
        (
            '{server}.capabilities(id="{id}-before")',
            'asked = {server}.ask_name(id="{id}")',
            '{server}.capabilities(id="{id}-after")',
            "asked",
        )
    )
    assert text_of(run(code, answer)) == expected
    cell = run.cell
    assert len(cell.messages()) == 1
    ids = {"before": "capabilities", "": "ask_name", "after": "capabilities"}
    counts = {
        step: cell.world.count(cell.server, tool, f"{cell.id}-{step}".rstrip("-"))
        for step, tool in ids.items()
    }
    assert counts == {"before": 1, "": 1, "after": 1}


@pytest.mark.spec("MCP-43", "MCP-48")
def test_every_call_inside_run_is_approved_on_its_own(run):
    code = "\n".join(f'{{server}}.write(id="{{id}}", text="{word}")' for word in ("one", "two"))
    assert text_of(run(code, ALLOW, ALLOW)) == "wrote two"
    assert all(is_approval(question) for question in run.cell.client.questions)
    assert (len(run.cell.messages()), run.cell.runs("write")) == (2, 2)
    response = run(code, ALLOW, DECLINE)
    assert (is_failed(response), run.cell.runs("write")) == (True, 3)


@pytest.mark.guards("server-questions")
@pytest.mark.spec("MCP-46")
def test_a_form_that_asks_for_a_key_is_refused(cell):
    response = cell.call("secret_form")
    assert cell.messages() == []
    assert "api_key" in text_of(response)
    assert "got" not in text_of(response).split()


@pytest.mark.guards("server-questions")
@pytest.mark.spec("MCP-46")
def test_an_answer_of_the_wrong_type_is_asked_again_and_does_not_reach_the_server(cell):
    assert text_of(cell.call("typed", accept(age="old"), accept(age=-1), accept(age=3))) == "age 3"
    assert (len(cell.messages()), cell.runs("typed")) == (3, 1)
    assert cell.runs("typed", "answered") == 1


@pytest.mark.guards("server-questions")
@pytest.mark.spec("MCP-47")
def test_a_call_that_asks_endlessly_ends_after_ten_rounds(cell):
    response = cell.call("endless", *[accept(name="x")] * asking_server.MAX_ENDLESS)
    assert is_failed(response)
    assert "10" in text_of(response)
    assert len(cell.messages()) == 10
    assert cell.runs("endless", "asked") <= 11
    if cell.server == "old":
        assert wait_until(lambda: cell.runs("endless", "cancelled") == 1)


@pytest.mark.spec("MCP-48")
def test_an_approved_call_runs_once(cell):
    assert text_of(cell.call("write", ALLOW, text="a poem")) == "wrote a poem"
    (question,) = cell.client.questions
    assert is_approval(question)
    assert (f"{cell.server}.write" in message_of(question), "a poem" in message_of(question)) == (True, True)
    assert cell.runs("write") == 1


@pytest.mark.spec("MCP-48")
@pytest.mark.parametrize("answer", [REFUSE, DECLINE, CANCEL], ids=["refuse", "decline", "cancel"])
def test_a_call_that_is_not_approved_does_not_run(cell, answer):
    response = cell.call("write", answer)
    assert is_failed(response)
    assert "approval" in text_of(response)
    assert (len(cell.messages()), cell.runs("write")) == (1, 0)


@pytest.mark.spec("MCP-48")
def test_a_client_that_cannot_be_asked_is_refused_with_the_setting(world, caller, upstream, request):
    cell = Cell(world, world.client(*caller, {}), upstream, request.node.name)
    response = cell.call("write")
    assert is_failed(response)
    assert "approval" in text_of(response)
    assert (cell.messages(), cell.runs("write")) == ([], 0)


@pytest.mark.spec("MCP-38", "MCP-48")
def test_an_approved_call_can_ask_a_question_of_its_own(cell):
    assert text_of(cell.call("write_asking", ALLOW, accept(name="Ada"))) == "hello Ada"
    assert [is_approval(question) for question in cell.client.questions] == [True, False]
    assert cell.runs("write_asking") == 1


@pytest.mark.spec("MCP-37")
def test_progress_and_an_image_arrive(cell):
    response = cell.client.answers().call(
        f"{cell.server}__image", {"id": cell.id}, _meta={"progressToken": 7}
    )
    (part,) = response["result"]["content"]
    assert base64.b64decode(part["data"]) == asking_server.PNG
    notices = [item["params"] for item in cell.client.notifications if item["method"].endswith("/progress")]
    found = [(item["progressToken"], item["progress"], item["message"]) for item in notices]
    assert found == [(7, 1, "half"), (7, 2, "whole")]
    assert cell.runs("image") == 1


def test_a_cancelled_call_is_cancelled_at_the_server(cell, tmp_path):
    arguments = {"id": cell.id, "gate": str(tmp_path / "never")}
    number, _ = cell.client.answers().start("tools/call", name=f"{cell.server}__slow", arguments=arguments)
    assert wait_until(lambda: cell.runs("slow", "waiting") == 1)
    cell.client.transport.cancel(number)
    assert wait_until(lambda: cell.runs("slow", "cancelled") == 1)
    assert text_of(cell.call("ask_name", accept(name="Ada"))) == "hello Ada"
    assert (cell.runs("slow"), cell.runs("ask_name")) == (1, 1)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_call_that_is_cancelled_while_its_question_is_open_is_cancelled_at_the_server(
    world, transport, request
):
    client, id = world.client(LEGACY, transport, FORM_AND_URL), request.node.name
    asked, leave = threading.Event(), threading.Event()

    def wait(question):
        asked.set()
        leave.wait(HANG_S)
        return CANCEL

    client.answers().answer = wait
    number, response = client.start("tools/call", name="old__ask_name", arguments={"id": id})
    try:
        assert wait_until(lambda: asked.is_set() or response.done())
        assert asked.is_set()
        client.transport.cancel(number)
        assert wait_until(lambda: world.count("old", "ask_name", id, "cancelled") == 1)
    finally:
        leave.set()
    assert world.count("old", "ask_name", id, "end") == 0
