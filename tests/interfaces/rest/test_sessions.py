"""Stored conversations over REST: list, show, rename, delete."""

import asyncio

import pytest

from onetool.domain.bundles.page_tokens import write_token
from onetool.testing import memory_runtime
from support.chat_client import SETTINGS, collect_events, question, write_script
from support.rest_in_process import serve_memory, serve_rest
from support.scripted_model import scripted_calls

MARKUP = "<img src=x onerror=alert(1)>\n{{7*7}} \u2028 \x00"


@pytest.fixture
async def client(tmp_path):
    async with serve_memory(settings=SETTINGS, cwd=tmp_path) as client:
        yield client


async def test_sessions_are_listed_in_pages(tmp_path):
    """Forged cursors are rejected."""
    async with memory_runtime(settings=SETTINGS, cwd=tmp_path) as ot, serve_rest(ot.runtime) as client:
        for number in range(53):
            record = {"type": "message", "role": "user", "text": f"Question {number}", "at": 1.0}
            await ot.runtime.sessions.append(f"s{number}", [record])
        first = (await client.get("/sessions")).json()
        second = (await client.get("/sessions", params={"cursor": first["next"]})).json()
        assert (len(first["sessions"]), len(second["sessions"]), second["next"]) == (50, 3, None)
        assert {entry["id"] for entry in first["sessions"] + second["sessions"]} == {
            f"s{n}" for n in range(53)
        }
        assert first["sessions"][0].keys() == {"id", "title", "at", "messages"}
        forged = write_token({"kind": "sessions", "after": "x"})
        for cursor in ("x", forged, write_token({"kind": "tools", "after": None})):
            assert (await client.get("/sessions", params={"cursor": cursor})).status_code == 400


async def test_a_session_can_be_renamed_and_deleted(client, tmp_path):
    """The title is one line of text, and markup in it is unchanged."""
    write_script(tmp_path, {"text": MARKUP})
    await collect_events(client, question(session="work", text=MARKUP))
    renamed = await client.patch("/sessions/work", json={"title": f" {MARKUP} "})
    assert (renamed.status_code, renamed.headers["content-type"]) == (200, "application/json")
    assert renamed.json() == {"id": "work", "title": MARKUP.splitlines()[0]}
    listed = (await client.get("/sessions")).json()["sessions"]
    assert [entry["title"] for entry in listed] == [MARKUP.splitlines()[0]]
    shown = await client.get("/sessions/work")
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert [message["text"] for message in shown.json()["messages"]] == [MARKUP, MARKUP]
    assert (await client.delete("/sessions/work")).status_code == 204
    for method, body in (("GET", None), ("PATCH", {"title": "x"}), ("DELETE", None)):
        assert (await client.request(method, "/sessions/work", json=body)).status_code == 404
    for title in ("", "  ", "x" * 1001, 5, None):
        assert (await client.patch("/sessions/work", json={"title": title})).status_code == 400


async def test_invalid_arguments_of_a_model_are_returned_as_text(client, tmp_path):
    turn = {"calls": [{"name": "time.now", "args": "{not json"}]}
    write_script(tmp_path, turn, {"text": "Oh."})
    await collect_events(client, question(session="invalid"))
    (call,) = (await client.get("/sessions/invalid")).json()["messages"][1]["calls"]
    assert call["args"] == "{not json"


async def test_session_names_cannot_access_other_files(tmp_path):
    outside = tmp_path / "outside.jsonl"
    outside.write_text('{"type": "message", "role": "user", "text": "hunter2"}\n')
    async with serve_memory(settings=SETTINGS, cwd=tmp_path) as client:
        names = ("..%2foutside", "%2e%2e%2foutside", "..", ".hidden", "a%00b", "%2fetc%2fpasswd", "a" * 101)
        for name in names:
            for method in ("GET", "DELETE"):
                reader, writer = await asyncio.open_connection(client.base_url.host, client.base_url.port)
                token = client.headers["authorization"]
                head = f"Host: localhost\r\nAuthorization: {token}\r\nConnection: close"
                writer.write(f"{method} /sessions/{name} HTTP/1.1\r\n{head}\r\n\r\n".encode())
                response = await reader.read()
                writer.close()
                await writer.wait_closed()
                assert response.split()[1] in (b"400", b"404"), name
                assert b"hunter2" not in response
    assert outside.exists()


async def test_a_question_may_follow_immediately_after_done(client, tmp_path):
    """The session is free before `done` is sent."""
    write_script(tmp_path, scripted_calls(("time.now", {})), {"text": "Yes."})
    for _ in range(10):
        async with client.stream("POST", "/chat", json=question(session="quick")) as response:
            assert response.status_code == 200
            async for line in response.aiter_lines():
                if line == "event: done":
                    break
