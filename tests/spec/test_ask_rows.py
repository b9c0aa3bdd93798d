"""`onetool ask`: a model that uses the tools, held to rows RUN-24 to RUN-35 and RUN-38 to RUN-43."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from asking import ask, ask_script, lines, model, offered, onetool, real_names, told, wants
from onetool.testing import calls, text

PACK = '''
import threading
from onetool.sdk import tool

pack = "probe"

def step(name: str) -> str:
    """Leave a trace at the beginning and at the end."""
    with open("trace", "a") as trace:
        print("begin", name, file=trace, flush=True)
        threading.Event().wait(0.05)
        print("end", name, file=trace)
    return name

@tool(cacheable=True)
def look(at: str) -> str:
    """Leave a trace of each look."""
    with open("looks", "a") as looks:
        print(at, file=looks)
    return "seen " + at

@tool(changes=True)
def wipe() -> str:
    """Change something."""
    return "wiped"
'''
CLOCK = ("time__now", {})
WIRE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def names() -> list[str]:
    """What `tools list` shows, in its order."""
    return [item["name"] for item in json.loads(onetool("tools", "list").stdout)]


@pytest.mark.spec("RUN-24", "RUN-25", "RUN-27", "RUN-28", "RUN-29", "RUN-30", "RUN-33", "RUN-38", "RUN-40")
def test_a_model_gets_what_it_called_for_and_answers(home: Any) -> None:
    """The call runs, its result goes to the model, the second reply is the answer, and the session knows."""
    with model(home, calls(CLOCK), text("It is noon."), text("As I said.")) as llm:
        answer = ask("what time", "--session", "day")
        again = ask("and now", "--session", "day")
    (result,) = answer["toolResults"]
    assert (answer["answer"], answer["toolError"], answer["sessionContextUpdated"]) == (
        "It is noon.",
        None,
        True,
    )
    assert (answer["toolCalls"][0]["name"], answer["toolCalls"][0]["args"]) == ("time.now", {})
    first, second, third = llm.asked
    assert (told(first), told(first, "user"), "time__now" in offered(first)) == ([], ["what time"], True)
    assert result["data"]["iso"] in told(second)[0]
    assert (told(third), told(third, "user")) == (told(second), ["what time", "and now"])
    assert (again["toolCalls"], again["toolResults"], again["toolError"]) == ([], [], None)
    assert (again["answer"], again["sessionContextUpdated"], again["session"]) == ("As I said.", False, "day")


@pytest.mark.spec("RUN-25", "RUN-38", "RUN-43")
def test_tools_are_offered_unless_switched_off(home: Any) -> None:
    """Bare and true offer tools, wherever the option stands; false offers none; else a usage error."""
    question, bare = "what time", "--with-tools"
    with model(home, text("hello")) as llm:
        assert ask(question, f"{bare}=false")["answer"] == "hello"
    assert [("tools" in request, told(request, "user")) for request in llm.asked] == [(False, [question])]
    for words in ((question, bare), (bare, question), (question, f"{bare}=true"), (f"{bare}=true", question)):
        done = onetool("ask", "--provider", "scripted", *words)
        assert [call["name"] for call in json.loads(done.stdout)["toolCalls"]] == ["time.now"], words
    wrong = onetool("ask", question, "--provider", "scripted", f"{bare}=maybe")
    assert (wrong.returncode, wrong.stdout, "maybe" in wrong.stderr) == (2, "", True)


@pytest.mark.spec("RUN-26")
def test_calls_of_one_turn_run_in_order(home: Any) -> None:
    """The second begins when the first has ended, and results stand in the order of the calls."""
    home.write("tools/probe.py", PACK)
    turns = [wants(*(("probe.step", {"name": name}) for name in "bac")), {"text": "done"}]
    answer = ask_script(home, turns)
    assert lines(home.cwd / "trace") == [f"{edge} {name}" for name in "bac" for edge in ("begin", "end")]
    assert [result["data"] for result in answer["toolResults"]] == ["b", "a", "c"]


@pytest.mark.spec("RUN-30", "RUN-31", "RUN-32", "RUN-35")
def test_every_planned_call_has_its_result(home: Any) -> None:
    """Over all rounds, in order, refused, failed, wrong and unknown ones too; the first failure is told."""
    home.write("tools/probe.py", PACK)
    echo = ("tools.echo", {"message": "hi"})
    rounds = [
        wants(echo, ("fs.read_file", {"path": "none"}), ("probe.wipe", {})),
        wants(("fs.list_dir", {"path": 1}), ("no.such", {})),
        wants(echo),
    ]
    answer = ask_script(home, [*rounds, {"text": "done"}])
    planned = ["tools.echo", "fs.read_file", "probe.wipe", "fs.list_dir", "no.such", "tools.echo"]
    assert [call["name"] for call in answer["toolCalls"]] == planned
    results = answer["toolResults"]
    codes = [None, "execution_error", "execution_error", "invalid_args", "tool_not_found", None]
    assert [result.get("error", {}).get("code") for result in results] == codes
    assert [result["ok"] for result in results] == [code is None for code in codes]
    assert [result.get("data") for result in results] == ["hi", None, None, None, None, "hi"]
    assert answer["toolError"] == results[1]["error"]
    assert set(answer["toolError"]) == {"tool", "code", "message"}
    assert answer["toolError"]["tool"] == "fs.read_file"


@pytest.mark.spec("RUN-39")
def test_only_named_tools_are_visible(home: Any) -> None:
    """A list is held before the model sees tools and when it calls one, until the session gets another."""
    with model(home, calls(("tools__echo", {"message": 1}), CLOCK), text("done")) as llm:
        answer = ask("go", "--tool-allow", "time.now , shell.pwd", "--session", "few")
        ask("on", "--session", "few")
        none = onetool("ask", "on", "--tool-allow=", "--session", "few", "--provider", "fake")
    unknown = onetool("ask", "now", "--tool-allow", "time.now,no.such", "--provider", "scripted")
    both = ["shell.pwd", "time.now"]  # as in the registry, whatever the order of the list
    seen = [real_names(offered(request), both) for request in llm.asked]
    assert seen == [both, both, both, []]
    assert answer["toolError"]["code"] == "tool_not_found"
    assert [result["ok"] for result in answer["toolResults"]] == [False, True]
    assert (none.returncode, unknown.returncode, "no.such" in unknown.stderr) == (0, 0, True)


@pytest.mark.spec("RUN-40", "RUN-34")
def test_the_visible_tools_are_what_the_list_shows(home: Any) -> None:
    """Each tool of `tools list` is offered under a name that providers take, and no other."""
    home.write("tools/probe.py", PACK)
    with model(home, text("hello")) as llm:
        ask("hi")
    shown, wire = names(), offered(llm.asked[0])
    assert [name for name in wire if not WIRE.fullmatch(name)] == []
    assert sorted(real_names(wire, shown)) == sorted(shown)


@pytest.mark.spec("RUN-41")
def test_a_session_uses_results_again(home: Any) -> None:
    """A cacheable call runs once in a session, over several questions too, and again in another session."""
    home.write("tools/probe.py", PACK)
    look, clock = ("probe.look", {"at": "x"}), ("time.now", {})
    turns = [wants(look, look, clock, clock), {"text": "done"}]
    asked = [ask_script(home, turns, "--session", name) for name in ("one", "one", "two")]
    cached = [[bool(it["meta"].get("cached")) for it in answer["toolResults"]] for answer in asked]
    again = [False, True, False, False]
    assert cached == [again, [True, True, False, False], again]
    assert {it["data"] for answer in asked for it in answer["toolResults"][:2]} == {"seen x"}
    assert lines(home.cwd / "looks") == ["x", "x"]
    assert all(it["ok"] for answer in asked for it in answer["toolResults"])


@pytest.mark.spec("RUN-41")
def test_a_file_that_has_changed_is_read_again(home: Any) -> None:
    """What a session holds of a file is used only while the file stays as it was."""
    file = Path(home.cwd / "note")
    turns = [wants(("fs.read_file", {"path": "note"}), ("fs.list_dir", {"path": "."})), {"text": "done"}]
    for content in ("first", "other one"):
        file.write_text(content)
        read, listed = ask_script(home, turns, "--session", "s")["toolResults"]
        assert (read["data"], listed["ok"]) == (content, True)
    (home.cwd / "more").touch()
    *_, listed = ask_script(home, turns, "--session", "s")["toolResults"]
    assert {entry["path"] for entry in listed["data"]} == {"note", "more"}


@pytest.mark.spec("RUN-42", "RUN-43")
def test_ask_and_auth_are_there(home: Any) -> None:
    """Both commands explain themselves; every option has a long name, so that nobody needs a short one."""
    shown = onetool("ask", "--help")
    options = re.findall(r"^  (-\S.*)$", shown.stdout, re.MULTILINE)
    assert (shown.returncode, all("--" in option for option in options)) == (0, True)
    wanted = ("--provider", "--session", "--new-session", "--with-tools", "--tool-allow", "--json")
    assert [name for name in wanted if name not in shown.stdout] == []
    auth = onetool("auth", "--help")
    assert (
        auth.returncode,
        [it for it in ["login", "logout", "status", "use"] if it not in auth.stdout],
    ) == (
        0,
        [],
    )


@pytest.mark.spec("RUN-24", "RUN-43")
def test_ask_works_offline(home: Any) -> None:
    """Without a network, a key or a script the scripted model calls the tool that a question speaks of."""
    answer = ask("what time is it now", provider="scripted")
    assert [call["name"] for call in answer["toolCalls"]] == ["time.now"]
    assert answer["toolResults"][0]["data"]["iso"] in answer["answer"]
    plain = ask("hi", "--with-tools=false", provider="scripted")
    assert (bool(plain["answer"]), plain["toolCalls"], plain["sessionContextUpdated"]) == (True, [], False)
