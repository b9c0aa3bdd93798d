"""`onetool ask`: invalid, endless and parallel calls, approval, and large toolsets and results."""

import json
import re
from typing import Any

import pytest

from interfaces.cli.ask_process import (
    CountingLLM,
    ask,
    ask_script,
    call_outcomes,
    message_texts,
    offered_tools,
    read_lines,
    serve_model,
)
from onetool.testing import calls, text
from support.scripted_model import scripted_calls

PACK = '''
from onetool.sdk import tool

pack = "probe"

@tool(read_only=False)
def wipe() -> str:
    """Change something."""
    with open("wiped", "a") as trace:
        print("wiped", file=trace)
    return "wiped"

def flood() -> str:
    """Return a lot."""
    return "\\n".join(f"line {index}" for index in range(1000))
'''
ECHO = ("tools__echo", {"message": "hi"})


def raw_calls(*arguments: str) -> dict[str, Any]:
    """Return a turn that calls echo with these raw arguments."""
    turn = calls(*[ECHO] * len(arguments))
    for call, argument in zip(turn["tool_calls"], arguments, strict=True):
        call["function"]["arguments"] = argument
    return turn


def test_invalid_arguments_are_returned_to_the_model(home):
    """The model reads the errors and can correct its calls."""
    invalid = ('{"message": ', "[1]", '"hi"', "null", '{"message": 1, "message": NaN}', '{"massage": 1}')
    with serve_model(home, raw_calls(*invalid), raw_calls('{"message": "better"}'), text("done")) as llm:
        answer = ask("go")
    assert call_outcomes(answer) == [("invalid_args", "bad_args")] * len(invalid) + ["better"]
    assert (answer["answer"], answer["toolError"]["tool"]) == ("done", "tools.echo")
    assert [reply.startswith("Error: ") for reply in message_texts(llm.bodies[1])] == [True] * len(invalid)
    assert message_texts(llm.bodies[2])[-1] == "better"


def test_unknown_tools_are_returned_to_the_model(home):
    unknown = ("time.never", "Time.now", "x" * 200, "time.now\n", "run")
    answer = ask_script(home, [scripted_calls(*((name, {}) for name in unknown)), {"text": "done"}])
    assert (answer["answer"], call_outcomes(answer)) == (
        "done",
        [("tool_not_found", "unknown")] * len(unknown),
    )
    assert [call["name"] for call in answer["toolCalls"]] == list(unknown)


def test_endless_calls_are_stopped_after_eight_turns(home):
    """The ninth request offers no tools, and calls in its response do not run. No answer is a failure."""
    endless = [scripted_calls(("tools.echo", {"message": 0}))] * 20
    stubborn = ask_script(home, endless, "--session", "s", status=1)
    assert (call_outcomes(stubborn), stubborn["answer"], stubborn["error"]["kind"]) == ([0] * 8, "", "empty")
    turns = [calls(("tools__echo", {"message": turn})) for turn in range(8)]
    with serve_model(home, *turns, text("enough")) as llm:
        answer = ask("go", "--session", "s")
    assert (answer["answer"], len(llm.bodies), call_outcomes(answer)) == ("enough", 9, list(range(8)))
    assert [bool(offered_tools(request)) for request in llm.bodies] == [True] * 8 + [False]
    call_ids = [call["id"] for message in llm.bodies[8]["messages"] for call in message.get("tool_calls", ())]
    assert len(message_texts(llm.bodies[8])) == len(call_ids) == 16


def test_every_call_of_a_turn_has_a_result(home):
    """The model reads the results of all 200 calls."""
    with serve_model(
        home, calls(*(("tools__echo", {"message": n}) for n in range(200))), text("done")
    ) as llm:
        answer = ask("go")
    assert answer["answer"] == "done"
    assert len(answer["toolResults"]) == len(message_texts(llm.bodies[1])) == 200
    assert all(result["ok"] or result["error"]["message"] for result in answer["toolResults"])


def test_allowed_tools_and_approval_apply_to_code(home):
    home.write("tools/probe.py", PACK)
    forbidden = ("run", {"command": "tools.echo(message=1)"})
    allowed = ("run", {"command": "time.now()['iso'][-1]"})
    with serve_model(home, calls(forbidden, allowed, ECHO), text("done")) as llm:
        answer = ask("go", "--tools", "search", "--tool-allow", "time.now")
    assert [result["ok"] for result in answer["toolResults"]] == [False, True, False]
    assert set(offered_tools(llm.bodies[0])) == {"find_tools", "run"}
    assert "Z" in message_texts(llm.bodies[1])[1]
    turns = [scripted_calls(("run", {"command": "probe.wipe()"})), {"text": "done"}]
    assert ask_script(home, turns, "--tools", "search")["toolResults"][0]["ok"] is False
    assert read_lines(home.cwd / "wiped") == []
    assert ask_script(home, turns, "--tools", "search", "--yes")["toolResults"][0]["ok"] is True
    assert read_lines(home.cwd / "wiped") == ["wiped"]


def test_many_tools_are_offered_through_search(home, tmp_path):
    """If definitions exceed 8,000 tokens, the model gets find_tools and run."""
    many = "\n".join(
        f'def f{n}() -> int:\n    """{"Count to it. " * 20}"""\n    return {n}' for n in range(150)
    )
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "many.py").write_text(many)
    turn = calls(("find_tools", {"query": "many.f77"}), ("run", {"command": "many.f77()"}))
    settings = {"tools_dirs": [str(tmp_path / "more")]}
    with serve_model(home, turn, text("done"), text("all"), settings=settings) as llm:
        answer = ask("go")
        ask("go", "--tools", "all")
    assert set(offered_tools(llm.bodies[0])) == {"find_tools", "run"}
    found, output = message_texts(llm.bodies[1])
    assert ("many.f77" in found, output, answer["toolError"]) == (True, "77", None)
    definitions = llm.bodies[2]["tools"]
    assert {f"many__f{n}" for n in range(150)} < {tool["function"]["name"] for tool in definitions}
    assert len(json.dumps(definitions)) > 4 * 8000


def test_large_results_are_passed_to_the_model_as_handles(home):
    """The model reads a preview, and the rest by handle, also in a later question."""
    home.write("tools/probe.py", PACK)
    settings = {"output": {"max_inline_size": 1000}}
    with serve_model(home, calls(("probe__flood", {})), text("done"), settings=settings) as llm:
        answer = ask("go", "--session", "s")
    (preview,) = message_texts(llm.bodies[1])
    assert ("ot.result" in preview, len(preview) < 2000, "line 999" in preview) == (True, True, False)
    assert answer["toolResults"][0]["ok"]
    args = {"handle": re.search(r"handle=['\"]([^'\"]+)", preview)[1], "offset": 990}
    rest = ask_script(home, [scripted_calls(("ot.result", args)), {"text": "done"}], "--session", "s")
    assert "line 995" in str(call_outcomes(rest))


def test_tokens_and_cost_add_up(home):
    """Tokens of all turns are added. Prices are per million tokens."""
    with CountingLLM([calls(ECHO), text("done")]) as llm:
        provider = {"base_url": llm.base_url, "model": "m", "input_price": 3.0, "output_price": 15.0}
        home.write("onetool.yaml", json.dumps({"providers": {"fake": provider}}))
        answer = ask("go")
    assert answer["tokens"] == {"input": 20, "output": 4, "estimated": False}
    assert answer["cost"] == pytest.approx(20 * 3e-6 + 4 * 15e-6)
