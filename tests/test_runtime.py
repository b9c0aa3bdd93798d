"""One running OneTool, and several at once on the same files."""

import json
import subprocess
import sys
import time

import pytest

from onetool import onetool_runtime
from onetool.bootstrap import open_runtime
from onetool.domain import Caller
from onetool.domain.errors import SettingsError
from onetool.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places
from onetool.testing import memory_runtime

ANYBODY = Caller(door="python")
TOOL = """
tools:
  - {{name: {name}, description: x, type: function, handler: x, parameters: {{type: object}},
     implementation: {{type: mock, mock_response: {answer}}}}}
"""
SERVER = """
import json, sys
from onetool import onetool_runtime
with onetool_runtime() as ot:
    for line in sys.stdin:
        name = line.strip()
        print(json.dumps(ot.call(name).to_json()), flush=True)
"""


def opened(home):
    return open_runtime(lambda: load_configuration(find_places(home.env, home.cwd), {}))


async def call(runtime: Runtime, name: str):
    return await runtime.call(runtime.new_call(name, {}, "python"), ANYBODY)


@pytest.fixture
def other(home):
    """A second process of the same user that answers calls, one name a line."""
    child = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home.cwd
    )

    def ask(name: str) -> dict:
        child.stdin.write(name + "\n")
        child.stdin.flush()
        return json.loads(child.stdout.readline())

    yield ask
    child.stdin.close()
    assert child.wait(20) == 0
    child.stdout.close()


async def test_a_change_of_the_tools_holds_for_the_next_call_of_another_process(home, other):
    """What one process writes, the other answers with at once, without being told."""
    home.write("onetool.yaml", TOOL.format(name="hello", answer=1))
    assert other("hello")["data"] == 1
    home.write("onetool.yaml", TOOL.format(name="hello", answer=22))
    assert other("hello")["data"] == 22
    home.write("onetool.yaml", "tools: []")
    assert other("hello")["error"]["code"] == "tool_not_found"


async def test_a_reload_by_one_process_is_followed_by_all(home, other):
    """Aliases wait for a reload; a reload here holds for the next call there."""
    home.write("onetool.yaml", "aliases: {}")
    assert not other("now")["ok"]
    async with opened(home) as runtime:
        home.write("onetool.yaml", "aliases: {now: time.now}")
        assert not other("now")["ok"]
        assert not (await call(runtime, "now")).ok
        await runtime.reload()
        assert (await call(runtime, "now")).ok
        assert other("now")["ok"]


async def test_a_broken_file_leaves_the_old_state_standing(home):
    """A reload that cannot be done says why and changes nothing."""
    home.write("onetool.yaml", "aliases: {now: time.now}")
    async with opened(home) as runtime:
        home.write("onetool.yaml", "aliases: [")
        with pytest.raises(SettingsError, match=r"onetool\.yaml:2: not valid YAML"):
            await runtime.reload()
        assert (await call(runtime, "now")).ok


async def test_a_process_that_cannot_follow_keeps_what_it_has(home):
    """When another has reloaded and the file is broken by now, calls go on with the old state."""
    home.write("onetool.yaml", "aliases: {now: time.now}")
    async with opened(home) as first, opened(home) as second:
        await second.reload()
        home.write("onetool.yaml", "aliases: [")
        assert (await call(first, "now")).ok
        assert (await call(first, "now")).ok
    assert any("the old configuration stays" in record["message"] for record in home.log())


async def test_calls_in_flight_keep_the_state_they_started_with(home):
    """A reload in the middle of a call does not pull the ground away."""
    home.write("tools/slow.py", "import time\ndef f() -> str:\n    time.sleep(0.3)\n    return 'old'\n")
    async with opened(home) as runtime:
        import asyncio

        running = asyncio.create_task(call(runtime, "slow.f"))
        await asyncio.sleep(0.1)
        home.write("tools/slow.py", "def f() -> str:\n    return 'new'\n")
        await runtime.reload()
        assert (await call(runtime, "slow.f")).data == "new"
        assert (await running).data == "old"


async def test_health_tells_how_the_parts_are(home):
    """Version, place, number of tools, what fails and what is held back."""
    (home.cwd / ".onetool").mkdir()
    (home.cwd / ".onetool" / "onetool.yaml").write_text("aliases: {}")
    async with opened(home) as runtime:
        health = await runtime.health()
        shown = (await call(runtime, "ot.health")).data
        number = await runtime.catalog.count()
    assert health.held_back == ("onetool.yaml",)
    assert health.tool_count == shown["registry"]["tool_count"] == number
    assert list(shown) == ["version", "python", "cwd", "registry", "proxy"]
    assert shown["registry"]["status"] == "ok"
    assert shown["cwd"] == str(home.cwd)


async def test_every_call_is_logged_as_a_span(home):
    """One record per call: span, status, duration."""
    async with opened(home) as runtime:
        await call(runtime, "ot.health")
        await call(runtime, "no.such")
    spans = {record["span"]: record for record in home.log() if record["message"] == "call"}
    assert spans["ot.health"]["status"] == "SUCCESS"
    assert spans["no.such"]["status"] == "FAILED"
    assert spans["ot.health"]["duration"] > 0


async def test_in_memory_a_reload_reads_the_same_again():
    """A runtime without files can be reloaded too."""
    async with memory_runtime() as ot:
        await ot.runtime.reload()
        assert (await ot.call("tools.echo", message=1)).ok


def test_the_form_without_a_loop_reports_broken_settings(home):
    """An error at the start reaches the caller, and leaves no thread behind."""
    home.write("onetool.yaml", "nonsense: 1")
    with pytest.raises(SettingsError, match="unknown key 'nonsense'"), onetool_runtime():
        raise AssertionError


def test_a_hanging_tool_does_not_keep_the_command(home):
    """`tools invoke` of a tool that hangs for ever, in threads of its own too, exits in time."""
    home.write("onetool.yaml", "execution: {timeout_s: 1}")
    home.write(
        "tools/hang.py",
        "import threading\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "def sync():\n    threading.Event().wait()\n"
        "def pool():\n    ThreadPoolExecutor(1).submit(threading.Event().wait).result()\n"
        "async def stubborn():\n    import asyncio\n"
        "    while True:\n        try:\n            await asyncio.Event().wait()\n"
        "        except asyncio.CancelledError:\n            pass\n",
    )
    subprocess.run([sys.executable, "-m", "onetool", "tools", "list"], capture_output=True, timeout=60)
    base = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "onetool", "tools", "invoke", "time.now"], capture_output=True, timeout=60
    )
    base = time.monotonic() - base
    for name in ("sync", "pool", "stubborn"):
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "onetool", "tools", "invoke", f"hang.{name}"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        took = time.monotonic() - started - base
        assert json.loads(done.stdout)["meta"]["reason"] == "timeout"
        assert done.returncode == 1
        assert took < 2, name
