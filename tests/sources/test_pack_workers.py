"""Worker processes of packs: the same results as in process, and what happens when they fail."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from onetool.bootstrap import open_runtime
from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.content.media import Media
from onetool.domain.errors import Reason
from onetool.domain.text.json_text import encode
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.sources.python_packs import worker
from onetool.testing import memory_runtime
from support.onetool_process import onetool
from support.processes import is_running
from support.user_home import Home
from support.waiting import HANG_S, until

SECRET = "s3cret-token-value"
METADATA = "# /// script\n# dependencies = []\n# ///\n"
CALLER = Caller(interface="python")
CODE = """
import asyncio, datetime, logging, os, sys, threading, time
from dataclasses import dataclass
from pathlib import Path
from onetool.sdk import (
    Context, ErrorText, LogSpan, Media, YamlMap, allowed_path, batch_execute, call_tool, call_tool_async,
    find_tools, get_config, get_pack, get_secret, health, lazy_client, list_tools, open_allowed,
    report_progress, tool, usage, working_directory, write_allowed,
)

@dataclass
class Point:
    x: int
    y: float = float("nan")

class OwnError(LookupError):
    pass

def plain(n: int = 2) -> dict:
    return {"n": n, "list": [1, None, "\\ud800"], "big": 2**80}

def foreign() -> list:
    return [Point(1), datetime.date(2020, 1, 2), {3}, (4, 5), b"six", Path("/seven")]

def recursive() -> list:
    value = []
    value.append(value)
    return value

def error_text() -> str:
    return ErrorText("not today")

def yaml() -> YamlMap:
    return YamlMap(a=1)

def media() -> dict:
    return {"picture": Media(b"abc", "image/png")}

def same_media(picture: Media) -> bool:
    return picture.to_bytes() == b"abc"

def key_error() -> None:
    raise KeyError("k")

def own_error() -> None:
    raise OwnError("own")

def leave() -> None:
    raise SystemExit(3)

async def later(n: int) -> int:
    await asyncio.sleep(0)
    return n + await call_tool_async("p.add", a=n, b=1)

async def blocking() -> int:
    return call_tool("p.add", a=1, b=1)

def add(a: int, b: int) -> int:
    return a + b

def convert(path: Path, day: datetime.date, ctx: Context) -> list:
    return [type(path).__name__, day.year, ctx.args["day"], ctx.cancelled, ctx.deadline > time.monotonic()]

def catches() -> list:
    caught = []
    for name in ("p.key_error", "p.own_error", "p.nothing", "none.f"):
        try:
            call_tool(name)
        except Exception as error:
            caught.append([type(error).__name__, isinstance(error, LookupError), str(error)])
    return caught

def batch() -> str:
    return batch_execute([1, 2], lambda n: call_tool("p.add", a=n, b=1))

def packs() -> list:
    p = get_pack("p")
    return [p.add(a=1, b=2), hasattr(p, "nothing"), get_pack("none")]

def secret() -> str:
    return "value: " + get_secret("TOKEN")

def client() -> int:
    made = lazy_client(lambda: object(), "TOKEN")
    return made() is made()

def sdk() -> list:
    return [
        [spec.name for spec in list_tools("p.add")], find_tools("add").specs[0].pack, health().version != "",
        get_config("execution.max_concurrent"), str(working_directory()), type(usage()).__name__,
    ]

def files() -> str:
    write_allowed("a.txt", b"text", may_replace=lambda head: True)
    with open_allowed("a.txt") as file:
        return file.read().decode()

def outside() -> str:
    return str(allowed_path("/etc/passwd"))

def progress(ctx: Context) -> None:
    ctx.progress(1, 2, "half")
    report_progress(2, 2, "done")

def logs() -> None:
    logging.getLogger("p.log").warning("from the worker")
    with LogSpan("p.logs", n=1):
        pass

def large(size: int) -> str:
    return "x" * size
"""
FAILURES = '''
import asyncio, os, sys, threading, time
from pathlib import Path
from onetool.sdk import Context, call_tool, call_tool_async, tool

def pid() -> int:
    return os.getpid()

def die() -> None:
    print("last words", file=sys.stderr)
    os._exit(7)

def wait_for(path: str, ctx: Context) -> int:
    """Wait for a file, and note the cancellation in another one."""
    Path(path + ".started").touch()
    while not Path(path).exists():
        if ctx.cancelled:
            Path(path + ".cancelled").touch()
            return 0
        time.sleep(0.01)
    return os.getpid()

@tool(timeout=0.5)
def hang(path: str) -> None:
    Path(path + ".started").touch()
    while True:
        time.sleep(0.01)

@tool(timeout=0.5)
async def block_loop() -> None:
    while True:
        time.sleep(0.01)

async def cleanup(path: str) -> None:
    try:
        Path(path + ".started").touch()
        await asyncio.sleep(1000)
    finally:
        Path(path).touch()

def flood() -> str:
    for _ in range(2000):
        print("x" * 10_000)
        sys.stderr.write("y" * 10_000)
    return "done"

def garbage() -> None:
    for number in range(3, 50):
        try:
            os.write(number, b"\\xff" * 1000)
        except OSError:
            pass
    time.sleep(1000)
'''


@asynccontextmanager
async def packs(home: Home, **files: str) -> AsyncIterator[Runtime]:
    home.write("onetool.yaml", f"execution: {{timeout_s: {HANG_S}}}\nfs: {{roots: [{home.cwd}]}}\n")
    home.write("secrets.yaml", f"TOKEN: {SECRET}\n")
    for name, code in files.items():
        home.write(f"tools/{name}.py", code)
    paths = find_paths(home.env, home.cwd)
    async with (
        open_runtime(lambda: load_configuration(paths, {}), waits_for_servers=True) as ot,
        asyncio.timeout(HANG_S),
    ):
        yield ot


async def call(ot: Runtime, name: str, caller: Caller = CALLER, **args: object) -> ToolResult:
    return await ot.call_tool(name, args, caller, "python")


def comparable(result: ToolResult) -> object:
    """What an interface shows of a result."""
    shown = result.to_json()
    error = shown.get("error", {}) | {"tool": ""}
    return shown["ok"], shown.get("data"), error, result.meta.reason, result.meta.exception


async def test_results_are_those_of_a_pack_in_process(home):
    """The same file with and without metadata, called in the same way. Errors name the same lines."""
    names = "plain foreign recursive error_text yaml key_error own_error leave catches batch packs secret"
    names += " client files outside sdk"
    calls: dict[str, dict[str, object]] = {name: {} for name in names.split()}
    calls |= {"later": {"n": 2}, "convert": {"path": "a", "day": "2020-01-02"}}
    async with packs(home, p=METADATA + CODE) as ot:
        worked = [comparable(await call(ot, f"p.{name}", **args)) for name, args in calls.items()]
    secrets, settings = {"TOKEN": SECRET}, {"execution": {"timeout_s": HANG_S}}
    files = [home.write("p.py", "\n" * METADATA.count("\n") + CODE)]
    async with memory_runtime(files=files, secrets=secrets, settings=settings, cwd=home.cwd) as client:
        plain = [comparable(await call(client.runtime, f"p.{name}", **args)) for name, args in calls.items()]
    for name, one, other in zip(calls, worked, plain, strict=True):
        assert encode(one) == encode(other), name


async def test_a_mistake_in_a_pack_with_libraries_names_its_file_and_line(home):
    async with packs(
        home, p=METADATA + CODE, q=METADATA + "def f():\n    import nothing_of_this_name\n"
    ) as ot:
        message = (await call(ot, "p.key_error")).error.message
        missing = (await call(ot, "q.f")).error.message
    line = (METADATA + CODE).splitlines().index('    raise KeyError("k")') + 1
    assert message == f"KeyError: 'k' (in p.py, line {line})"
    assert "(in q.py, line 5)" in missing
    assert 'Add "nothing-of-this-name" to the dependencies at the top of the file.' in missing


@pytest.mark.parametrize("metadata", ["", METADATA], ids=["in the runtime", "in a worker"])
def test_the_traceback_of_an_error_is_in_the_log_for_developers(home, metadata):
    home.write("tools/p.py", metadata + CODE)
    line = (metadata + CODE).splitlines().index('    raise KeyError("k")') + 1
    assert f"line {line}, in key_error" in onetool("--log-level", "debug", "call", "p.key_error").stderr
    assert "in key_error" not in onetool("call", "p.key_error").stderr


async def test_media_keep_their_bytes_and_secrets_are_redacted(home):
    async with packs(home, p=METADATA + CODE) as ot:
        picture = (await call(ot, "p.media")).data["picture"]
        assert isinstance(picture, Media)
        assert picture.to_bytes() == b"abc"
        assert (await call(ot, "p.same_media", picture="data:image/png;base64,YWJj")).data is True
        assert "s3cret" not in (await call(ot, "p.secret")).data


async def test_waiting_on_the_event_loop_is_rejected_as_in_process(home):
    async with packs(home, p=METADATA + CODE) as ot:
        result = await call(ot, "p.blocking")
    assert "would block the event loop" in result.error.message


async def test_progress_and_logs_arrive(home, caplog):
    seen = []
    caller = replace(CALLER, on_progress=lambda *step: seen.append(step))
    async with packs(home, p=METADATA + CODE) as ot:
        assert (await call(ot, "p.progress", caller)).ok
        assert (await call(ot, "p.logs")).ok
    assert seen == [(1, 2, "half"), (2, 2, "done")]
    records = {record["message"] for record in home.log()} | {record.message for record in caplog.records}
    assert "from the worker" in records


async def test_large_results_are_limited_as_in_process(home):
    async with packs(home, p=METADATA + CODE) as ot:
        assert len((await call(ot, "p.large", size=5_000_000)).data) == 5_000_000
        assert (await call(ot, "p.large", size=70 * 2**20)).meta.reason is Reason.TOO_LARGE_OUT
        assert (await call(ot, "p.large", size=300 * 2**20)).meta.reason is Reason.TOO_LARGE_OUT
        assert (await call(ot, "p.add", a=1, b=2)).data == 3


@pytest.mark.guards("pack-worker")
async def test_calls_of_a_worker_that_died_fail_and_the_next_one_starts_another(home):
    file = home.cwd / "never"
    async with packs(home, p=METADATA + FAILURES, q=METADATA + FAILURES) as ot:
        first, other = (await call(ot, "p.pid")).data, (await call(ot, "q.pid")).data
        waiting = asyncio.create_task(call(ot, "p.wait_for", path=str(file)))
        await until(Path(f"{file}.started").exists)
        died = await call(ot, "p.die")
        assert "ended during the call: exit code 7" in died.error.message
        assert "last words" in died.error.message
        assert "ended during the call" in (await waiting).error.message
        assert (await call(ot, "p.pid")).data not in (first, os.getpid())
        assert (await call(ot, "q.pid")).data == other


async def test_worker_with_a_call_that_hangs_is_replaced_after_its_other_calls(home, monkeypatch):
    """The call times out at its deadline. Other calls of the worker still end, then it is killed."""
    monkeypatch.setattr(worker, "GRACE_S", 0.1)
    file = home.cwd / "go"
    async with packs(home, p=METADATA + FAILURES) as ot:
        first = (await call(ot, "p.pid")).data
        waiting = asyncio.create_task(call(ot, "p.wait_for", path=str(file)))
        await until(Path(f"{file}.started").exists)
        assert (await call(ot, "p.hang", path=str(file))).meta.reason is Reason.TIMEOUT
        while (second := (await call(ot, "p.pid")).data) == first:
            await asyncio.sleep(0.01)
        os.kill(first, 0)
        file.touch()
        assert (await waiting).data == first
        await until(lambda: not is_running(first))
        assert (await call(ot, "p.pid")).data == second


@pytest.mark.guards("pack-worker")
async def test_worker_whose_event_loop_is_blocked_is_killed(home, monkeypatch):
    monkeypatch.setattr(worker, "GRACE_S", 0.1)
    async with packs(home, p=METADATA + FAILURES) as ot:
        first = (await call(ot, "p.pid")).data
        assert (await call(ot, "p.block_loop")).meta.reason is Reason.TIMEOUT
        await until(lambda: not is_running(first))
        assert (await call(ot, "p.pid")).data != first


async def test_cancellation_reaches_the_function(home):
    """A function that reads `ctx.cancelled` ends, and a coroutine is cancelled. The worker stays."""
    async with packs(home, p=METADATA + FAILURES) as ot:
        first = (await call(ot, "p.pid")).data
        for name, done in (("wait_for", "a.cancelled"), ("cleanup", "b")):
            file = home.cwd / done[0]
            running = asyncio.create_task(call(ot, f"p.{name}", path=str(file)))
            await until(Path(f"{file}.started").exists)
            running.cancel()
            await asyncio.wait([running])
            await until((home.cwd / done).exists)
        assert (await call(ot, "p.pid")).data == first


@pytest.mark.guards("pack-worker")
@pytest.mark.parametrize("name", ["flood", "garbage"])
async def test_worker_that_floods_or_writes_garbage_harms_no_other(home, name):
    async with packs(home, p=METADATA + FAILURES, q=METADATA + FAILURES) as ot:
        other = (await call(ot, "q.pid")).data
        result = await call(ot, f"p.{name}")
        assert result.data == "done" if name == "flood" else "malformed" in result.error.message
        assert (await call(ot, "q.pid")).data == other
        assert (await call(ot, "p.pid")).ok


async def test_no_worker_is_left_after_the_end(home):
    async with packs(home, p=METADATA + FAILURES) as ot:
        started = (await call(ot, "p.pid")).data
    assert not is_running(started)


@pytest.mark.linux
async def test_worker_ends_when_its_runtime_is_killed(home):
    """The worker of a process that cannot clean up sees the end of its stdin."""
    code = (
        "import asyncio, os, signal\n"
        "from pathlib import Path\n"
        "from onetool.bootstrap import open_runtime\n"
        "from onetool.domain.calls.caller import Caller\n"
        "from onetool.settings.configuration import load_configuration\n"
        "from onetool.settings.paths import find_paths\n"
        "async def main():\n"
        "    paths = find_paths(os.environ, Path.cwd())\n"
        "    async with open_runtime(lambda: load_configuration(paths, {}), waits_for_servers=True) as ot:\n"
        "        done = await ot.call_tool('p.pid', {}, Caller(interface='python'), 'python')\n"
        "        print(done.data, flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    home.write("onetool.yaml", f"execution: {{timeout_s: {HANG_S}}}\n")
    home.write("tools/p.py", METADATA + FAILURES)
    ended = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        cwd=home.cwd,
    )
    assert ended.returncode == -signal.SIGKILL
    await until(lambda: not is_running(int(ended.stdout)))
