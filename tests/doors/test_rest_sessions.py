"""Kept conversations over REST: listed, shown, named, removed; names lead nowhere else."""

import asyncio

import pytest

from chatting import SETTINGS, question, told, wants, write_script
from onetool.domain.page_tokens import write_token
from onetool.testing import memory_runtime
from rest_app import served

MARKUP = "<img src=x onerror=alert(1)>\n{{7*7}} \u2028 \x00"


@pytest.fixture
async def client(tmp_path):
    async with memory_runtime(settings=SETTINGS, cwd=tmp_path) as ot, served(ot.runtime) as found:
        yield found


async def test_sessions_are_listed_page_by_page_the_newest_first(tmp_path):
    """The cursor leads on to the last one; one that nobody gave is refused."""
    async with memory_runtime(settings=SETTINGS, cwd=tmp_path) as ot, served(ot.runtime) as client:
        for number in range(53):
            record = {"type": "message", "role": "user", "text": f"Question {number}", "at": 1.0}
            ot.runtime.sessions.append(f"s{number}", [record])
        first = (await client.get("/sessions")).json()
        second = (await client.get("/sessions", params={"cursor": first["next"]})).json()
        assert (len(first["sessions"]), len(second["sessions"]), second["next"]) == (50, 3, None)
        assert {it["id"] for it in first["sessions"] + second["sessions"]} == {f"s{n}" for n in range(53)}
        assert first["sessions"][0].keys() == {"id", "title", "at", "messages"}
        forged = write_token({"kind": "sessions", "after": "x"})
        for cursor in ("x", forged, write_token({"kind": "tools", "after": None})):
            assert (await client.get("/sessions", params={"cursor": cursor})).status_code == 400


async def test_a_session_is_named_and_removed(client, tmp_path):
    """The title is a line of text; markup in it stays text, in JSON."""
    write_script(tmp_path, {"text": MARKUP})
    await told(client, question(session="work", text=MARKUP))
    named = await client.patch("/sessions/work", json={"title": f" {MARKUP} "})
    assert (named.status_code, named.headers["content-type"]) == (200, "application/json")
    assert named.json() == {"id": "work", "title": MARKUP.splitlines()[0]}
    listed = (await client.get("/sessions")).json()["sessions"]
    assert [it["title"] for it in listed] == [MARKUP.splitlines()[0]]
    shown = await client.get("/sessions/work")
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert [it["text"] for it in shown.json()["messages"]] == [MARKUP, MARKUP]
    assert (await client.delete("/sessions/work")).status_code == 204
    for method, body in (("GET", None), ("PATCH", {"title": "x"}), ("DELETE", None)):
        assert (await client.request(method, "/sessions/work", json=body)).status_code == 404
    for title in ("", "  ", "x" * 1001, 5, None):
        assert (await client.patch("/sessions/work", json={"title": title})).status_code == 400


async def test_rubbish_that_a_model_wrote_is_shown_as_it_stands(client, tmp_path):
    """Arguments that are no JSON are a text."""
    turn = {"calls": [{"name": "time.now", "args": "{not json"}]}
    write_script(tmp_path, turn, {"text": "Oh."})
    await told(client, question(session="odd"))
    (call,) = (await client.get("/sessions/odd")).json()["messages"][1]["calls"]
    assert call["args"] == "{not json"


async def test_the_name_of_a_session_is_no_path(tmp_path):
    """Nothing but sessions is read, written or removed, however it is spelt."""
    outside = tmp_path / "outside.jsonl"
    outside.write_text('{"type": "message", "role": "user", "text": "hunter2"}\n')
    async with memory_runtime(settings=SETTINGS, cwd=tmp_path) as ot, served(ot.runtime) as client:
        names = ("..%2foutside", "%2e%2e%2foutside", "..", ".hidden", "a%00b", "%2fetc%2fpasswd", "a" * 101)
        for name in names:
            for method in ("GET", "DELETE"):
                reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
                token = client.headers["authorization"]
                head = f"Host: localhost\r\nAuthorization: {token}\r\nConnection: close"
                writer.write(f"{method} /sessions/{name} HTTP/1.1\r\n{head}\r\n\r\n".encode())
                answer = await reader.read()
                writer.close()
                await writer.wait_closed()
                assert answer.split()[1] in (b"400", b"404"), name
                assert b"hunter2" not in answer
    assert outside.exists()


async def test_a_question_may_follow_the_end_of_the_last_at_once(client, tmp_path):
    """Whoever reads `done` finds the session free."""
    write_script(tmp_path, wants(("time.now", {})), {"text": "Yes."})
    for _ in range(10):
        async with client.stream("POST", "/chat", json=question(session="quick")) as response:
            assert response.status_code == 200
            async for line in response.aiter_lines():
                if line == "event: done":
                    break
