"""`onetool ask`, a model that uses the tools: rows RUN-24 to RUN-35 and RUN-38 to RUN-43."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from interfaces.cli.ask_process import (
    Terminal,
    ask,
    ask_script,
    decode_names,
    message_texts,
    offered_tools,
    onetool,
    read_lines,
    serve_model,
)
from onetool.interfaces.cli.main import cli
from onetool.testing import calls, text
from support.scripted_model import scripted_calls

PACK = '''
import threading
import time
from pathlib import Path
from typing import Annotated

from pydantic import Field

from onetool.sdk import tool

pack = "probe"

def write(file: str, text: str) -> None:
    """Append a line to a file."""
    with open(file, "a") as lines:
        print(text, file=lines)

def step(name: str) -> str:
    """Write to a file at the start and at the end."""
    write("trace", "begin " + name)
    threading.Event().wait(0.05)
    write("trace", "end " + name)
    return name

@tool(parallel=True, timeout=60)
def side(name: str, after: str = "") -> str:
    """Write to a file at the start and at the end. Before the end, wait for the end of another call."""
    write("trace", "begin " + name)
    while after and "end " + after not in Path("trace").read_text():
        time.sleep(0.01)
    write("trace", "end " + name)
    return name

@tool(cacheable=True)
def look(at: str) -> str:
    """Write each argument to a file."""
    write("looks", at)
    return "seen " + at

@tool(cacheable=True)
def listen(at: str) -> str:
    """Write each argument to a file; fail the first time."""
    write("listens", at)
    if Path("listens").read_text().count("\\n") == 1:
        raise RuntimeError("too loud")
    return "heard " + at

@tool(cacheable=True, read_only=False)
def press(at: str) -> str:
    """Change something."""
    write("presses", at)
    return "pressed " + at

@tool(read_only=False)
def wipe() -> str:
    """Change something."""
    return "wiped"

def spell(word: Annotated[str, Field(pattern="^[a-z]*$", max_length=5)]) -> str:
    """Write each word to a file."""
    write("words", word)
    return word
'''
CLOCK = ("time__now", {})
MESSAGE = '{"message": {"a": ["ü", 1.5, null]}}'
WIRE = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


def parse_output(text: str) -> Any:
    """Parse the JSON that a command prints, without the metadata that differ between two calls."""
    value = json.loads(text)
    return {name: value[name] for name in ("ok", "data")} if "ok" in value else value


def listed_names() -> list[str]:
    """Return the names that `tools list` shows, in its order."""
    return [item["name"] for item in json.loads(onetool("tools", "list").stdout)]


@pytest.mark.spec("RUN-24", "RUN-25", "RUN-27", "RUN-28", "RUN-29", "RUN-30", "RUN-33", "RUN-38", "RUN-40")
def test_model_receives_tool_results_and_the_session_stores_them(home: Any) -> None:
    """The call runs, its result goes to the model, and the second response is the answer."""
    with serve_model(home, calls(CLOCK), text("It is noon."), text("Still noon.")) as llm:
        answer = ask("what time", "--session", "day")
        again = ask("and now", "--session", "day")
    (result,) = answer["toolResults"]
    outcome = (answer["answer"], answer["toolError"], answer["sessionContextUpdated"])
    assert outcome == ("It is noon.", None, True)
    assert (answer["toolCalls"][0]["name"], answer["toolCalls"][0]["args"]) == ("time.now", {})
    first, second, third = llm.bodies
    assert (message_texts(first), message_texts(first, "user"), "time__now" in offered_tools(first)) == (
        [],
        ["what time"],
        True,
    )
    assert result["data"]["iso"] in message_texts(second)[0]
    assert (message_texts(third), message_texts(third, "user")) == (
        message_texts(second),
        ["what time", "and now"],
    )
    assert (again["toolCalls"], again["toolResults"], again["toolError"]) == ([], [], None)
    assert (again["answer"], again["sessionContextUpdated"], again["session"]) == (
        "Still noon.",
        False,
        "day",
    )


@pytest.mark.spec("RUN-25", "RUN-38", "RUN-43")
def test_with_tools_option_controls_whether_tools_are_offered(home: Any) -> None:
    """Bare or `true`, it offers tools at any position; `false` offers none; other values are usage errors."""
    question, bare = "what time", "--with-tools"
    without = [
        (question, f"{bare}=false"),
        (bare, "false", question),
        (question, bare, "false"),
        (bare, "False", "--", question),
    ]
    with serve_model(home, text("hello")) as llm:
        for words in without:
            done = onetool("ask", "--provider", "fake", *words)
            assert json.loads(done.stdout)["answer"] == "hello", words
    assert [("tools" in request, message_texts(request, "user")) for request in llm.bodies] == [
        (False, [question]) for _ in without
    ]
    with_tools = [
        (question, bare),
        (bare, question),
        (question, f"{bare}=true"),
        (f"{bare}=true", question),
        (bare, "true", question),
        (bare, "--", question),
    ]
    for words in with_tools:
        done = onetool("ask", "--provider", "scripted", *words)
        assert [call["name"] for call in json.loads(done.stdout)["toolCalls"]] == ["time.now"], words
    for value, words in (("maybe", (f"{bare}=maybe",)), ("off", (bare, "off")), ("0", (bare, "0"))):
        invalid = onetool("ask", question, "--provider", "scripted", *words)
        assert (invalid.returncode, invalid.stdout, f"'{value}'" in invalid.stderr) == (2, "", True)


@pytest.mark.spec("RUN-26")
def test_parallel_tools_run_in_order_unless_the_settings_allow_otherwise(home: Any) -> None:
    """A call starts after the previous one has ended. Only read-only tools ever overlap."""
    home.write("tools/probe.py", PACK.replace("def step", "@tool(parallel=True)\ndef step"))
    turns = [scripted_calls(*(("probe.step", {"name": name}) for name in "bac")), {"text": "done"}]
    in_order = [f"{edge} {name}" for name in "bac" for edge in ("begin", "end")]
    answer = ask_script(home, turns)
    assert read_lines(home.cwd / "trace") == in_order
    assert [result["data"] for result in answer["toolResults"]] == ["b", "a", "c"]
    home.write("tools/probe.py", PACK.replace("def step", "@tool(parallel=True, read_only=False)\ndef step"))
    home.write("onetool.yaml", "ask: {parallel: true}\n")
    ask_script(home, turns, "--yes")
    assert read_lines(home.cwd / "trace") == in_order * 2


@pytest.mark.spec("RUN-26")
def test_calls_of_different_tools_run_in_the_order_of_the_turn(home: Any) -> None:
    """With `ask.parallel`, only calls of parallel tools overlap, and neither overtake others nor fall behind.

    A failed call does not change the order, and the results have the order of the calls whichever ends first.
    """
    home.write("tools/probe.py", PACK)
    home.write("onetool.yaml", "ask: {parallel: true}\n")
    turn = scripted_calls(
        ("probe.step", {"name": "d"}),
        ("probe.side", {"name": "c", "after": "b"}),
        ("probe.side", {"name": "b"}),
        ("probe.step", {"name": "e"}),
        ("probe.step", {"name": "g"}),
        ("no.such", {}),
        ("probe.side", {"name": "a"}),
        ("probe.step", {"name": "f"}),
    )
    answer = ask_script(home, [turn, {"text": "done"}])
    trace = read_lines(home.cwd / "trace")
    assert trace[:2] == ["begin d", "end d"]
    assert set(trace[2:6]) == {"begin c", "end c", "begin b", "end b"}
    assert trace[6:] == [f"{edge} {name}" for name in "egaf" for edge in ("begin", "end")]
    results = [result.get("data") for result in answer["toolResults"]]
    assert results == ["d", "c", "b", "e", "g", None, "a", "f"]


@pytest.mark.spec("RUN-30", "RUN-31", "RUN-32")
def test_every_planned_call_has_a_result_and_the_first_error_is_reported(home: Any) -> None:
    """This includes denied, failed, invalid and unknown calls, over all rounds and in order."""
    home.write("tools/probe.py", PACK)
    echo = ("tools.echo", {"message": "hi"})
    rounds = [
        scripted_calls(echo, ("fs.read_file", {"path": "none"}), ("probe.wipe", {})),
        scripted_calls(("fs.list_dir", {"path": 1}), ("no.such", {})),
        scripted_calls(echo),
    ]
    answer = ask_script(home, [*rounds, {"text": "done"}])
    planned = ["tools.echo", "fs.read_file", "probe.wipe", "fs.list_dir", "no.such", "tools.echo"]
    assert [call["name"] for call in answer["toolCalls"]] == planned
    results = answer["toolResults"]
    codes = [None, "execution_error", "execution_error", "invalid_args", "tool_not_found", None]
    assert [result.get("error", {}).get("code") for result in results] == codes
    assert [result["ok"] for result in results] == [code is None for code in codes]
    assert [result.get("data") for result in results] == ["hi", None, None, None, None, "hi"]
    assert results[2]["meta"]["reason"] == "needs_approval"
    assert "approval" in results[2]["error"]["message"]
    assert answer["toolError"] == results[1]["error"]
    assert set(answer["toolError"]) == {"tool", "code", "message"}
    assert answer["toolError"]["tool"] == "fs.read_file"


@pytest.mark.spec("RUN-35")
def test_every_kind_of_invalid_argument_has_the_same_outcome(home: Any) -> None:
    """Whichever rule is violated, the code is invalid_args, the tool does not run, and later calls do.

    A tool without such rules accepts any text.
    """
    home.write("tools/probe.py", PACK)
    long = "any text: äöü\0" * 10_000
    planned = [
        *[("probe.spell", args) for args in ({"word": "UPPER"}, {"word": "toolong"}, {"word": 1}, {})],
        ("probe.spell", {"word": "fits", "more": 1}),
        ("probe.spell", {"word": "fits"}),
        ("tools.echo", {"message": long}),
    ]
    answer = ask_script(home, [scripted_calls(*planned), {"text": "done"}])
    results = answer["toolResults"]
    codes = [result.get("error", {}).get("code") for result in results]
    assert codes == ["invalid_args"] * 5 + [None, None]
    assert [result.get("data") for result in results[5:]] == ["fits", long]
    assert read_lines(home.cwd / "words") == ["fits"]
    assert all(result["error"]["message"].count("probe.spell") for result in results[:5])


@pytest.mark.spec("RUN-39")
def test_tool_allow_restricts_offered_and_callable_tools_of_the_session(home: Any) -> None:
    """The list applies until the session gets another one."""
    with serve_model(home, calls(("tools__echo", {"message": 1}), CLOCK), text("done")) as llm:
        answer = ask("go", "--tool-allow", "time.now , shell.pwd", "--session", "few")
        ask("on", "--session", "few")
        none = onetool("ask", "on", "--tool-allow=", "--session", "few", "--provider", "fake")
    unknown = onetool("ask", "now", "--tool-allow", "time.now,no.such", "--provider", "scripted")
    both = ["shell.pwd", "time.now"]  # in the order of the registry, not of the list
    offered = [decode_names(offered_tools(request), both) for request in llm.bodies]
    assert offered == [both, both, both, []]
    assert answer["toolError"]["code"] == "tool_not_found"
    assert [result["ok"] for result in answer["toolResults"]] == [False, True]
    assert (none.returncode, unknown.returncode, "no.such" in unknown.stderr) == (0, 0, True)


@pytest.mark.spec("RUN-34")
@pytest.mark.parametrize(
    "words", [("list", "probe."), ("info", "probe.look"), ("invoke", "tools.echo", "--args", MESSAGE)]
)
def test_json_output_does_not_depend_on_the_terminal(home: Any, words: tuple[str, ...]) -> None:
    """With `--json` a terminal prints what a program reads, whatever it prints otherwise."""
    home.write("tools/probe.py", PACK)
    with Terminal("tools", *words, "--json") as terminal:
        assert terminal.wait_for_exit() == 0
    texts = [terminal.output, *(onetool("tools", *words, *more).stdout for more in ((), ("--json",)))]
    on_terminal, by_default, on_request = map(parse_output, texts)
    assert on_terminal == by_default == on_request


@pytest.mark.spec("RUN-34")
def test_listing_is_complete_and_has_no_pages(home: Any) -> None:
    """Neither the number of tools nor the size of the terminal shortens it."""
    names = [f"tool_{number:03}" for number in range(300)]
    home.write("tools/many.py", "".join(f"def {name}() -> int: return 1\n" for name in names))
    assert {f"many.{name}" for name in names} <= set(listed_names())
    assert set(listed_names()) == {
        item["name"] for item in json.loads(onetool("tools", "list", "--json").stdout)
    }


@pytest.mark.spec("RUN-40", "RUN-34")
def test_model_is_offered_exactly_the_listed_tools(home: Any) -> None:
    """Each tool of `tools list` is offered under a name that providers accept."""
    home.write("tools/probe.py", PACK)
    with serve_model(home, text("hello")) as llm:
        ask("hi")
    listed, wire = listed_names(), offered_tools(llm.bodies[0])
    assert [name for name in wire if not WIRE.fullmatch(name)] == []
    assert sorted(decode_names(wire, listed)) == sorted(listed)


@pytest.mark.spec("RUN-41")
def test_session_reuses_results_of_cacheable_tools(home: Any) -> None:
    """A cacheable call runs once in a session, over several questions, and again in another session."""
    home.write("tools/probe.py", PACK)
    look, clock = ("probe.look", {"at": "x"}), ("time.now", {})
    turns = [scripted_calls(look, look, clock, clock), {"text": "done"}]
    answers = [ask_script(home, turns, "--session", name) for name in ("one", "one", "two")]
    cached = [[bool(result["meta"].get("cached")) for result in answer["toolResults"]] for answer in answers]
    first_run = [False, True, False, False]
    assert cached == [first_run, [True, True, False, False], first_run]
    assert {result["data"] for answer in answers for result in answer["toolResults"][:2]} == {"seen x"}
    assert read_lines(home.cwd / "looks") == ["x", "x"]
    assert all(result["ok"] for answer in answers for result in answer["toolResults"])


@pytest.mark.spec("RUN-41")
def test_only_an_equal_call_reuses_a_result(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool, all arguments and the working directory must be the same."""
    home.write("tools/probe.py", PACK)
    calls = [
        ("probe.look", {"at": "x"}),
        ("probe.look", {"at": "y"}),
        ("shell.pwd", {}),
        ("probe.look", {"at": "x"}),
    ]
    turns = [scripted_calls(*calls), {"text": "done"}]
    for folder in ("one", "two"):
        (home.cwd / folder).mkdir()
        monkeypatch.chdir(home.cwd / folder)
        results = ask_script(home, turns, "--session", "s")["toolResults"]
        directory = str((home.cwd / folder).resolve())
        assert [result["data"] for result in results] == ["seen x", "seen y", directory, "seen x"]
        assert [bool(result["meta"].get("cached")) for result in results] == [False, False, False, True]
        assert read_lines(home.cwd / folder / "looks") == ["x", "y"]


@pytest.mark.spec("RUN-41")
def test_failed_and_changing_calls_run_again(home: Any) -> None:
    """A failed result is not reused; its successful repetition is. A tool with side effects always runs."""
    home.write("tools/probe.py", PACK)
    listen, press = ("probe.listen", {"at": "x"}), ("probe.press", {"at": "x"})
    turns = [scripted_calls(listen, listen, listen, press, press), {"text": "done"}]
    results = ask_script(home, turns, "--session", "s", "--yes")["toolResults"]
    assert [result["ok"] for result in results] == [False, True, True, True, True]
    assert [bool(result["meta"].get("cached")) for result in results] == [False, False, True, False, False]
    assert [result["data"] for result in results[1:]] == ["heard x"] * 2 + ["pressed x"] * 2
    again = ask_script(home, turns, "--session", "s", "--yes")["toolResults"]
    assert [bool(result["meta"].get("cached")) for result in again] == [True, True, True, False, False]
    assert read_lines(home.cwd / "listens") == ["x"] * 2
    assert read_lines(home.cwd / "presses") == ["x"] * 4


@pytest.mark.spec("RUN-41")
def test_results_about_files_are_not_reused(home: Any) -> None:
    """Neither size nor time proves that the content is the same."""
    file = Path(home.cwd / "note")
    calls = scripted_calls(("fs.read_file", {"path": "note"}), ("fs.list_dir", {"path": "."}))
    for content in ("first", "other"):
        file.write_text(content)
        os.utime(file, ns=(10**18, 10**18))
        read, listed = ask_script(home, [calls, {"text": "done"}], "--session", "s")["toolResults"]
        assert (read["data"], "cached" in read["meta"], listed["ok"]) == (content, False, True)
    (home.cwd / "more").touch()
    *_, listed = ask_script(home, [calls, {"text": "done"}], "--session", "s")["toolResults"]
    assert {entry["path"] for entry in listed["data"]} == {"note", "more"}


def all_commands(command: click.Command, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command and group below a command, with the words that call it."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            yield from all_commands(found, *words, name)


@pytest.mark.spec("RUN-42")
def test_every_option_of_every_command_has_a_long_name() -> None:
    """Short names may change, because nothing needs them."""
    commands = dict(all_commands(cli))
    assert {("ask",), ("run",), ("tools", "invoke"), ("auth", "login")} <= set(commands)
    options = [
        (words, parameter.opts)
        for words, command in commands.items()
        for parameter in command.get_params(click.Context(command))
        if isinstance(parameter, click.Option)
    ]
    assert len(options) > len(commands)
    assert [option for option in options if not any(name.startswith("--") for name in option[1])] == []


@pytest.mark.spec("RUN-42", "RUN-43")
def test_ask_and_auth_document_their_options_and_commands(home: Any) -> None:
    """Every option has a long name."""
    help_page = onetool("ask", "--help")
    options = re.findall(r"^  (-\S.*)$", help_page.stdout, re.MULTILINE)
    assert (help_page.returncode, all("--" in option for option in options)) == (0, True)
    required = ("--provider", "--session", "--new-session", "--with-tools", "--tool-allow", "--json")
    assert [name for name in required if name not in help_page.stdout] == []
    auth = onetool("auth", "--help")
    missing = [name for name in ("login", "logout", "status", "use") if name not in auth.stdout]
    assert (auth.returncode, missing) == (0, [])
