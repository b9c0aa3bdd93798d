"""One table of calls, one expected result each, through every door: the corridor is the same."""

import asyncio
import json
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from call_table import ALL, CASES, SETTINGS, Case, furnish
from commands import onetool
from mcp_door import door as open_door
from mcp_door import new_home, over_http, over_stdio, own_env
from onetool import onetool_runtime
from onetool.bootstrap import open_runtime
from onetool.conversation.conversation import Conversation, Question
from onetool.domain import Caller, Reason
from onetool.domain.wire_names import wire_names
from onetool.domain.yaml_text import to_yaml
from onetool.doors.cli.tools import EXIT
from onetool.doors.rest.problems import STATUS_OF_REASON
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places
from onetool.testing import ScriptedLLM, calls, text
from processes import wait_until
from rest_app import served
from rest_server import TOKEN, Server


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """The home of the table, made once."""
    home = new_home(tmp_path_factory.mktemp("table"))
    asyncio.run(furnish(home))
    return home


@pytest.fixture
def furnished(home, template):
    """A home of its own for each test."""
    shutil.copytree(template.root, home.root, dirs_exist_ok=True)
    return home


Answers = list[dict[str, Any]]


async def through_python(cases: Iterable[Case]) -> Answers:
    answers = []
    for case in cases:
        async with onetool_runtime(allowed=case.allowed) as ot:
            answers.append((await ot.call(case.tool, **case.args)).to_json())
    return answers


async def through_python_without_a_loop(cases: Iterable[Case]) -> Answers:
    answers = []
    for case in cases:
        with onetool_runtime(allowed=case.allowed) as ot:
            answers.append(ot.call(case.tool, **case.args).to_json())
    return answers


async def through_cli(cases: Iterable[Case]) -> Answers:
    """Each in a process of its own, and these need not wait for each other."""
    return await asyncio.gather(*(asyncio.to_thread(invoke, case) for case in cases))


def invoke(case: Case) -> dict[str, Any]:
    command = ["tools", "invoke", case.tool, "--args", json.dumps(case.args)]
    if case.allowed is not None:
        command += ["--tool-allow", ",".join(case.allowed)]
    done = onetool(*command)
    assert done.returncode == (1 if case.code else 0), done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


async def through_rest(cases: Iterable[Case]) -> Answers:
    """Over a socket; what others call data is a value here, and an error stands for itself."""
    places, answers = find_places(os.environ, Path.cwd()), []
    async with (
        open_runtime(lambda: load_configuration(places, os.environ)) as runtime,
        served(runtime) as client,
    ):
        for case in cases:
            answer = await client.post("/tools/call", json={"name": case.tool, "args": case.args})
            assert answer.status_code == (STATUS_OF_REASON[Reason(case.reason)] if case.reason else 200)
            body = answer.json()
            body |= {"data": body.pop("value")} if "value" in body else {}
            answers.append(body | ({"data": case.data} if case.reason == "returned_error" else {}))
    return answers


async def through_ask(cases: Iterable[Case]) -> Answers:
    """A model calls each tool by the name that it was offered, or by its own where it was offered none."""
    places, answers = find_places(os.environ, Path.cwd()), []
    turns = [turn for case in cases for turn in (calls((offered_name(case), case.args)), text("done"))]
    with ScriptedLLM(turns) as llm:
        with (places.config / "onetool.yaml").open("a") as settings:
            settings.write(f"providers: {{fake: {{base_url: {llm.base_url}, model: m}}}}\n")
        async with (
            open_runtime(lambda: load_configuration(places, os.environ)) as runtime,
            aclosing(runtime.chat_models.open("fake")) as model,
        ):
            for number, case in enumerate(cases):
                talk = Conversation(runtime, model, f"case-{number}")
                answer = (await talk.ask(Question(text="Go.", allowed=case.allowed))).to_json()
                assert (answer["answer"], len(answer["toolResults"])) == ("done", 1)
                assert answer["toolError"] == answer["toolResults"][0].get("error")
                answers += answer["toolResults"]
    return answers


def offered_name(case: Case) -> str:
    return case.tool if case.code == "tool_not_found" else wire_names([case.tool])[case.tool]


OPEN = {name: case for name, case in ALL.items() if case.allowed is None}
"""Those for doors that have no list of allowed tools."""
DOORS = [
    (through_python, ALL),
    (through_python_without_a_loop, CASES),
    (through_cli, CASES),
    (through_rest, OPEN),
    (through_ask, ALL),
]


@pytest.mark.parametrize(("door", "cases"), DOORS, ids=[door.__name__ for door, _ in DOORS])
async def test_every_door_answers_alike(
    furnished, door: Callable[[Iterable[Case]], Awaitable[Answers]], cases: dict[str, Case]
):
    """The same call has the same result, whichever door it comes through."""
    answers = await door(cases.values())
    for answer in answers:
        assert answer["meta"].pop("callId")
        assert answer["meta"].pop("durationMs") >= 0
    assert dict(zip(cases, answers, strict=True)) == {name: case.expected() for name, case in cases.items()}


RUN_CODE = """
try:
    seen = ["returned", {tool}(**{args!r})]
except Exception as error:
    seen = [type(error).__name__, str(error)]
seen
"""


def inside_code(case: Case) -> Any:
    """What code in `run` sees of a call: a value, an exception by its type, or a check before the run."""
    if case.reason == "disabled":
        return f"line 3: there is no tool {case.tool}. Did you mean kept.odd or kept.gone?"
    if case.reason == "unknown":
        return f"line 3: there is no tool {case.tool}. Did you mean probe.add?"
    if case.reason == "bad_args":
        wrong = "Argument to function `add` is incorrect: Expected `int`, found `str`"
        return f"line 3: {wrong}. Signature: probe.add(*, a: int, b: int = ...)"
    if case.reason == "not_allowed":
        return "line 3: 'probe' is not defined."
    if not case.code or case.reason == "returned_error":
        return ["returned", case.data]
    kinds = {"raised": case.exception, "timeout": "TimeoutError", "needs_approval": "PermissionError"}
    return [kinds.get(case.reason, "ValueError"), case.message.removeprefix("KeyError: ")]


async def test_code_sees_what_happened(furnished):
    """Inside `run` what a tool returned is returned, and what it raised is raised with its type."""
    places = find_places(furnished.env, furnished.cwd)
    async with open_runtime(lambda: load_configuration(places, {})) as runtime:
        for name, case in ALL.items():
            caller = Caller(door="mcp", allowed=case.allowed)
            result = await runtime.run(RUN_CODE.format(tool=case.tool, args=case.args), caller)
            seen = result.data if result.ok else result.error.message
            assert seen == inside_code(case), name


class Mcp:
    """The MCP door over one transport, presenting tools in one way."""

    def __init__(self, door, expose):
        self.door, self.expose = door, expose

    def begin(self, tool, **args):
        """Call a tool by its name, or inside code; a future of whether it failed, and its text."""
        if self.expose == "search":
            return self.door.begin("call_tool", name=tool, args=args)
        return self.door.begin("run", command=RUN_CODE.format(tool=tool, args=args))

    def call(self, tool, **args):
        return self.begin(tool, **args).result(timeout=30)


@contextmanager
def served_over(transport, home, expose):
    if transport == "stdio":
        yield over_stdio("--expose", expose, env=own_env(**home.env), cwd=home.cwd)
    else:
        with Server(home.root, settings=f"{SETTINGS}expose: {expose}\n", probes=False) as server:
            yield over_http(server.url, TOKEN)


@pytest.fixture(scope="module", params=["stdio-search", "stdio-run", "http-search", "http-run"])
def mcp(request, template, tmp_path_factory):
    """`onetool mcp`, or `/mcp` of `onetool serve` with its token, and the official client."""
    transport, expose = request.param.split("-")
    home = new_home(tmp_path_factory.mktemp("mcp"))
    shutil.copytree(template.root, home.root, dirs_exist_ok=True)
    with served_over(transport, home, expose) as client, open_door(client) as opened:
        yield Mcp(opened, expose)


@pytest.mark.parametrize("name", OPEN)
def test_mcp_clients_see_what_happened(mcp, name):
    """The same table through the official client: by name, and inside code."""
    case = OPEN[name]
    if mcp.expose == "search":
        failed = f"Error: {case.message.removeprefix('Error: ')}"
        expected = (bool(case.code), failed if case.code else to_yaml(case.data))
    else:
        seen = inside_code(case)
        expected = (isinstance(seen, str), f"Error: {seen}" if isinstance(seen, str) else to_yaml(seen))
    assert mcp.call(case.tool, **case.args) == expected


def test_mcp_clients_are_told_of_a_rate(mcp):
    """The second call in a minute is refused, with the time to wait."""
    failed, text = mcp.call("kept.rare")
    assert (failed, "hurried" in text) == (False, True)
    failed, text = mcp.call("kept.rare")
    assert failed is (mcp.expose == "search")
    assert re.search(
        r"kept\.rare was not called: it may be called 1 times a minute\. Try again in \d+ s\.", text
    )


def test_mcp_clients_are_told_of_a_full_house(mcp, tmp_path):
    """A call that finds no place in its time is refused; calls inside code need none of their own."""
    gate = tmp_path / "gate"
    holding = mcp.begin("probe.hold", gate=str(gate))
    assert wait_until(Path(f"{gate}.begun").exists, 10)
    hurried = mcp.call("probe.hurry")
    gate.touch()
    assert "held" in holding.result(timeout=30)[1]
    busy = "Error: probe.hurry was not called: too many calls are running. Try again later."
    assert hurried == ((True, busy) if mcp.expose == "search" else (False, "[returned, hurried]"))


def test_every_reason_is_in_the_table():
    """But for two that need a second call, and one whose caller has left."""
    elsewhere = {Reason.RATE_LIMITED, Reason.BUSY, Reason.CANCELLED}
    assert {Reason(case.reason) for case in ALL.values() if case.reason} == set(Reason) - elsewhere


def test_every_reason_has_an_answer():
    """The tables from reasons to exit codes and to statuses are total."""
    assert set(EXIT) == set(STATUS_OF_REASON) == set(Reason)
