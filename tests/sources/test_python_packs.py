"""Pack files: their tools, the isolation of invalid files, and the index."""

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from onetool.bootstrap import open_runtime
from onetool.domain.calls.caller import Caller
from onetool.runtime.health import check_health
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.sources.python_packs.directory import PackDirectoryReader
from onetool.sources.python_packs.environments import NO_UV
from onetool.sources.python_packs.index import MISSING_LIBRARY_RETRY_S, RETRY_AFTER_S, PackIndex
from onetool.sources.python_packs.inspector import PackInspector
from onetool.threads import Threads
from support.onetool_process import onetool
from support.waiting import HANG_S

CALLER = Caller(interface="python")
GOOD = '''
"""A pack."""
from enum import Enum
from pathlib import Path
from onetool.sdk import Context, tool

pack = "good"

class Color(Enum):
    RED = "red"

@tool(timeout=3, cacheable=True, read_only=False, parallel=True, tags=["a"], max_concurrent=2)
def paint(path: Path, color: Color = Color.RED, *, ctx: Context, **more: int) -> str:
    """Paint a file.

    More about it.

    Args:
        path (Path): Where to paint,
            over two lines.
        color: With what.
        **more: Anything else.

    Returns:
        What was
        painted.

    Raises:
        ValueError: Never.

    Examples:
        good.paint(path="x")
        good.paint(path="y")
    """
    return f"{type(path).__name__} {color.name} {more} {ctx.args['path']}"

async def later(n: int) -> int:
    return n + 1

def _hidden() -> None: ...

def positional(a, /, b): ...

def stream():
    yield 1

def odd(x: "NoSuchType"): ...

def unsupported(x: Threads): ...

CONSTANT = 5
class Helper: ...
'''.replace("Threads", "object.__class__")


def open_packs(home) -> AbstractAsyncContextManager[Runtime]:
    """Open a runtime with the packs of a user."""
    paths = find_paths(home.env, home.cwd)
    return open_runtime(lambda: load_configuration(paths, {}))


def directory(path: Path, index: PackIndex | None = None) -> PackDirectoryReader:
    return PackDirectoryReader(path, Path.read_bytes, index=index or PackIndex(None), threads=Threads())


async def read(path: Path, index: PackIndex | None = None) -> dict:
    return {tool.spec.name: tool.spec for tool in await directory(path, index).read()}


async def test_every_public_function_is_a_tool(tmp_path, caplog):
    """Signature and docstring become the definition. Functions that cannot be tools are logged."""
    (tmp_path / "file_name.py").write_text(GOOD)
    specs = await read(tmp_path)
    assert set(specs) == {"good.paint", "good.later"}
    paint = specs["good.paint"]
    assert (paint.description, specs["good.later"].description) == ("Paint a file.\n\nMore about it.", "")
    assert paint.returns == "What was painted."
    assert paint.example == 'good.paint(path="x")\ngood.paint(path="y")'
    assert (paint.timeout, paint.cacheable, paint.read_only, paint.parallel) == (3, True, False, True)
    assert (paint.tags, paint.max_concurrent, paint.origin) == (("a",), 2, "pack")
    assert paint.input_schema == {
        "type": "object",
        "properties": {
            "path": {"format": "path", "type": "string", "description": "Where to paint, over two lines."},
            "color": {"$ref": "#/$defs/Color", "default": "red", "description": "With what."},
        },
        "required": ["path"],
        "$defs": {"Color": {"enum": ["red"], "type": "string"}},
        "additionalProperties": True,
    }
    for expected in (
        "good.positional: parameter 'a' is positional-only",
        "good.stream: a generator",
        "good.odd: cannot evaluate annotations",
    ):
        assert expected in caplog.text


async def test_arguments_are_converted_to_annotated_types(home):
    """`ctx` contains the unconverted JSON."""
    home.write("tools/x.py", GOOD)
    done = onetool("tools", "invoke", "good.paint", "--args", '{"path": "a/b", "n": 1}')
    assert json.loads(done.stdout)["data"] == "PosixPath RED {'n': 1} a/b"


@pytest.mark.guards("pack-import")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (b"import nothing_of_this_name", "ModuleNotFoundError"),
        (b"raise SystemExit(3)", "SystemExit"),
        (b"import os; os._exit(0)", "import ended the process"),
        (b"import os; os.kill(os.getpid(), 9)", "import ended the process"),
        (b"while True: pass", "import took longer than"),
        (b"def f(:", "SyntaxError"),
        (b'pack = "not a name"', "is not a valid name"),
        (b"import sys; sys.stdout.write('{}\\n'); sys.__stdout__.write('{}\\n'); raise KeyError", "KeyError"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
async def test_failing_import_affects_only_its_file(tmp_path, code, expected):
    """After a hang, an exit or a crash the next file is inspected in a new process."""
    inspector = PackInspector(timeout_s=3.0 if "longer" in expected else HANG_S)
    try:
        bad = await inspector.inspect(tmp_path / "bad.py", code)
        inspector._timeout_s = HANG_S
        good = await inspector.inspect(tmp_path / "good.py", b"def f() -> int:\n    return 1\n")
    finally:
        await inspector.close()
    assert expected in bad["error"]
    assert [tool["name"] for tool in good["description"]["tools"]] == ["f"]


async def test_reason_of_a_skipped_pack_is_reported(home):
    """By a call, by a check, in code and in health."""
    home.write("tools/bad.py", "def f(:\n")
    home.write("tools/good.py", GOOD)
    async with open_packs(home) as runtime:
        missing = (await runtime.call_tool("bad.f", {}, CALLER, "python")).error.message
        check = await runtime.call_tool("ot.check", {"tool": "bad.f"}, CALLER, "python")
        code = (await runtime.run("bad.f()", CALLER)).error.message
        health = await check_health(runtime.state, runtime.threads)
    assert missing.startswith("Tool not found: 'bad.f'. 'bad' is unavailable: bad.py was skipped: ")
    assert "Tool not found: 'bad.f'. bad.py was skipped: SyntaxError" in check.error.message
    assert code.startswith("line 1: 'bad' is unavailable: bad.py was skipped: ")
    assert [problem.what for problem in health.problems()] == [
        f"Pack 'bad' was not loaded: {health.skipped['bad']}"
    ]
    assert "SyntaxError" in health.skipped["bad"]


@pytest.mark.guards("user-writes")
@pytest.mark.linux
async def test_pack_that_other_users_can_change_is_skipped(home):
    """The other packs are loaded, and health reports what to do."""
    file = home.write("tools/bad.py", "def f() -> int:\n    return 1\n", mode=0o666)
    home.write("tools/good.py", GOOD)
    async with open_packs(home) as runtime:
        missing = await runtime.call_tool("bad.f", {}, CALLER, "python")
        assert (await runtime.call_tool("good.later", {"n": 1}, CALLER, "python")).data == 2
        health = await check_health(runtime.state, runtime.threads)
    assert not missing.ok
    assert f"chmod go-w {file}" in missing.error.message
    assert f"chmod go-w {file}" in health.skipped["bad"]


async def test_first_file_with_a_tool_name_wins(tmp_path, caplog):
    """Files are read in the order of their names. Duplicates are logged."""
    (tmp_path / "b.py").write_text('pack = "same"\ndef f() -> int:\n    """Two."""\n')
    (tmp_path / "a.py").write_text('pack = "same"\ndef f() -> int:\n    """One."""\n')
    (tmp_path / "_private.py").write_text("def f(): ...")
    specs = await read(tmp_path)
    assert [spec.description for spec in specs.values()] == ["One."]
    assert "b.py" in caplog.text
    assert "'same.f' is already registered" in caplog.text


async def test_file_is_inspected_once(tmp_path):
    """The index is shared between processes. Changed content is inspected again."""
    packs, index_file = tmp_path / "packs", tmp_path / "index.json"
    packs.mkdir()
    imports = tmp_path / "imports"
    (packs / "a.py").write_text(f"print('once', file=open({str(imports)!r}, 'a'))\ndef f(): ...")
    first = await read(packs, PackIndex(index_file))
    assert await read(packs, PackIndex(index_file)) == first
    assert imports.read_text() == "once\n"
    (packs / "a.py").write_text("def g(): ...")
    assert set(await read(packs, PackIndex(index_file))) == {"a.g"}
    (packs / "a.py").unlink()
    (packs / "b.py").write_text("def h(): ...")
    await read(packs, PackIndex(index_file))
    assert list(json.loads(index_file.read_text())["files"]) == [str(packs / "b.py")]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": "0"}', "null"])
async def test_corrupt_index_is_rebuilt(tmp_path, content):
    (tmp_path / "a.py").write_text("def f(): ...")
    index_file = tmp_path / "index.json"
    index_file.write_text(content)
    assert set(await read(tmp_path, PackIndex(index_file))) == {"a.f"}
    assert json.loads(index_file.read_text())["files"]


@pytest.mark.parametrize("missing", ["tools", "pack", "requires", "digest", "result"])
async def test_incomplete_index_entry_is_replaced(tmp_path, missing):
    """An index that another version wrote never prevents the start."""
    (tmp_path / "a.py").write_text("def f(): ...")
    index_file = tmp_path / "index.json"
    await read(tmp_path, PackIndex(index_file))
    stored = json.loads(index_file.read_text())
    (entry,) = stored["files"].values()
    description = entry["result"]["description"]
    for part in (entry, description, description["tools"][0]):
        part.pop(missing, None)
    index_file.write_text(json.dumps(stored))
    assert set(await read(tmp_path, PackIndex(index_file))) == {"a.f"}


def retried_after(error: str, seconds: float) -> bool:
    """Return whether a file that could not be imported is imported again some time later."""
    now = [100_000.0]
    index = PackIndex(None, lambda: now[0])
    index.put("a.py", "digest", {"error": error})
    assert index.get("a.py", "digest") == {"error": error}
    now[0] += seconds
    return index.get("a.py", "digest") is None


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ("ImportError: x", RETRY_AFTER_S + 1),
        ("ImportError: x", -3 * 3600),
        ("ModuleNotFoundError: No module named 'humanize'", MISSING_LIBRARY_RETRY_S),
        (NO_UV, MISSING_LIBRARY_RETRY_S),
    ],
    ids=["later", "clock set back", "missing library", "missing uv"],
)
def test_failed_import_is_retried(error, seconds):
    """What was missing may be installed by then, and a user installs a library or uv in seconds."""
    assert retried_after(error, seconds)


def test_other_failed_imports_are_not_retried_soon_and_successful_ones_never():
    assert not retried_after("Importing took longer than 10 s", MISSING_LIBRARY_RETRY_S)
    now = [0.0]
    index = PackIndex(None, lambda: now[0])
    result = {"description": {"pack": "b", "tools": [], "invalid": [], "docs_url": None}}
    index.put("b.py", "1", result)
    now[0] += RETRY_AFTER_S + 1
    assert index.get("b.py", "1") == result


MISTAKES = '''
def key() -> str:
    """Fail."""
    return {}["WEATHER_KEY"]


def library() -> str:
    """Fail."""
    import humanize_gone

    return ""


def message() -> str:
    """Fail."""
    raise ValueError("city must not be empty")
'''


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("key", "'WEATHER_KEY' (in wx.py, line 4)"),
        ("library", "No module named 'humanize_gone' (in wx.py, line 9). If it is a library, add"),
        ("message", "ValueError: city must not be empty"),
    ],
)
async def test_mistakes_in_a_pack_are_shown_with_its_line(home, function, expected):
    """In a call and in code, where the line of the code is another one. A message of the author stays."""
    home.write("tools/wx.py", MISTAKES)
    async with open_packs(home) as runtime:
        called = (await runtime.call_tool(f"wx.{function}", {}, CALLER, "python")).error.message
        code = (await runtime.run(f"wx.{function}()", CALLER)).error.message
    assert expected in called
    assert expected in code
    assert "wx.py" not in called or function != "message"
    assert "Not available:" not in code


async def test_missing_directory_has_no_tools(tmp_path):
    """Creating it changes the generation."""
    reader = directory(tmp_path / "tools")
    before = reader.generation()
    assert len(await reader.read()) == 0
    (tmp_path / "tools").mkdir()
    assert reader.generation() != before


def test_new_file_is_available_at_the_next_call(home):
    """Without a restart or a reload."""
    from onetool import onetool_runtime

    (home.config / "tools").mkdir()
    with onetool_runtime() as ot:
        assert not ot.call("fresh.f").ok
        home.write("tools/fresh.py", "def f() -> int:\n    return 7\n")
        assert ot.call("fresh.f").data == 7


@pytest.mark.guards("pack-import")
def test_import_that_hangs_after_inspection_times_out(home):
    """Other tools still work."""
    from onetool import onetool_runtime

    code = (
        "import sys, threading\n"
        "from onetool.sdk import tool\n"
        "if 'onetool.sources.python_packs.inspector_process' not in sys.orig_argv:\n"
        "    threading.Event().wait()\n"
        "@tool(timeout=0.5)\n"
        "def f(): ...\n"
    )
    home.write("onetool.yaml", "execution: {timeout_s: 3600}")
    home.write("tools/hangs.py", code)
    with onetool_runtime() as ot:
        assert ot.call("hangs.f").meta.reason == "timeout"
        assert ot.call("tools.echo", message=1).ok
