"""Tasks of servers whose OneTool process has ended: another process with the server waits for them."""

import json
import re
import sys

import pytest

from support.asking_client import FORM, accept
from support.asking_world import AskingWorld
from support.paths import MCP_SERVERS
from support.processes import wait_until
from support.raw_mcp import MODERN

TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
SCRIPT = str(MCP_SERVERS / "task_server.py")


class TaskWorld(AskingWorld):
    """OneTool with a server that has tasks, over HTTP and as a program."""

    def __init__(self, root):
        super().__init__(root, "far", "near", approval={"mcp": "allow"})

    def _server(self, name):
        arguments = ["-I", SCRIPT, str(self.log(name))]
        if name == "far":
            return {"url": self.start_server([*arguments, "--http"])}
        return {"command": sys.executable, "args": arguments, "sandbox": False}

    def events(self, name="far"):
        return [json.loads(line)["event"] for line in self.log(name).read_text().splitlines()]

    def at(self, process):
        return self.client(MODERN, "http", FORM | TASKS, process)

    def kill(self, process):
        self.serve(process).process.kill()
        self.stop(process)


@pytest.fixture
def world(tmp_path):
    with TaskWorld(tmp_path) as world:
        yield world


def start(world, gate, tool="far__job", **args):
    """Start a task at process `a` and return its id."""
    call = {"name": tool, "arguments": {"gate": str(gate), **args}}
    created = world.at("a").request("tools/call", **call)["result"]
    assert created["resultType"] == "task"
    return created["taskId"]


def get(world, task, process="b"):
    return world.at(process).request("tasks/get", taskId=task)["result"]


def wait_for(world, task, status, process="b"):
    states = []

    def is_there():
        states.append(get(world, task, process))
        return states[-1]["status"] not in ("working", "input_required") or states[-1]["status"] == status

    assert wait_until(is_there)
    assert states[-1]["status"] == status, states[-1]
    return states[-1]


@pytest.mark.spec("MCP-58")
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_another_process_returns_the_result(world, tmp_path, end):
    task = start(world, tmp_path / "gate")
    assert get(world, task)["status"] == "working", "seen by another process while its owner is alive"
    getattr(world, end)("a")
    states = [get(world, task, process) for process in ("b", "c", "b", "c")]
    assert {state["status"] for state in states} == {"working"}
    (tmp_path / "gate").touch()
    results = [wait_for(world, task, "completed", process)["result"] for process in ("b", "c")]
    assert results[0] == results[1]
    assert results[0]["content"] == [{"type": "text", "text": "done for no one"}]
    assert world.events() == ["run"], "neither called again nor cancelled"


@pytest.mark.spec("MCP-58")
def test_the_next_process_can_end_too(world, tmp_path):
    task = start(world, tmp_path / "gate")
    for process in ("a", "b"):
        get(world, task, process)
        world.kill(process)
    assert get(world, task, "c")["status"] == "working"
    (tmp_path / "gate").touch()
    assert wait_for(world, task, "completed", "c")["result"]["content"][0]["text"] == "done for no one"
    assert world.events() == ["run"]


@pytest.mark.spec("MCP-58")
def test_another_process_asks_what_the_task_asks(world, tmp_path):
    task = start(world, tmp_path / "gate", ask=True)
    wait_for(world, task, "input_required", "a")
    world.kill("a")
    [(key, question)] = wait_for(world, task, "input_required")["inputRequests"].items()
    assert "Who?" in question["params"]["message"]
    world.at("b").request("tasks/update", taskId=task, inputResponses={key: accept(name="Ada")})
    (tmp_path / "gate").touch()
    assert wait_for(world, task, "completed")["result"]["content"][0]["text"] == "done for Ada"


@pytest.mark.spec("MCP-58")
def test_another_process_cancels_the_task(world, tmp_path):
    task = start(world, tmp_path / "gate")
    world.kill("a")
    world.at("b").request("tasks/cancel", taskId=task)
    assert wait_until(lambda: "cancelled" in world.events())
    wait_for(world, task, "cancelled")


@pytest.mark.spec("MCP-51", "MCP-58")
def test_the_task_of_a_program_ends_with_its_process(world, tmp_path):
    task = start(world, tmp_path / "gate", "near__job")
    world.kill("a")
    assert "May have run: near.job" in wait_for(world, task, "failed")["error"]["message"]


@pytest.mark.spec("MCP-58")
def test_a_process_with_another_url_for_the_server_leaves_the_task_alone(world, tmp_path):
    task = start(world, tmp_path / "gate")
    world.kill("a")
    other = world.start_server(["-I", SCRIPT, str(world.log("other")), "--http"])
    world.settings = re.sub(r"http://\S+", other, world.settings)
    (tmp_path / "gate").touch()
    assert wait_for(world, task, "failed")["error"]["message"].startswith("The process that ran far.job")
