"""Code, usage, health and providers over REST."""

import pytest

from onetool.domain import Registry
from onetool.domain.errors import WorkspaceUnavailable
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import memory_runtime
from support.rest_in_process import serve_memory, serve_rest

pytestmark = pytest.mark.asyncio(loop_scope="module")


class AwaySource(SnapshotSource):
    """A source whose database does not answer."""

    async def packs(self):
        raise WorkspaceUnavailable("The database is away.")


class UnlistedSource(SnapshotSource):
    """A source whose database answers all questions but the one for the list of tools."""

    is_away = True

    async def page(self, cursor, limit):
        if self.is_away:
            raise WorkspaceUnavailable("The database is away.")
        return await super().page(cursor, limit)


async def test_run_returns_the_result_and_the_calls(client):
    """With printed output, and the text that a model would read."""
    code = "print('hi')\ntools.echo(message='a')\ntime.now()['iso'][:2]"
    result = (await client.post("/run", json={"command": code})).json()
    assert (result["ok"], result["data"], result["printed"]) == (True, "20", "hi\n")
    assert result["text"] == "hi\n20"
    assert [(call["name"], call["ok"]) for call in result["calls"]] == [
        ("tools.echo", True),
        ("time.now", True),
    ]
    assert all(call["durationMs"] >= 0 for call in result["calls"])
    assert "error" not in result
    assert "handle" not in result


async def test_failed_code_returns_the_error_and_the_calls(client):
    """The status is 200."""
    result = (await client.post("/run", json={"command": "tools.echo(message='a')\n1 / 0"})).json()
    assert (result["ok"], "line 2" in result["error"]["message"]) == (False, True)
    assert result["error"].keys() == {"tool", "code", "reason", "message"}
    assert [call["name"] for call in result["calls"]] == ["tools.echo"]
    assert "Error: " in result["text"]
    for body in ({}, {"command": 5}, {"command": "x" * 100_001}, {"command": "1", "more": 2}):
        assert (await client.post("/run", json=body)).status_code == 400


async def test_code_whose_packs_cannot_be_read_does_not_run():
    source = AwaySource(StaticReader("far", Registry()))
    async with serve_memory(sources=[source]) as client:
        response = await client.post("/run", json={"command": "print('hi')"})
        assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
        assert response.json()["error"]["message"] == (
            "The code did not run: The database is away. Try again later."
        )
        assert "printed" not in response.json()


async def test_code_that_has_run_keeps_its_result_if_its_saving_cannot_be_estimated():
    """The saving of the session is counted by a later run."""
    source = UnlistedSource(StaticReader("far", Registry()))
    async with serve_memory(sources=[source]) as client:
        command = {"command": "tools.echo(message='a')"}
        assert (await client.post("/run", json=command)).json()["data"] == "a"
        assert (await client.get("/usage")).json()["contextSaved"] == 0
        source.is_away = False
        assert (await client.post("/run", json=command)).json()["data"] == "a"
        assert (await client.get("/usage")).json()["contextSaved"] > 0


async def test_a_large_result_has_a_handle_and_the_calls_are_limited():
    """The first 1,000 calls are returned, and the text is a preview."""
    settings = {"output": {"max_inline_size": 500}, "execution": {"run_max_calls": 1100}}
    async with memory_runtime(settings=settings) as ot, serve_rest(ot.runtime) as client:
        code = "[tools.echo(message=str(n)) for n in range(1001)]"
        result = (await client.post("/run", json={"command": code})).json()
        assert (result["ok"], len(result["data"]), len(result["calls"])) == (True, 1001, 1000)
        assert result["handle"] in result["text"]
        assert await ot.runtime.state.results.text(result["handle"], reader="local")


async def test_signatures_are_listed_by_pack(monkeypatch, client):
    """The number of signatures is limited."""
    packs = (await client.get("/signatures")).json()["packs"]
    now = next(entry for entry in packs["time"] if entry["name"] == "now")
    assert now["signature"].startswith("time.now(")
    assert now["description"]
    monkeypatch.setattr("onetool.interfaces.rest.routes.run.MAX_SIGNATURES", 3)
    few = (await client.get("/signatures")).json()["packs"]
    assert sum(map(len, few.values())) == 3


async def test_usage_by_tool_and_hour():
    """Unknown periods are rejected."""
    async with serve_memory() as client:
        await client.post("/run", json={"command": "tools.echo(message='a'); time.now(); 1"})
        await client.post("/tools/call", json={"name": "tools.echo"})
        result = (await client.get("/usage?period=day")).json()
        assert (result["totalCalls"], result["successRate"]) == (3, 66.7)
        assert result["tools"]["tools.echo"]["calls"] == 2
        assert result["tools"]["tools.echo"].keys() == {"calls", "successRate", "meanMs", "maxMs"}
        assert result["timeSavedMs"] > 0
        assert result["contextSaved"] > 0
        assert [(hour["calls"], hour["failed"]) for hour in result["hours"]] == [(3, 1)]
        assert (await client.get("/usage?period=year")).status_code == 400
    async with serve_memory(settings={"stats": {"enabled": False}}) as client:
        response = await client.get("/usage")
        assert (response.status_code, "stats.enabled" in response.json()["detail"]) == (409, True)


async def test_health_contains_problems_and_fixes():
    settings = {"servers": {"gone": {"command": "no-such-program"}}}
    async with serve_memory(settings=settings) as client:
        result = (await client.get("/health")).json()
        nothing = {"disabledTools": [], "warnings": []}
        assert result["servers"] == {"gone": {"state": "configured", "reason": "", **nothing}}
        result = (await client.get("/health?connect=true")).json()
        reason = "command 'no-such-program' not found; use an absolute path or a command on PATH"
        assert result["servers"] == {"gone": {"state": "failed", "reason": reason, **nothing}}
        assert result["problems"][0]["fix"] == "Fix the cause, then test it: onetool servers test gone"
        assert result.keys() == {
            *(
                "version",
                "python",
                "cwd",
                "toolCount",
                "failures",
                "skipped",
                "servers",
                "untrustedFiles",
                "abandoned",
                "unwritable",
                "unavailableSecrets",
                "settingsError",
                "blockedLoop",
            ),
            "problems",
        }


async def test_providers_and_the_locations_of_their_keys(monkeypatch):
    """The response contains no key."""
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    async with serve_memory() as client:
        result = (await client.get("/providers")).json()
        assert result["default"] is None
        assert {entry["name"]: entry["key"] for entry in result["providers"]}["ollama"] == "not needed"
    monkeypatch.setenv("GOOGLE_API_KEY", "hunter2hunter2")
    options = {
        "settings": {"providers": {"mine": {"key_secret": "MINE"}}},
        "secrets": {"OPENAI_API_KEY": "sk-hunter2"},
    }
    async with serve_memory(**options) as client:
        response = await client.get("/providers")
        assert response.json()["default"] == "mine"
        assert {entry["name"]: entry["key"] for entry in response.json()["providers"]} == {
            "mine": "missing",
            "openai": "secrets.yaml",
            "anthropic": "missing",
            "gemini": "environment",
            "ollama": "not needed",
            "scripted": "not needed",
        }
        assert "hunter2" not in response.text


async def test_a_body_that_is_not_json_is_rejected_with_400(client):
    for path, depth in (("/run", 100_000), ("/chat", 100_000), ("/login", 4_000)):
        for body in (b"", b"{", b"\xff", b"null", b"[" * depth):
            response = await client.post(path, content=body, headers={"Content-Type": "application/json"})
            assert response.status_code == 400, response.text
