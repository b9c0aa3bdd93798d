"""What a pack may do: call others, read settings and secrets, open allowed files."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from onetool.domain.errors import NoRuntime
from onetool.sdk import (
    ErrorText,
    allowed_path,
    batch_execute,
    call_tool,
    call_tool_async,
    get_config,
    get_pack,
    get_secret,
    open_allowed,
    report_progress,
    tool,
)
from onetool.testing import memory_runtime


async def inside(function: Any, **more: Any) -> Any:
    """Run a function as a tool, and return the result."""
    function.__name__ = "work"
    async with memory_runtime({"demo": [function]}, **more) as ot:
        return await ot.call("demo.work")


async def test_what_a_tool_returns_and_raises_comes_through():
    """Values, error texts and exceptions arrive in the calling tool as they left the called one."""

    class Own(LookupError):
        pass

    def give() -> Any:
        return {"native": Path("x")}

    def complain() -> Any:
        return ErrorText("Error: no")

    def fail() -> Any:
        raise Own("why")

    def work() -> Any:
        assert call_tool("demo.give") == {"native": Path("x")}
        assert call_tool("demo.complain") == "Error: no"
        with pytest.raises(Own, match="why"):
            call_tool("demo.fail")
        return "done"

    async with memory_runtime({"demo": [give, complain, fail, work]}) as ot:
        assert (await ot.call("demo.work")).data == "done"


async def test_what_is_not_there_is_a_value_error():
    """Unknown pack, unknown function, no dot."""

    def work() -> list[str]:
        said = []
        for name in ("nonexistent.foo", "time.foo", "foo"):
            with pytest.raises(ValueError, match="not found") as caught:
                call_tool(name)
            said.append(str(caught.value))
        return said

    assert (await inside(work)).data == [
        "Pack not found: nonexistent",
        "Tool not found: time.foo",
        "Pack not found: foo",
    ]


async def test_a_parameter_may_be_called_name():
    """The tool's name is positional, so a tool may take `name`."""

    def greet(name: str) -> str:
        return f"Hello {name}"

    def work() -> str:
        return call_tool("demo.greet", name="Bob")

    async with memory_runtime({"demo": [greet, work]}) as ot:
        assert (await ot.call("demo.work")).data == "Hello Bob"


async def test_the_blocking_form_on_the_event_loop_says_what_to_use():
    """Waiting on the loop for the loop would never end."""

    async def work() -> Any:
        return call_tool("time.now")

    assert "call_tool('time.now') would stop the event loop" in (await inside(work)).error.message


def test_without_a_runtime_the_error_says_how_to_start_one():
    """Outside of a tool there is nobody to ask."""
    with pytest.raises(NoRuntime, match="onetool_runtime"):
        call_tool("time.now")
    with pytest.raises(NoRuntime):
        asyncio.run(call_tool_async("time.now"))


async def test_settings_and_secrets():
    """Settings by dotted path, secrets by name; what is missing is None or the default."""

    def work() -> Any:
        return [
            get_config("execution.timeout_s"),
            get_config("execution.nothing", "default"),
            get_config("execution.timeout_s.deeper"),
            get_secret("NOTHING"),
            len(get_secret("KEY") or ""),
        ]

    result = await inside(work, settings={"execution": {"timeout_s": 5}}, secrets={"KEY": "hunter2"})
    assert result.data == [5, "default", None, None, 7]


def test_a_declaration_is_optional_and_leaves_the_function_alone():
    """`@tool` and `@tool(...)` return the function itself."""

    def f() -> int:
        return 1

    assert tool(f) is f
    assert tool(timeout=1)(f) is f


async def test_files_are_opened_only_under_the_roots(tmp_path):
    """Links, dots and absolute paths that lead out are refused; what is inside is opened."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.write_text("secret")
    (root / "inside").write_text("fine")
    (root / "link").symlink_to(outside)
    (root / "ok").symlink_to(root / "inside")
    (root / "loop").symlink_to(root / "loop")
    os.mkfifo(root / "pipe")

    def work() -> list[str]:
        said = []
        for path in ("inside", "ok", "link", "../outside", str(outside), "pipe", "loop", "a\0b"):
            try:
                with open_allowed(path) as file:
                    said.append(file.read().decode())
            except PermissionError as error:
                said.append(type(error).__name__)
        return said

    result = await inside(work, cwd=root)
    assert result.data == ["fine", "fine", *["PermissionError"] * 6]


async def test_onetools_own_directories_are_closed(home):
    """Even under a root, settings, data and state are not for tools."""
    home.write("onetool.yaml", f"fs: {{roots: [{home.root}, {home.cwd}]}}")
    (home.cwd / ".onetool").mkdir()
    (home.cwd / ".onetool" / "x").write_text("x")
    from onetool import onetool_runtime

    async with onetool_runtime() as ot:
        for path in (home.config / "onetool.yaml", home.cwd / ".onetool" / "x"):
            result = await ot.call("fs.read_file", path=str(path))
            assert "OneTool's own" in result.error.message
        listed = await ot.call("fs.list_dir", path=str(home.cwd), recursive=True)
        assert [entry["path"] for entry in listed.data] == [".onetool"]


async def test_without_roots_everything_is_closed(tmp_path):
    """No root, no file; the message names the setting."""

    def work() -> str:
        return str(allowed_path("/etc/passwd"))

    result = await inside(work, cwd=tmp_path)
    assert "fs.roots" in result.error.message


async def test_a_file_replaced_while_it_is_opened_is_not_read(tmp_path, monkeypatch):
    """Between the check and the opening somebody may swap the file: then it is refused."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "dir").mkdir(parents=True)
    outside.mkdir()
    (root / "dir" / "f").write_text("fine")
    (outside / "f").write_text("secret")
    really_open = os.open

    def swapping_open(path, flags, *more, **others):
        if str(path) == str(root / "dir" / "f"):
            (root / "dir").rename(root / "gone")
            (root / "dir").symlink_to(outside)
        return really_open(path, flags, *more, **others)

    def work() -> str:
        with open_allowed("dir/f") as file:
            return file.read().decode()

    monkeypatch.setattr(os, "open", swapping_open)
    result = await inside(work, cwd=root)
    assert not result.ok
    assert result.meta.exception == "PermissionError"


def test_progress_outside_of_a_tool_goes_nowhere():
    """Functions that report progress work in plain Python too."""
    assert report_progress(1, 2, "half") is None
    assert batch_execute(["a"], str.upper) == "=== a ===\nA"


async def test_a_pack_looks_like_one():
    """Its repr names it, and Python's own questions about it are not calls."""

    def work() -> list[Any]:
        pack = get_pack("time")
        return [repr(pack), hasattr(pack, "__len__")]

    assert (await inside(work)).data == ["<pack time>", False]


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("--- {at: x, topic: notes, mess", 0),
        ("---", 0),
        ('--- {at: x, topic: notes, message: "whole"}', 1),
        ("written: by hand", 1),
    ],
)
async def test_a_note_after_a_torn_one(tmp_path, before, kept):
    """What a killed process began is cut off; what a person wrote stays."""
    file = tmp_path / "notes.yaml"
    file.write_text(before)
    async with memory_runtime(settings={"topics": [{"pattern": "*", "file": str(file)}]}) as ot:
        assert (await ot.call("ot.notify", topic="a", message="new")).data == f"OK: a -> {file}"
        documents = list(yaml.safe_load_all(file.read_text()))
        assert (len(documents), documents[-1]["message"]) == (kept + 1, "new")
        file.unlink()
        file.mkdir()
        assert "Error: Cannot write the note" in (await ot.call("ot.notify", topic="a", message="x")).data
