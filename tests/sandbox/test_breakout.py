"""Hostile code: it reaches nothing of the host, ends within its limits, and the house goes on."""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from onetool.domain import Caller
from onetool.sdk import call_tool, get_secret
from onetool.testing import memory_runtime

CANARY = "canary-value-123"
PROBE = "ONETOOL_BREAKOUT_PROBE"
TIMEOUT = 5.0
LIMITS = {"run_cpu_s": 0.5, "run_timeout_s": TIMEOUT, "run_memory_bytes": 2**25, "run_max_calls": 50}
SPIN = "while True: pass"
DEEP = "x = [0]\nfor i in range(40):\n    x = [x, x]\n"
"""Forty small lists, which hold two to the power of forty zeros."""

# OUTSIDE and INSIDE stand for files with a secret text, outside of and in the working directory; NEW for
# a path in it where there is no file.
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
        "onetool": "import onetool.runtime\nonetool.runtime.current()",
        "onetool_exec": "exec(\"from onetool.sdk import get_secret\\nprint(get_secret('CANARY'))\")",
        "sdk_name": 'get_secret("CANARY")',
        "pack_module": "import pack_demo\npack_demo.ping()",
        "loader": '__loader__.load_module("os")',
        "file": "open(__file__).read()",
        "pickle": "import pickle\npickle.loads(b\"cos\\nsystem\\n(S'touch NEW'\\ntR.\")",
    },
    "walks": {
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
# These once held the event loop of the host, which no test can outlive: each has a process of its own.
HOST_BOMBS = {
    "shared_result": f"{DEEP}x",
    "shared_argument": f"{DEEP}tools.echo(message=x)",
    "shared_dict": "x = {}\nfor i in range(40):\n    x = {'a': x, 'b': x}\nx",
    "many_statements": "1;" * 150_000,
    "many_items": f"x = {{{','.join(f'{i}:{i}' for i in range(150_000))}}}",
}
OWN_PROCESS = """
import asyncio, json, sys, time
from onetool.testing import memory_runtime

async def main():
    slowest = 0
    async with memory_runtime(settings={"execution": json.loads(sys.argv[1])}) as ot:
        run = asyncio.create_task(ot.run(sys.stdin.read()))
        start = time.monotonic()
        while not run.done():
            asked = time.monotonic()
            await asyncio.sleep(0.01)
            await ot.call("tools.echo", message=1)
            slowest = max(slowest, time.monotonic() - asked)
        print(json.dumps([time.monotonic() - start, slowest, (await ot.run("1 + 1")).data]))

asyncio.run(main())
"""


def ping() -> str:
    """Answer."""
    return "pong"


def reveal() -> str:
    """Give a secret away."""
    return get_secret("CANARY")


def again() -> str:
    """Call itself."""
    return call_tool("demo.again")


async def hang() -> str:
    """Never answer."""
    await asyncio.sleep(10**6)
    return ""


def runtime(cwd=None, output=None, **limits):
    settings = {"execution": LIMITS | limits, "output": output or {}}
    return memory_runtime(
        {"demo": [ping, reveal, again, hang]}, settings=settings, secrets={"CANARY": CANARY}, cwd=cwd
    )


class Ground:
    """A directory to stand in, with secrets in it and around it, and what must not be seen of them."""

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

    def aimed(self, code: str) -> str:
        for word, name in (("OUTSIDE", "outside.txt"), ("INSIDE", "work/inside.txt"), ("NEW", "work/new")):
            code = code.replace(word, str(self.root / name))
        return code

    def damage(self, shown: str):
        forms = (self.secret, CANARY, CANARY[::-1], " ".join(CANARY), "root:x:0", "onetool.runtime.Runtime")
        yield from (f"showed {form!r}" for form in forms if form in shown)
        if self.files() != self.before:
            yield "changed files"
        if os.environ.get(PROBE) != self.secret:
            yield "changed the environment"


@pytest.fixture
def ground(tmp_path, monkeypatch):
    return Ground(tmp_path, monkeypatch.setenv)


async def attempt(ot, ground, code):
    """What went wrong, if anything, while this code ran and right after."""
    start = time.monotonic()
    try:
        shown = str(await asyncio.wait_for(ot.run(ground.aimed(code)), TIMEOUT + 5))
    except (Exception, asyncio.CancelledError) as error:
        shown = ""
        yield f"ended with {type(error).__name__} instead of a result"
    took = time.monotonic() - start
    if took > TIMEOUT + 2:
        yield f"took {took:.1f} s"
    for harm in ground.damage(shown):
        yield harm
    if (after := await ot.run("1 + 1")).data != 2:
        yield f"left this behind: {after}"


def batches():
    for kind, snippets in CORPUS.items():
        items = list(snippets.items())
        for first in range(0, len(items), 11):
            yield pytest.param(items[first : first + 11], id=f"{kind}-{items[first][0]}")


@pytest.mark.parametrize("batch", list(batches()))
async def test_nothing_in_the_corpus_gets_out(ground, batch):
    """No snippet sees or changes the host, each ends in time with a result, and the next command runs."""
    async with runtime(ground.cwd) as ot:
        harms = [f"{name}: {harm}" for name, code in batch async for harm in attempt(ot, ground, code)]
    assert not harms, "\n".join(harms)


@pytest.mark.parametrize("name", HOST_BOMBS)
def test_what_is_small_inside_cannot_be_too_large_for_the_host(name):
    """Code whose text or value is a burden to read ends in time, and other calls are answered meanwhile."""
    command = [sys.executable, "-c", OWN_PROCESS, json.dumps(LIMITS)]
    try:
        done = subprocess.run(command, input=HOST_BOMBS[name], capture_output=True, text=True, timeout=12)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{name}: the host still hangs after 12 s")
    assert done.returncode == 0, f"{name}: {done.stderr[-500:]}"
    took, slowest, after = json.loads(done.stdout)
    assert after == 2, name
    assert took < TIMEOUT + 2, f"{name} took {took:.1f} s"
    assert slowest < 1.5, f"{name}: another call waited {slowest:.1f} s"


def test_the_corpus_is_large():
    """There are more than eighty attempts."""
    assert sum(map(len, CORPUS.values())) + len(HOST_BOMBS) >= 80


@pytest.mark.parametrize("bomb", [SPIN, "print('x' * 10**6)\n" * 30, "x = 10\nwhile True:\n    x = x * x"])
async def test_others_are_served_while_code_runs_wild(bomb):
    """A tool answers within a second, and other code runs, while a run burns all it may."""
    async with runtime(run_cpu_s=2.0) as ot:
        await ot.run("1 + 1")
        wild = asyncio.create_task(ot.run(bomb))
        for _ in range(5):
            start = time.monotonic()
            assert (await ot.call("tools.echo", message=1)).data == 1
            assert time.monotonic() - start < 1
            await asyncio.sleep(0.02)
        assert (await ot.run("2 + 2")).data == 4
        await wild


def workers():
    """CPU ticks by the id of each Monty process that this process has started."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            ours = int(fields[1]) == os.getpid() and fields[0] != "Z"
            if ours and b"monty" in (folder / "cmdline").read_bytes():
                found[int(folder.name)] = int(fields[11]) + int(fields[12])
    return found


async def busy_run(ot):
    """Code that runs for half a minute, and the process it runs in."""
    await ot.run("1 + 1")
    before = workers()
    task = asyncio.create_task(ot.run(SPIN))
    await asyncio.sleep(1)
    ticks = {pid: used - before.get(pid, 0) for pid, used in workers().items()}
    return task, max(ticks, key=ticks.__getitem__)


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


@linux
async def test_cancelling_a_run_ends_its_process():
    """Whoever stops waiting leaves nothing behind that computes."""
    async with runtime(run_cpu_s=30.0, run_timeout_s=60.0) as ot:
        task, worker = await busy_run(ot)
        start = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while worker in workers() and time.monotonic() - start < 2:
            await asyncio.sleep(0.02)
        assert time.monotonic() - start < 1
        assert (await ot.run("1 + 1")).data == 2


@linux
async def test_a_killed_worker_is_an_error_and_no_more():
    """A worker that dies fails its own run, and the next one gets another worker."""
    async with runtime(run_cpu_s=30.0, run_timeout_s=60.0) as ot:
        task, worker = await busy_run(ot)
        os.kill(worker, signal.SIGKILL)
        result = await asyncio.wait_for(task, 5)
        assert not result.ok
        assert result.error.message
        assert (await ot.run("1 + 1")).data == 2


@pytest.mark.parametrize(
    "flood",
    [
        "while True:\n    demo.count()",
        "import asyncio\nawait asyncio.gather(*[demo.count() for _ in range(9999)])",
    ],
)
async def test_a_flood_of_calls_stops_at_its_limit(flood):
    """No more tools are called than run_max_calls says."""
    calls = []

    def count() -> int:
        """Count."""
        calls.append(1)
        return len(calls)

    async with memory_runtime({"demo": [count]}, settings={"execution": LIMITS}) as ot:
        result = await ot.run(flood)
    assert not result.ok
    assert "50" in result.error.message
    assert len(calls) <= 50


@pytest.mark.parametrize("flood", ["print('x' * 10**7)", "for i in range(10**7):\n    print(i)"])
async def test_only_so_much_of_what_is_printed_is_kept(flood):
    """Printed text is cut at a mebibyte, and says so."""
    async with runtime() as ot:
        printed = (await ot.run(flood)).printed
    assert 2**18 < len(printed) < 2**20 + 100
    if len(printed) > 2**20:
        assert "more was printed" in printed[-100:]


async def test_what_leaves_a_run_has_a_size():
    """A value larger than output.max_bytes is an error."""
    async with runtime(output={"max_bytes": 100_000}) as ot:
        assert (await ot.run("'x' * 90_000")).ok
        result = await ot.run("'x' * 200_000")
        assert not result.ok
        assert "max_bytes" in result.error.message


async def test_the_text_of_an_error_has_a_size_too():
    """Code cannot send by raising what it could not send by returning."""
    async with runtime(output={"max_bytes": 100_000}) as ot:
        size = len((await ot.run("raise ValueError('x' * 5_000_000)")).error.message)
    assert size <= 100_000


async def test_memory_has_a_limit():
    """Code that needs less than run_memory_bytes works; code that needs more fails."""
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
async def test_an_allow_list_holds_inside_code(tmp_path, name):
    """A tool that the caller may not call does not run, however the code reaches for it."""
    runs = []

    def spy() -> int:
        """Remember."""
        runs.append(1)
        return 1

    caller = Caller(door="ask", allowed=frozenset({"time.now"}))
    async with memory_runtime({"demo": [spy]}, settings={"execution": LIMITS}, cwd=tmp_path) as ot:
        assert (await ot.runtime.run("time.now()", caller)).ok
        result = await ot.runtime.run(FORBIDDEN[name], caller)
    assert not result.ok
    assert str(tmp_path) not in str(result)
    assert not runs
