"""Chats of a workspace at several hosted processes: one question at a time in a session."""

import threading

import pytest

from interfaces.replica_chats import ALLOW, ALWAYS, chat, open_chat
from interfaces.replicas import new_id
from support.processes import wait_until
from support.prompted_model import call_prompt, hold_prompt
from support.waiting import HANG_S

SAY = '{"say": "hi"}'


@pytest.fixture
def model(prompted_model):
    return prompted_model


@pytest.fixture
def world(hosted_replicas):
    return hosted_replicas


class HeldChat:
    """A question that the model answers when a test allows it."""

    def __init__(self, model, client, session):
        self._model, self.name, self.result = model, new_id("held"), None
        self._thread = threading.Thread(target=self._run, args=(client, session))
        self._thread.start()
        assert wait_until(lambda: self.name in model.held)

    def _run(self, client, session):
        self.result, _ = chat(client, hold_prompt(self.name), session)

    def release(self):
        self._model.release(self.name)
        self._thread.join(HANG_S)
        return self.result["answer"]


def test_a_session_continues_at_every_process(world):
    client, session = world.client(), new_id("talk")
    for number in range(1, 7):
        result, _ = chat(client, SAY, session)
        assert (result["answer"], result["error"]) == ("said: hi", None)
        messages = client.get(f"/sessions/{session}").json()["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant"] * number


def test_a_session_runs_one_question_at_a_time(world, model):
    session, other_owner = new_id("busy"), world.new_key("ben")
    held = HeldChat(model, world.client("a"), session)
    for method in ("GET", "DELETE"):
        assert world.client("b", other_owner).request(method, f"/sessions/{session}").status_code == 404
    for at in ("a", "b", "c"):
        client = world.client(at)
        busy = client.post("/chat", json={"text": SAY, "provider": "fake", "session": session})
        assert (busy.status_code, "is busy" in busy.json()["detail"]) == (409, True)
        assert client.delete(f"/sessions/{session}").status_code == 409
        renamed = client.patch(f"/sessions/{session}", json={"title": at})
        assert (renamed.status_code, renamed.json()["title"]) == (200, at)
        bens = world.client(at, other_owner)
        assert chat(bens, SAY, session)[0]["answer"] == "said: hi"
    assert held.release() == f"said: {held.name}"
    assert chat(world.client("b"), SAY, session)[0]["answer"] == "said: hi"
    mine = world.client("c").get(f"/sessions/{session}").json()["messages"]
    assert [message["role"] for message in mine] == ["user", "assistant"] * 2
    assert len(world.client("c", other_owner).get(f"/sessions/{session}").json()["messages"]) == 6


def test_what_is_always_approved_holds_at_every_process(world):
    """In this session, of this owner."""
    session, prompt = new_id("always"), call_prompt("old_http__write", id=new_id("w"), text="x")
    assert chat(world.client("a"), prompt, session, ALWAYS)[1] == 1
    for at in ("b", "c", "a"):
        assert chat(world.client(at), prompt, session)[0]["answer"] == "result: wrote x"
    assert chat(world.client("b"), prompt, new_id("other"), ALLOW)[1] == 1
    assert chat(world.client("b", world.new_key("ben")), prompt, session, ALLOW)[1] == 1
    assert world.client("c").delete(f"/sessions/{session}").status_code == 204
    assert chat(world.client("b"), prompt, session, ALLOW)[1] == 1


def test_a_session_is_free_some_time_after_its_process_was_killed(world, model):
    session, name = new_id("killed"), new_id("held")
    with open_chat(world.client("c"), hold_prompt(name), session) as events:
        assert next(events)[0] == "session"
        assert wait_until(lambda: name in model.held)
        body = {"text": SAY, "provider": "fake", "session": session}
        client = world.client("b")
        assert client.post("/chat", json=body).status_code == 409
        world.kill("c")
        assert wait_until(lambda: client.post("/chat", json=body).status_code == 200)
    model.release(name)
    messages = client.get(f"/sessions/{session}").json()["messages"]
    assert [message["role"] for message in messages] == ["user", "user", "assistant"]
    world.restart("c")
