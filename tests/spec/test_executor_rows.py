"""The executor and the five built-in tools: rows RUN-01 to RUN-23, RUN-36 and RUN-37."""

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

from onetool import onetool_runtime
from onetool.domain import Caller, ToolCall, ToolResult, ToolSpec
from onetool.domain.calls.caller import never_approve
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import Reason
from onetool.sdk import ErrorText, tool
from onetool.testing import memory_runtime
from support.onetool_process import onetool

BUILT_IN = {"time.now", "tools.echo", "shell.pwd", "fs.list_dir", "fs.read_file"}
NOT_FOUND, INVALID_ARGS, EXECUTION_ERROR = "tool_not_found", "invalid_args", "execution_error"
SECRET_TEXT = "not-for-tools"
PACK = """
import time
from onetool.sdk import tool
@tool(timeout=0.5)
def nap(): time.sleep(3600)
def talk(): print('noise')
"""
INVALID_JSON = ["", "'x'", "NaN", "-Infinity", "1e999", "1}, {", "[" * 9999 + "]" * 9999]
Mode = Literal["a", "b"]
Count = Annotated[int, Field(ge=1)]


def cli(home: Any, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return onetool("tools", *words, cwd=cwd or home.cwd)


def failure_message(result: ToolResult, code: str, hint: str = "") -> str:
    """Check the format of a failed result and return its message."""
    data = result.to_json()
    assert (result.ok, data["ok"]) == (False, False), hint
    error = data["error"]
    assert error == {"tool": data["meta"]["tool"], "code": code, "message": error["message"] or None}, hint
    return str(error["message"])


def demo_pack(**functions: Any) -> dict[str, list[Any]]:
    """Return a pack `demo` of functions with the given names."""
    for name, function in functions.items():
        function.__name__ = name
    return {"demo": list(functions.values())}


async def specs(ot: Any) -> dict[str, ToolSpec]:
    return {found.spec.name: found.spec async for found in ot.runtime.state.catalog.tools()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the only directory that the fs tools may read."""
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
async def ot(root: Path) -> AsyncIterator[Any]:
    async with memory_runtime(cwd=root) as client:
        yield client


@pytest.mark.spec("RUN-01", "RUN-02", "RUN-03")
def test_tool_spec_and_tool_call_have_the_specified_fields() -> None:
    """A ToolSpec has name, description, schema and handler; a ToolCall exactly id, name, args and source."""
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    spec = ToolSpec(name="demo.f", description="Do f.", input_schema=schema, handler="demo:f")
    expected = {"name": "demo.f", "description": "Do f.", "inputSchema": schema}
    assert (spec.summary(), spec.handler) == (expected, "demo:f")
    assert spec.details().items() >= expected.items()
    call = {"id": "c1", "name": "demo.f", "args": {"x": 1}, "source": "cli"}
    assert ToolCall(**call).to_json() == call


@pytest.mark.spec("RUN-02")
async def test_every_registered_spec_has_a_handler(ot: Any) -> None:
    assert [spec.name for spec in (await specs(ot)).values() if not spec.handler] == []


@pytest.mark.spec("RUN-01", "RUN-04", "RUN-15")
async def test_result_has_either_data_or_error_and_meta(ot: Any) -> None:
    """Data may be null. Meta has tool, duration and a unique call id."""
    good, null = [await ot.call("tools.echo", message=value) for value in ("hi", None)]
    bad = await ot.call("fs.read_file", path="missing")
    results = [result.to_json() for result in (good, null, bad)]
    assert [set(item) - {"ok", "meta"} for item in results] == [{"data"}, {"data"}, {"error"}]
    assert [(item["ok"], item.get("data")) for item in results] == [(True, "hi"), (True, None), (False, None)]
    assert [item["meta"]["tool"] for item in results] == ["tools.echo", "tools.echo", "fs.read_file"]
    assert all(item["meta"]["durationMs"] >= 0 for item in results)
    assert [type(result) for result in (good, null, bad)] == [ToolResult] * 3
    assert len({item["meta"]["callId"] for item in results}) == 3


@pytest.mark.spec("RUN-05", "RUN-06", "RUN-08")
async def test_catalog_finds_built_in_tools_and_returns_none_for_unknown_names(ot: Any) -> None:
    assert set(await specs(ot)) >= BUILT_IN
    assert {(await ot.runtime.state.catalog.find(name)).spec.name for name in BUILT_IN} == BUILT_IN
    assert [await ot.runtime.state.catalog.find(name) for name in ("time.never", "Time.Now", "")] == [
        None
    ] * 3


@pytest.mark.spec("RUN-05", "RUN-08", "RUN-21")
async def test_tools_list_prints_name_description_and_schema_of_all_tools(home: Any, ot: Any) -> None:
    home.write("tools/mine.py", PACK)
    done = cli(home, "list")
    listed = {item["name"]: item for item in json.loads(done.stdout)}
    keys = [set(item) >= {"name", "description", "inputSchema"} for item in listed.values()]
    assert (done.returncode, all(keys)) == (0, True)
    expected = {name: spec.summary() for name, spec in (await specs(ot)).items()}
    assert {name: listed[name] for name in expected} == expected
    assert {"mine.nap", "mine.talk"} < set(listed)


@pytest.mark.spec("RUN-07", "RUN-17")
@pytest.mark.parametrize(
    ("allowed", "runs"),
    [(None, 1), ({"demo.f", "no.such"}, 1), ({"time.now"}, 0), ({"DEMO.F", "demo.*", "demo.f "}, 0), ((), 0)],
)
async def test_tool_missing_from_the_allow_list_is_not_found(allowed: Any, runs: int) -> None:
    """The list must contain the exact name; the tool does not run otherwise."""
    ran: list[int] = []
    caller = Caller(
        interface="python",
        allowed=None if allowed is None else frozenset(allowed),
        default_effect=Effect.ALLOW,
    )
    async with memory_runtime(demo_pack(f=lambda: ran.append(1)), caller=caller) as ot:
        result = await ot.call("demo.f")
        assert result.ok if runs else failure_message(result, NOT_FOUND)
    assert len(ran) == runs


@pytest.mark.spec("RUN-09")
async def test_time_now_returns_the_same_instant_as_timestamp_and_iso(ot: Any) -> None:
    """The timestamp is in milliseconds, rounded down; the ISO text is in UTC."""
    before = time.time()
    data = (await ot.call("time.now")).data
    assert before * 1000 - 1 <= data["timestamp"] <= time.time() * 1000
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
async def test_echo_returns_any_json_value_unchanged(home: Any, ot: Any, message: Any) -> None:
    """In process and through the command line."""
    result = await ot.call("tools.echo", message=message)
    assert (result.ok, repr(result.data)) == (True, repr(message))
    done = cli(home, "invoke", "tools.echo", "--args", json.dumps({"message": message}, ensure_ascii=False))
    printed = json.loads(done.stdout)
    assert (done.returncode, printed["ok"], repr(printed["data"])) == (0, True, repr(message))


@pytest.mark.spec("RUN-11")
def test_pwd_returns_the_resolved_working_directory(home: Any) -> None:
    (home.cwd / "ä b\nc").mkdir()
    (home.cwd / "link").symlink_to("ä b\nc")
    for cwd in (home.cwd, home.cwd / "link"):
        assert json.loads(cli(home, "invoke", "shell.pwd", cwd=cwd).stdout)["data"] == str(cwd.resolve())


@pytest.mark.spec("RUN-12", "RUN-13")
async def test_fs_tools_require_path_and_have_the_specified_defaults(ot: Any) -> None:
    defaults = {"fs.list_dir": {"recursive": False, "maxDepth": 4}, "fs.read_file": {"maxBytes": 204800}}
    for name, expected in defaults.items():
        schema = (await specs(ot))[name].summary()["inputSchema"]
        found = {key: value.get("default") for key, value in schema["properties"].items()}
        assert (schema["required"], repr(found)) == (["path"], repr({"path": None} | expected))


async def list_entries(ot: Any, **args: Any) -> dict[str, str]:
    """Return path and type of the entries that fs.list_dir returns."""
    result = await ot.call("fs.list_dir", **args)
    assert result.ok, result.error
    return {entry["path"]: entry["type"] for entry in result.data}


@pytest.mark.spec("RUN-12")
@pytest.mark.parametrize(
    ("args", "depth"),
    [({}, 1), ({"recursive": False, "maxDepth": 3}, 1), ({"maxDepth": 0}, 1), ({"recursive": True}, 4)]
    + [({"recursive": True, "maxDepth": deep}, min(deep, 6)) for deep in (1, 2, 5, 6, 10**30)],
)
async def test_list_dir_lists_max_depth_levels_and_does_not_follow_links(
    ot: Any, root: Path, args: Any, depth: int
) -> None:
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
    assert (
        await list_entries(ot, path=".", **args) == await list_entries(ot, path=str(root), **args) == expected
    )


@pytest.mark.spec("RUN-13", "RUN-14")
@pytest.mark.parametrize(
    ("content", "limit"),
    [(text, None) for text in (b"", b"a\r\nb\rc\n", b"\xef\xbb\xbfbom", "漢\0é\u2028".encode())]
    + [(b"x" * 204_800, None), (b"x" * 204_801, None), (b"x" * 204_801, 300_000)]
    + [("漢".encode() * 68_266, None), ("漢".encode() * 68_267, None)]
    + [(b"12345", limit) for limit in (-1, 0, 4, 5, 10**12, 2**80)],
    ids=lambda value: f"{len(value)} bytes" if isinstance(value, bytes) else str(value),
)
async def test_read_file_returns_exact_content_up_to_max_bytes(
    ot: Any, root: Path, content: bytes, limit: Any
) -> None:
    """One byte over the limit is an error that names maxBytes."""
    (root / "f").write_bytes(content)
    result = await ot.call("fs.read_file", path="f", **({} if limit is None else {"maxBytes": limit}))
    if len(content) > (204_800 if limit is None else limit):
        assert "maxBytes" in failure_message(result, EXECUTION_ERROR)
    else:
        assert (result.ok, str(result.data).encode() == content) == (True, True), result.error


FORBIDDEN_PATHS = {
    "fs.list_dir": "dir dir/.. sub/up sub/up/out .. ../out {up}/out {up}/root2 / pipe fifo",
    "fs.read_file": "link chain dir/secret dir/../secret sub/up/out/secret ../out/secret sub/../../out/secret"
    " {up}/out/secret //{up}/out/secret {up}/root2/secret {up}/root2/../out/secret /dev/zero /etc/passwd"
    " /proc/self/root{up}/out/secret /proc/self/environ ~/.profile link\0x a\0b \ud800 pipe fifo loop",
}


@pytest.mark.guards("model-arguments")
@pytest.mark.spec("RUN-12", "RUN-13", "RUN-19")
async def test_fs_tools_read_nothing_outside_the_root(ot: Any, root: Path) -> None:
    """Links, parents, absolute paths, siblings, pipes and invalid names fail without blocking."""
    for secret in ("out/secret", "out/sub/secret", "root2/secret", "root/sub/plain"):
        (root.parent / secret).parent.mkdir(parents=True, exist_ok=True)
        (root.parent / secret).write_text("plain" if secret.endswith("plain") else SECRET_TEXT)
    links = {"link": "../out/secret", "chain": "link", "dir": "../out/sub", "sub/up": "../..", "fifo": "pipe"}
    links |= {"loop": "loop", "inside": "sub/plain"}
    for link, target in links.items():
        (root / link).symlink_to(target)
    os.mkfifo(root / "pipe")
    for path in (str(root / "sub/plain"), "inside"):
        assert (await ot.call("fs.read_file", path=path)).data == "plain"
    for name, paths in FORBIDDEN_PATHS.items():
        for path in paths.split(" "):
            result = await ot.call(name, path=path.format(up=root.parent))
            failure_message(result, EXECUTION_ERROR, path)
            assert result.meta.reason is not Reason.TIMEOUT, path
            assert SECRET_TEXT not in json.dumps(result.to_json()), path
    assert set(await list_entries(ot, path=".", recursive=True)) == {*links, "pipe", "sub", "sub/plain"}


@pytest.mark.spec("RUN-12", "RUN-13")
def test_fs_tools_do_not_read_onetool_directories(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Config, data, state and project directories below the root are neither read nor listed."""
    monkeypatch.chdir(home.root)
    protected = ["config/onetool.yaml", "config/tools/mine.py", "data/x", "state/x", ".onetool/x"]
    for file in [*protected, "plain"]:
        (home.root / file).parent.mkdir(parents=True, exist_ok=True)
        (home.root / file).write_text(f"# {SECRET_TEXT}\n")
    (home.root / "link").symlink_to("config/onetool.yaml")
    (home.root / "dir").symlink_to("config")
    others = ["link", "dir/onetool.yaml", "./config/tools/../onetool.yaml", str(home.config / "onetool.yaml")]
    with onetool_runtime() as ot:
        assert SECRET_TEXT in ot.call("fs.read_file", path="plain").data
        for path in protected + others:
            result = ot.call("fs.read_file", path=path)
            failure_message(result, EXECUTION_ERROR, path)
            assert SECRET_TEXT not in json.dumps(result.to_json()), path
        for path in ("config", "config/tools", "dir", "data", "state", ".onetool"):
            failure_message(ot.call("fs.list_dir", path=path), EXECUTION_ERROR, path)
        listed = {entry["path"] for entry in ot.call("fs.list_dir", path=".", recursive=True).data}
    assert listed & {*protected, "plain"} == {"plain"}


@pytest.mark.guards("model-arguments")
@pytest.mark.spec("RUN-18", "RUN-37")
@pytest.mark.parametrize(
    "args",
    [{}, {"path": 5}, {"path": None}, {"path": ["f"]}, {"path": "f", "other": 1}]
    + [{"path": "f", "mode": mode} for mode in ("c", "A", "", None)]
    + [{"path": "f", "count": count} for count in (0, -1, 1.5, "2", True)]
    + [{"path": "f", "points": points} for points in ({}, [1], [{}], [{"x": 1}, {"x": "1"}])],
    ids=str,
)
async def test_invalid_arguments_are_rejected_before_the_handler_runs(ot: Any, args: dict[str, Any]) -> None:
    """Missing, mistyped, unknown, enum, minimum and nested violations are invalid_args."""
    ran = []

    class Point(BaseModel):
        x: int

    def f(path: str, mode: Mode = "a", count: Count = 1, points: list[Point] | None = None) -> None:
        ran.append(path)

    async with memory_runtime({"demo": [f]}) as client:
        failure_message(await client.call("demo.f", **args), INVALID_ARGS)
        assert ran == []
        assert (await client.call("demo.f", path="good", mode="b", count=1, points=[{"x": 1}])).ok
    assert ran == ["good"]
    failure_message(await ot.call("fs.read_file", **args), INVALID_ARGS)


@pytest.mark.spec("RUN-16", "RUN-17", "RUN-18", "RUN-19")
async def test_every_failure_has_one_of_three_error_codes(root: Path) -> None:
    gate = threading.Event()
    table: list[Any] = [
        (NOT_FOUND, name, {}) for name in ("", "time", "Time.Now", "a.b.c", "\0", "shell.pwd")
    ]
    table += [
        (INVALID_ARGS, name, {"zz": 1}) for name in ("time.now", "tools.echo", "fs.read_file", "demo.slow")
    ]
    table += [
        (EXECUTION_ERROR, "fs.read_file", {"path": path}) for path in ("no", ".", "..", "", "latin", "huge")
    ]
    table += [(EXECUTION_ERROR, "fs.list_dir", {"path": path}) for path in ("no", "latin", "/")]
    table += [(EXECUTION_ERROR, f"demo.{name}", {}) for name in ("error", "large", "slow", "change")]
    (root / "latin").write_bytes(b"caf\xe9")
    (root / "huge").touch()
    os.truncate(root / "huge", 10**11)
    allowed = frozenset(name for _, name, _ in table) - {"shell.pwd"}
    settings = {"execution": {"timeout_s": 0.3}, "output": {"max_bytes": 1_000_000}}
    caller = Caller(interface="python", allowed=allowed, approve=never_approve)
    packs = demo_pack(
        error=lambda: ErrorText("Error: no"),
        large=lambda: "x" * 2_000_000,
        slow=lambda: gate.wait(20),
        change=tool(read_only=False)(lambda: None),
    )
    async with memory_runtime(packs, settings=settings, cwd=root, caller=caller) as ot:
        for code, name, args in table:
            failure_message(await ot.call(name, **args), code, name)
        gate.set()


@pytest.mark.spec("RUN-20", "RUN-22")
def test_tools_help_lists_commands_and_info_prints_metadata(home: Any) -> None:
    """An unknown tool is exit code 1 with a message on stderr."""
    help_page = cli(home, "--help").stdout
    assert all(f"\n  {command} " in help_page for command in ("list", "info", "invoke"))
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
        *[("no.such", "{}", NOT_FOUND), ("fs.read_file", "{}", INVALID_ARGS)],
        ("fs.read_file", '{"path":"no"}', EXECUTION_ERROR),
        ("mine.nap", "{}", EXECUTION_ERROR),
    ],
)
def test_invoke_prints_only_the_result_and_does_not_wait_for_a_sleeping_handler(
    home: Any, name: str, args: str, code: str | None
) -> None:
    """The exit code is 0 or 1. A handler that sleeps much longer than a command may take delays nothing."""
    home.write("tools/mine.py", PACK)
    done = cli(home, "invoke", name, "--args", args)
    printed = json.loads(done.stdout)
    assert (done.returncode, printed["ok"]) == (bool(code), not code)
    assert printed.get("error", {}).get("code") == code
    assert name != "tools.echo" or printed["data"] == "hi"


@pytest.mark.spec("RUN-23")
@pytest.mark.parametrize("value", INVALID_JSON, ids=lambda text: text[:9])
def test_malformed_json_arguments_are_rejected_without_a_traceback(home: Any, value: str) -> None:
    done = cli(home, "invoke", "tools.echo", "--args", f'{{"message": {value}}}')
    assert (done.returncode in (1, 2), "Traceback" in done.stderr) == (True, False), done
    assert "--args" in done.stderr or json.loads(done.stdout)["error"]["code"] == INVALID_ARGS
