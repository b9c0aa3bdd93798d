"""Every interface with a disk that is full or read-only: calls go on, and what is not stored is said."""

import json
import os
import subprocess
import sys

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from support.rest_process import RestProcess, write_private
from support.small_disk import small_disk
from support.waiting import HANG_S

pytestmark = pytest.mark.linux
REASONS = {"full": "No space left on device", "read-only": "Read-only file system"}
EMBEDDED = """
from onetool import onetool_runtime
with onetool_runtime() as ot:
    print(ot.call("stored.probe").data, ot.call("tools.echo", message="hi").data)
"""
DRAW_PACK = '''
from onetool.sdk import Media
pack = "draw"
def chart() -> Media:
    """Draw a chart."""
    return Media(b"png", "image/png")
'''
BIG = "tools.echo(message='start ' + 'x' * 100_000)"


class Machine:
    """OneTool with its data and state on a small disk."""

    def __init__(self, root, disk):
        self.root, self.disk = root, disk
        self.env = {f"ONETOOL_{name}_DIR": str(disk.folder / name.lower()) for name in ("DATA", "STATE")}
        (root / "work").mkdir()

    @property
    def wrapper(self):
        return self.disk.wrapper(self.root / "work")

    def serve(self):
        return RestProcess(self.root, wrapper=self.wrapper, **self.env)

    def python(self, *words):
        env = os.environ | self.env | {"ONETOOL_CONFIG_DIR": str(self.root / "config")}
        command = [*self.wrapper, sys.executable, *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=HANG_S, check=False)

    def onetool(self, *words):
        return self.python("-m", "onetool", *words)

    def mcp(self):
        env = self.env | {"ONETOOL_CONFIG_DIR": str(self.root / "config"), "PATH": os.environ["PATH"]}
        command, *args = [*self.wrapper, sys.executable, "-m", "onetool", "mcp"]
        return Client(stdio_client(StdioServerParameters(command=command, args=args, env=env)))


@pytest.fixture
def machine(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        yield Machine(tmp_path, disk)


@pytest.fixture(scope="module", params=REASONS)
def unwritable(request, tmp_path_factory):
    """A machine with one stored tool, after its disk became full or read-only. No process runs."""
    root = tmp_path_factory.mktemp("unwritable")
    with small_disk(root / "disk") as disk:
        machine = Machine(root, disk)
        with machine.serve() as server:
            server.create_tool(server.create_bundle(slug="stored"))
        if request.param == "full":
            disk.fill()
        else:
            disk.make_read_only()
        machine.reason = REASONS[request.param]
        yield machine


def call(server, name, **args):
    body = server.client.post("/tools/call", json={"name": name, "args": args}).json()
    assert body["ok"], body
    return body["value"]


@pytest.mark.guards("machine-disk")
def test_a_running_server_goes_on_while_the_disk_is_full(machine):
    """It reads everything, rejects what it cannot store, and stores again when there is room."""
    with machine.serve() as server:
        tool = server.create_tool(server.create_bundle(slug="stored"))
        assert server.client.get("/health").json()["problems"] == []
        machine.disk.fill()
        assert call(server, "tools.echo", message="hi") == "hi"
        assert server.invoke_value(tool) == 1
        assert server.search_slugs(tool["bundleID"], "probe") == ["probe"]
        assert server.client.get("/sessions").status_code == 200
        health = server.client.get("/health").json()
        assert health["unwritable"] == dict.fromkeys(machine.env.values(), REASONS["full"])
        assert [problem["what"].split(":")[0] for problem in health["problems"]] == [
            f"Cannot write to {directory}" for directory in machine.env.values()
        ]
        for rejected in (
            server.client.patch(server.url_of(tool), json={"isEnabled": False}),
            server.put_bundle(),
            server.put_tool(tool["bundleID"], "other"),
        ):
            assert rejected.status_code == 503
            assert "full" in rejected.text or REASONS["full"] in rejected.text
        assert server.invoke_value(tool) == 1
        machine.disk.free()
        server.set_enabled(server.url_of(tool), False)
        assert server.invoke(tool).status_code == 409
        assert call(server, "ot.stats")["total_calls"] == 4
        assert server.client.get("/health").json()["problems"] == []


def test_a_server_starts_and_serves(unwritable):
    """Media that cannot be stored are sent inline, and have no handle."""
    with unwritable.serve() as server:
        assert call(server, "tools.echo", message="hi") == "hi"
        assert call(server, "stored.probe") == 1
        assert call(server, "ot.stats")["tools"] == {}
        assert unwritable.reason in json.dumps(server.client.get("/health").json()["problems"])
        rejected = server.put_bundle()
        assert (rejected.status_code, unwritable.reason in rejected.text) == (503, True)
        write_private(server.config / "tools" / "draw.py", DRAW_PACK)
        response = server.client.post("/tools/call?media=inline", json={"name": "draw.chart"})
        assert response.json()["content"] == [
            {"type": "image", "mimeType": "image/png", "size": 3, "data": "cG5n"}
        ]


@pytest.mark.guards("machine-disk")
def test_commands_run_and_doctor_says_what_is_wrong(unwritable):
    done = unwritable.onetool("run", "stored.probe()")
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "cannot store" in done.stderr
    assert unwritable.reason in done.stderr
    assert "stored" in unwritable.onetool("bundles", "list", "--json").stdout
    assert "stored.probe" in unwritable.onetool("search", "probe", "--json").stdout
    doctor = unwritable.onetool("doctor", "--json")
    problems = [finding for finding in json.loads(doctor.stdout) if finding["status"] == "problem"]
    assert doctor.returncode == 1
    assert [unwritable.reason in problem["message"] for problem in problems] == [True, True]


def test_a_conversation_that_cannot_be_stored_is_not_started(unwritable):
    """What a model did must be on record before the next step."""
    done = unwritable.onetool("ask", "--provider", "scripted", "What time is it?")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(f"{unwritable.reason}.")
    assert "sessions" in done.stderr.splitlines()[-1]


def test_an_embedded_runtime_calls_tools(unwritable):
    done = unwritable.python("-c", EMBEDDED)
    assert (done.returncode, done.stdout) == (0, "1 hi\n"), done.stderr


async def test_a_model_gets_the_beginning_of_a_result_that_cannot_be_stored(unwritable):
    """The tool ran, so its call must not look like a failure that a model repeats."""
    async with unwritable.mcp() as client:
        result = await client.call_tool("run", {"command": BIG})
        failed = await client.call_tool("run", {"command": f"{BIG}\n1 / 0"})
    text = result.content[0].text
    assert not result.is_error
    assert "The rest could not be stored and is lost" in text
    assert unwritable.reason in text
    assert "start xxx" in text
    assert len(text) < 100_000
    assert "Their results could not be stored" in failed.content[0].text


def test_a_first_start_on_a_full_disk(machine):
    """Nothing of OneTool exists yet, and nothing can be created."""
    machine.disk.fill()
    done = machine.onetool("run", "1 + 1")
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
    assert "slug" in machine.onetool("bundles", "list", "--json").stdout


@pytest.mark.guards("machine-disk")
def test_a_tool_that_was_disabled_stays_disabled_without_the_index(machine):
    """An index that lacks a change of the files is not used, even if it is all that can be read."""
    with machine.serve() as server:
        tool = server.create_tool(server.create_bundle(slug="stored"))
    file = machine.disk.path / "data" / "bundles" / tool["bundleID"] / f"{tool['id']}.json"
    file.write_text(file.read_text().replace('"isEnabled": true', '"isEnabled": false'))
    (file.parent / "touched").touch()
    machine.disk.fill()
    done = machine.onetool("run", "stored.probe()")
    assert done.returncode == 1
    assert "stored" in done.stderr
