"""The chat over a socket: events, approvals, disconnects and errors."""

import asyncio
import json

import pytest

from interfaces.rest.asking_tools import NAME_FORM, AskingTools
from onetool.conversation.session_approvals import SessionApprovals
from onetool.domain.calls.approval_request import approval_request
from onetool.domain.calls.question import Answer
from onetool.domain.errors import SettingsError, WorkspaceUnavailable
from onetool.interfaces.rest.active_chats import STOPPED, ActiveChats
from onetool.interfaces.rest.schemas.chat import ChatBody
from onetool.storage.memory.chats import MAX_SESSIONS, MemorySessionApprovals
from onetool.storage.postgres.chats import PostgresSessionLeases
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.testing import memory_runtime
from onetool.threads import Threads
from support.chat_client import SETTINGS, collect_events, question, read_events, write_script
from support.rest_in_process import serve_rest
from support.scripted_model import scripted_calls
from support.waiting import HANG_S, until

SECRET = "hunter2hunter2"


class Probes(AskingTools):
    """Tools that report to the test, and one that returns a secret."""

    def __init__(self) -> None:
        super().__init__()

        def leak() -> str:
            """Return a secret."""
            return f"the key is {SECRET}"

        self.packs["demo"].append(leak)


@pytest.fixture
async def probes():
    return Probes()


@pytest.fixture
async def client(probes, tmp_path):
    settings = SETTINGS | {"execution": {"timeout_s": 3600}}
    runtime = memory_runtime(probes.packs, settings=settings, secrets={"KEY": SECRET}, cwd=tmp_path)
    async with runtime as ot, serve_rest(ot.runtime) as client:
        yield client


async def test_a_question_is_streamed_from_session_to_done(client, tmp_path):
    """Calls, results and text are in order. `done` has the output of `onetool ask --json`."""
    write_script(
        tmp_path, scripted_calls(("time.now", {})), {"text": "one\ntwo\r\n\nevent: x", "expect": "iso"}
    )
    events = await collect_events(client, question())
    kinds = [kind for kind, _ in events]
    assert kinds[:3] == ["session", "call", "result"]
    assert kinds[-1] == "done"
    assert set(kinds[3:-1]) == {"text"}
    text = "".join(data["text"] for kind, data in events if kind == "text")
    call, result, answer = events[1][1], events[2][1], events[-1][1]
    assert text == answer["answer"] == "one\ntwo\r\n\nevent: x"
    assert call == {"id": "call_1", "name": "time.now", "args": {}}
    assert (result["id"], result["ok"], result["meta"]["tool"]) == ("call_1", True, "time.now")
    assert (answer["session"], answer["provider"]) == (events[0][1]["id"], "scripted")
    assert answer["toolResults"][0]["data"] == result["data"]
    assert {"toolCalls", "toolError", "tokens", "cost", "error", "model"} <= answer.keys()


async def test_a_session_can_be_continued_and_shown(client, tmp_path):
    write_script(tmp_path, scripted_calls(("demo.leak", {})), {"text": "Hello."})
    await collect_events(client, question(session="work"))
    write_script(tmp_path, {"text": "Again."})
    events = await collect_events(client, question(session="work", text="More."))
    assert events[0] == ("session", {"id": "work"})
    session = (await client.get("/sessions/work")).json()
    assert [message["role"] for message in session["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert session["title"] == "Go."
    request, response = session["messages"][1:3]
    assert request["calls"] == [{"id": "call_1", "name": "demo.leak", "args": {}}]
    assert (response["callId"], response["failed"]) == ("call_1", False)
    assert all(message["at"] > 1e9 for message in session["messages"])
    assert SECRET not in json.dumps([events, session])


async def test_events_contain_no_secrets(client, tmp_path):
    """Neither results of tools nor text of the model."""
    write_script(tmp_path, scripted_calls(("demo.leak", {})), {"text": f"It is {SECRET} ."})
    async with client.stream("POST", "/chat", json=question()) as response:
        assert SECRET not in (await response.aread()).decode()


ALLOW = {"action": "accept", "content": {"allow": True}}
ALWAYS = {"action": "accept", "content": {"allow": True, "always": True}}
REFUSE = {"action": "accept", "content": {"allow": False}}
DECLINE = {"action": "decline"}


async def ask_with_answers(client, answers, **fields):
    """Ask, and answer each question twice. Return all events, and the statuses of the answers."""
    events, statuses, answers = [], [], list(answers)
    async with client.stream("POST", "/chat", json=question(**fields)) as response:
        async for kind, data in read_events(response):
            events.append((kind, data))
            if kind == "question":
                body = {"answers": {data["id"]: answers.pop(0)}}
                for _ in range(2):
                    answered = await client.post(f"/jobs/{data['job']}/answers", json=body)
                    statuses.append(answered.status_code)
    return events, statuses


async def test_a_tool_that_is_not_read_only_runs_only_if_approved(client, tmp_path, probes):
    """Each approval can be decided once."""
    write_script(tmp_path, scripted_calls(("demo.change", {"what": "it"})), {"text": "Done."})
    events, statuses = await ask_with_answers(client, [ALLOW])
    (asked,) = [data for kind, data in events if kind == "question"]
    assert (asked["kind"], asked["server"], asked["approval"]["tool"]) == ("approval", "", "demo.change")
    assert asked["approval"]["arguments"] == [{"name": '"what"', "value": '"it"', "hidden": 0}]
    assert (statuses, probes.changed) == ([200, 409], 1)
    for answer in (REFUSE, DECLINE, {"action": "cancel"}):
        events, _ = await ask_with_answers(client, [answer])
        failed = next(data for kind, data in events if kind == "result")
        assert (failed["ok"], failed["meta"]["reason"]) == (False, "needs_approval")
    assert probes.changed == 1


@pytest.mark.spec("MCP-44")
async def test_questions_of_servers_reach_the_user_of_the_chat(client, tmp_path):
    """With the name of the server. The answer reaches the tool; a refusal is not a cancellation."""
    write_script(tmp_path, scripted_calls(("demo.ask_name", {})), {"text": "Done."})
    for answer, expected in [
        ({"action": "accept", "content": {"name": "Ada"}}, "Ada"),
        (DECLINE, "decline"),
        ({"action": "cancel"}, "cancel"),
    ]:
        events, statuses = await ask_with_answers(client, [answer])
        asked, result = (
            next(data for kind, data in events if kind == wanted) for wanted in ("question", "result")
        )
        assert (asked["kind"], asked["server"], asked["message"]) == (
            "form",
            "people",
            "What is your name?",
        )
        assert asked["schema"] == NAME_FORM
        assert (result["data"], statuses) == (expected, [200, 409])


async def test_always_applies_to_one_tool_in_one_session(client, tmp_path, probes):
    """Until the session is deleted."""
    turn = scripted_calls(("demo.change", {"what": "it"}))
    write_script(tmp_path, turn, turn, {"text": "Done."})
    _, statuses = await ask_with_answers(client, [ALWAYS], session="one")
    assert (statuses, probes.changed) == ([200, 409], 2)
    _, statuses = await ask_with_answers(client, [], session="one")
    assert (statuses, probes.changed) == ([], 4)
    _, statuses = await ask_with_answers(client, [REFUSE, REFUSE], session="other")
    assert (len(statuses), probes.changed) == (4, 4)
    assert (await client.delete("/sessions/one")).status_code == 204
    _, statuses = await ask_with_answers(client, [REFUSE, REFUSE], session="one")
    assert (len(statuses), probes.changed) == (4, 4)


async def test_a_refusal_with_always_approves_nothing(client, tmp_path, probes):
    turn = scripted_calls(("demo.change", {"what": "it"}))
    write_script(tmp_path, turn, turn, {"text": "Done."})
    refuse_always = {"action": "accept", "content": {"allow": False, "always": True}}
    _, statuses = await ask_with_answers(client, [refuse_always, {**ALWAYS, "action": "decline"}])
    assert (len(statuses), probes.changed) == (4, 0)


async def test_an_approval_is_asked_again_with_nothing_hidden(client, tmp_path, probes):
    long = "x" * 5_000
    write_script(tmp_path, scripted_calls(("demo.change", {"what": long})), {"text": "Done."})
    show = {"action": "accept", "content": {"allow": True, "show_everything": True}}
    events, _ = await ask_with_answers(client, [show, ALLOW])
    short, complete = [data["message"] for kind, data in events if kind == "question"]
    assert (long in short, long in complete, probes.changed) == (False, True, 1)


async def test_oldest_always_decisions_are_discarded():
    asked = []
    request = approval_request("demo.change", {"a": 1}, lambda value: value)
    approvals = SessionApprovals(MemorySessionApprovals(), Threads())

    async def approve_always(question):
        asked.append(question)
        return Answer("accept", {"allow": True, "always": True})

    for number in range(MAX_SESSIONS + 1):
        assert await approvals.handler(f"s{number}", approve_always)(request)
    assert await approvals.handler("s1", approve_always)(request)
    assert len(asked) == MAX_SESSIONS + 1
    assert await approvals.handler("s0", approve_always)(request)
    assert len(asked) == MAX_SESSIONS + 2


async def test_a_disconnect_cancels_the_tools_and_stores_the_conversation(client, tmp_path, probes):
    """The call is marked as failed, and the session is free again."""
    write_script(tmp_path, {"text": "Looking.", **scripted_calls(("demo.wait", {}))}, {"text": "Never said."})
    async with client.stream("POST", "/chat", json=question(session="left")):
        await probes.started.wait()
        busy = await client.post("/chat", json=question(session="left"))
        assert (busy.status_code, "is busy" in busy.json()["detail"]) == (409, True)
        assert (await client.delete("/sessions/left")).status_code == 409
    async with asyncio.timeout(HANG_S):
        await probes.cancelled.wait()
    messages = (await client.get("/sessions/left")).json()["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert (messages[1]["text"], messages[2]["failed"]) == ("Looking.", True)
    write_script(tmp_path, {"text": "Here."})
    assert (await collect_events(client, question(session="left")))[-1][1]["answer"] == "Here."


async def test_sessions_run_concurrently(client, tmp_path, probes):
    write_script(tmp_path, scripted_calls(("demo.wait", {})))
    async with client.stream("POST", "/chat", json=question(session="slow")):
        await probes.started.wait()
        write_script(tmp_path, {"text": "Quick."})
        events = await collect_events(client, question(session="fast"))
        assert events[-1][1]["answer"] == "Quick."


async def test_a_question_cannot_select_the_script_file(client, tmp_path):
    """Only the settings can. Otherwise clients could read any file."""
    write_script(tmp_path, {"text": "From the settings."})
    (tmp_path / "other.json").write_text('[{"text": "hunter2"}]')
    for model in ("other.json", str(tmp_path / "other.json"), "/etc/passwd"):
        events = await collect_events(client, question(model=model))
        assert events[-1][1]["answer"] == "From the settings."


async def test_invalid_questions_are_rejected_before_the_stream(client, tmp_path):
    """The response is a problem, not an event."""
    write_script(tmp_path, {"text": "Hi."})
    for body, status, message in [
        (question(provider="opnai"), 400, "Did you mean openai"),
        (question(session="../../etc/passwd"), 400, "Invalid session name"),
        (question(session=""), 400, "Invalid session name"),
        (question(text="  "), 400, "text"),
        (question(tools="some"), 400, "tools"),
        (question(yes=True), 400, "yes: unknown field"),
    ]:
        response = await client.post("/chat", json=body)
        assert (response.status_code, message in response.json()["detail"]) == (status, True), response.text
        assert response.headers["content-type"] == "application/problem+json"


async def test_a_failure_of_the_model_ends_the_stream_with_the_reason(client, tmp_path):
    """The last event is always `done`, and the messages so far are stored."""
    write_script(tmp_path, {"error": {"kind": "rate_limited", "message": "Slow down."}})
    events = await collect_events(client, question(session="failed"))
    assert events[-1][1]["error"] == {"kind": "rate_limited", "message": "Slow down."}
    assert len((await client.get("/sessions/failed")).json()["messages"]) == 1


async def test_only_allowed_tools_are_called(client, tmp_path, probes):
    write_script(tmp_path, scripted_calls(("demo.leak", {})), {"text": "No."})
    events = await collect_events(client, question(toolAllow=["time.now"]))
    assert events[-1][1]["toolResults"][0]["meta"]["reason"] == "not_allowed"
    for options in ({"toolAllow": []}, {"withTools": False, "tools": "search"}):
        assert (await collect_events(client, question(**options)))[-1][1]["toolResults"] == []


class Sessions:
    """A session store that fails or blocks."""

    def __init__(self, error=None):
        self.error, self.reached, self.resume = error, asyncio.Event(), asyncio.Event()

    async def append(self, session, records):
        raise self.error

    async def read(self, session):
        return ()

    async def reap(self, before, keep=None):
        self.reached.set()
        if self.error is None:
            await self.resume.wait()
        return 0


async def test_an_internal_error_ends_the_stream(tmp_path):
    """For example a full disk."""
    write_script(tmp_path, {"text": "Hi."})
    body = ChatBody(**question())
    for error, message in [
        (OSError(28, "full"), "OSError"),
        (SettingsError("Act first."), "Act first."),
        (WorkspaceUnavailable("It is away."), "The store cannot be used: It is away. Try again."),
    ]:
        async with memory_runtime(settings=SETTINGS, cwd=tmp_path) as ot:
            ot.runtime.sessions = Sessions(error)
            stream = await ActiveChats(ot.runtime).ask(body)
            text = b"".join([part async for part in stream.body_iterator]).decode()
        assert "event: done" in text
        assert message in text


async def test_a_disconnect_before_the_first_event_frees_the_session(tmp_path):
    write_script(tmp_path, {"text": "Hi."})
    body = ChatBody(**question(session="early"))
    async with memory_runtime(settings=SETTINGS, cwd=tmp_path) as ot:
        ot.runtime.sessions = store = Sessions()
        chats = ActiveChats(ot.runtime)
        asking = asyncio.ensure_future(chats.ask(body))
        await asyncio.wait_for(store.reached.wait(), HANG_S)
        assert await chats.is_busy("early")
        asking.cancel()
        store.resume.set()
        await asyncio.wait({asking})
        await until(lambda: not chats._running)
        assert not await chats.is_busy("early")


@pytest.mark.parametrize("cause", ["taken", "away"])
async def test_a_question_stops_when_its_session_is_not_reserved_any_more(
    probes, tmp_path, workspace, postgres_url, cause
):
    """Another process has the session, or the database is away for too long. The session is complete."""
    write_script(tmp_path, {"text": "Looking.", **scripted_calls(("demo.wait", {}))}, {"text": "Never said."})
    own = Database(postgres_url)
    rows = WorkspaceDatabase(own, workspace.workspace)
    async with memory_runtime(probes.packs, settings=SETTINGS, cwd=tmp_path) as ot:
        ot.runtime.session_leases = PostgresSessionLeases(rows, Threads(), "here", lease_s=2.0)
        stream = await ActiveChats(ot.runtime).ask(ChatBody(**question(session="s")))
        reading = asyncio.ensure_future(read_all(stream))
        async with asyncio.timeout(HANG_S):
            await probes.started.wait()
            if cause == "taken":
                with workspace.recording() as cursor:
                    cursor.execute("update chat_leases set replica = 'there'")
            else:
                own.close()
            text = await reading
        assert STOPPED in text
        assert probes.cancelled.is_set()
        records = await ot.runtime.sessions.read("s")
        assert [record["role"] for record in records if record["type"] == "message"] == ["user", "assistant"]
    own.close()


async def read_all(stream):
    """Return all events of a stream."""
    return b"".join([part async for part in stream.body_iterator]).decode()
