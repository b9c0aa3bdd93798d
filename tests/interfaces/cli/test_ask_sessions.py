"""`onetool ask` with sessions, `onetool sessions`, and keys in `onetool auth`."""

import json
import os
import threading

import pytest

from interfaces.cli.ask_process import (
    ask,
    ask_script,
    call_outcomes,
    message_texts,
    onetool,
    serve_model,
)
from onetool.testing import HttpStub, ScriptedLLM, StubResponse, calls, text
from support.scripted_model import scripted_calls

CHAT = "/v1/chat/completions"
ECHO = ("tools__echo", {"message": "hi"})
KEY = "sk-0123456789-secret"


def files_with(home, text):
    """Return the names of all files of the user that contain a text."""
    files = [file for file in home.root.rglob("*") if file.is_file()]
    return [file.name for file in files if text.encode() in file.read_bytes()]


@pytest.fixture
def providers():
    """Providers that fail in different ways, and one that works, by name."""
    finished = threading.Event()
    responses = {
        "silent": lambda _: finished.wait(20) and StubResponse(""),
        "malformed": StubResponse("<html>Not here</html>"),
        "broken": StubResponse({"error": {"message": "it is broken"}}, 500),
        "strict": StubResponse({"error": {"message": f"wrong key {KEY}"}}, 401),
    }
    stubs = {name: HttpStub({CHAT: response}) for name, response in responses.items()}
    stubs["fake"] = ScriptedLLM([calls(ECHO), text("works again")])
    for stub in stubs.values():
        stub.__enter__()
    yield stubs
    finished.set()
    for stub in stubs.values():
        stub.__exit__(None, None, None)


def test_failures_of_a_provider_lose_no_messages(home, providers):
    """Each failure is reported with exit code 1, and the session can be continued."""
    settings = {
        name: {"base_url": f"{stub.url}/v1", "model": "m", "key_secret": "K"}
        for name, stub in providers.items()
    }
    settings["silent"]["timeout_s"] = 0.3
    home.write("secrets.yaml", f"K: {KEY}\n")
    home.write("onetool.yaml", json.dumps({"providers": settings}))
    kinds = {}
    failing = [name for name in providers if name != "fake"]
    for name in failing:
        answer = ask(f"ask {name}", "--session", "s", provider=name, status=1)
        kinds[name] = answer["error"]["kind"]
        assert (answer["provider"], answer["session"], bool(answer["error"]["message"])) == (name, "s", True)
        assert KEY not in json.dumps(answer)
    assert kinds == {
        "silent": "timeout",
        "malformed": "malformed",
        "broken": "unreachable",
        "strict": "auth",
    }
    assert ask("at last", "--session", "last")["answer"] == "works again"
    assert message_texts(providers["fake"].bodies[0], "user") == [
        *(f"ask {name}" for name in failing),
        "at last",
    ]
    assert files_with(home, KEY) == ["secrets.yaml"]
    assert len(files_with(home, "ask silent")) == 1


def test_calls_before_a_failure_are_stored(home):
    """A later question includes the calls and their results. The failure says how to ask it."""
    turns = [
        scripted_calls(("tools.echo", {"message": "one"})),
        {"error": {"kind": "unreachable", "message": "gone"}},
    ]
    script = home.write("script.yaml", json.dumps(turns))
    done = onetool("ask", "go", "--session", "s", "--provider", "scripted", "--model", str(script))
    assert (done.returncode, "Error: gone" in done.stderr) == (1, True)
    assert "The session is stored. Continue with: onetool ask --session s ..." in done.stderr
    answer = json.loads(done.stdout)
    assert (call_outcomes(answer), answer["sessionContextUpdated"], answer["answer"]) == (["one"], True, "")
    with serve_model(home, text("done")) as llm:
        ask("go on", "--session", "s")
    assert (message_texts(llm.bodies[0]), message_texts(llm.bodies[0], "user")) == (["one"], ["go", "go on"])


def test_repeated_call_ids_do_not_mix_up_results(home):
    """Some models number their calls from one in each turn."""
    turns = [calls(("tools__echo", {"message": word})) for word in ("one", "two")]
    with serve_model(home, *turns, text("done"), text("again")) as llm:
        answer = ask("go", "--session", "s")
        ask("go on", "--session", "s")
    assert call_outcomes(answer) == message_texts(llm.bodies[2]) == ["one", "two"]
    assert message_texts(llm.bodies[3]) == ["one", "two"]


def test_sessions_are_named_listed_and_deleted(home):
    """A session is continued by name or as `last`. --new-session fails for an existing name."""
    turns = [{"text": "hello"}]
    unnamed = ask_script(home, turns)["session"]
    assert ask_script(home, turns, "--new-session", "--session", "mine")["session"] == "mine"
    assert ask_script(home, turns, "--session", "last")["session"] == "mine"
    assert ask_script(home, turns, "--new-session")["session"] not in {unnamed, "mine"}
    for name in ("mine", "last"):
        existing = onetool("ask", "Go.", "--provider", "scripted", "--session", name, "--new-session")
        assert (existing.returncode, existing.stdout, name in existing.stderr) == (2, "", True)
    listed = json.loads(onetool("sessions", "list", "--json").stdout)
    assert len({entry["id"] for entry in listed} & {unnamed, "mine"}) == 2
    assert len(listed) == 3
    shown = onetool("sessions", "show", "mine", "--json")
    assert (shown.returncode, shown.stdout.count('"Go."'), shown.stdout.count('"hello"')) == (0, 2, 2)
    assert onetool("sessions", "delete", "mine").returncode == 0
    deleted = onetool("sessions", "show", "mine")
    assert (deleted.returncode != 0, "'mine'" in deleted.stderr) == (True, True)
    assert "mine" not in [entry["id"] for entry in json.loads(onetool("sessions", "list").stdout)]


def test_invalid_unicode_loses_no_messages(home):
    """Lone surrogates in a question, an argument or a response are stored."""
    turn = calls(ECHO)
    turn["tool_calls"][0]["function"]["arguments"] = r'{"message": "half \ud83d"}'
    with serve_model(home, turn, text("half \ud83d")):
        ask(os.fsdecode(b"half \xff"), "--session", "s")
    shown = onetool("sessions", "show", "s", "--json")
    assert (shown.returncode, shown.stderr) == (0, "")
    messages = [(message["role"], "half" in json.dumps(message)) for message in json.loads(shown.stdout)]
    assert messages == [("user", True), ("assistant", True), ("tool", True), ("assistant", True)]


INVALID_OPTIONS = [
    (("--provider", "no-such"), "no-such"),
    (("--provider", "scripted", "--session", "../up"), "'../up'"),
    (("--provider", "scripted", "--tools", "some"), "'some'"),
    (("--provider", "scripted", "--model", "no-such.yaml"), "no-such.yaml"),
    (("--provider", "scripted", "--session", "last"), "no session"),
]


def test_usage_errors_exit_with_2_and_store_nothing(home):
    for options, message in INVALID_OPTIONS:
        done = onetool("ask", "Go.", *options)
        assert (done.returncode, done.stdout, message in done.stderr) == (2, "", True), done.stderr
        assert "Traceback" not in done.stderr
    assert json.loads(onetool("sessions", "list").stdout) == []


@pytest.mark.linux
def test_a_key_is_stored_used_and_removed(home):
    """The key is read from stdin, stored in a private file and never printed."""
    with serve_model(home, text("hello"), key_secret="FAKE_KEY") as llm:
        login = onetool("auth", "login", "fake", stdin=f"{KEY}\n")
        used = onetool("auth", "use", "fake")
        status = onetool("auth", "status", "--json")
        question = onetool("ask", "hi")
        secrets = home.config / "secrets.yaml"
        assert (secrets.stat().st_mode & 0o777, KEY in secrets.read_text()) == (0o600, True)
        logout = onetool("auth", "logout", "fake")
        after = onetool("auth", "status", "--json")
    done = [login, used, status, question, logout, after]
    assert [command.returncode for command in done] == [0] * 6, [command.stderr for command in done]
    assert KEY not in "".join(command.stdout + command.stderr for command in done)
    assert json.loads(question.stdout)["provider"] == "fake"
    sent = {name.lower(): value for name, value in llm.requests[0].headers.items()}
    assert sent["authorization"] == f"Bearer {KEY}"
    before, later = (
        {entry["provider"]: entry for entry in json.loads(command.stdout)}["fake"]
        for command in (status, after)
    )
    assert before["key"] != later["key"]
    assert files_with(home, KEY) == []
