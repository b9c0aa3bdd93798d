"""Python files in a tools directory become tools; a bad file harms no other."""

import json
import time
from pathlib import Path

import pytest

from commands import onetool
from onetool.bootstrap import open_runtime
from onetool.domain.caller import Caller
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places
from onetool.sources.python_packs.index import RETRY_AFTER, PackIndex
from onetool.sources.python_packs.inspector import Inspector
from onetool.sources.python_packs.python_packs import PackDirectory
from onetool.threads import Threads

GOOD = '''
"""A pack."""
from enum import Enum
from pathlib import Path
from onetool.sdk import Context, tool

pack = "good"

class Colour(Enum):
    RED = "red"

@tool(timeout=3, cacheable=True, changes=True, parallel=True, tags=["a"], max_concurrent=2)
def paint(path: Path, colour: Colour = Colour.RED, *, ctx: Context, **more: int) -> str:
    """Paint a file.

    Args:
        path: Where to paint.
        colour: With what.

    Returns:
        What was
        painted.

    Example:
        good.paint(path="x")
    """
    return f"{type(path).__name__} {colour.name} {more} {ctx.args['path']}"

async def later(n: int) -> int:
    return n + 1

def _hidden() -> None: ...

def positional(a, /, b): ...

def stream():
    yield 1

def odd(x: "NoSuchType"): ...

def unsayable(x: Threads): ...

CONSTANT = 5
class Helper: ...
'''.replace("Threads", "object.__class__")


def directory(path: Path, index: PackIndex | None = None) -> PackDirectory:
    return PackDirectory(path, Path.read_bytes, index=index or PackIndex(None), threads=Threads())


async def read(path: Path, index: PackIndex | None = None) -> dict:
    return {tool.spec.name: tool.spec for tool in await directory(path, index).read()}


async def test_every_public_function_is_a_tool(tmp_path, caplog):
    """Signature and docstring become the definition; what cannot be a tool is named in the log."""
    (tmp_path / "file_name.py").write_text(GOOD)
    found = await read(tmp_path)
    assert set(found) == {"good.paint", "good.later"}
    paint = found["good.paint"]
    assert paint.description == "Paint a file."
    assert paint.returns == "What was painted."
    assert paint.example == 'good.paint(path="x")'
    assert (paint.timeout, paint.cacheable, paint.changes, paint.parallel) == (3, True, True, True)
    assert (paint.tags, paint.max_concurrent, paint.origin) == (("a",), 2, "pack")
    assert paint.input_schema == {
        "type": "object",
        "properties": {
            "path": {"format": "path", "type": "string", "description": "Where to paint."},
            "colour": {"$ref": "#/$defs/Colour", "default": "red", "description": "With what."},
        },
        "required": ["path"],
        "$defs": {"Colour": {"enum": ["red"], "type": "string"}},
        "additionalProperties": True,
    }
    for words in (
        "good.positional: parameter 'a' is positional-only",
        "good.stream: a generator",
        "good.odd: its ann",
    ):
        assert words in caplog.text


async def test_arguments_arrive_in_the_annotated_types(home):
    """A Path is a Path, an enum an enum, and ctx keeps the raw JSON."""
    home.write("tools/x.py", GOOD)
    done = onetool("tools", "invoke", "good.paint", "--args", '{"path": "a/b", "n": 1}')
    assert json.loads(done.stdout)["data"] == "PosixPath RED {'n': 1} a/b"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("import os; os._exit(0)", "ended the process"),
        ("import os; os.kill(os.getpid(), 9)", "ended the process"),
        ("while True: pass", "took longer than"),
        ("def f(:", "SyntaxError"),
        ('pack = "not a name"', "is not a name"),
        ("import sys; sys.stdout.write('{}\\n'); sys.__stdout__.write('{}\\n'); raise KeyError", "KeyError"),
    ],
)
async def test_a_bad_file_fails_alone(tmp_path, code, said):
    """A hang, an exit or a crash at import costs that file, and the next one is looked into."""
    inspector = Inspector(patience=3.0)
    try:
        bad = await inspector.inspect(tmp_path / "bad.py", code.encode())
        good = await inspector.inspect(tmp_path / "good.py", b"def f() -> int:\n    return 1\n")
    finally:
        await inspector.close()
    assert said in bad["error"]
    assert [tool["name"] for tool in good["description"]["tools"]] == ["f"]


async def test_who_wants_a_pack_that_was_left_out_is_told_why(home):
    """By a call, in code and in health; others of its directory are there."""
    home.write("tools/bad.py", "def f(:\n")
    home.write("tools/good.py", GOOD)
    places = find_places(home.env, home.cwd)
    async with open_runtime(lambda: load_configuration(places, {})) as runtime:
        caller = Caller(door="python")
        missing = (await runtime.call(runtime.new_call("bad.f", {}, "python"), caller)).error.message
        code = (await runtime.run("bad.f()", caller)).error.message
        health = await runtime.health()
    assert missing.startswith("Tool not found: 'bad.f'. 'bad' cannot be used: bad.py is left out: ")
    assert code.startswith("line 1: 'bad' cannot be used: bad.py is left out: ")
    assert [problem.what for problem in health.problems()] == [
        f"The pack 'bad' is missing: {health.left_out['bad']}"
    ]
    assert "SyntaxError" in health.left_out["bad"]


async def test_what_is_not_text_is_refused(tmp_path):
    """A binary file is no pack."""
    assert "UTF-8" in (await Inspector().inspect(tmp_path / "x.py", b"\xff\xfe"))["error"]


async def test_first_file_keeps_a_name(tmp_path, caplog):
    """Files are read in the order of their names; the second to claim a tool is named in the log."""
    (tmp_path / "b.py").write_text('pack = "same"\ndef f() -> int:\n    """Two."""\n')
    (tmp_path / "a.py").write_text('pack = "same"\ndef f() -> int:\n    """One."""\n')
    (tmp_path / "_private.py").write_text("def f(): ...")
    found = await read(tmp_path)
    assert [spec.description for spec in found.values()] == ["One."]
    assert "b.py" in caplog.text
    assert "'same.f' is registered already" in caplog.text


async def test_a_file_is_looked_into_once(tmp_path):
    """The index answers for content it knows, in the next process too; changed content is looked at again."""
    packs, kept = tmp_path / "packs", tmp_path / "index.json"
    packs.mkdir()
    (packs / "a.py").write_text("def f(): ...")
    first = await read(packs, PackIndex(kept))
    started = time.perf_counter()
    assert await read(packs, PackIndex(kept)) == first
    assert time.perf_counter() - started < 0.15
    (packs / "a.py").write_text("def g(): ...")
    assert set(await read(packs, PackIndex(kept))) == {"a.g"}
    (packs / "a.py").unlink()
    (packs / "b.py").write_text("def h(): ...")
    await read(packs, PackIndex(kept))
    assert list(json.loads(kept.read_text())["files"]) == [str(packs / "b.py")]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"made_by": "0"}', "null"])
async def test_a_damaged_index_is_rebuilt(tmp_path, content):
    """The index is derived: what cannot be read is made again."""
    (tmp_path / "a.py").write_text("def f(): ...")
    kept = tmp_path / "index.json"
    kept.write_text(content)
    assert set(await read(tmp_path, PackIndex(kept))) == {"a.f"}
    assert json.loads(kept.read_text())["files"]


@pytest.mark.parametrize("damage", ["tools", "pack", "requires", "digest", "answer"])
async def test_an_index_of_another_time_is_made_again(tmp_path, damage):
    """An index that another version wrote, or that lost a part, never stops the start."""
    (tmp_path / "a.py").write_text("def f(): ...")
    kept = tmp_path / "index.json"
    await read(tmp_path, PackIndex(kept))
    written = json.loads(kept.read_text())
    (entry,) = written["files"].values()
    described = entry["answer"]["description"]
    for part in (entry, described, described["tools"][0]):
        part.pop(damage, None)
    kept.write_text(json.dumps(written))
    assert set(await read(tmp_path, PackIndex(kept))) == {"a.f"}


def test_a_failure_is_tried_again_after_a_while():
    """A missing library may have been installed meanwhile."""
    now = [100.0]
    index = PackIndex(None, now=lambda: now[0])
    index.put("a.py", "1", {"error": "no module"})
    whole = {"description": {"pack": "b", "tools": [], "refused": []}}
    index.put("b.py", "1", whole)
    assert index.get("a.py", "1") == {"error": "no module"}
    now[0] += RETRY_AFTER + 1
    assert index.get("a.py", "1") is None
    assert index.get("b.py", "1") == whole


async def test_a_directory_that_is_not_there_has_no_tools(tmp_path):
    """Nothing needs to exist; a file that appears moves the generation."""
    source = directory(tmp_path / "tools")
    before = source.generation()
    assert len(await source.read()) == 0
    (tmp_path / "tools").mkdir()
    assert source.generation() != before


def test_a_dropped_file_is_a_tool_at_the_next_call(home):
    """No restart, no reload: drop a file, call it."""
    from onetool import onetool_runtime

    (home.config / "tools").mkdir()
    with onetool_runtime() as ot:
        assert not ot.call("fresh.f").ok
        home.write("tools/fresh.py", "def f() -> int:\n    return 7\n")
        assert ot.call("fresh.f").data == 7


def test_an_import_that_hangs_only_when_it_is_called_costs_its_call_alone(home):
    """A file that is harmless in the child and hangs later times out; others answer."""
    from onetool import onetool_runtime

    home.write("onetool.yaml", "execution: {timeout_s: 0.5}")
    code = "import sys, threading\nif 'onetool.sources.python_packs.inspect_child' not in sys.orig_argv:\n"
    home.write("tools/sly.py", code + "    threading.Event().wait()\ndef f(): ...\n")
    with onetool_runtime() as ot:
        assert ot.call("sly.f").meta.reason == "timeout"
        assert ot.call("tools.echo", message=1).ok
