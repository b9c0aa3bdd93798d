"""Hostile code: it cannot reach the host, is stopped at its limits, and does not affect later runs."""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from onetool.domain import Caller, Reason
from onetool.domain.bundles.bundle import InvalidBundle
from onetool.sdk import call_tool, get_secret
from onetool.testing import memory_runtime
from sandbox.breakout_programs import (
    CORPUS,
    HOST_BOMBS,
    LONG_PROGRAM,
    PROBE,
    SOURCE_BOMBS,
    SPIN,
    UNCHECKED,
    UNCHECKED_KINDS,
)
from support.rest_process import code_tool
from support.stored_tools import store_tools
from support.waiting import HANG_S, until

CANARY = "canary-value-123"
LIMITS = {"run_cpu_s": 30.0, "run_timeout_s": 60.0, "run_memory_bytes": 2**25, "run_max_calls": 50}
SHORT = {"run_cpu_s": 0.5, "run_timeout_s": 5.0}
"""Time limits for code that never ends."""
ENDLESS = {"run_cpu_s": 600.0, "run_timeout_s": 600.0}
"""Time limits that no test reaches."""
BOMB_PROCESS = """
import asyncio, json, sys, time
from onetool.testing import memory_runtime

async def measure(ot, code):
    start = time.process_time()
    await ot.run(code)
    return time.process_time() - start

async def main():
    async with memory_runtime(settings={"execution": json.loads(sys.argv[1])}) as ot:
        code, bomb_code = json.load(sys.stdin)
        ordinary = [await measure(ot, code) for _ in range(5)]
        bomb = await measure(ot, bomb_code)
        print(json.dumps([bomb / min(ordinary), (await ot.run("1 + 1")).data]))

asyncio.run(main())
"""


def ping() -> str:
    """Return pong."""
    return "pong"


def reveal() -> str:
    """Return a secret."""
    return get_secret("CANARY")


def again() -> str:
    """Call this tool again."""
    return call_tool("demo.again")


def fail() -> str:
    """Raise an error that contains a secret."""
    raise ValueError(f"wrong key {get_secret('CANARY')}")


class HostObject:
    """An object of the host that contains a secret."""

    token = CANARY

    def reveal(self) -> str:
        """Return the secret."""
        return self.token


def host_object() -> HostObject:
    """Return an object that is not JSON."""
    return HostObject()


async def hang() -> str:
    """Never return."""
    await asyncio.sleep(10**6)
    return ""


def runtime(cwd=None, output=None, **limits):
    settings = {"execution": LIMITS | limits, "output": output or {}, "aliases": {"p": "demo.ping"}}
    settings["snippets"] = {"say": {"body": "tools.echo(message={{ text }})", "params": {"text": {}}}}
    tools = [ping, reveal, fail, host_object, again, hang]
    return memory_runtime({"demo": tools}, settings=settings, secrets={"CANARY": CANARY}, cwd=cwd)


class SecretHost:
    """A working directory with secrets inside and outside, and checks for leaks and changes."""

    def __init__(self, root: Path, setenv, capture) -> None:
        self.root, self.cwd, self.capture = root, root / "work", capture
        self.cwd.mkdir()
        self.secret = secrets.token_hex(16)
        (root / "outside.txt").write_text(self.secret)
        (self.cwd / "inside.txt").write_text(self.secret)
        setenv(PROBE, self.secret)
        self.before = self.files()

    def files(self):
        return {str(path): path.read_text() if path.is_file() else "" for path in self.root.rglob("*")}

    def fill_in(self, code: str) -> str:
        for word, name in (("OUTSIDE", "outside.txt"), ("INSIDE", "work/inside.txt"), ("NEW", "work/new")):
            code = code.replace(word, str(self.root / name))
        return code

    def violations(self, output: str):
        forms = (
            self.secret,
            CANARY,
            CANARY[::-1],
            " ".join(CANARY),
            "root:x:0",
            "onetool.runtime.runtime.Runtime",
        )
        yield from (f"showed {form!r}" for form in forms if form in output)
        if self.files() != self.before:
            yield "changed files"
        if os.environ.get(PROBE) != self.secret:
            yield "changed the environment"
        if self.capture.readouterr().out:
            yield "wrote to the standard output of the host, where an MCP client reads messages"


@pytest.fixture
def host(tmp_path, monkeypatch, capfd):
    return SecretHost(tmp_path, monkeypatch.setenv, capfd)


async def run_directly(ot, code):
    return await ot.run(code)


async def run_stored(ot, code):
    """Store the code as a tool and call it. Code that cannot be stored does not run."""
    slug = f"p{ot.runtime.new_id()[-12:]}"
    try:
        [stored] = await store_tools(ot.runtime, slug, {"program": code_tool(code)})
    except InvalidBundle as error:
        return error
    return await ot.call(stored.name)


async def attempt(ot, host, variants, run):
    """Run variants of a program and yield what went wrong during the runs and after them."""
    for code in variants:
        try:
            output = str(await asyncio.wait_for(run(ot, host.fill_in(code)), HANG_S))
        except (Exception, asyncio.CancelledError) as error:
            output = ""
            yield f"ended with {type(error).__name__} instead of a result"
        for violation in host.violations(output):
            yield violation
    if (after := await run_within_short_limits(ot, "1 + 1")).data != 2:
        yield f"broke the next run: {after}"


async def run_within_short_limits(ot, code):
    """Run the code again if it timed out, because the limits are too short for a busy machine."""
    for _ in range(10):
        result = await ot.run(code)
        if result.ok or result.error.reason is not Reason.TIMEOUT:
            break
    return result


def batches():
    for kind, programs in CORPUS.items():
        items = [(name, variants(kind, code)) for name, code in programs.items()]
        for first in range(0, len(items), 11):
            yield pytest.param(items[first : first + 11], id=f"{kind}-{items[first][0]}")


def variants(kind, code):
    """Return the program, and the same without a check if it can run inside `exec`."""
    can_exec = kind in UNCHECKED_KINDS and "await" not in code and not code.startswith("$")
    return [code, UNCHECKED.format(code)] if can_exec else [code]


@pytest.mark.guards("model-code")
@pytest.mark.parametrize("run", [run_directly, run_stored])
@pytest.mark.parametrize("batch", list(batches()))
async def test_corpus_cannot_break_out(host, batch, run):
    """No program reads or changes the host, each ends with a result, and the next run works."""
    async with runtime(host.cwd, **SHORT) as ot:
        violations = [
            f"{name}: {found}" for name, codes in batch async for found in attempt(ot, host, codes, run)
        ]
    assert not violations, "\n".join(violations)


@pytest.mark.parametrize("name", HOST_BOMBS)
def test_expensive_result_does_not_block_the_host(name):
    """The host spends about as much CPU time as on other code; once it was a thousand times as much."""
    assert cpu_ratio("1 + 1", HOST_BOMBS[name]) < 200


@pytest.mark.guards("model-code")
@pytest.mark.parametrize("name", SOURCE_BOMBS)
def test_expensive_source_does_not_block_the_host(name):
    """The host spends about as much CPU time as on other long code."""
    assert cpu_ratio(LONG_PROGRAM, SOURCE_BOMBS[name]) < 4


def cpu_ratio(ordinary: str, bomb: str) -> float:
    """Return how many times the CPU time of ordinary code a bomb costs the host."""
    command = [sys.executable, "-c", BOMB_PROCESS, json.dumps(LIMITS)]
    try:
        done = subprocess.run(
            command, input=json.dumps([ordinary, bomb]), capture_output=True, text=True, timeout=HANG_S
        )
    except subprocess.TimeoutExpired:
        pytest.fail("the host is still blocked")
    assert done.returncode == 0, done.stderr[-500:]
    ratio, after = json.loads(done.stdout)
    assert after == 2
    return ratio


@pytest.mark.parametrize(
    "bomb", [SPIN, "while True: print('x' * 10**6)", "x = 7 ** 10**6\nwhile True:\n    x * x"]
)
async def test_other_calls_are_served_while_code_uses_all_its_resources(bomb):
    """They complete before the code reaches its time limit."""
    started = asyncio.Event()

    async def start() -> None:
        started.set()

    async with memory_runtime({"demo": [start]}, settings={"execution": LIMITS | ENDLESS}) as ot:
        run = asyncio.create_task(ot.run(f"demo.start()\n{bomb}"))
        await until(started.is_set)
        async with asyncio.timeout(HANG_S):
            for _ in range(5):
                assert (await ot.call("tools.echo", message=1)).data == 1
                assert (await ot.run("2 + 2")).data == 4
        assert not run.done(), run.result()
        run.cancel()


BUSY_TICKS = 30
"""CPU time of a worker that runs code, in ticks of the kernel; an idle worker uses none."""


def workers():
    """Return the CPU ticks of each Monty process that this process started, by process id."""
    ticks = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            ours = int(fields[1]) == os.getpid() and fields[0] != "Z"
            if ours and b"monty" in (folder / "cmdline").read_bytes():
                ticks[int(folder.name)] = int(fields[11]) + int(fields[12])
    return ticks


async def busy_run(ot):
    """Start code that runs forever. Return its task and the process id of its worker."""
    await ot.run("1 + 1")
    before = workers()
    task = asyncio.create_task(ot.run(SPIN))
    busy: list[int] = []

    def find_busy() -> bool:
        busy[:] = [pid for pid, used in workers().items() if used - before.get(pid, 0) > BUSY_TICKS]
        return bool(busy)

    await until(find_busy)
    (worker,) = busy
    return task, worker


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


@linux
async def test_cancelling_a_run_kills_its_worker():
    """It would run for ten minutes otherwise."""
    async with runtime(**ENDLESS) as ot:
        task, worker = await busy_run(ot)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: worker not in workers())
        assert (await ot.run("1 + 1")).data == 2


@linux
async def test_killed_worker_fails_only_its_run():
    """The next run gets another worker."""
    async with runtime(**ENDLESS) as ot:
        task, worker = await busy_run(ot)
        os.kill(worker, signal.SIGKILL)
        result = await asyncio.wait_for(task, HANG_S)
        assert not result.ok
        assert result.error.message
        assert (await ot.run("1 + 1")).data == 2


async def test_run_leaves_nothing_for_the_next_run():
    """Its variables, functions and imports are gone, also those that replace functions of the sandbox."""
    settings = {"execution": LIMITS | {"max_concurrent_runs": 1}}
    async with memory_runtime(settings=settings) as ot:
        left = "import json\nx = [json]\ndef print(*values): return x\nonetool_text_of = print"
        assert (await ot.run(left)).ok
        for name in ("x", "json"):
            assert f"name {name!r} is not defined" in (await ot.run(f"eval('{name}')")).error.message
        assert (await ot.run("print(['a'])\nstr(['b'])")).printed == "[a]\n"


CALLS = {
    "in order": "for _ in range({}):\n    demo.count()",
    "gathered": "import asyncio\nawait asyncio.gather(*[demo.count() for _ in range({})])",
    "awaited in order": "for _ in range({}):\n    await demo.count()",
}


@pytest.mark.guards("model-code")
@pytest.mark.parametrize("code", CALLS.values(), ids=CALLS)
async def test_run_makes_exactly_run_max_calls(code):
    """The next call raises an error, and the worker is free for the next run."""
    calls = []

    def count() -> int:
        """Count the calls."""
        calls.append(1)
        return len(calls)

    settings = {"execution": LIMITS | {"max_concurrent_runs": 1}}
    async with memory_runtime({"demo": [count]}, settings=settings) as ot:
        assert (await ot.run(code.format(50))).ok
        assert len(calls) == 50
        result = await ot.run(code.format(51))
        assert not result.ok
        assert "more than 50 tool calls" in result.error.message
        assert "execution.run_max_calls" in result.error.message
        assert len(calls) <= 100  # gathered calls may be cancelled before they start
        assert (await ot.run("1 + 1")).data == 2


async def test_code_that_catches_the_error_makes_no_more_calls():
    attempt = "    try:\n        shell.pwd()\n        n += 1\n    except RuntimeError:\n        pass\n"
    code = f"n = 0\nfor _ in range(60):\n{attempt}n"
    async with memory_runtime(settings={"execution": LIMITS}) as ot:
        assert (await ot.run(code)).data == 50


async def test_error_of_too_many_calls_names_the_line():
    async with memory_runtime(settings={"execution": {"run_max_calls": 1}}) as ot:
        result = await ot.run("x = 'ä'\nshell.pwd()\nx = 1\nshell.pwd()")
    assert result.error.message.startswith("line 4:")


@pytest.mark.guards("model-code")
@pytest.mark.parametrize("flood", ["print('x' * 10**7)", "for i in range(200_000):\n    print(i)"])
async def test_printed_text_is_truncated(flood):
    """At one mebibyte, with a note."""
    async with runtime() as ot:
        printed = (await ot.run(flood)).printed
    assert 2**20 <= len(printed) < 2**20 + 100
    if len(printed) > 2**20:
        assert "output truncated" in printed[-100:]


async def test_result_larger_than_max_bytes_is_an_error():
    async with runtime(output={"max_bytes": 100_000}) as ot:
        assert (await ot.run("'x' * 90_000")).ok
        result = await ot.run("'x' * 200_000")
        assert result.error.reason is Reason.TOO_LARGE_OUT
        assert result.to_json()["error"]["tool"] == "run"
        assert "max_bytes" in result.error.message


async def test_error_text_is_limited_too():
    """Raising cannot bypass the size limit of results."""
    async with runtime(output={"max_bytes": 100_000}) as ot:
        size = len((await ot.run("raise ValueError('x' * 5_000_000)")).error.message)
    assert size <= 100_000


@pytest.mark.guards("model-code")
async def test_memory_is_limited():
    async with runtime() as ot:
        assert (await ot.run("len('x' * 2**23)")).data == 2**23
        result = await ot.run("len('x' * 2**26)")
        assert not result.ok
        assert "memory" in result.error.message.lower()


FORBIDDEN = {
    "plain": "shell.pwd()",
    "from": "from shell import pwd\npwd()",
    "module": "import pack_shell\npack_shell.pwd()",
    "module_exec": "time.now()\nexec('import pack_shell\\nprint(pack_shell.pwd())')",
    "eval": "time.now()\neval('shell.pwd()')",
    "eval_named": "if False:\n    shell\neval('shell.pwd()')",
    "getattr": "getattr(shell, 'pwd')()",
    "getattr_other": "getattr(time, '__globals__')['shell'].pwd()",
    "dotted": "globals()['pack_shell.pwd']()",
    "forged": "def pwd(): ...\npwd.__name__ = 'pack_shell.pwd'\npwd()",
    "bare": "pwd()",
    "alias": "here()",
    "alias_eval": "if False:\n    here\neval('here()')",
    "service": "ot.call(name='shell.pwd')",
    "spy": "demo.spy()",
    "spy_module": "time.now()\nexec('import pack_demo\\npack_demo.spy()')",
}


@pytest.mark.guards("model-tools")
@pytest.mark.parametrize("name", FORBIDDEN)
async def test_allow_list_applies_inside_code(tmp_path, name):
    """Code cannot call a tool that its caller may not call, in any way."""
    runs = []

    def spy() -> int:
        """Record the call."""
        runs.append(1)
        return 1

    caller = Caller(interface="ask", allowed=frozenset({"time.now"}))
    settings = {"execution": LIMITS, "aliases": {"here": "shell.pwd"}}
    async with memory_runtime({"demo": [spy]}, settings=settings, cwd=tmp_path) as ot:
        assert (await ot.run("here()")).data == str(tmp_path)
        assert (await ot.runtime.run("time.now()", caller)).ok
        result = await ot.runtime.run(FORBIDDEN[name], caller)
    assert not result.ok
    assert str(tmp_path) not in str(result)
    assert not runs
