"""A chat over a real socket: told as it happens, asked before anything changes, kept when somebody leaves."""

import asyncio
import json
import threading

import pytest

from chatting import SETTINGS, events, question, told, wants, write_script
from onetool.domain.errors import SettingsError
from onetool.doors.rest.approvals import SESSIONS, Approvals
from onetool.doors.rest.chats import Chats
from onetool.doors.rest.screen_shapes import ChatBody
from onetool.sdk import tool
from onetool.testing import memory_runtime
from rest_app import served

SECRET = "hunter2hunter2"


class Probes:
    """Tools that tell the test what happens to them."""

    def __init__(self) -> None:
        self.started, self.cancelled, self.changed = asyncio.Event(), asyncio.Event(), 0
        probes = self

        async def wait() -> str:
            """Wait for ever."""
            probes.started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                probes.cancelled.set()
                raise
            return "never"

        @tool(changes=True)
        def change(what: str) -> str:
            """Change something."""
            probes.changed += 1
            return f"changed {what}"

        def leak() -> str:
            """Return what nobody may see."""
            return f"the key is {SECRET}"

        self.packs = {"demo": [wait, change, leak]}


@pytest.fixture
async def probes():
    return Probes()


@pytest.fixture
async def client(probes, tmp_path):
    runtime = memory_runtime(probes.packs, settings=SETTINGS, secrets={"KEY": SECRET}, cwd=tmp_path)
    async with runtime as ot, served(ot.runtime) as found:
        yield found


async def test_a_question_is_told_from_its_session_to_the_whole_answer(client, tmp_path):
    """Calls, results and words in their order; the end is what `onetool ask --json` writes."""
    write_script(tmp_path, wants(("time.now", {})), {"text": "one\ntwo\r\n\nevent: x", "expect": "iso"})
    got = await told(client, question())
    kinds = [kind for kind, _ in got]
    assert kinds[:3] == ["session", "call", "result"]
    assert kinds[-1] == "done"
    assert set(kinds[3:-1]) == {"text"}
    said = "".join(data["text"] for kind, data in got if kind == "text")
    call, result, answer = got[1][1], got[2][1], got[-1][1]
    assert said == answer["answer"] == "one\ntwo\r\n\nevent: x"
    assert call == {"id": "call_1", "name": "time.now", "args": {}}
    assert (result["id"], result["ok"], result["meta"]["tool"]) == ("call_1", True, "time.now")
    assert (answer["session"], answer["provider"]) == (got[0][1]["id"], "scripted")
    assert answer["toolResults"][0]["data"] == result["data"]
    assert {"toolCalls", "toolError", "tokens", "cost", "error", "model"} <= answer.keys()


async def test_a_session_goes_on_and_is_shown(client, tmp_path):
    """What was said is there for the next question, and for whoever looks at it later."""
    write_script(tmp_path, wants(("demo.leak", {})), {"text": "Hello."})
    await told(client, question(session="work"))
    write_script(tmp_path, {"text": "Again."})
    got = await told(client, question(session="work", text="More."))
    assert got[0] == ("session", {"id": "work"})
    shown = (await client.get("/sessions/work")).json()
    assert [it["role"] for it in shown["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert shown["title"] == "Go."
    asked, answered = shown["messages"][1:3]
    assert asked["calls"] == [{"id": "call_1", "name": "demo.leak", "args": {}}]
    assert (answered["callId"], answered["failed"]) == ("call_1", False)
    assert all(it["at"] > 1e9 for it in shown["messages"])
    assert SECRET not in json.dumps([got, shown])


async def test_secrets_are_in_no_event(client, tmp_path):
    """Neither in what a tool returns nor in what a model says."""
    write_script(tmp_path, wants(("demo.leak", {})), {"text": f"It is {SECRET} ."})
    async with client.stream("POST", "/chat", json=question()) as response:
        assert SECRET not in (await response.aread()).decode()


async def answer_of(client, decisions, **fields):
    """Ask, and answer each approval with the next decision; return all events and the statuses."""
    got, statuses = [], []
    async with client.stream("POST", "/chat", json=question(**fields)) as response:
        async for kind, data in events(response):
            got.append((kind, data))
            if kind == "approval":
                body = {"decision": decisions.pop(0)}
                for _ in range(2):
                    answer = await client.post(f"/chat/approvals/{data['id']}", json=body)
                    statuses.append(answer.status_code)
    return got, statuses


async def test_a_tool_that_changes_things_runs_when_somebody_says_so(client, tmp_path, probes):
    """Each question is answered once; a second answer finds nothing that waits."""
    write_script(tmp_path, wants(("demo.change", {"what": "it"})), {"text": "Done."})
    got, statuses = await answer_of(client, ["run"])
    shown = [data for kind, data in got if kind == "approval"]
    assert [(it["tool"], it["args"]) for it in shown] == [("demo.change", {"what": "it"})]
    assert statuses == [204, 404]
    assert probes.changed == 1
    got, _ = await answer_of(client, ["discard"])
    failed = next(data for kind, data in got if kind == "result")
    assert (failed["ok"], failed["meta"]["reason"]) == (False, "needs_approval")
    assert probes.changed == 1


async def test_always_holds_for_that_tool_in_that_session(client, tmp_path, probes):
    """And ends with it: elsewhere, and once the session is removed, somebody is asked again."""
    turn = wants(("demo.change", {"what": "it"}))
    write_script(tmp_path, turn, turn, {"text": "Done."})
    _, statuses = await answer_of(client, ["always"], session="one")
    assert (statuses, probes.changed) == ([204, 404], 2)
    _, statuses = await answer_of(client, [], session="one")
    assert (statuses, probes.changed) == ([], 4)
    _, statuses = await answer_of(client, ["discard", "discard"], session="other")
    assert (len(statuses), probes.changed) == (4, 4)
    assert (await client.delete("/sessions/one")).status_code == 204
    _, statuses = await answer_of(client, ["discard", "discard"], session="one")
    assert (len(statuses), probes.changed) == (4, 4)


async def test_no_answer_is_a_refusal():
    """Nobody waits for ever, and a late answer finds nothing."""
    shown = []
    approvals = Approvals(lambda: "q1", patience=0.01)
    assert await approvals.asking("s", shown.append)("demo.change", {"a": 1}) is False
    assert shown == [{"id": "q1", "tool": "demo.change", "args": {"a": 1}}]
    assert approvals.decide("q1", "run") is False

    approvals = Approvals(lambda: "q2")

    def say_always(question):
        assert approvals.decide(question["id"], "always")

    for number in range(SESSIONS + 1):
        assert await approvals.asking(f"s{number}", say_always)("demo.change", {})
    assert await approvals.asking("s1", pytest.fail)("demo.change", {})
    forgotten = asyncio.ensure_future(approvals.asking("s0", shown.append)("demo.change", {}))
    await asyncio.sleep(0)
    assert shown[-1]["id"] == "q2"
    assert approvals.decide("q2", "discard")
    assert await forgotten is False


async def test_who_leaves_cancels_the_tools_and_keeps_the_conversation(client, tmp_path, probes):
    """What was said until then stays; the call is marked as interrupted, and the session is free again."""
    write_script(tmp_path, {"text": "I look.", **wants(("demo.wait", {}))}, {"text": "Never said."})
    async with client.stream("POST", "/chat", json=question(session="left")):
        await probes.started.wait()
        busy = await client.post("/chat", json=question(session="left"))
        assert (busy.status_code, "already" in busy.json()["detail"]) == (409, True)
        assert (await client.delete("/sessions/left")).status_code == 409
    async with asyncio.timeout(5):
        await probes.cancelled.wait()
    shown = (await client.get("/sessions/left")).json()["messages"]
    assert [it["role"] for it in shown] == ["user", "assistant", "tool"]
    assert (shown[1]["text"], shown[2]["failed"]) == ("I look.", True)
    write_script(tmp_path, {"text": "Here."})
    assert (await told(client, question(session="left")))[-1][1]["answer"] == "Here."


async def test_sessions_do_not_wait_for_each_other(client, tmp_path, probes):
    """Only a session that is busy is."""
    write_script(tmp_path, wants(("demo.wait", {})))
    async with client.stream("POST", "/chat", json=question(session="slow")):
        await probes.started.wait()
        write_script(tmp_path, {"text": "Quick."})
        got = await told(client, question(session="fast"))
        assert got[-1][1]["answer"] == "Quick."


async def test_silence_is_filled_with_comments(client, tmp_path, monkeypatch, probes):
    """So that no proxy takes a thinking model for a dead one."""
    monkeypatch.setattr("onetool.doors.rest.chats.HEARTBEAT_S", 0.01)
    write_script(tmp_path, wants(("demo.wait", {})))
    async with client.stream("POST", "/chat", json=question()) as response:
        async with asyncio.timeout(5):
            async for line in response.aiter_lines():
                if line == ": still here":
                    break


async def test_a_question_names_no_file(client, tmp_path):
    """What the scripted model follows is for the settings to say: a stranger would read any file so."""
    write_script(tmp_path, {"text": "From the settings."})
    (tmp_path / "other.json").write_text('[{"text": "hunter2"}]')
    for model in ("other.json", str(tmp_path / "other.json"), "/etc/passwd"):
        got = await told(client, question(model=model))
        assert got[-1][1]["answer"] == "From the settings."


async def test_what_cannot_be_asked_is_said_before_the_stream(client, tmp_path):
    """A problem, not an event."""
    write_script(tmp_path, {"text": "Hi."})
    for body, status, words in [
        (question(provider="opnai"), 400, "Did you mean openai"),
        (question(session="../../etc/passwd"), 400, "cannot name a session"),
        (question(session=""), 400, "cannot name a session"),
        (question(text="  "), 400, "text"),
        (question(tools="some"), 400, "tools"),
        (question(yes=True), 400, "yes: unknown field"),
    ]:
        answer = await client.post("/chat", json=body)
        assert (answer.status_code, words in answer.json()["detail"]) == (status, True), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
    assert (await client.post("/chat/approvals/x", json={"decision": "run"})).status_code == 404
    assert (await client.post("/chat/approvals/x", json={"decision": "yes"})).status_code == 400


async def test_a_model_that_fails_ends_the_stream_with_the_reason(client, tmp_path):
    """The last event is always `done`; what was said so far is kept."""
    write_script(tmp_path, {"error": {"kind": "rate_limited", "message": "Slow down."}})
    got = await told(client, question(session="failed"))
    assert got[-1][1]["error"] == {"kind": "rate_limited", "message": "Slow down."}
    assert len((await client.get("/sessions/failed")).json()["messages"]) == 1


async def test_only_the_tools_that_are_allowed_are_called(client, tmp_path, probes):
    """Whatever the model asks for."""
    write_script(tmp_path, wants(("demo.leak", {})), {"text": "No."})
    got = await told(client, question(toolAllow=["time.now"]))
    assert got[-1][1]["toolResults"][0]["meta"]["reason"] == "not_allowed"
    for more in ({"toolAllow": []}, {"withTools": False, "tools": "search"}):
        assert (await told(client, question(**more)))[-1][1]["toolResults"] == []


class Sessions:
    """A store of conversations that fails, or that takes its time."""

    def __init__(self, error=None):
        self.error, self.reached, self.go_on = error, threading.Event(), threading.Event()

    def append(self, session, records):
        raise self.error

    def read(self, session):
        return ()

    def reap(self, before, but=None):
        self.reached.set()
        return 0 if self.error else self.go_on.wait(5)


async def test_a_mistake_of_ours_ends_the_stream_too(tmp_path):
    """A disk that cannot be written, say: the reader is told that it is over."""
    write_script(tmp_path, {"text": "Hi."})
    body = ChatBody(**question())
    for error, words in [(OSError(28, "full"), "OSError"), (SettingsError("Act first."), "Act first.")]:
        async with memory_runtime(settings=SETTINGS, cwd=tmp_path) as ot:
            ot.runtime.sessions = Sessions(error)
            stream = await Chats(ot.runtime).ask(body)
            text = b"".join([part async for part in stream.body_iterator]).decode()
        assert "event: done" in text
        assert words in text


async def test_who_leaves_before_the_first_event_leaves_nothing_behind(tmp_path):
    """The session is free again."""
    write_script(tmp_path, {"text": "Hi."})
    body = ChatBody(**question(session="early"))
    async with memory_runtime(settings=SETTINGS, cwd=tmp_path) as ot:
        ot.runtime.sessions = store = Sessions()
        chats = Chats(ot.runtime)
        asking = asyncio.ensure_future(chats.ask(body))
        await asyncio.to_thread(store.reached.wait, 5)
        assert chats.is_busy("early")
        asking.cancel()
        store.go_on.set()
        await asyncio.wait({asking})
        async with asyncio.timeout(5):
            while chats.is_busy("early"):
                await asyncio.sleep(0)
