"""Code, statistics, health and chat models over REST: what the screens show of them."""

from onetool.testing import memory_runtime
from rest_app import served


async def test_code_runs_and_its_calls_are_told():
    """Value, prints, calls, and what a model would read of it."""
    async with memory_runtime() as ot, served(ot.runtime) as client:
        code = "print('hi')\ntools.echo(message='a')\ntime.now()['iso'][:2]"
        said = (await client.post("/run", json={"command": code})).json()
        assert (said["ok"], said["data"], said["printed"]) == (True, "20", "hi\n")
        assert said["text"] == "hi\n20"
        assert [(it["name"], it["ok"]) for it in said["calls"]] == [("tools.echo", True), ("time.now", True)]
        assert all(it["durationMs"] >= 0 for it in said["calls"])
        assert "error" not in said
        assert "handle" not in said


async def test_code_that_fails_says_where_and_which_calls_it_made():
    """A failure is an answer."""
    async with memory_runtime() as ot, served(ot.runtime) as client:
        said = (await client.post("/run", json={"command": "tools.echo(message='a')\n1 / 0"})).json()
        assert (said["ok"], "line 2" in said["error"]["message"]) == (False, True)
        assert said["error"].keys() == {"tool", "code", "reason", "message"}
        assert [it["name"] for it in said["calls"]] == ["tools.echo"]
        assert "Error: " in said["text"]
        for body in ({}, {"command": 5}, {"command": "x" * 100_001}, {"command": "1", "more": 2}):
            assert (await client.post("/run", json=body)).status_code == 400


async def test_a_large_result_has_a_handle_and_many_calls_are_cut():
    """A thousand calls are remembered; the text is a preview."""
    settings = {"output": {"max_inline_size": 500}, "execution": {"run_max_calls": 1100}}
    async with memory_runtime(settings=settings) as ot, served(ot.runtime) as client:
        code = "[tools.echo(message=str(n)) for n in range(1001)]"
        said = (await client.post("/run", json={"command": code})).json()
        assert (said["ok"], len(said["data"]), len(said["calls"])) == (True, 1001, 1000)
        assert said["handle"] in said["text"]
        assert ot.runtime.results.text(said["handle"])


async def test_signatures_are_listed_by_pack(monkeypatch):
    """For whoever types code: names, parameters, one line each; never more than are of use."""
    async with memory_runtime() as ot, served(ot.runtime) as client:
        packs = (await client.get("/signatures")).json()["packs"]
        now = next(it for it in packs["time"] if it["name"] == "now")
        assert now["signature"].startswith("time.now(")
        assert now["description"]
        monkeypatch.setattr("onetool.doors.rest.code.MOST_SIGNATURES", 3)
        few = (await client.get("/signatures")).json()["packs"]
        assert sum(map(len, few.values())) == 3


async def test_statistics_are_those_of_the_report():
    """Figures by tool and by hour; only known periods."""
    async with memory_runtime() as ot, served(ot.runtime) as client:
        await client.post("/run", json={"command": "tools.echo(message='a'); time.now(); 1"})
        await client.post("/tools/call", json={"name": "tools.echo"})
        said = (await client.get("/usage?period=day")).json()
        assert (said["totalCalls"], said["successRate"]) == (3, 66.7)
        assert said["tools"]["tools.echo"]["calls"] == 2
        assert said["tools"]["tools.echo"].keys() == {"calls", "successRate", "meanMs", "maxMs"}
        assert said["timeSavedMs"] > 0
        assert said["contextSaved"] > 0
        assert [(it["calls"], it["failed"]) for it in said["hours"]] == [(3, 1)]
        assert (await client.get("/usage?period=year")).status_code == 400
    async with (
        memory_runtime(settings={"stats": {"enabled": False}}) as ot,
        served(ot.runtime) as client,
    ):
        answer = await client.get("/usage")
        assert (answer.status_code, "stats.enabled" in answer.json()["detail"]) == (409, True)


async def test_health_names_what_is_wrong_and_what_mends_it():
    """A server that does not answer, say."""
    settings = {"servers": {"gone": {"command": "no-such-program"}}}
    async with memory_runtime(settings=settings) as ot, served(ot.runtime) as client:
        said = (await client.get("/health")).json()
        assert said["servers"] == {"gone": False}
        assert said["problems"][0]["fix"] == "See why: onetool servers test gone"
        assert said.keys() == {
            *(
                "version",
                "python",
                "cwd",
                "toolCount",
                "failures",
                "leftOut",
                "servers",
                "heldBack",
                "abandoned",
            ),
            "problems",
        }


async def test_chat_models_and_where_their_keys_are(monkeypatch):
    """Names and places; a key itself is in no answer."""
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    async with memory_runtime() as ot, served(ot.runtime) as client:
        said = (await client.get("/providers")).json()
        assert said["default"] is None
        assert {it["name"]: it["key"] for it in said["providers"]}["ollama"] == "not needed"
    monkeypatch.setenv("GOOGLE_API_KEY", "hunter2hunter2")
    known = {
        "settings": {"providers": {"mine": {"key": "MINE"}}},
        "secrets": {"OPENAI_API_KEY": "sk-hunter2"},
    }
    async with memory_runtime(**known) as ot, served(ot.runtime) as client:
        answer = await client.get("/providers")
        assert answer.json()["default"] == "mine"
        assert {it["name"]: it["key"] for it in answer.json()["providers"]} == {
            "mine": "missing",
            "openai": "secrets.yaml",
            "anthropic": "missing",
            "gemini": "environment",
            "ollama": "not needed",
            "scripted": "not needed",
        }
        assert "hunter2" not in answer.text


async def test_a_body_that_is_no_json_is_a_mistake_of_the_caller():
    """Never a 500."""
    async with memory_runtime() as ot, served(ot.runtime) as client:
        for path in ("/run", "/chat", "/login"):
            for body in (b"", b"{", b"\xff", b"null", b"[" * 100_000):
                answer = await client.post(path, content=body, headers={"Content-Type": "application/json"})
                assert answer.status_code == 400, answer.text
