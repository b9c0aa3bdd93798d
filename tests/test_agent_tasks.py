"""The tasks of benchmarks/agents: valid, checked by their outcome, and doable over `onetool mcp`."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import pytest

from support.paths import PROJECT as ROOT
from support.user_home import Home

DONE_WITH_PACKS = ("api-port", "reorder", "config-differences", "customers-by-country", "notes-for-oslo")
"""Tasks without MCP servers from npm or PyPI: they use files, a database and stored HTTP tools."""
HANG_S = 300.0
pytestmark = pytest.mark.filterwarnings("ignore:open_binary is deprecated")  # by the optional tokenizer


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the benchmarks importable from the repository."""
    monkeypatch.syspath_prepend(str(ROOT))


def test_tasks_are_complete():
    """There are forty, each with a solution, and they need only servers that are listed."""
    from benchmarks.agents.servers import load_entries
    from benchmarks.agents.tasks import load_solutions, load_tasks

    tasks, servers = load_tasks(), set(load_entries())
    assert len(tasks) == 40
    assert set(load_solutions()) == set(tasks)
    assert all(servers >= set(task.needs) for task in tasks.values())
    assert len(servers) >= 10


def test_no_prompt_names_a_tool():
    """A model must find out by itself what to use."""
    from benchmarks.agents.tasks import load_solutions, load_tasks
    from benchmarks.agents.transcript import called_tools

    tools = set().union(*map(called_tools, load_solutions().values()))
    functions = {name.partition(".")[2] for name in tools if "_" in name}
    assert len(functions) > 10
    for task in load_tasks().values():
        assert not [name for name in (*tools, *functions) if name in task.prompt], task.id


def test_invalid_tasks_are_rejected(tmp_path):
    from benchmarks.agents.tasks import load_tasks

    file = tmp_path / "tasks.yaml"
    for checks in ([], [{"guess": {}}], [{"answer": {}, "file": {}}]):
        file.write_text(json.dumps([{"id": "a", "prompt": "b", "checks": checks}]))
        with pytest.raises(ValueError, match="'a'"):
            load_tasks(file)


def test_every_check_fails_if_nothing_was_done(tmp_path):
    from benchmarks.agents.checks import passes
    from benchmarks.agents.samples import write_samples
    from benchmarks.agents.tasks import load_tasks

    for name in ("work", "state"):
        (tmp_path / name).mkdir()
    write_samples(tmp_path / "work", tmp_path / "state")
    assert [task.id for task in load_tasks().values() if passes(task.checks, tmp_path, "")] == []


@pytest.mark.parametrize(
    ("rule", "right", "wrong"),
    [
        ({"number": 1250}, "It is 1,250.00.", "It is 125 of 1,250 in 3 files."),
        ({"words": ["Auth", "9"]}, "auth: 9", "auth"),
        ({"absent": ["tea"]}, "coffee", "Tea"),
        ({"json": [1]}, "```json\n[1]\n```", "The list is [1]."),
        ({"regex": r"\b4\b"}, "4 times", "42 times"),
    ],
)
def test_answer_is_checked(rule, right, wrong, tmp_path):
    from benchmarks.agents.checks import passes

    assert passes([{"answer": rule}], tmp_path, right)
    assert not passes([{"answer": rule}], tmp_path, wrong)


@pytest.mark.linux
async def test_solutions_do_their_tasks(home: Home):
    """Over `onetool mcp`, one after the other in one home; the result of each program is the answer."""
    from benchmarks.agents.checks import passes
    from benchmarks.agents.home import temporary_home
    from benchmarks.agents.mcp_client import open_client
    from benchmarks.agents.tasks import Task, load_solutions, load_tasks

    tasks, solutions = [load_tasks()[name] for name in DONE_WITH_PACKS], load_solutions()
    files = {name: text for task in tasks for name, text in (task.files or {}).items()}
    with temporary_home(Task(id="all", prompt="", checks=(), files=files), {}) as user:
        async with asyncio.timeout(HANG_S), open_client(user, "run") as client:
            for task in tasks:
                assert not passes(task.checks, user.root, ""), task.id
                reply = await client.call_tool("run", {"command": solutions[task.id]})
                assert passes(task.checks, user.root, reply.text), reply


@pytest.mark.linux
async def test_model_does_a_task_through_the_ask_loop(home: Home):
    """The scripted model finds the tool, calls it wrongly, corrects the call and answers."""
    from benchmarks.agents.provider_run import run_task
    from benchmarks.agents.tasks import load_tasks
    from benchmarks.token_counts import Tokenizer

    query = {"database": "shop.db", "sql": "SELECT count(*) FROM customers"}
    turns = [
        {"calls": [{"name": "find_tools", "args": {"query": "query a SQLite database"}}]},
        {"calls": [{"name": "call_tool", "args": {"name": "db.query", "args": {}}}], "expect": "db.query"},
        {"calls": [{"name": "call_tool", "args": {"name": "db.query", "args": query}}], "expect": "sql"},
        {"text": "7"},
    ]
    script = home.cwd / "script.json"
    script.write_text(json.dumps(turns))
    async with asyncio.timeout(HANG_S):
        task, tokenizer = load_tasks()["silent-customers"], Tokenizer()
        transcript, figures = await run_task(task, "search", {}, "scripted", str(script), tokenizer)
    assert not transcript.error
    assert [call.failed for call in transcript.calls] == [False, True, False]
    assert (figures.success, figures.first_right, figures.round_trips) == (True, False, 3)
    assert figures.tokens == 4 * figures.definitions + figures.results


async def test_without_a_chat_model_the_command_says_how_to_start(home: Home, monkeypatch, capsys):
    from benchmarks.agents.__main__ import main

    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", ["agents", "--tasks", "log-errors"])
    assert await asyncio.to_thread(main) == 2
    shown = capsys.readouterr().err
    assert "No chat model is set up." in shown
    assert "python -m benchmarks.agents.session start" in shown


@pytest.mark.linux
async def test_session_shows_what_a_client_shows_and_nothing_else(home: Home, tmp_path):
    """It makes calls of the listed tools only, checks the outcome and stores the transcript."""
    from benchmarks.agents.session import SOCKET, request
    from benchmarks.agents.session_host import host
    from benchmarks.agents.tasks import load_tasks

    task, results = load_tasks()["customers-by-country"], tmp_path / "results"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # a short path, for its socket
        root = Path(folder)
        serving = asyncio.ensure_future(host(root, task, "run", "hand", {}, results))
        async with asyncio.timeout(HANG_S):
            while not (root / SOCKET).exists() and not serving.done():
                await asyncio.sleep(0)
            shown = await request(root, {})
            other = await request(root, {"tool": "fs.read_file", "args": {"path": "shop.db"}})
            reply = await request(root, {"tool": "run", "args": {"command": "1 + 1"}})
            figures = await request(root, {"answer": "Done."})
            await serving
    assert [tool["name"] for tool in json.loads(shown["tools"])] == ["run"]
    assert shown["prompt"] == task.prompt
    assert "Denmark" not in json.dumps(shown)
    assert other == {"text": "Error: There is no tool 'fs.read_file'.", "failed": True}
    assert reply == {"text": "2", "failed": False}
    assert (figures["success"], figures["calls"], figures["failed_calls"]) == (False, 2, 1)
    lines = (results / "hand-run" / f"{task.id}.json").read_text().splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["start", "call", "call", "answer", "figures"]
    assert json.loads(lines[0])["system"].endswith("The working directory of the user is /home/user/work.")
    assert "| hand-run | 1 | 0 of 1 |" in (results / "README.md").read_text()


def program(command: str, failed: bool = False):
    from benchmarks.agents.transcript import CallRecord

    return CallRecord(turn=1, name="run", args={"command": command}, reply="", failed=failed)


def test_first_program_is_right_if_it_does_not_fail():
    """Programs that only search for tools do not count."""
    from benchmarks.agents.transcript import is_first_right

    find, query = program("ot.find(query='x')"), program("rows = db.query(sql='x')\nrows.sort()")
    assert is_first_right("run", [find, query, program("import json\njson.dumps(fs.list_dir(path='.'))")])
    assert is_first_right("run", [find, query, program("db.query(sql='y')", failed=True)])
    assert not is_first_right("run", [program("db.query(sql='x')", failed=True)])
    assert not is_first_right("run", [program("db.query(sql=", failed=True), query])
    assert not is_first_right("run", [find])
