"""Approvals and answers count once, for the call, the user and the time that they were given for."""

import json
import threading
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from support.asking_client import (
    CANCEL,
    DECLINE,
    FORM,
    FORM_AND_URL,
    AskingClient,
    accept,
    changed_at,
    is_failed,
    text_of,
)
from support.asking_world import AskingWorld
from support.jumping_clock import JumpingClock
from support.onetool_process import onetool
from support.processes import wait_until
from support.raw_mcp import LEGACY, MODERN
from support.waiting import HANG_S

ALLOW = accept(allow=True)
MAX_OPEN = 50
"""More than the calls that one test leaves open."""
OTHER_TOKEN = "token-of-another-user"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    names = ("old", "new", "old_changed", "old_approved")
    with AskingWorld(tmp_path_factory.mktemp("attacks"), *names) as world:
        yield world


@pytest.fixture
def client(world):
    """A client at the process `a`."""
    return world.client(MODERN, "http", FORM_AND_URL)


class Asked(NamedTuple):
    """A call that waits for an answer, as its client sees it."""

    client: AskingClient
    tool: str
    arguments: dict[str, Any]
    state: Any
    answers: dict[str, Any]
    """Honest answers by the key of their question."""

    def answer(self):
        """Send the call again with the state and the answers."""
        params = {"inputResponses": self.answers, "requestState": self.state}
        given = {name: value for name, value in params.items() if value is not None}
        return call(self.client, self.tool, self.arguments, **given)

    def with_arguments(self, **arguments):
        return self._replace(arguments=self.arguments | arguments)

    def with_answer(self, answer):
        return self._replace(answers=dict.fromkeys(self.answers, answer))


OPEN: list[Asked] = []
"""Calls of the current test that wait for an answer."""


@pytest.fixture(autouse=True)
def _end_open_calls():
    """Decline what a test leaves open: a user may have only some calls that wait."""
    yield
    for _ in range(MAX_OPEN):
        if OPEN:
            with suppress(ConnectionError):  # its process has ended
                OPEN.pop().with_answer(DECLINE).answer()
    OPEN.clear()


def call(client, tool, arguments, **params):
    """Call a tool and note whether it asks."""
    response = client.call_once(tool, arguments, **params)
    if response.get("result", {}).get("resultType") == "input_required":
        OPEN.append(asked_by(response, client, tool, arguments, DECLINE))
    return response


def ask(client, id, tool="old__write", answer=ALLOW, **arguments):
    """Call a tool, which must ask."""
    arguments = {"id": id, "text": "what was approved"} | arguments
    return asked_by(call(client, tool, arguments), client, tool, arguments, answer)


def asked_by(response, client, tool, arguments, answer):
    """Return the call of a response, which must contain questions."""
    result = response.get("result", {})
    assert result.get("resultType") == "input_required", text_of(response)
    answers = dict.fromkeys(result["inputRequests"], answer)
    assert answers
    return Asked(client, tool, arguments, result["requestState"], answers)


def is_refused(response):
    """Return whether a response is an error or asks again."""
    return is_failed(response) or response["result"].get("resultType") == "input_required"


def in_parallel(*actions):
    """Run functions at the same time and return their results."""
    results, start = [None] * len(actions), threading.Barrier(len(actions))

    def run(index):
        start.wait(HANG_S)
        results[index] = actions[index]()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_S)
    return results


@pytest.mark.guards("model-answers")
@pytest.mark.spec("MCP-49", "MCP-50")
@pytest.mark.parametrize("process", ["a", "b"])
@pytest.mark.parametrize("tool", ["old__write", "new__write"])
def test_an_honest_answer_at_any_process_runs_the_call_once(world, client, tool, process, request):
    """Without this, the attacks would prove nothing. Sent again, it runs nothing at either process."""
    asked = ask(client, request.node.name, tool)
    elsewhere = asked._replace(client=world.client(MODERN, "http", FORM_AND_URL, process))
    assert text_of(elsewhere.answer()) == "wrote what was approved"
    for again in (asked, elsewhere, asked.with_answer(DECLINE)):
        assert is_refused(again.answer())
    assert world.runs(request.node.name) == [tool.replace("__", ".")]


TAMPERED = {
    "first character changed": lambda state: changed_at(state, 0),
    "early character changed": lambda state: changed_at(state, 4),
    "middle character changed": lambda state: changed_at(state, len(state) // 2),
    "late character changed": lambda state: changed_at(state, -3),
    "last character removed": lambda state: state[:-1],
    "second half removed": lambda state: state[: len(state) // 2],
    "character appended": lambda state: state + "A",
    "padding appended": lambda state: state + "==",
    "repeated": lambda state: state + state,
    "case swapped": lambda state: state.swapcase(),
    "reversed": lambda state: state[::-1],
    "empty": lambda state: "",
    "space before it": lambda state: " " + state,
    "null character": lambda state: state + "\0",
    "long": lambda state: "A" * 1_000_000,
    "path": lambda state: "../../" + state,
    "number": lambda state: 1,
    "list": lambda state: [state],
    "object": lambda state: {"state": state},
}


@pytest.mark.guards("client-state")
@pytest.mark.spec("MCP-49")
@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_a_changed_state_runs_nothing_and_the_honest_answer_is_still_accepted(world, client, change, request):
    asked = ask(client, request.node.name)
    assert is_refused(asked._replace(state=change(asked.state)).answer())
    assert world.runs(request.node.name) == []
    assert text_of(asked.answer()) == "wrote what was approved"
    assert world.runs(request.node.name) == ["old.write"]


OTHER_CALLS = {
    "another text": lambda asked: asked.with_arguments(text="what was not approved"),
    "another type": lambda asked: asked.with_arguments(text=["what was approved"]),
    "an argument added": lambda asked: asked.with_arguments(gate="x"),
    "an argument removed": lambda asked: asked._replace(arguments={"id": asked.arguments["id"]}),
    "no arguments": lambda asked: asked._replace(arguments={}),
    "a null argument": lambda asked: asked.with_arguments(gate=None),
    "another tool": lambda asked: asked._replace(tool="old__write_asking"),
    "another server": lambda asked: asked._replace(tool="new__write"),
    "an unknown tool": lambda asked: asked._replace(tool="old__unknown"),
}


@pytest.mark.guards("model-answers")
@pytest.mark.spec("MCP-49")
@pytest.mark.parametrize("change", OTHER_CALLS.values(), ids=OTHER_CALLS)
@pytest.mark.parametrize("process", ["a", "b"])
def test_an_approval_of_another_call_runs_nothing(world, client, change, process, request):
    asked = ask(client, request.node.name)
    other = world.client(MODERN, "http", FORM_AND_URL, process)
    assert is_refused(change(asked)._replace(client=other).answer())
    assert world.runs(request.node.name) == world.runs("") == []


@pytest.mark.guards("client-state")
@pytest.mark.spec("MCP-49")
def test_states_of_two_calls_are_not_interchangeable(world, client, request):
    first, second = (ask(client, f"{request.node.name}-{number}") for number in (1, 2))
    assert is_refused(first._replace(state=second.state).answer())
    assert is_refused(second._replace(state=first.state).answer())
    assert world.runs(f"{request.node.name}-1") == world.runs(f"{request.node.name}-2") == []


@pytest.mark.guards("client-state")
@pytest.mark.spec("MCP-49")
def test_the_state_of_a_servers_question_approves_nothing(world, client, request):
    question = ask(client, request.node.name, "old__ask_name", accept(name="Ada"))
    approval = ask(client, request.node.name)
    assert is_refused(approval._replace(state=question.state).answer())
    forged = approval._replace(state=question.state, answers=dict.fromkeys(question.answers, ALLOW))
    assert is_refused(forged.answer())
    assert "old.write" not in world.runs(request.node.name)


FORGED_ANSWERS = {
    "unknown keys": lambda asked: asked._replace(answers={"unknown": ALLOW}),
    "empty key": lambda asked: asked._replace(answers={"": ALLOW}),
    "no answers": lambda asked: asked._replace(answers=None),
    "empty answers": lambda asked: asked._replace(answers={}),
    "no state": lambda asked: asked._replace(state=None),
    "text instead of true": lambda asked: asked.with_answer(accept(allow="true")),
    "number instead of true": lambda asked: asked.with_answer(accept(allow=1)),
    "list instead of true": lambda asked: asked.with_answer(accept(allow=["true"])),
    "null instead of true": lambda asked: asked.with_answer(accept(allow=None)),
    "no field": lambda asked: asked.with_answer(accept(other=True)),
    "no content": lambda asked: asked.with_answer({"action": "accept"}),
    "no action": lambda asked: asked.with_answer({"content": {"allow": True}}),
    "unknown action": lambda asked: asked.with_answer({"action": "approve", "content": {"allow": True}}),
    "other case": lambda asked: asked.with_answer({"action": "ACCEPT", "content": {"allow": True}}),
    "decline with content": lambda asked: asked.with_answer(DECLINE | {"content": {"allow": True}}),
    "cancel with content": lambda asked: asked.with_answer(CANCEL | {"content": {"allow": True}}),
    "roots": lambda asked: asked.with_answer({"roots": [], "allow": True}),
    "text": lambda asked: asked.with_answer("accept"),
    "true": lambda asked: asked.with_answer(True),
    "null": lambda asked: asked.with_answer(None),
}


@pytest.mark.spec("MCP-49")
@pytest.mark.parametrize("change", FORGED_ANSWERS.values(), ids=FORGED_ANSWERS)
def test_an_answer_that_does_not_approve_runs_nothing(world, client, change, request):
    asked = ask(client, request.node.name)
    assert is_refused(change(asked).answer())
    assert world.runs(request.node.name) == []


@pytest.mark.guards("model-answers")
@pytest.mark.spec("MCP-49")
def test_answers_count_only_in_their_own_field(world, client, request):
    """A model writes arguments; it cannot answer with them."""
    asked = ask(client, request.node.name)
    fields = {"inputResponses": asked.answers, "requestState": asked.state}
    assert is_refused(call(client, asked.tool, asked.arguments | fields))
    assert is_refused(call(client, asked.tool, asked.arguments, _meta=fields))
    assert is_refused(client.request("resources/read", uri="ot.old+memo:x", **fields))
    assert is_refused(client.request("prompts/get", name=asked.tool, **fields))
    assert world.runs(request.node.name) == []


@pytest.mark.spec("MCP-49")
@pytest.mark.parametrize("first", [DECLINE, CANCEL, accept(allow=False)], ids=["decline", "cancel", "refuse"])
@pytest.mark.parametrize("process", ["a", "b"])
def test_a_refused_call_cannot_be_approved_afterwards(world, client, first, process, request):
    asked = ask(client, request.node.name)
    assert is_failed(asked.with_answer(first).answer())
    other = world.client(MODERN, "http", FORM_AND_URL, process)
    assert is_refused(asked._replace(client=other).answer())
    assert world.runs(request.node.name) == []


@pytest.mark.guards("model-answers")
@pytest.mark.spec("MCP-49")
def test_an_approval_is_used_once_over_restarts(world, client, request):
    asked = ask(client, request.node.name)
    assert text_of(asked.answer()) == "wrote what was approved"
    for _ in range(2):
        world.stop("restarted")
        restarted = world.open(MODERN, "http", FORM_AND_URL, "restarted")
        assert is_refused(asked._replace(client=restarted).answer())
    assert world.runs(request.node.name) == ["old.write"]


@pytest.mark.guards("model-answers")
@pytest.mark.spec("MCP-49", "MCP-50")
@pytest.mark.parametrize("processes", ["aa", "ab", "bb"])
def test_of_answers_at_the_same_time_one_is_accepted(world, client, processes, request, size):
    clients = [world.open(MODERN, "http", FORM_AND_URL, process) for process in processes]
    for number in range(size(4, 50)):
        asked = ask(client, f"{request.node.name}-{number}")
        responses = in_parallel(*(asked._replace(client=other).answer for other in clients))
        assert sorted(map(is_refused, responses)) == [False, True]
        assert world.runs(f"{request.node.name}-{number}") == ["old.write"]


@pytest.mark.spec("MCP-49", "MCP-50")
def test_of_approval_and_refusal_at_the_same_time_one_counts(world, client, request, size):
    other = world.client(MODERN, "http", FORM_AND_URL, "b")
    for number in range(size(4, 50)):
        asked = ask(client, f"{request.node.name}-{number}")
        refusal = asked._replace(client=other).with_answer(DECLINE)
        approved, refused = in_parallel(asked.answer, refusal.answer)
        assert is_refused(refused)
        assert len(world.runs(f"{request.node.name}-{number}")) == (0 if is_refused(approved) else 1)


@pytest.mark.guards("client-state")
@pytest.mark.spec("MCP-49")
def test_another_user_cannot_answer(world, client, request):
    world.serve("other", ONETOOL_TOKEN=OTHER_TOKEN)
    other = world.client(MODERN, "http", FORM_AND_URL, "other", OTHER_TOKEN)
    asked = ask(client, request.node.name)
    assert is_refused(asked._replace(client=other).answer())
    with pytest.raises(ConnectionError, match="401"):
        world.client(MODERN, "http", FORM_AND_URL, "a", OTHER_TOKEN)
    assert world.runs(request.node.name) == []
    assert text_of(asked.answer()) == "wrote what was approved"


@pytest.mark.guards("client-state")
@pytest.mark.spec("MCP-49")
def test_a_client_over_stdio_and_a_client_over_http_cannot_answer_for_each_other(world, client, request):
    stdio = world.client(MODERN, "stdio", FORM_AND_URL)
    over_http, over_stdio = ask(client, request.node.name), ask(stdio, request.node.name)
    assert is_refused(over_http._replace(client=stdio).answer())
    assert is_refused(over_stdio._replace(client=client).answer())
    assert world.runs(request.node.name) == []


@pytest.mark.spec("MCP-49")
def test_a_legacy_client_cannot_answer_with_the_fields_of_the_modern_protocol(world, client, request):
    asked = ask(client, request.node.name)
    legacy = world.client(LEGACY, "http", FORM).answers(DECLINE)
    assert is_failed(asked._replace(client=legacy).answer())
    assert len(legacy.questions) == 1
    assert world.runs(request.node.name) == []


@pytest.mark.guards("model-answers")
@pytest.mark.spec("MCP-49")
def test_an_approval_expires(tmp_path):
    clock = JumpingClock(tmp_path / "clock")
    with AskingWorld(tmp_path / "world", "old", env=clock.env) as world:
        client = world.client(MODERN, "http", FORM_AND_URL)
        early, late = ask(client, "early"), ask(client, "late")
        assert text_of(early.answer()) == "wrote what was approved"
        clock.set(1)
        assert is_refused(late.answer())
        assert is_refused(early.answer())
        assert (world.runs("early"), world.runs("late")) == (["old.write"], [])


def listed(client, tool):
    """Return the description with which a tool is listed, or None."""
    cursor: dict[str, Any] = {}
    while True:
        page = client.request("tools/list", **cursor)["result"]
        for entry in page["tools"]:
            if entry["name"] == tool:
                return entry["description"]
        if "nextCursor" not in page:
            return None
        cursor = {"cursor": page["nextCursor"]}


@pytest.mark.guards("model-answers")
@pytest.mark.spec("MCP-49")
@pytest.mark.parametrize("server", ["old_changed", "old_approved"])
def test_a_definition_that_changed_after_the_question_is_not_approved_by_the_answer(
    world, client, server, request
):
    """Neither while it is quarantined nor after the user approved the new definition."""
    tool = f"{server}__write"
    asked = ask(client, request.node.name, tool)
    world.change_definition(server, "write", description="Changed.")
    if server == "old_approved":
        onetool("servers", "approve", server, "--yes", env=world.home.env, cwd=world.home.cwd)
        assert wait_until(lambda: "Changed." in (listed(client, tool) or ""))
    else:
        assert wait_until(lambda: listed(client, tool) is None)
    assert is_refused(asked.answer())
    assert world.runs(request.node.name) == []


@pytest.mark.spec("MCP-50")
@pytest.mark.parametrize("process", ["a", "b"])
@pytest.mark.parametrize("server", ["old", "new"])
def test_the_answer_to_a_servers_question_is_accepted_once(world, client, server, process, request):
    asked = ask(client, request.node.name, f"{server}__ask_name", accept(name="Ada"))
    other = world.client(MODERN, "http", FORM_AND_URL, process)
    assert is_refused(asked._replace(client=other, tool=f"{server}__ask_two").answer())
    assert text_of(asked._replace(client=other).answer()) == "hello Ada"
    for again in (asked, asked._replace(client=other), asked.with_answer(accept(name="Eve"))):
        assert is_refused(again.answer())
    assert world.runs(request.node.name) == [f"{server}.ask_name"]
    assert world.count(server, "ask_name", request.node.name, "end") == 1


@pytest.mark.spec("MCP-50")
@pytest.mark.parametrize("server", ["old", "new"])
def test_the_state_of_the_first_question_does_not_answer_the_second(world, client, server, request):
    first = ask(client, request.node.name, f"{server}__ask_two", accept(name="Ada"))
    response = first.answer()
    second = asked_by(response, client, first.tool, first.arguments, accept(name="Lovelace"))
    assert is_refused(first.with_answer(accept(name="Eve")).answer())
    forged = first._replace(answers=dict.fromkeys(second.answers, accept(name="Eve")))
    assert is_refused(forged.answer())
    assert text_of(second.answer()) == "hello Ada and Lovelace"
    assert world.runs(request.node.name) == [f"{server}.ask_two"]


@pytest.mark.guards("model-answers")
@pytest.mark.spec("MCP-43", "MCP-49")
def test_an_approval_inside_run_approves_one_inner_call(tmp_path):
    with AskingWorld(tmp_path, "old", expose="run") as world:
        client = world.client(MODERN, "http", FORM_AND_URL)
        lines = [f'old.write(id="inner", text={json.dumps(word)})' for word in ("one", "two")]
        arguments = {"command": "\n".join(lines)}
        first = asked_by(call(client, "run", arguments), client, "run", arguments, ALLOW)
        assert is_refused(first.with_arguments(command=lines[1]).answer())
        assert world.runs("inner") == []
        second = asked_by(first.answer(), client, "run", arguments, ALLOW)
        assert is_refused(first.answer())
        assert world.runs("inner") == ["old.write"]
        assert text_of(second.answer()) == "wrote two"
        assert is_refused(second.answer())
        assert world.runs("inner") == ["old.write"] * 2
