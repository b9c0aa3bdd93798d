"""The executor and the five built-in tools, held to rows RUN-01 to RUN-23, RUN-36 and RUN-37."""

import asyncio
import contextlib
import json
import os
import subprocess
import threading
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from commands import onetool
from onetool import onetool_runtime
from onetool.domain import Caller, ToolCall, ToolResult, ToolSpec
from onetool.domain.caller import grant, refuse
from onetool.sdk import ErrorText, tool
from onetool.testing import memory_runtime

BUILT_IN = {"time.now", "tools.echo", "shell.pwd", "fs.list_dir", "fs.read_file"}
NONE, ARGS, EXEC = "tool_not_found", "invalid_args", "execution_error"
MARK = "not-for-tools"
PACK = "import time\ndef nap(): time.sleep(30)\ndef talk(): print('noise')\n"
RAISED = (ValueError, KeyError, OSError, SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration)
NO_VALUES = ["", "'x'", "NaN", "-Infinity", "1e999", "1}, {", "[" * 9999 + "]" * 9999]
Mode = Literal["a", "b"]
Count = Annotated[int, Field(ge=1)]


def cli(home: Any, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return onetool("tools", *words, cwd=cwd or home.cwd)


def failed(result: ToolResult, code: str, hint: str = "") -> str:
    """Check the shape of a failure and give its message."""
    shown = result.to_json()
    assert (result.ok, shown["ok"]) == (False, False), hint
    error = shown["error"]
    assert error == {"tool": shown["meta"]["tool"], "code": code, "message": error["message"] or None}, hint
    return str(error["message"])


def demo(**functions: Any) -> dict[str, list[Any]]:
    """Make a pack of functions that have no name of their own."""
    for name, function in functions.items():
        function.__name__ = name
    return {"demo": list(functions.values())}


async def specs(ot: Any) -> dict[str, ToolSpec]:
    return {found.spec.name: found.spec async for found in ot.runtime.catalog.tools()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The only directory that the fs tools may look into."""
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
async def ot(root: Path) -> AsyncIterator[Any]:
    async with memory_runtime(cwd=root) as started:
        yield started


@pytest.mark.spec("RUN-01", "RUN-02", "RUN-03")
def test_spec_and_call_hold_the_fields_of_the_model() -> None:
    """A ToolSpec has name, description, schema and handler; a ToolCall exactly id, name, args, source."""
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    spec = ToolSpec(name="demo.f", description="Do f.", input_schema=schema, handler="demo:f")
    expected = {"name": "demo.f", "description": "Do f.", "inputSchema": schema}
    assert (spec.summary(), spec.handler) == (expected, "demo:f")
    assert spec.details().items() >= expected.items()
    call = {"id": "c1", "name": "demo.f", "args": {"x": 1}, "source": "cli"}
    assert ToolCall(**call).to_json() == call


@pytest.mark.spec("RUN-02")
async def test_a_registered_spec_says_which_handler_runs_it(ot: Any) -> None:
    """Every registered ToolSpec carries its execution handler."""
    assert [spec.name for spec in (await specs(ot)).values() if not spec.handler] == []


@pytest.mark.spec("RUN-01", "RUN-04", "RUN-15")
async def test_a_call_becomes_a_result_with_either_data_or_error(ot: Any) -> None:
    """A result is ok, data (also null) or error, and meta with tool and duration; each has its own id."""
    good, null = [await ot.call("tools.echo", message=value) for value in ("hi", None)]
    bad = await ot.call("fs.read_file", path="missing")
    shown = [result.to_json() for result in (good, null, bad)]
    assert [set(item) - {"ok", "meta"} for item in shown] == [{"data"}, {"data"}, {"error"}]
    assert [(item["ok"], item.get("data")) for item in shown] == [(True, "hi"), (True, None), (False, None)]
    assert [item["meta"]["tool"] for item in shown] == ["tools.echo", "tools.echo", "fs.read_file"]
    assert all(item["meta"]["durationMs"] >= 0 for item in shown)
    assert [type(result) for result in (good, null, bad)] == [ToolResult] * 3
    assert len({item["meta"]["callId"] for item in shown}) == 3


@pytest.mark.spec("RUN-05", "RUN-06", "RUN-08")
async def test_the_registry_lists_the_built_ins_and_gets_one_by_name(ot: Any) -> None:
    """The registry lists everything, gets a definition by name, and has None for an unknown one."""
    assert set(await specs(ot)) >= BUILT_IN
    assert {(await ot.runtime.catalog.find(name)).spec.name for name in BUILT_IN} == BUILT_IN
    assert [await ot.runtime.catalog.find(name) for name in ("time.never", "Time.Now", "")] == [None] * 3


@pytest.mark.spec("RUN-05", "RUN-08", "RUN-21")
async def test_tools_list_shows_what_the_registry_holds(home: Any, ot: Any) -> None:
    """The command line lists the registry's tools, each with name, description and inputSchema."""
    home.write("tools/mine.py", PACK)
    done = cli(home, "list")
    shown = {item["name"]: item for item in json.loads(done.stdout)}
    keys = [set(item) >= {"name", "description", "inputSchema"} for item in shown.values()]
    assert (done.returncode, all(keys)) == (0, True)
    expected = {name: spec.summary() for name, spec in (await specs(ot)).items()}
    assert {name: shown[name] for name in expected} == expected
    assert {"mine.nap", "mine.talk"} < set(shown)


@pytest.mark.spec("RUN-07", "RUN-17")
@pytest.mark.parametrize(
    ("allowed", "runs"),
    [(None, 1), ({"demo.f", "no.such"}, 1), ({"time.now"}, 0), ({"DEMO.F", "demo.*", "demo.f "}, 0), ((), 0)],
)
async def test_only_allowed_tools_are_callable(allowed: Any, runs: int) -> None:
    """A tool that the allow-list does not name exactly is not found, and does not run."""
    ran: list[int] = []
    caller = Caller(door="python", allowed=None if allowed is None else frozenset(allowed), approve=grant)
    async with memory_runtime(demo(f=lambda: ran.append(1)), caller=caller) as ot:
        result = await ot.call("demo.f")
        assert result.ok if runs else failed(result, NONE)
    assert len(ran) == runs


@pytest.mark.spec("RUN-09")
async def test_time_now_gives_one_instant_in_two_forms(ot: Any) -> None:
    """The timestamp is now in whole milliseconds, and iso is the same instant in UTC."""
    data = (await ot.call("time.now")).data
    assert abs(data["timestamp"] / 1000 - time.time()) < 5
    assert (type(data["timestamp"]), data["iso"][-1]) == (int, "Z")
    since = datetime.fromisoformat(data["iso"]) - datetime.fromtimestamp(0, UTC)
    assert since // timedelta(milliseconds=1) == data["timestamp"]


ECHOES: dict[str, Any] = {
    "unicode": "漢字 ñ 👩‍👩‍👧 \u202e\u2028\ufeff",
    "newlines": "a\nb\r\nc\rd\n\n",
    "error-text": "Error: x",
    "empty": "",
    "control": " \t \x00\x1b[31m\x7f",
    "nested": {"b": [{"a": {"漢": [None, True, 1.5, "", [], {}]}}], "a": {"ok": False, "$ref": "#"}},
    "numbers": [2**70, -0.0, 1.0, 1, 1e300],
}


@pytest.mark.spec("RUN-10", "RUN-23")
@pytest.mark.parametrize("message", ECHOES.values(), ids=ECHOES)
async def test_echo_gives_back_what_it_got(home: Any, ot: Any, message: Any) -> None:
    """Any JSON value comes back identical and ok, from memory and through the command line."""
    result = await ot.call("tools.echo", message=message)
    assert (result.ok, repr(result.data)) == (True, repr(message))
    done = cli(home, "invoke", "tools.echo", "--args", json.dumps({"message": message}, ensure_ascii=False))
    shown = json.loads(done.stdout)
    assert (done.returncode, shown["ok"], repr(shown["data"])) == (0, True, repr(message))


@pytest.mark.spec("RUN-11")
def test_pwd_is_the_directory_of_the_process(home: Any) -> None:
    """shell.pwd is the working directory, as text, also when it was reached by a link or is oddly named."""
    (home.cwd / "ä b\nc").mkdir()
    (home.cwd / "link").symlink_to("ä b\nc")
    for cwd in (home.cwd, home.cwd / "link"):
        assert json.loads(cli(home, "invoke", "shell.pwd", cwd=cwd).stdout)["data"] == str(cwd.resolve())


@pytest.mark.spec("RUN-12", "RUN-13")
async def test_fs_parameters_and_their_defaults(ot: Any) -> None:
    """path is required; recursive is false, maxDepth 4 and maxBytes 204800 unless said otherwise."""
    defaults = {"fs.list_dir": {"recursive": False, "maxDepth": 4}, "fs.read_file": {"maxBytes": 204800}}
    for name, expected in defaults.items():
        schema = (await specs(ot))[name].summary()["inputSchema"]
        given = {key: value.get("default") for key, value in schema["properties"].items()}
        assert (schema["required"], repr(given)) == (["path"], repr({"path": None} | expected))


async def listed(ot: Any, **args: Any) -> dict[str, str]:
    result = await asyncio.wait_for(ot.call("fs.list_dir", **args), 6)
    assert result.ok, result.error
    return {entry["path"]: entry["type"] for entry in result.data}


@pytest.mark.spec("RUN-12")
@pytest.mark.parametrize(
    ("args", "depth"),
    [({}, 1), ({"recursive": False, "maxDepth": 3}, 1), ({"maxDepth": 0}, 1), ({"recursive": True}, 4)]
    + [({"recursive": True, "maxDepth": deep}, min(deep, 6)) for deep in (1, 2, 5, 6, 10**30)],
)
async def test_list_dir_shows_as_many_levels_as_asked(ot: Any, root: Path, args: Any, depth: int) -> None:
    """Recursive shows maxDepth levels, children being the first; kinds are real, links not followed."""
    links = {"up": ".", "a": "b", "b": "a", "self": "self", "d/top": "..", "d/d/root": str(root)}
    files = ["d/" * level + "f" for level in range(6)]
    kinds = dict.fromkeys(links, "link") | dict.fromkeys(files, "file") | {"pipe": "other"}
    kinds |= {"d" + "/d" * level: "directory" for level in range(6)}
    (root / "d/d/d/d/d/d").mkdir(parents=True)
    for link, target in links.items():
        (root / link).symlink_to(target)
    for file in files:
        (root / file).touch()
    os.mkfifo(root / "pipe")
    expected = {path: kind for path, kind in kinds.items() if path.count("/") < depth}
    assert await listed(ot, path=".", **args) == await listed(ot, path=str(root), **args) == expected


@pytest.mark.spec("RUN-13", "RUN-14")
@pytest.mark.parametrize(
    ("content", "limit"),
    [(text, None) for text in (b"", b"a\r\nb\rc\n", b"\xef\xbb\xbfbom", "漢\0é\u2028".encode())]
    + [(b"x" * 204_800, None), (b"x" * 204_801, None), (b"x" * 204_801, 300_000)]
    + [("漢".encode() * 68_266, None), ("漢".encode() * 68_267, None)]
    + [(b"12345", limit) for limit in (-1, 0, 4, 5, 10**12, 2**80)],
    ids=lambda value: f"{len(value)} bytes" if isinstance(value, bytes) else str(value),
)
async def test_read_file_is_exact_up_to_max_bytes(ot: Any, root: Path, content: bytes, limit: Any) -> None:
    """Content equals the file byte for byte; one byte over the limit is an error that names maxBytes."""
    (root / "f").write_bytes(content)
    result = await ot.call("fs.read_file", path="f", **({} if limit is None else {"maxBytes": limit}))
    if len(content) > (204_800 if limit is None else limit):
        assert "maxBytes" in failed(result, EXEC)
    else:
        assert (result.ok, str(result.data).encode() == content) == (True, True), result.error


CLOSED = {
    "fs.list_dir": "dir dir/.. sub/up sub/up/out .. ../out {up}/out {up}/root2 / pipe fifo",
    "fs.read_file": "link chain dir/secret dir/../secret sub/up/out/secret ../out/secret sub/../../out/secret"
    " {up}/out/secret //{up}/out/secret {up}/root2/secret {up}/root2/../out/secret /dev/zero /etc/passwd"
    " /proc/self/root{up}/out/secret /proc/self/environ ~/.profile link\0x a\0b \ud800 pipe fifo",
}


@pytest.mark.spec("RUN-12", "RUN-13", "RUN-19")
async def test_nothing_outside_the_root_is_read(ot: Any, root: Path) -> None:
    """Links, parents, absolute paths, siblings, pipes and broken names give no content, and nothing hangs."""
    for secret in ("out/secret", "out/sub/secret", "root2/secret", "root/sub/plain"):
        (root.parent / secret).parent.mkdir(parents=True, exist_ok=True)
        (root.parent / secret).write_text("plain" if secret.endswith("plain") else MARK)
    links = {"link": "../out/secret", "chain": "link", "dir": "../out/sub", "sub/up": "../..", "fifo": "pipe"}
    for link, target in links.items():
        (root / link).symlink_to(target)
    os.mkfifo(root / "pipe")
    assert (await ot.call("fs.read_file", path=str(root / "sub/plain"))).data == "plain"
    for name, paths in CLOSED.items():
        for path in paths.split(" "):
            result = await asyncio.wait_for(ot.call(name, path=path.format(up=root.parent)), 6)
            failed(result, EXEC, path)
            assert MARK not in json.dumps(result.to_json()), path
    assert set(await listed(ot, path=".", recursive=True)) == {*links, "pipe", "sub", "sub/plain"}


@pytest.mark.spec("RUN-12", "RUN-13")
def test_the_own_directories_of_onetool_stay_closed(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Config, data, state and project directories below the root are neither read nor listed."""
    monkeypatch.chdir(home.root)
    own = ["config/onetool.yaml", "config/tools/mine.py", "data/x", "state/x", ".onetool/x"]
    for file in [*own, "plain"]:
        (home.root / file).parent.mkdir(parents=True, exist_ok=True)
        (home.root / file).write_text(f"# {MARK}\n")
    (home.root / "link").symlink_to("config/onetool.yaml")
    (home.root / "dir").symlink_to("config")
    others = ["link", "dir/onetool.yaml", "./config/tools/../onetool.yaml", str(home.config / "onetool.yaml")]
    with onetool_runtime() as ot:
        assert MARK in ot.call("fs.read_file", path="plain").data
        for path in own + others:
            result = ot.call("fs.read_file", path=path)
            failed(result, EXEC, path)
            assert MARK not in json.dumps(result.to_json()), path
        for path in ("config", "config/tools", "dir", "data", "state", ".onetool"):
            failed(ot.call("fs.list_dir", path=path), EXEC, path)
        seen = {entry["path"] for entry in ot.call("fs.list_dir", path=".", recursive=True).data}
    assert seen & {*own, "plain"} == {"plain"}


@pytest.mark.spec("RUN-16", "RUN-19")
@pytest.mark.parametrize("kind", RAISED)
async def test_whatever_a_handler_raises_becomes_a_result(kind: type[BaseException]) -> None:
    """An exception of any kind ends in execution_error that names its type and keeps its message."""

    def now() -> None:
        raise kind("the reason")

    async def later() -> None:
        raise kind("the reason")

    async with memory_runtime({"demo": [now, later]}) as ot:
        for name in ("demo.now", "demo.later")[: 1 if kind is StopIteration else 2]:
            result = await ot.call(name)
            assert "the reason" in failed(result, EXEC, name)
            assert result.to_json()["meta"]["exception"] == kind.__name__
        assert (await ot.call("time.now")).ok


@pytest.mark.spec("RUN-18", "RUN-37")
@pytest.mark.parametrize(
    "args",
    [{}, {"path": 5}, {"path": None}, {"path": ["f"]}, {"path": "f", "other": 1}]
    + [{"path": "f", "mode": mode} for mode in ("c", "A", "", None)]
    + [{"path": "f", "count": count} for count in (0, -1, 1.5, "2", True)]
    + [{"path": "f", "points": points} for points in ({}, [1], [{}], [{"x": 1}, {"x": "1"}])],
    ids=str,
)
async def test_bad_arguments_are_refused_before_the_handler_runs(ot: Any, args: dict[str, Any]) -> None:
    """Missing, mistyped, unknown, enum, minimum and nested violations are invalid_args; nothing runs."""
    ran = []

    class Point(BaseModel):
        x: int

    def f(path: str, mode: Mode = "a", count: Count = 1, points: list[Point] | None = None) -> None:
        ran.append(path)

    async with memory_runtime({"demo": [f]}) as mine:
        failed(await mine.call("demo.f", **args), ARGS)
        assert ran == []
        assert (await mine.call("demo.f", path="good", mode="b", count=1, points=[{"x": 1}])).ok
    assert ran == ["good"]
    failed(await ot.call("fs.read_file", **args), ARGS)


@pytest.mark.spec("RUN-16", "RUN-17", "RUN-18", "RUN-19")
async def test_only_three_codes_are_ever_emitted(root: Path) -> None:
    """Every way to fail maps to tool_not_found, invalid_args or execution_error."""
    gate = threading.Event()
    table: list[Any] = [(NONE, name, {}) for name in ("", "time", "Time.Now", "a.b.c", "\0", "shell.pwd")]
    table += [(ARGS, name, {"zz": 1}) for name in ("time.now", "tools.echo", "fs.read_file", "demo.slow")]
    table += [(EXEC, "fs.read_file", {"path": path}) for path in ("no", ".", "..", "", "latin", "huge")]
    table += [(EXEC, "fs.list_dir", {"path": path}) for path in ("no", "latin", "/")]
    table += [(EXEC, f"demo.{name}", {}) for name in ("refused", "large", "slow", "change")]
    (root / "latin").write_bytes(b"caf\xe9")
    (root / "huge").touch()
    os.truncate(root / "huge", 10**11)
    allowed = frozenset(name for _, name, _ in table) - {"shell.pwd"}
    settings = {"execution": {"timeout_s": 0.3}, "output": {"max_bytes": 1_000_000}}
    caller = Caller(door="python", allowed=allowed, approve=refuse)
    packs = demo(
        refused=lambda: ErrorText("Error: no"),
        large=lambda: "x" * 2_000_000,
        slow=lambda: gate.wait(20),
        change=tool(changes=True)(lambda: None),
    )
    async with memory_runtime(packs, settings=settings, cwd=root, caller=caller) as ot:
        for code, name, args in table:
            failed(await ot.call(name, **args), code, name)
        gate.set()


@pytest.mark.spec("RUN-20", "RUN-22")
def test_tools_help_and_info_tell_what_there_is(home: Any) -> None:
    """Help names the commands; info prints schema and metadata; an unknown tool is exit 1 on stderr."""
    shown = cli(home, "--help").stdout
    assert all(f"\n  {command} " in shown for command in ("list", "info", "invoke"))
    info = json.loads(cli(home, "info", "fs.read_file").stdout)
    assert set(info) >= {"name", "description", "source", "enabled", "version"}
    assert info["inputSchema"]["required"] == ["path"]
    missing = cli(home, "info", "no.such")
    assert (missing.returncode, "no.such" in missing.stderr) == (1, True)


@pytest.mark.spec("RUN-23", "RUN-36")
@pytest.mark.parametrize(
    ("name", "args", "code"),
    [
        ("tools.echo", '{"message":"hi"}', None),
        ("mine.talk", "{}", None),
        *[("no.such", "{}", NONE), ("fs.read_file", "{}", ARGS)],
        ("fs.read_file", '{"path":"no"}', EXEC),
        ("mine.nap", "{}", EXEC),
    ],
)
def test_invoke_prints_the_result_and_nothing_else(home: Any, name: str, args: str, code: str | None) -> None:
    """The output is the ToolResult, the exit code 0 or 1; a handler that still sleeps delays neither."""
    home.write("onetool.yaml", "execution:\n  timeout_s: 0.5\n")
    home.write("tools/mine.py", PACK)
    started = time.monotonic()
    done = cli(home, "invoke", name, "--args", args)
    shown = json.loads(done.stdout)
    assert (done.returncode, shown["ok"]) == (bool(code), not code)
    assert shown.get("error", {}).get("code") == code
    assert name != "tools.echo" or shown["data"] == "hi"
    assert time.monotonic() - started < 20


@pytest.mark.spec("RUN-23")
@pytest.mark.parametrize("value", NO_VALUES, ids=lambda text: text[:9])
def test_malformed_arguments_are_refused_clearly(home: Any, value: str) -> None:
    """What is no JSON object, or cannot be kept exactly, is refused with a message and no traceback."""
    done = cli(home, "invoke", "tools.echo", "--args", f'{{"message": {value}}}')
    assert (done.returncode in (1, 2), "Traceback" in done.stderr) == (True, False), done
    assert "--args" in done.stderr or json.loads(done.stdout)["error"]["code"] == ARGS


@pytest.mark.spec("RUN-36")
@pytest.mark.parametrize(
    ("func", "limit", "least", "most"),
    [("block", None, 7.9, 10), ("own", None, 0.25, 3)]
    + [(func, 0.4, 0.35, 3) for func in ("block", "wait", "stay")],
)
async def test_a_slow_tool_is_given_up(func: str, limit: float | None, least: float, most: float) -> None:
    """After the time limit (8 s, or as set) a call is execution_error, whatever the handler waits in."""
    gate = threading.Event()

    async def wait() -> None:
        await asyncio.Event().wait()

    async def stay() -> None:
        while not gate.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)

    own = tool(timeout=0.3)(lambda: gate.wait(20))
    packs = demo(block=lambda: gate.wait(20), wait=wait, stay=stay, own=own)
    settings = {"execution": {"timeout_s": limit}} if limit else {}
    async with memory_runtime(packs, settings=settings) as ot:
        started = time.monotonic()
        result = await ot.call(f"demo.{func}")
        taken = time.monotonic() - started
        gate.set()
        failed(result, EXEC)
        assert least <= taken < most


@pytest.mark.spec("RUN-36")
async def test_a_hanging_tool_does_not_hold_up_others() -> None:
    """While a handler hangs, another call is answered."""
    started, gate = threading.Event(), threading.Event()
    async with memory_runtime(demo(block=lambda: started.set() or gate.wait(20))) as ot:
        hanging = asyncio.create_task(ot.call("demo.block"))
        assert await asyncio.to_thread(started.wait, 5)
        assert ((await asyncio.wait_for(ot.call("time.now"), 5)).ok, hanging.done()) == (True, False)
        gate.set()
        assert (await hanging).ok
