"""The file pack: reading, searching, editing and comparing allowed text files."""

import difflib
import os
import shutil
import stat
import subprocess

import pytest

from onetool.starter_packs import file
from onetool.testing import memory_runtime
from support.cpu_time import cpu_seconds, measure


@pytest.fixture
async def ot(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    async with memory_runtime(cwd=root) as tools:
        yield tools


@pytest.fixture
def root(tmp_path, ot):
    return tmp_path / "root"


async def test_lines_are_read_by_number(ot, root):
    (root / "f").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    whole = (await ot.call("file.read", path="f")).data
    assert whole["text"].count("\n") == 10
    middle = (await ot.call("file.read", path="f", start_line=3, lines=2)).data
    assert middle == {"text": "line 3\nline 4\n", "start_line": 3, "end_line": 4, "total_lines": 10}
    assert (await ot.call("file.read", path="f", start_line=-2)).data["text"] == "line 9\nline 10\n"
    assert (await ot.call("file.read", path="f", start_line=99)).data["text"] == ""


async def test_search_is_literal_optionally_case_insensitive_and_limited(ot, root):
    (root / "f").write_bytes(b"a.c\r\nabc\r\nA.C\r\n" + b"z" * 1000)
    assert (await ot.call("file.search", path="f", text="a.c")).data == [{"line": 1, "text": "a.c"}]
    matches = (await ot.call("file.search", path="f", text="a.c", ignore_case=True)).data
    assert [match["line"] for match in matches] == [1, 3]
    assert len((await ot.call("file.search", path="f", text="c", max_results=1)).data) == 1
    assert len((await ot.call("file.search", path="f", text="z")).data[0]["text"]) == 500
    assert "text is empty" in (await ot.call("file.search", path="f", text="")).error.message


async def test_edit_replaces_the_text_and_returns_a_diff(ot, root):
    (root / "f").write_text("".join(f"{n}\n" for n in range(20)))
    before = (root / "f").read_text()
    diff = (await ot.call("file.edit", path="f", old="\n9\n10\n", new="\nnine\n")).data
    assert "-9\n-10\n+nine\n" in diff
    assert "@@ -7,8 +7,7 @@" in diff
    assert (root / "f").read_text() == before.replace("9\n10\n", "nine\n", 1)


@pytest.mark.parametrize(
    ("old", "message"), [("x", "occurs 2 times"), ("y", "was not found"), ("", "old is empty")]
)
async def test_edit_requires_exactly_one_occurrence(ot, root, old, message):
    (root / "f").write_text("x x")
    assert message in (await ot.call("file.edit", path="f", old=old, new="z")).error.message
    assert (root / "f").read_text() == "x x"


async def test_edit_preserves_line_endings_and_byte_order_mark(ot, root):
    """A model writes \\n even if the file uses \\r\\n."""
    (root / "f").write_bytes(b"\xef\xbb\xbfa\r\nb\r\nc\r\n")
    assert (await ot.call("file.read", path="f")).data["text"] == "a\nb\nc\n"
    assert (await ot.call("file.edit", path="f", old="a\nb\n", new="a\nx\ny\n")).ok
    assert (root / "f").read_bytes() == b"\xef\xbb\xbfa\r\nx\r\ny\r\nc\r\n"


async def test_edit_preserves_permissions_and_new_files_follow_the_umask(ot, root):
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o775)
    assert (await ot.call("file.edit", path="run", old="sh", new="bash")).ok
    assert stat.S_IMODE((root / "run").stat().st_mode) == 0o775
    await ot.call("file.write", path="new", content="x")
    (root / "other").write_text("x")
    assert (root / "new").stat().st_mode == (root / "other").stat().st_mode


async def test_write_replaces_an_existing_file_only_with_overwrite(ot, root):
    assert (await ot.call("file.write", path="f", content="a\nb\n")).data == "Wrote 2 lines to f."
    again = await ot.call("file.write", path="f", content="c")
    assert "Pass overwrite=True to replace it" in again.error.message
    assert (await ot.call("file.write", path="f", content="c", overwrite=True)).ok
    assert (root / "f").read_text() == "c"
    assert list(root.iterdir()) == [root / "f"]
    assert not (await ot.call("file.write", path="no/f", content="c")).ok


async def test_edit_fails_if_the_file_changes_meanwhile(ot, root, monkeypatch):
    """An edit never overwrites a concurrent change."""
    (root / "f").write_text("a")
    original_diff = file._diff

    def slow(*args):
        (root / "f").write_text("a and more")
        return original_diff(*args)

    monkeypatch.setattr(file, "_diff", slow)
    result = await ot.call("file.edit", path="f", old="a", new="b")
    assert "has changed since it was read" in result.error.message
    assert (root / "f").read_text() == "a and more"


async def test_only_writing_tools_are_not_read_only():
    async with memory_runtime() as ot:
        writing = {
            tool.spec.name
            async for tool in ot.runtime.state.catalog.tools()
            if tool.spec.pack == "file" and not tool.spec.read_only
        }
    assert writing == {"file.edit", "file.write"}


@pytest.mark.skipif(not shutil.which("patch"), reason="patch is not installed")
async def test_diff_can_be_applied_with_patch(ot, root):
    """This includes files without a final newline. Equal files have an empty diff."""
    (root / "a").write_text("1\n2\n3")
    (root / "b").write_text("0\n1\n3\n")
    diff = (await ot.call("file.diff", path="a", other="b")).data
    patched = subprocess.run(
        ["patch", "-s", "-o", "-", "a"], input=diff, cwd=root, capture_output=True, text=True
    )
    assert patched.stdout == "0\n1\n3\n", (diff, patched)
    assert (await ot.call("file.diff", path="a", other="a")).data == ""
    (root / "empty").touch()
    assert "@@ -1,3 +0,0 @@" in (await ot.call("file.diff", path="a", other="empty")).data


async def test_worst_case_diff_needs_less_time_than_difflib_and_is_limited(ot, root, monkeypatch):
    """Swapped neighbors are the worst case for difflib, which needs about 30 times the CPU time."""
    lines = [f"{n}\n" for n in range(1_000)]
    swapped = [lines[n ^ 1] for n in range(1_000)]
    (root / "a").write_text("".join(lines))
    (root / "b").write_text("".join(swapped))
    own_times, difflib_times = [], []
    for _ in range(3):
        start = cpu_seconds()
        assert (await ot.call("file.diff", path="a", other="b")).ok
        own_times.append(cpu_seconds() - start)
        difflib_times.append(measure(lambda: list(difflib.unified_diff(lines, swapped))))
    assert min(own_times) < min(difflib_times) / 4
    monkeypatch.setattr(file, "MAX_COMPARED", 100)
    assert "More than 100 lines" in (await ot.call("file.diff", path="a", other="b")).error.message


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\0\1", "is binary"), (b"\xff\xfe", "not UTF-8"), (b"x" * 101, "larger than 100 bytes")],
)
async def test_binary_and_large_files_are_rejected(ot, root, monkeypatch, content, message):
    monkeypatch.setattr(file, "MAX_BYTES", 100)
    (root / "f").write_bytes(content)
    assert message in (await ot.call("file.read", path="f")).error.message
    assert message in (await ot.call("file.edit", path="f", old="x", new="y")).error.message
    assert (root / "f").read_bytes() == content
    assert "larger than 100" in (await ot.call("file.write", path="g", content="x" * 101)).error.message


async def test_paths_outside_the_roots_are_rejected(ot, root):
    """This holds for `..`, symbolic links and OneTool's own directory."""
    outside = root.parent / "outside"
    outside.write_text("x")
    (root / "own").write_text("x")
    (root / "link").symlink_to(outside)
    (root / "dir").symlink_to(root.parent)
    (root / ".onetool").mkdir()
    calls = {
        "read": {},
        "edit": {"old": "x", "new": "y"},
        "write": {"content": "y", "overwrite": True},
        "search": {"text": "x"},
        "diff": {"other": "own"},
    }
    for path in ("../outside", "/etc/passwd", "link", "dir/outside", "~root/x", ".onetool/x.yaml", "x\0y"):
        for tool, args in calls.items():
            result = await ot.call(f"file.{tool}", path=path, **args)
            assert result.error.message.startswith("PermissionError:"), (tool, path)
    assert outside.read_text() == "x"


async def test_pipes_and_directories_are_rejected(ot, root):
    os.mkfifo(root / "pipe")
    (root / "dir").mkdir()
    for name in ("pipe", "dir"):
        assert not (await ot.call("file.read", path=name)).ok
        assert not (await ot.call("file.write", path=name, content="x", overwrite=True)).ok
    assert (root / "dir").is_dir()


@pytest.mark.skipif(os.getuid() == 0, reason="root can write all files")
async def test_read_only_file_is_not_replaced(ot, root):
    """The writable directory alone would allow it."""
    (root / "f").write_text("a")
    (root / "f").chmod(0o444)
    assert "is read-only" in (await ot.call("file.edit", path="f", old="a", new="b")).error.message
