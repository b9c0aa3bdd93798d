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
from onetool.sdk import call_tool, get_secret
from onetool.testing import memory_runtime
from support.waiting import HANG_S, until

CANARY = "canary-value-123"
PROBE = "ONETOOL_BREAKOUT_PROBE"
LIMITS = {"run_cpu_s": 30.0, "run_timeout_s": 60.0, "run_memory_bytes": 2**25, "run_max_calls": 50}
SHORT = {"run_cpu_s": 0.5, "run_timeout_s": 5.0}
"""Time limits for code that never ends."""
ENDLESS = {"run_cpu_s": 600.0, "run_timeout_s": 600.0}
"""Time limits that no test reaches."""
SPIN = "while True: pass"
DEEP = "x = [0]\nfor i in range(40):\n    x = [x, x]\n"
"""Forty small lists that contain 2**40 zeros, because they share their items."""

# OUTSIDE and INSIDE are replaced with files that contain a secret, outside and inside the working directory.
# NEW is replaced with a path in the working directory that does not exist.
CORPUS = {
    "files": {
        "open": 'open("OUTSIDE").read()',
        "open_inside": 'open("INSIDE").read()',
        "open_write": 'open("NEW", "w").write("x")',
        "path_read": 'from pathlib import Path\nPath("OUTSIDE").read_text()',
        "path_read_inside": 'from pathlib import Path\nPath("INSIDE").read_bytes()',
        "path_write": 'from pathlib import Path\nPath("NEW").write_text("x")',
        "path_unlink": 'from pathlib import Path\nPath("INSIDE").unlink()',
        "path_proc": 'from pathlib import Path\nPath("/proc/self/environ").read_text()',
        "os_open": 'import os\nos.read(os.open("OUTSIDE", os.O_RDONLY), 99)',
        "os_symlink": 'import os\nos.symlink("OUTSIDE", "NEW")',
        "io_open": 'import io\nio.open("OUTSIDE").read()',
        "shutil": 'import shutil\nshutil.copy("OUTSIDE", "NEW")',
        "tempfile": 'import tempfile\ntempfile.mkdtemp(dir=".")',
        "sqlite": 'import sqlite3\nsqlite3.connect("NEW").execute("create table t(x)")',
        "tool_outside": 'fs.read_file(path="OUTSIDE")',
        "tool_dots": 'fs.read_file(path="../outside.txt")',
        "tool_null": 'fs.read_file(path="INSIDE\\0/../../outside.txt")',
    },
    "processes": {
        "environ": f'import os\nos.environ["{PROBE}"]',
        "getenv": f'import os\nos.getenv("{PROBE}")',
        "putenv": f'import os\nos.environ["{PROBE}"] = "changed"',
        "system": 'import os\nos.system("touch NEW")',
        "popen": 'import os\nos.popen("cat OUTSIDE").read()',
        "fork": "import os\nwhile True:\n    os.fork()",
        "kill": "import os\nos.kill(os.getppid(), 9)",
        "subprocess": 'import subprocess\nsubprocess.check_output(["cat", "OUTSIDE"])',
        "pty": 'import pty\npty.spawn("/bin/sh")',
        "ctypes": 'import ctypes\nctypes.CDLL(None).system(b"touch NEW")',
        "socket": 'import socket\nsocket.create_connection(("127.0.0.1", 22))',
        "urllib": 'import urllib.request\nurllib.request.urlopen("file://OUTSIDE").read()',
        "http": 'import http.client\nhttp.client.HTTPConnection("127.0.0.1").request("GET", "/")',
        "aio_exec": 'import asyncio\nawait asyncio.create_subprocess_exec("touch", "NEW")',
        "aio_socket": 'import asyncio\nawait asyncio.open_connection("127.0.0.1", 22)',
        "signal": "import signal\nsignal.raise_signal(9)",
        "resource": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))",
        "threading": f"import threading\nthreading.Thread(target=print).start()\n{SPIN}",
        "multiprocessing": "import multiprocessing\nmultiprocessing.Process(target=print).start()",
    },
    "imports": {
        "dunder_import": '__import__("os").system("touch NEW")',
        "import_builtins": 'import builtins\nbuiltins.open("OUTSIDE").read()',
        "builtins_item": '__builtins__["open"]("OUTSIDE").read()',
        "exec": "exec(\"open('NEW', 'w').write('x')\")",
        "eval_open": "eval(\"open('OUTSIDE').read()\")",
        "exec_path": "exec(\"from pathlib import Path\\nprint(Path('OUTSIDE').read_text())\")",
        "onetool": "import onetool.runtime.runtime\nonetool.runtime.current()",
        "onetool_exec": "exec(\"from onetool.sdk import get_secret\\nprint(get_secret('CANARY'))\")",
        "sdk_name": 'get_secret("CANARY")',
        "pack_module": "import pack_demo\npack_demo.ping()",
        "loader": '__loader__.load_module("os")',
        "file": "open(__file__).read()",
        "pickle": "import pickle\npickle.loads(b\"cos\\nsystem\\n(S'touch NEW'\\ntR.\")",
    },
    "introspection": {
        "subclasses": "().__class__.__mro__[1].__subclasses__()",
        "globals": "def f(): pass\nf.__globals__['__builtins__']",
        "self": "print.__self__.open('OUTSIDE').read()",
        "getattr": "getattr(getattr((), '__cla' + 'ss__'), '__mro__')",
        "getattr_pack": "getattr(demo, '__di' + 'ct__')",
        "fstring": "x = ()\nf'{x.__class__.__mro__}'",
        "format": "'{0.__class__.__mro__}'.format(())",
        "format_tool": "'{0.__globals__[get_secret]}'.format(demo.reveal)",
        "type3": "type('X', (object,), {'__del__': lambda s: open('NEW', 'w')})()",
        "metaclass": "class M(type): pass\nclass A(metaclass=M): pass\nA.__class__.__subclasses__(M)",
        "descriptor": "class D:\n    def __get__(s, o, t): return open('OUTSIDE')\nclass A: x = D()\nA().x",
        "frames": "import sys\nsys._getframe(1).f_globals",
        "sys_exec": 'exec("import sys\\nprint(sys.modules, sys.argv, sys.path)")',
        "gc": "import gc\ngc.get_objects()",
        "traceback": "try:\n    1 / 0\nexcept Exception as e:\n    e.__traceback__.tb_frame.f_back.f_globals",
        "generator": "(i for i in [1]).gi_frame.f_back.f_globals",
        "pack_class": "demo.__class__",
        "pack_private": "demo._x",
        "pack_reassign": "demo = fs\ndemo.read_file(path='OUTSIDE')",
        "pack_patch": "demo.ping = print\ndemo.ping()",
        "pack_value": "[demo, demo.ping, fs, demo.reveal]",
        "reveal": "demo.reveal()",
        "reveal_spelled": "print(demo.reveal())\n' '.join(demo.reveal())",
        "reveal_reversed": "demo.reveal()[::-1]",
        "reveal_raised": "raise ValueError(demo.reveal())",
    },
    "memory": {
        "list": "x = []\nwhile True:\n    x.append(0)",
        "list_doubling": "x = [0]\nwhile True:\n    x = x + x",
        "range_list": "list(range(10**9))",
        "str_times": "'a' * 10**10",
        "str_doubling": "x = 'a'\nwhile True:\n    x += x",
        "dict": "x = {}\ni = 0\nwhile True:\n    x[i] = str(i)\n    i += 1",
        "format_width": "'{:>1000000000}'.format(1)",
        "caught": "x = []\nwhile 1:\n    try: x.append('x' * 10**6)\n    except BaseException: pass",
        "shift": "1 << 10**11",
        "recursion": "def f(x):\n    return f([x, x])\nf(0)",
        "recursion_async": "import asyncio\nasync def f():\n    await asyncio.gather(f(), f())\nawait f()",
        "shared_print": f"{DEEP}print(x)",
        "deep_result": "x = []\nfor i in range(5000):\n    x = [x]\nx",
        "cyclic_args": "x = [1]\nx.append(x)\ntools.echo(message=x)",
        "json_nesting": "import json\njson.loads('[' * 10**6)",
        "long_error": "raise ValueError('x' * 10**7)",
    },
    "cpu": {
        "loop": SPIN,
        "loop_caught": f"while True:\n    try:\n        {SPIN}\n    except BaseException: pass",
        "sum_range": "sum(range(10**12))",
        "pow": "pow(7, 10**8)",
        "factorial": "x = 1\ni = 1\nwhile True:\n    x *= i\n    i += 1",
        "squaring": "x = 10\nwhile True:\n    x = x * x",
        "int_result": "10**100000",
        "sorting": "x = list(range(10**5))\nwhile True:\n    x = sorted(x, key=lambda i: -i)",
        "regex": "import re\nre.match(r'(a+)+$', 'a' * 50 + 'b')",
        "regex_back": "import re\nre.match(r'((a+)+)\\2$(?!b)', 'a' * 50 + 'b')",
        "regex_size": "import re\nre.compile('((a{1000}){1000}){1000}')",
        "equality": "t = u = (0,)\nfor i in range(60):\n    t = (t, t)\n    u = (u, u)\nt == u",
    },
    "waiting": {
        "print_lines": "for i in range(10**7):\n    print(i)",
        "print_huge": "print('x' * 10**7)",
        "sleep": "import time\ntime.sleep(10**6)",
        "sleep_async": "import asyncio\nawait asyncio.sleep(10**6)",
        "sleep_loop": "import asyncio\nwhile True:\n    await asyncio.sleep(0.001)",
        "tool_flood": "while True:\n    demo.ping()",
        "tool_gather": "import asyncio\nawait asyncio.gather(*[demo.ping() for _ in range(10000)])",
        "tool_hangs": "demo.hang()",
        "tool_recursion": "demo.again()",
        "tool_huge": "tools.echo(message='x' * 17_000_000)",
        "system_exit": "raise SystemExit(3)",
        "interrupt": "raise KeyboardInterrupt()",
        "exit": "exit()",
        "input": "input()",
        "breakpoint": "breakpoint()",
        "help": "help()",
    },
    "sources": {
        "nfkc": "\U0001d428\U0001d429\U0001d41e\U0001d427('OUTSIDE').read()",
        "surrogate": "'\ud800'",
        "null": "x = 1\0\nopen('OUTSIDE')",
        "long_line": f"x = '{'a' * 10**6}'",
        "long_name": "demo." + "a" * 10**6,
        "parentheses": "(" * 10_000 + ")" * 10_000,
        "brackets": "x = " + "[" * 150 + "]" * 150,
        "minuses": "-" * 100_000 + "1",
        "sum_1500": "+".join(["1"] * 1500),
        "elif_1500": "x = 0\nif x: pass\n" + "elif x: pass\n" * 1500,
        "indents": "".join(" " * i + "if 1:\n" for i in range(99)) + " " * 99 + "pass",
        "garbage": "}{ def 0x )(* \\ ''' \x1b[2J",
    },
}
# These once blocked the event loop of the host, which would block the test too, so each runs in a process.
HOST_BOMBS = {
    "shared_result": f"{DEEP}x",
    "shared_argument": f"{DEEP}tools.echo(message=x)",
    "shared_dict": "x = {}\nfor i in range(40):\n    x = {'a': x, 'b': x}\nx",
    "many_statements": "1;" * 150_000,
    "many_items": f"x = {{{','.join(f'{i}:{i}' for i in range(150_000))}}}",
}
BOMB_PROCESS = """
import asyncio, json, sys, time
from onetool.testing import memory_runtime

async def measure(ot, code):
    start = time.process_time()
    await ot.run(code)
    return time.process_time() - start

async def main():
    async with memory_runtime(settings={"execution": json.loads(sys.argv[1])}) as ot:
        ordinary = [await measure(ot, "1 + 1") for _ in range(5)]
        bomb = await measure(ot, sys.stdin.read())
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


async def hang() -> str:
    """Never return."""
    await asyncio.sleep(10**6)
    return ""


def runtime(cwd=None, output=None, **limits):
    settings = {"execution": LIMITS | limits, "output": output or {}}
    return memory_runtime(
        {"demo": [ping, reveal, again, hang]}, settings=settings, secrets={"CANARY": CANARY}, cwd=cwd
    )


class SecretHost:
    """A working directory with secrets inside and outside, and checks for leaks and changes."""

    def __init__(self, root: Path, setenv) -> None:
        self.root, self.cwd = root, root / "work"
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


@pytest.fixture
def host(tmp_path, monkeypatch):
    return SecretHost(tmp_path, monkeypatch.setenv)


async def attempt(ot, host, code):
    """Run the code and yield what went wrong during the run and after it."""
    try:
        output = str(await asyncio.wait_for(ot.run(host.fill_in(code)), HANG_S))
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
    for kind, snippets in CORPUS.items():
        items = list(snippets.items())
        for first in range(0, len(items), 11):
            yield pytest.param(items[first : first + 11], id=f"{kind}-{items[first][0]}")


@pytest.mark.parametrize("batch", list(batches()))
async def test_corpus_cannot_break_out(host, batch):
    """No snippet reads or changes the host, each ends with a result, and the next run works."""
    async with runtime(host.cwd, **SHORT) as ot:
        violations = [f"{name}: {found}" for name, code in batch async for found in attempt(ot, host, code)]
    assert not violations, "\n".join(violations)


@pytest.mark.parametrize("name", HOST_BOMBS)
def test_expensive_source_or_result_does_not_block_the_host(name):
    """The host spends about as much CPU time as on other code; once it was a thousand times as much."""
    command = [sys.executable, "-c", BOMB_PROCESS, json.dumps(LIMITS)]
    try:
        done = subprocess.run(command, input=HOST_BOMBS[name], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{name}: the host is still blocked after 60 s")
    assert done.returncode == 0, f"{name}: {done.stderr[-500:]}"
    cpu_ratio, after = json.loads(done.stdout)
    assert after == 2, name
    assert cpu_ratio < 200, name


def test_the_corpus_is_large():
    assert sum(map(len, CORPUS.values())) + len(HOST_BOMBS) >= 80


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


CALLS = {
    "in order": "for _ in range({}):\n    demo.count()",
    "gathered": "import asyncio\nawait asyncio.gather(*[demo.count() for _ in range({})])",
    "awaited in order": "for _ in range({}):\n    await demo.count()",
}


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
        assert not result.ok
        assert "max_bytes" in result.error.message


async def test_error_text_is_limited_too():
    """Raising cannot bypass the size limit of results."""
    async with runtime(output={"max_bytes": 100_000}) as ot:
        size = len((await ot.run("raise ValueError('x' * 5_000_000)")).error.message)
    assert size <= 100_000


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
    "service": "ot.call(name='shell.pwd')",
    "spy": "demo.spy()",
    "spy_module": "time.now()\nexec('import pack_demo\\npack_demo.spy()')",
}


@pytest.mark.parametrize("name", FORBIDDEN)
async def test_allow_list_applies_inside_code(tmp_path, name):
    """Code cannot call a tool that its caller may not call, in any way."""
    runs = []

    def spy() -> int:
        """Record the call."""
        runs.append(1)
        return 1

    caller = Caller(interface="ask", allowed=frozenset({"time.now"}))
    async with memory_runtime({"demo": [spy]}, settings={"execution": LIMITS}, cwd=tmp_path) as ot:
        assert (await ot.runtime.run("time.now()", caller)).ok
        result = await ot.runtime.run(FORBIDDEN[name], caller)
    assert not result.ok
    assert str(tmp_path) not in str(result)
    assert not runs
