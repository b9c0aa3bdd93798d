"""`Runtime`, alone and with other processes on the same files."""

import asyncio
import json
import subprocess
import sys
import threading

import pytest

from onetool import onetool_runtime
from onetool.bootstrap import open_runtime
from onetool.domain import Caller
from onetool.domain.errors import NoActiveRuntime, SettingsError
from onetool.runtime.health import check_health
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from support.onetool_process import onetool
from support.processes import wait_until
from support.waiting import HANG_S, until

CALLER = Caller(interface="python")
TOOL = """
tools:
  - {{name: {name}, description: x, type: function, handler: x, parameters: {{type: object}},
     implementation: {{type: mock, mock_response: {response}}}}}
"""
SERVER = """
import json, sys
from onetool import onetool_runtime
with onetool_runtime() as ot:
    for line in sys.stdin:
        name = line.strip()
        print(json.dumps(ot.call(name).to_json()), flush=True)
"""
HELD = """
import time
from pathlib import Path
def f() -> str:
    Path("running").touch()
    while not Path("release").exists():
        time.sleep(0.01)
    return "old"
"""


def open_home(home):
    return open_runtime(lambda: load_configuration(find_paths(home.env, home.cwd), {}))


async def call(runtime: Runtime, name: str):
    return await runtime.call_tool(name, {}, CALLER, "python")


@pytest.fixture
def call_in_other_process(home):
    """Return a function that calls a tool by name in a second process of the same user."""
    child = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home.cwd
    )

    def call_by_name(name: str) -> dict:
        child.stdin.write(name + "\n")
        child.stdin.flush()
        return json.loads(child.stdout.readline())

    yield call_by_name
    child.stdin.close()
    assert child.wait(HANG_S) == 0
    child.stdout.close()


async def test_changed_tools_apply_to_the_next_call_of_another_process(home, call_in_other_process):
    """No reload is needed."""
    home.write("onetool.yaml", TOOL.format(name="hello", response=1))
    assert call_in_other_process("hello")["data"] == 1
    home.write("onetool.yaml", TOOL.format(name="hello", response=22))
    assert call_in_other_process("hello")["data"] == 22
    home.write("onetool.yaml", "tools: []")
    assert call_in_other_process("hello")["error"]["code"] == "tool_not_found"


async def test_reload_applies_to_all_processes(home, call_in_other_process):
    """Aliases change on reload; a reload in one process applies to the next call in another."""
    home.write("onetool.yaml", "aliases: {}")
    assert not call_in_other_process("now")["ok"]
    async with open_home(home) as runtime:
        home.write("onetool.yaml", "aliases: {now: time.now}")
        assert not call_in_other_process("now")["ok"]
        assert not (await call(runtime, "now")).ok
        await runtime.reload()
        assert (await call(runtime, "now")).ok
        assert call_in_other_process("now")["ok"]


async def test_process_with_a_failed_reload_continues_with_the_old_state(home):
    """Another process reloaded, and the file became invalid afterwards."""
    home.write("onetool.yaml", "aliases: {now: time.now}")
    async with open_home(home) as first, open_home(home) as second:
        await second.reload()
        home.write("onetool.yaml", "aliases: [")
        assert (await call(first, "now")).ok
        assert (await call(first, "now")).ok
    assert any("the previous configuration stays active" in record["message"] for record in home.log())


async def test_running_call_uses_the_state_it_started_with_after_a_reload(home):
    """The call ends only after the reload and after a call of the new tool."""
    home.write("onetool.yaml", "execution: {timeout_s: 3600}")
    home.write("tools/slow.py", HELD)
    async with open_home(home) as runtime:
        running = asyncio.create_task(call(runtime, "slow.f"))
        await until((home.cwd / "running").exists)
        home.write("tools/slow.py", "def f() -> str:\n    return 'new'\n")
        await runtime.reload()
        assert (await call(runtime, "slow.f")).data == "new"
        (home.cwd / "release").touch()
        assert (await running).data == "old"


async def test_health_reports_version_directory_tools_and_untrusted_files(home):
    (home.cwd / ".onetool").mkdir()
    (home.cwd / ".onetool" / "onetool.yaml").write_text("aliases: {}")
    async with open_home(home) as runtime:
        health = await check_health(runtime.state, runtime.threads)
        reported = (await call(runtime, "ot.health")).data
        count = await runtime.state.catalog.count()
    assert health.untrusted_files == ("onetool.yaml",)
    assert health.tool_count == reported["registry"]["tool_count"] == count
    assert list(reported) == ["version", "python", "cwd", "registry", "proxy"]
    assert reported["registry"]["status"] == "ok"
    assert reported["cwd"] == str(home.cwd)


async def test_every_call_is_logged_with_span_status_and_duration(home):
    async with open_home(home) as runtime:
        await call(runtime, "ot.health")
        await call(runtime, "no.such")
    spans = {record["span"]: record for record in home.log() if record["message"] == "call"}
    assert spans["ot.health"]["status"] == "SUCCESS"
    assert spans["no.such"]["status"] == "FAILED"
    assert spans["ot.health"]["duration"] > 0


def test_sync_runtime_raises_settings_errors(home):
    """The error reaches the caller, and no thread remains."""
    home.write("onetool.yaml", "nonsense: 1")
    with pytest.raises(SettingsError, match="unknown key 'nonsense'"), onetool_runtime():
        raise AssertionError


def test_leaving_the_block_ends_the_calls_of_other_threads(home):
    """The calls raise instead of waiting for a loop that has stopped, and so do later ones."""
    home.write(
        "tools/hang.py",
        "import asyncio\nfrom pathlib import Path\n"
        "async def wait() -> None:\n    Path('running').touch()\n    await asyncio.Event().wait()\n",
    )
    home.write("onetool.yaml", "execution: {timeout_s: 3600}")
    errors = []

    def call_and_wait(ot):
        try:
            ot.call("hang.wait")
        except NoActiveRuntime as error:
            errors.append(str(error))

    with onetool_runtime() as ot:
        caller = threading.Thread(target=call_and_wait, args=(ot,), daemon=True)
        caller.start()
        assert wait_until((home.cwd / "running").exists, HANG_S)
    caller.join(HANG_S)
    assert errors == ["hang.wait was cancelled: the block of onetool_runtime ended."]
    with pytest.raises(NoActiveRuntime, match=r"time\.now was not called"):
        ot.call("time.now")


def test_hanging_tool_does_not_block_the_exit_of_the_command(home):
    """`tools invoke` exits although the tool hangs forever, also in its own threads."""
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
    for name in ("sync", "pool", "stubborn"):
        done = onetool("tools", "invoke", f"hang.{name}")
        assert json.loads(done.stdout)["meta"]["reason"] == "timeout"
        assert done.returncode == 1
