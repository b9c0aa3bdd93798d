"""Tasks of servers whose OneTool process has ended: another process with the server waits for them."""

import re

import pytest

from support.asking_client import FORM, accept, read_log
from support.asking_world import COMMANDS, AskingWorld
from support.processes import wait_until
from support.raw_mcp import MODERN

TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
FAR = "tasks_http"
"""The server that outlives a process of OneTool."""


class TaskWorld(AskingWorld):
    """OneTool with a server that has tasks, over HTTP and as a program."""

    def events(self):
        return [event["event"] for event in read_log(self.log(FAR))]

    def at(self, process):
        return self.client(MODERN, "http", FORM | TASKS, process)

    def kill(self, process):
        self.serve(process).process.kill()
        self.stop(process)


def open_world(root):
    return TaskWorld(root, FAR, "tasks", approval={"mcp": "allow"})


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory):
    with open_world(tmp_path_factory.mktemp("tasks")) as world:
        yield world


@pytest.fixture
def world(shared_world):
    """A world without events. Processes that ended start again when they are needed."""
    shared_world.log(FAR).write_text("")
    return shared_world


def start(world, gate, tool=f"{FAR}__job", **args):
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
def test_other_processes_return_the_result(world, tmp_path, end):
    """Also if the first of them ends as well."""
    task = start(world, tmp_path / "gate")
    assert get(world, task)["status"] == "working", "seen by another process while its owner is alive"
    for process, others in (("a", "bc"), ("b", "cd")):
        getattr(world, end)(process)
        assert [get(world, task, other)["status"] for other in others] == ["working"] * 2
    (tmp_path / "gate").touch()
    results = [wait_for(world, task, "completed", process)["result"] for process in ("c", "d")]
    assert results[0] == results[1]
    assert results[0]["content"] == [{"type": "text", "text": "done for no one"}]
    assert world.events() == ["run"], "neither called again nor cancelled"


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
    task = start(world, tmp_path / "gate", "tasks__job")
    world.kill("a")
    assert "May have run: tasks.job" in wait_for(world, task, "failed")["error"]["message"]


@pytest.mark.spec("MCP-58")
def test_a_process_with_another_url_for_the_server_leaves_the_task_alone(tmp_path):
    with open_world(tmp_path) as world:
        task = start(world, tmp_path / "gate")
        world.kill("a")
        other = world.start_server(["-I", *COMMANDS["tasks"], str(world.log("other")), "--http"])
        world.settings = re.sub(r"http://\S+", other, world.settings)
        (tmp_path / "gate").touch()
        failed = wait_for(world, task, "failed")
        assert failed["error"]["message"].startswith("The process that ran tasks_http.job")
