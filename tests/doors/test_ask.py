"""`onetool ask`: models that call wrongly, for ever or too much; tools that are many, large or risky."""

import json
import re
from typing import Any

import pytest

from asking import CountingLLM, ask, ask_script, lines, model, offered, results, told, wants
from onetool.testing import calls, text

PACK = '''
import threading
from onetool.sdk import tool

pack = "probe"
together = threading.Barrier(3)
alone = threading.Lock()

@tool(changes=True)
def wipe() -> str:
    """Change something."""
    with open("wiped", "a") as trace:
        print("wiped", file=trace)
    return "wiped"

@tool(parallel=True)
def meet() -> str:
    """Wait for two others."""
    together.wait(5)
    return "met"

def stand() -> bool:
    """Say whether nobody else is here."""
    free = alone.acquire(blocking=False)
    threading.Event().wait(0.05)
    if free:
        alone.release()
    return free

def flood() -> str:
    """Return a lot."""
    return "\\n".join(f"line {index}" for index in range(1000))
'''
ECHO = ("tools__echo", {"message": "hi"})


def written(*arguments: str) -> dict[str, Any]:
    """A turn in which a model calls echo with arguments as they are written here."""
    turn = calls(*[ECHO] * len(arguments))
    for call, argument in zip(turn["tool_calls"], arguments, strict=True):
        call["function"]["arguments"] = argument
    return turn


def test_arguments_that_are_no_object_go_back_to_the_model(home):
    """Broken JSON and JSON of another kind are invalid arguments; the model is told, and may do better."""
    bad = ('{"message": ', "[1]", '"hi"', "null", '{"message": 1, "message": NaN}', '{"massage": 1}')
    with model(home, written(*bad), written('{"message": "better"}'), text("done")) as llm:
        answer = ask("go")
    assert results(answer) == [("invalid_args", "bad_args")] * len(bad) + ["better"]
    assert (answer["answer"], answer["toolError"]["tool"]) == ("done", "tools.echo")
    assert [said.startswith("Error: ") for said in told(llm.asked[1])] == [True] * len(bad)
    assert told(llm.asked[2])[-1] == "better"


def test_a_tool_that_is_not_there_goes_back_to_the_model(home):
    """A name that was made up, or that is odd, is an error that the model reads."""
    made_up = ("time.never", "Time.now", "x" * 200, "time.now\n", "run")
    answer = ask_script(home, [wants(*((name, {}) for name in made_up)), {"text": "done"}])
    assert (answer["answer"], results(answer)) == ("done", [("tool_not_found", "unknown")] * len(made_up))
    assert [call["name"] for call in answer["toolCalls"]] == list(made_up)


def test_a_loop_ends(home):
    """After eight turns with tools the model is asked once without; what it still calls for does not run."""
    stubborn = ask_script(home, [wants(("tools.echo", {"message": 0}))] * 20, "--session", "s")
    assert (results(stubborn), bool(stubborn["answer"])) == ([0] * 8, True)
    turns = [calls(("tools__echo", {"message": turn})) for turn in range(8)]
    with model(home, *turns, text("enough")) as llm:
        answer = ask("go", "--session", "s")
    assert (answer["answer"], len(llm.asked), results(answer)) == ("enough", 9, list(range(8)))
    assert [bool(offered(request)) for request in llm.asked] == [True] * 8 + [False]
    wanted = [call["id"] for message in llm.asked[8]["messages"] for call in message.get("tool_calls", ())]
    assert len(told(llm.asked[8])) == len(wanted) == 16


def test_many_calls_in_one_turn_have_a_result_each(home):
    """Two hundred calls end, in order, and the model reads every one of their results."""
    with model(home, calls(*(("tools__echo", {"message": n}) for n in range(200))), text("done")) as llm:
        answer = ask("go")
    assert answer["answer"] == "done"
    assert len(answer["toolResults"]) == len(told(llm.asked[1])) == 200
    assert all(it["ok"] or it["error"]["message"] for it in answer["toolResults"])


def test_what_changes_things_needs_a_yes(home):
    """Where nobody can be asked it is refused, naming what would help; with --yes it runs."""
    home.write("tools/probe.py", PACK)
    turns = [wants(("probe.wipe", {})), {"text": "done"}]
    refused = ask_script(home, turns)
    assert results(refused) == [("execution_error", "needs_approval")]
    assert "approval" in refused["toolError"]["message"]
    assert (refused["answer"], lines(home.cwd / "wiped")) == ("done", [])
    assert results(ask_script(home, turns, "--yes")) == ["wiped"]
    assert lines(home.cwd / "wiped") == ["wiped"]


def test_rules_hold_inside_code(home):
    """Code that a model runs calls no tool that was not allowed, and changes nothing without a yes."""
    home.write("tools/probe.py", PACK)
    forbidden = ("run", {"command": "tools.echo(message=1)"})
    allowed = ("run", {"command": "time.now()['iso'][-1]"})
    with model(home, calls(forbidden, allowed, ECHO), text("done")) as llm:
        answer = ask("go", "--tools", "search", "--tool-allow", "time.now")
    assert [it["ok"] for it in answer["toolResults"]] == [False, True, False]
    assert set(offered(llm.asked[0])) == {"find_tools", "run"}
    assert "Z" in told(llm.asked[1])[1]
    changing = [wants(("run", {"command": "probe.wipe()"})), {"text": "done"}]
    assert ask_script(home, changing, "--tools", "search")["toolResults"][0]["ok"] is False
    assert lines(home.cwd / "wiped") == []
    assert ask_script(home, changing, "--tools", "search", "--yes")["toolResults"][0]["ok"] is True
    assert lines(home.cwd / "wiped") == ["wiped"]


def test_too_many_tools_are_searched_instead(home, tmp_path):
    """When definitions exceed 8,000 tokens the model gets find_tools and run, and works with them."""
    many = "\n".join(
        f'def f{n}() -> int:\n    """{"Count to it. " * 20}"""\n    return {n}' for n in range(150)
    )
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "many.py").write_text(many)
    turn = calls(("find_tools", {"query": "many.f77"}), ("run", {"command": "many.f77()"}))
    more = {"tools_dirs": [str(tmp_path / "more")]}
    with model(home, turn, text("done"), text("all"), more=more) as llm:
        answer = ask("go")
        ask("go", "--tools", "all")
    assert set(offered(llm.asked[0])) == {"find_tools", "run"}
    found, ran = told(llm.asked[1])
    assert ("many.f77" in found, ran, answer["toolError"]) == (True, "77", None)
    everything = llm.asked[2]["tools"]
    assert {f"many__f{n}" for n in range(150)} < {tool["function"]["name"] for tool in everything}
    assert len(json.dumps(everything)) > 4 * 8000


def test_large_results_are_handed_on_as_handles(home):
    """The model reads a beginning and a handle that it can read on with, also in a later question."""
    home.write("tools/probe.py", PACK)
    small = {"output": {"max_inline_size": 1000}}
    with model(home, calls(("probe__flood", {})), text("done"), more=small) as llm:
        answer = ask("go", "--session", "s")
    (shown,) = told(llm.asked[1])
    assert ("ot.result" in shown, len(shown) < 2000, "line 999" in shown) == (True, True, False)
    assert answer["toolResults"][0]["ok"]
    reading = {"handle": re.search(r"handle=['\"]([^'\"]+)", shown)[1], "offset": 990}
    rest = ask_script(home, [wants(("ot.result", reading)), {"text": "done"}], "--session", "s")
    assert "line 995" in str(results(rest))


def test_calls_that_say_so_run_together(home):
    """Three that wait for each other meet in one turn; those that say nothing never see each other."""
    home.write("tools/probe.py", PACK)
    turns = [wants(*[("probe.meet", {})] * 3), wants(*[("probe.stand", {})] * 3), {"text": "done"}]
    assert results(ask_script(home, turns)) == ["met"] * 3 + [True] * 3


def test_tokens_and_cost_add_up(home):
    """Tokens of all turns are added, and prices are for a million."""
    with CountingLLM([calls(ECHO), text("done")]) as llm:
        known = {"base_url": llm.base_url, "model": "m", "price_in": 3.0, "price_out": 15.0}
        home.write("onetool.yaml", json.dumps({"providers": {"fake": known}}))
        answer = ask("go")
    assert answer["tokens"] == {"input": 20, "output": 4, "estimated": False}
    assert answer["cost"] == pytest.approx(20 * 3e-6 + 4 * 15e-6)
