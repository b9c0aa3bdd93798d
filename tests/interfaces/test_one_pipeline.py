"""The same table of calls through every interface: the pipeline is the same."""

import asyncio
import json
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from interfaces.call_table import ALL_CASES, SETTINGS, SIMPLE_CASES, CallCase, set_up_home
from interfaces.hosted_table import HostedTable
from onetool import onetool_runtime
from onetool.bootstrap import open_runtime
from onetool.conversation.conversation import AskRequest, Conversation
from onetool.domain import Caller, Reason
from onetool.domain.activity.record import ActivityFilter, CallRecord
from onetool.domain.text.model_text import to_readable_text
from onetool.domain.tools.wire_names import wire_names
from onetool.interfaces.cli.call import EXIT_CODES
from onetool.interfaces.rest.problems import STATUS_BY_REASON
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.storage.files.activity import FileActivity
from onetool.testing import ScriptedLLM, calls, text
from onetool.threads import Threads
from support.mcp_client import child_env, create_home, http_mcp_client, open_session, stdio_mcp_client
from support.onetool_process import onetool
from support.pack_index import INDEX, remember_index, write_index
from support.processes import wait_until
from support.rest_in_process import serve_rest
from support.rest_process import TOKEN, RestProcess
from support.waiting import HANG_S


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """The home directory of the table, created once."""
    home = create_home(tmp_path_factory.mktemp("table"))
    asyncio.run(set_up_home(home))
    remember_index(home.state)
    return home


def furnish(home, template):
    """Copy the home directory, with an index that has the packs at their new places."""
    shutil.copytree(template.root, home.root, dirs_exist_ok=True)
    (home.state / INDEX).unlink()
    write_index(home.state, (home.config / "tools").glob("*.py"))
    return home


@pytest.fixture
def furnished(home, template):
    """A copy of the home directory for each test."""
    return furnish(home, template)


Results = list[dict[str, Any]]
ALL = ActivityFilter()


async def through_python(cases: Iterable[CallCase]) -> Results:
    results = []
    for case in cases:
        async with onetool_runtime(allowed=case.allowed) as ot:
            results.append((await ot.call(case.tool, **case.args)).to_json())
    return results


async def through_python_without_a_loop(cases: Iterable[CallCase]) -> Results:
    results = []
    for case in cases:
        with onetool_runtime(allowed=case.allowed) as ot:
            results.append(ot.call(case.tool, **case.args).to_json())
    return results


async def through_cli(cases: Iterable[CallCase]) -> Results:
    """Run each call in its own process."""
    return [invoke(case) for case in cases]


def invoke(case: CallCase) -> dict[str, Any]:
    command = ["tools", "invoke", case.tool, "--args", json.dumps(case.args)]
    if case.allowed is not None:
        command += ["--tool-allow", ",".join(case.allowed)]
    done = onetool(*command)
    assert done.returncode == (1 if case.code else 0), done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


async def through_rest(cases: Iterable[CallCase]) -> Results:
    """Call over a socket."""
    paths = find_paths(os.environ, Path.cwd())
    async with (
        open_runtime(lambda: load_configuration(paths, os.environ)) as runtime,
        serve_rest(runtime) as client,
    ):
        return await post_all(client, cases)


async def post_all(client: httpx2.AsyncClient, cases: Iterable[CallCase]) -> Results:
    """Call with requests. REST returns `value` instead of `data`, and no data for returned errors."""
    results = []
    for case in cases:
        response = await client.post("/tools/call", json={"name": case.tool, "args": case.args})
        assert response.status_code == (STATUS_BY_REASON[Reason(case.reason)] if case.reason else 200)
        body = response.json()
        body |= {"data": body.pop("value")} if "value" in body else {}
        results.append(body | ({"data": case.data} if case.reason == "returned_error" else {}))
    return results


async def through_ask(cases: Iterable[CallCase]) -> Results:
    """A model calls each tool by its wire name, or by its own name if the tool was not offered."""
    paths, results = find_paths(os.environ, Path.cwd()), []
    turns = [turn for case in cases for turn in (calls((offered_name(case), case.args)), text("done"))]
    with ScriptedLLM(turns) as llm:
        with (paths.config / "onetool.yaml").open("a") as settings:
            settings.write(f"providers: {{fake: {{base_url: {llm.base_url}, model: m}}}}\n")
        async with (
            open_runtime(lambda: load_configuration(paths, os.environ)) as runtime,
            aclosing(runtime.state.chat_models.open("fake")) as model,
        ):
            for number, case in enumerate(cases):
                conversation = Conversation(runtime, model, f"case-{number}")
                answer = (await conversation.ask(AskRequest(text="Go.", allowed=case.allowed))).to_json()
                assert (answer["answer"], len(answer["toolResults"])) == ("done", 1)
                assert answer["toolError"] == answer["toolResults"][0].get("error")
                results += answer["toolResults"]
    return results


def offered_name(case: CallCase) -> str:
    return case.tool if case.code == "tool_not_found" else wire_names([case.tool])[case.tool]


UNRESTRICTED = {name: case for name, case in ALL_CASES.items() if case.allowed is None}
HOST_REFUSED = "host that is no longer allowed"
HOSTED = UNRESTRICTED | {
    HOST_REFUSED: replace(
        UNRESTRICTED[HOST_REFUSED],
        message="Host 'elsewhere.test' is not in allowedHosts. The operator adds it to the settings of the "
        "workspace with: onetool admin settings set",
    )
}
"""In a workspace, other commands change the settings."""
"""Cases for interfaces without a list of allowed tools."""
INTERFACES = {
    through_python: ALL_CASES,
    through_python_without_a_loop: SIMPLE_CASES,
    through_cli: SIMPLE_CASES,
    through_rest: UNRESTRICTED,
    through_ask: ALL_CASES,
}


class Interface(NamedTuple):
    """One way to make calls, and the records of the calls."""

    name: str
    call_all: Callable[[Iterable[CallCase]], Awaitable[Results]]
    cases: dict[str, CallCase]
    records: Callable[[], Awaitable[Sequence[CallRecord]]]


@pytest.fixture(params=[*INTERFACES, "hosted"], ids=lambda param: getattr(param, "__name__", "hosted_rest"))
def interface(request):
    """Each interface of a user, and REST of a workspace."""
    if request.param != "hosted":
        home, call_all = request.getfixturevalue("furnished"), request.param
        name = call_all.__name__.split("_")[1]
        return Interface(name, call_all, INTERFACES[call_all], lambda: read_records(home))
    table = request.getfixturevalue("hosted_table")
    workspace = table.workspaces["rest"]

    async def through_hosted_rest(cases: Iterable[CallCase]) -> Results:
        async with httpx2.AsyncClient(
            base_url=table.url(workspace),
            headers=workspace.headers,
            trust_env=False,
            verify=False,
            timeout=HANG_S,
        ) as client:
            return await post_all(client, cases)

    async def records() -> Sequence[CallRecord]:
        """Wait for all records: they are written soon after the call."""
        async with asyncio.timeout(HANG_S):
            while len(found := await workspace.records(ALL)) < len(HOSTED):
                await asyncio.sleep(0.01)
        return found

    return Interface("rest", through_hosted_rest, HOSTED, records)


async def test_every_interface_returns_the_same_results(interface):
    cases = interface.cases
    results = await interface.call_all(cases.values())
    ids = []
    for result in results:
        ids.append(result["meta"].pop("callId"))
        assert result["meta"].pop("durationMs") >= 0
    assert dict(zip(cases, results, strict=True)) == {name: case.expected() for name, case in cases.items()}
    records = await interface.records()
    if interface.name == "ask":  # results have the ids of the model, which are unique only within a turn
        ids = [record.id for record in reversed(records)]
    assert sorted(record.id for record in records) == sorted(ids)
    by_id = {record.id: record for record in records}
    for id_, case in zip(ids, cases.values(), strict=True):
        record = by_id[id_]
        assert (record.tool, record.parent, record.kind) == (case.tool, "", "call")
        assert (record.reason or "", record.version or "current") == (case.reason, case.version)
        assert record.interface == record.source == interface.name


async def read_records(home, filter: ActivityFilter = ALL) -> Sequence[CallRecord]:
    """Return the records of all processes with this home, newest first."""
    store = FileActivity(home.root / "state" / "activity.sqlite3", Threads())
    page = await store.page(filter, None, 1_000)
    await store.aclose()
    return page.items


def run_code(tool: str, args: dict[str, Any]) -> str:
    """Return code that calls a tool and shows its value, or the type and the text of its exception."""
    keywords = ", ".join(f"{name}={value!r}" for name, value in args.items())
    return f"""
try:
    seen = ["returned", {tool}({keywords})]
except Exception as error:
    seen = [type(error).__name__, str(error)]
seen
"""


def seen_by_code(case: CallCase) -> Any:
    """Return what code in `run` sees: a value, an exception by type, or the message of a failed check."""
    problems = {
        "disabled": f"there is no tool {case.tool}. Did you mean saved.odd or saved.gone?",
        "unknown": f"there is no tool {case.tool}. Did you mean probe.add?",
        "not_allowed": "'probe' is not defined.",
    }
    if case.reason in problems:
        line = run_code(case.tool, case.args).split("\n")[2]
        return f"line 3: {problems[case.reason]}\n{line}"
    if not case.code or case.reason == "returned_error":
        return ["returned", case.data]
    kinds = {"raised": case.exception, "timeout": "TimeoutError", "needs_approval": "PermissionError"}
    if case.exception == "KeyError":  # its text is the repr of its message
        return ["KeyError", repr(case.message.removeprefix("KeyError: "))]
    return [kinds.get(case.reason, "ValueError"), case.message]


async def test_code_sees_values_and_exceptions_of_tools(furnished):
    """An exception keeps its type."""
    paths = find_paths(furnished.env, furnished.cwd)
    async with open_runtime(lambda: load_configuration(paths, {})) as runtime:
        for name, case in ALL_CASES.items():
            caller = Caller(interface="mcp", allowed=case.allowed)
            result = await runtime.run(run_code(case.tool, case.args), caller)
            seen = result.data if result.ok else result.error.message
            assert seen == seen_by_code(case), name


class Mcp:
    """The MCP interface over one transport with one exposure."""

    def __init__(self, session, expose, read, cases=UNRESTRICTED):
        """read: returns the records that a filter selects."""
        self.session, self.expose, self._read, self.cases = session, expose, read, cases
        self._call_count = len(self.records())

    def all_records(self):
        """Return the calls that the client has made, newest first, once each of them is recorded."""
        assert wait_until(lambda: len(self.records()) >= self._call_count)
        return self.records()

    def records(self, parent=""):
        """Return the calls that the client has made, newest first, or the calls inside one of them."""
        return asyncio.run(self._read(ActivityFilter(parent=parent)))

    def start_call(self, tool, **args):
        """Call a tool by name or in code. Return a future of whether it failed, and its text."""
        self._call_count += 1
        if self.expose == "search":
            return self.session.start_call("call_tool", name=tool, args=args)
        return self.session.start_call("run", command=run_code(tool, args))

    def call(self, tool, **args):
        return self.start_call(tool, **args).result(timeout=30)


@contextmanager
def serve_over(transport, home, expose):
    if transport == "stdio":
        yield stdio_mcp_client("--expose", expose, env=child_env(**home.env), cwd=home.cwd)
    else:
        with RestProcess(home.root, settings=f"{SETTINGS}expose: {expose}\n", probes=False) as server:
            yield http_mcp_client(server.url, TOKEN)


@pytest.fixture(scope="session")
def hosted_table(tmp_path_factory, installation):
    """A hosted server with workspaces for the table."""
    with HostedTable(tmp_path_factory.mktemp("hosted_table"), installation) as table:
        yield table


MCP_CLIENTS = ["stdio-search", "stdio-run", "http-search", "http-run", "hosted-search", "hosted-run"]


@pytest.fixture(scope="module", params=MCP_CLIENTS)
def mcp(request, template, tmp_path_factory):
    """The official client with `onetool mcp`, or with `/mcp` of `onetool serve` or of a workspace."""
    transport, expose = request.param.split("-")
    if transport == "hosted":
        table = request.getfixturevalue("hosted_table")
        workspace = table.workspaces[expose]
        with open_session(http_mcp_client(table.url(workspace), workspace.key)) as session:
            yield Mcp(session, expose, workspace.records, HOSTED)
        return
    home = furnish(create_home(tmp_path_factory.mktemp("mcp")), template)
    with serve_over(transport, home, expose) as client, open_session(client) as session:
        yield Mcp(session, expose, lambda filter: read_records(home, filter))


@pytest.mark.parametrize("name", UNRESTRICTED)
def test_mcp_clients_get_the_same_results(mcp, name):
    """The same table through the official client, by name and in code."""
    case = mcp.cases[name]
    if mcp.expose == "search":
        failed = f"Error: {case.message.removeprefix('Error: ')}"
        expected = (bool(case.code), failed if case.code else to_readable_text(case.data))
    else:
        seen = seen_by_code(case)
        expected = (
            isinstance(seen, str),
            f"Error: {seen}" if isinstance(seen, str) else to_readable_text(seen),
        )
    before = len(mcp.all_records())
    assert mcp.call(case.tool, **case.args) == expected
    record, *earlier = mcp.all_records()
    assert len(earlier) == before
    assert (record.interface, record.client) == ("mcp", "mcp")
    if mcp.expose == "search":
        assert (record.tool, record.kind, record.source) == (case.tool, "call", "mcp")
        assert (record.reason or "", mcp.records(record.id)) == (case.reason, [])
    else:
        assert (record.tool, record.kind, record.ok) == ("run", "run", not expected[0])
        inside = [(call.tool, call.reason or "", call.source) for call in mcp.records(record.id)]
        assert inside == ([] if expected[0] else [(case.tool, case.reason, "run")])


def test_mcp_calls_are_rate_limited(mcp):
    """The second call in a minute is rejected with the time to wait."""
    failed, text = mcp.call("saved.rare")
    assert (failed, "hurried" in text) == (False, True)
    failed, text = mcp.call("saved.rare")
    assert failed is (mcp.expose == "search")
    assert re.search(
        r"saved\.rare was not called: it is limited to 1 calls per minute\. Try again in \d+ s\.", text
    )


def test_mcp_calls_are_rejected_if_too_many_are_running(mcp, tmp_path):
    """Calls in code need no slot of their own."""
    gate = tmp_path / "gate"
    blocking = mcp.start_call("probe.hold", gate=str(gate))
    assert wait_until(Path(f"{gate}.started").exists)
    hurried = mcp.call("probe.hurry")
    gate.touch()
    assert "held" in blocking.result(timeout=30)[1]
    busy = "Error: probe.hurry was not called: too many calls are running. Try again later."
    assert hurried == ((True, busy) if mcp.expose == "search" else (False, "[returned, hurried]"))


def test_every_reason_is_in_the_table():
    """Except for those that need a second call or process, a caller who has disconnected, or a database."""
    excluded = {Reason.RATE_LIMITED, Reason.BUSY, Reason.CANCELLED, Reason.LOST, Reason.UNAVAILABLE}
    excluded |= {Reason.NEEDS_LOGIN}
    assert {Reason(case.reason) for case in ALL_CASES.values() if case.reason} == set(Reason) - excluded


def test_every_reason_has_an_exit_code_and_a_status():
    assert set(EXIT_CODES) == set(STATUS_BY_REASON) == set(Reason)
