"""`onetool ask` over time: what a session keeps when things go wrong, `sessions`, and keys in `auth`."""

import json
import os
import threading

import pytest

from asking import ask, ask_script, model, onetool, results, told, wants
from onetool.testing import HttpStub, Reply, ScriptedLLM, calls, text

CHAT = "/v1/chat/completions"
ECHO = ("tools__echo", {"message": "hi"})
KEY = "sk-0123456789-not-for-anybody"


def holding(home, text):
    """The names of the files, in all that the user has, that hold a text."""
    files = [file for file in home.root.rglob("*") if file.is_file()]
    return [file.name for file in files if text.encode() in file.read_bytes()]


@pytest.fixture
def broken():
    """Models that fail, each in its way, and one that answers; by the name of the provider."""
    ended = threading.Event()
    answers = {
        "silent": lambda _: ended.wait(20) and Reply(""),
        "rubbish": Reply("<html>Not here</html>"),
        "ill": Reply({"error": {"message": "it is broken"}}, 500),
        "strict": Reply({"error": {"message": f"wrong key {KEY}"}}, 401),
    }
    stubs = {name: HttpStub({CHAT: answer}) for name, answer in answers.items()}
    stubs["fake"] = ScriptedLLM([calls(ECHO), text("well again")])
    for stub in stubs.values():
        stub.__enter__()
    yield stubs
    ended.set()
    for stub in stubs.values():
        stub.__exit__(None, None, None)


def test_a_provider_that_fails_loses_nothing(home, broken):
    """A time-out, rubbish, an error, a wrong key: each is said and ends with 1, and the session goes on."""
    known = {name: {"base_url": f"{stub.url}/v1", "model": "m", "key": "K"} for name, stub in broken.items()}
    known["silent"]["timeout_s"] = 0.3
    home.write("secrets.yaml", f"K: {KEY}\n")
    home.write("onetool.yaml", json.dumps({"providers": known}))
    kinds = {}
    failing = [name for name in broken if name != "fake"]
    for name in failing:
        answer = ask(f"ask {name}", "--session", "s", provider=name, status=1)
        kinds[name] = answer["error"]["kind"]
        assert (answer["provider"], answer["session"], bool(answer["error"]["message"])) == (name, "s", True)
        assert KEY not in json.dumps(answer)
    assert kinds == {
        "silent": "timeout",
        "rubbish": "rubbish",
        "ill": "unreachable",
        "strict": "auth",
    }
    assert ask("at last", "--session", "last")["answer"] == "well again"
    assert told(broken["fake"].asked[0], "user") == [*(f"ask {name}" for name in failing), "at last"]
    assert holding(home, KEY) == ["secrets.yaml"]
    assert len(holding(home, "ask silent")) == 1


def test_what_was_done_before_a_failure_is_kept(home):
    """A model that fails in the middle loses no call and no result, and a later question builds on them."""
    turns = [wants(("tools.echo", {"message": "one"})), {"error": {"kind": "unreachable", "message": "gone"}}]
    script = home.write("script.yaml", json.dumps(turns))
    answer = ask("go", "--session", "s", "--model", str(script), provider="scripted", status=1)
    assert (results(answer), answer["sessionContextUpdated"], answer["answer"]) == (["one"], True, "")
    with model(home, text("well")) as llm:
        ask("go on", "--session", "s")
    assert (told(llm.asked[0]), told(llm.asked[0], "user")) == (["one"], ["go", "go on"])


def test_ids_that_a_model_uses_again_mix_nothing_up(home):
    """A model that numbers its calls anew in each turn finds every result with its call, later too."""
    turns = [calls(("tools__echo", {"message": word})) for word in ("one", "two")]
    with model(home, *turns, text("done"), text("again")) as llm:
        answer = ask("go", "--session", "s")
        ask("go on", "--session", "s")
    assert results(answer) == told(llm.asked[2]) == ["one", "two"]
    assert told(llm.asked[3]) == ["one", "two"]


def test_sessions_are_named_listed_and_deleted(home):
    """One goes on by its name or as the last; a taken name is refused as new; a deleted one is gone."""
    answered = [{"text": "hello"}]
    unnamed = ask_script(home, answered)["session"]
    assert ask_script(home, answered, "--new-session", "--session", "mine")["session"] == "mine"
    assert ask_script(home, answered, "--session", "last")["session"] == "mine"
    assert ask_script(home, answered, "--new-session")["session"] not in {unnamed, "mine"}
    for name in ("mine", "last"):
        taken = onetool("ask", "Go.", "--provider", "scripted", "--session", name, "--new-session")
        assert (taken.returncode, taken.stdout, name in taken.stderr) == (2, "", True)
    listed = json.loads(onetool("sessions", "list", "--json").stdout)
    assert len({entry["id"] for entry in listed} & {unnamed, "mine"}) == 2
    assert len(listed) == 3
    shown = onetool("sessions", "show", "mine", "--json")
    assert (shown.returncode, shown.stdout.count('"Go."'), shown.stdout.count('"hello"')) == (0, 2, 2)
    assert onetool("sessions", "delete", "mine").returncode == 0
    gone = onetool("sessions", "show", "mine")
    assert (gone.returncode != 0, "'mine'" in gone.stderr) == (True, True)
    assert "mine" not in [entry["id"] for entry in json.loads(onetool("sessions", "list").stdout)]


def test_text_that_is_no_text_is_kept_all_the_same(home):
    """Half a character in a question, an argument or an answer costs no message of the session."""
    turn = calls(ECHO)
    turn["tool_calls"][0]["function"]["arguments"] = r'{"message": "half \ud83d"}'
    with model(home, turn, text("half \ud83d")):
        ask(os.fsdecode(b"half \xff"), "--session", "s")
    shown = onetool("sessions", "show", "s", "--json")
    assert (shown.returncode, shown.stderr) == (0, "")
    said = [(message["role"], "half" in json.dumps(message)) for message in json.loads(shown.stdout)]
    assert said == [("user", True), ("assistant", True), ("tool", True), ("assistant", True)]


WRONG = [
    (("--provider", "no-such"), "no-such"),
    (("--provider", "scripted", "--session", "../up"), "'../up'"),
    (("--provider", "scripted", "--tools", "some"), "'some'"),
    (("--provider", "scripted", "--model", "no-such.yaml"), "no-such.yaml"),
    (("--provider", "scripted", "--session", "last"), "no session"),
]


def test_what_is_asked_wrongly_ends_with_2(home):
    """Nothing is written but what is wrong, and nothing is kept."""
    for words, said in WRONG:
        done = onetool("ask", "Go.", *words)
        assert (done.returncode, done.stdout, said in done.stderr) == (2, "", True), done.stderr
        assert "Traceback" not in done.stderr
    assert json.loads(onetool("sessions", "list").stdout) == []


def test_a_key_is_kept_used_and_forgotten(home):
    """It comes from stdin, is written for its owner alone, is sent to the provider, and is shown nowhere."""
    with model(home, text("hello"), key="FAKE_KEY") as llm:
        login = onetool("auth", "login", "fake", stdin=f"{KEY}\n")
        used = onetool("auth", "use", "fake")
        status = onetool("auth", "status", "--json")
        asked = onetool("ask", "hi")
        secrets = home.config / "secrets.yaml"
        assert (secrets.stat().st_mode & 0o777, KEY in secrets.read_text()) == (0o600, True)
        logout = onetool("auth", "logout", "fake")
        after = onetool("auth", "status", "--json")
    done = [login, used, status, asked, logout, after]
    assert [it.returncode for it in done] == [0] * 6, [it.stderr for it in done]
    assert KEY not in "".join(it.stdout + it.stderr for it in done)
    assert json.loads(asked.stdout)["provider"] == "fake"
    sent = {name.lower(): value for name, value in llm.requests[0].headers.items()}
    assert sent["authorization"] == f"Bearer {KEY}"
    before, later = ({it["provider"]: it for it in json.loads(one.stdout)}["fake"] for one in (status, after))
    assert before["key"] != later["key"]
    assert holding(home, KEY) == []
