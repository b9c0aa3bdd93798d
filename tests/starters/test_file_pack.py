"""The file pack: text files are read and changed whole, and only where that is allowed."""

import os
import shutil
import stat
import subprocess
import time

import pytest

from onetool.starters import file
from onetool.testing import memory_runtime


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
    """From the beginning, from the middle, from the end, and beyond it."""
    (root / "f").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    whole = (await ot.call("file.read", path="f")).data
    assert whole["text"].count("\n") == 10
    middle = (await ot.call("file.read", path="f", start_line=3, lines=2)).data
    assert middle == {"text": "line 3\nline 4\n", "start_line": 3, "end_line": 4, "total_lines": 10}
    assert (await ot.call("file.read", path="f", start_line=-2)).data["text"] == "line 9\nline 10\n"
    assert (await ot.call("file.read", path="f", start_line=99)).data["text"] == ""


async def test_lines_are_found(ot, root):
    """Literally, in either case, and no more than asked for."""
    (root / "f").write_bytes(b"a.c\r\nabc\r\nA.C\r\n" + b"z" * 1000)
    assert (await ot.call("file.search", path="f", text="a.c")).data == [{"line": 1, "text": "a.c"}]
    found = (await ot.call("file.search", path="f", text="a.c", ignore_case=True)).data
    assert [one["line"] for one in found] == [1, 3]
    assert len((await ot.call("file.search", path="f", text="c", max_results=1)).data) == 1
    assert len((await ot.call("file.search", path="f", text="z")).data[0]["text"]) == 500
    assert "text is empty" in (await ot.call("file.search", path="f", text="")).error.message


async def test_an_edit_replaces_one_place_and_shows_it(ot, root):
    """The diff is what `patch` understands."""
    (root / "f").write_text("".join(f"{n}\n" for n in range(20)))
    before = (root / "f").read_text()
    shown = (await ot.call("file.edit", path="f", old="\n9\n10\n", new="\nnine\n")).data
    assert "-9\n-10\n+nine\n" in shown
    assert "@@ -7,8 +7,7 @@" in shown
    assert (root / "f").read_text() == before.replace("9\n10\n", "nine\n", 1)


@pytest.mark.parametrize(
    ("old", "said"), [("x", "is there 2 times"), ("y", "is not there"), ("", "old is empty")]
)
async def test_an_edit_without_one_place_changes_nothing(ot, root, old, said):
    """Twice, never and nothing are refused."""
    (root / "f").write_text("x x")
    assert said in (await ot.call("file.edit", path="f", old=old, new="z")).error.message
    assert (root / "f").read_text() == "x x"


async def test_line_endings_and_marks_are_kept(ot, root):
    """A model writes \\n; a file with \\r\\n stays one, and so does what it begins with."""
    (root / "f").write_bytes(b"\xef\xbb\xbfa\r\nb\r\nc\r\n")
    assert (await ot.call("file.read", path="f")).data["text"] == "a\nb\nc\n"
    assert (await ot.call("file.edit", path="f", old="a\nb\n", new="a\nx\ny\n")).ok
    assert (root / "f").read_bytes() == b"\xef\xbb\xbfa\r\nx\r\ny\r\nc\r\n"


async def test_permissions_are_kept(ot, root):
    """A script stays executable, and a new file is as open as the umask says."""
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o775)
    assert (await ot.call("file.edit", path="run", old="sh", new="bash")).ok
    assert stat.S_IMODE((root / "run").stat().st_mode) == 0o775
    await ot.call("file.write", path="new", content="x")
    (root / "other").write_text("x")
    assert (root / "new").stat().st_mode == (root / "other").stat().st_mode


async def test_a_file_is_written_once(ot, root):
    """What is there is replaced only when that is said."""
    assert (await ot.call("file.write", path="f", content="a\nb\n")).data == "Wrote 2 lines to f."
    again = await ot.call("file.write", path="f", content="c")
    assert "overwrite=True replaces it" in again.error.message
    assert (await ot.call("file.write", path="f", content="c", overwrite=True)).ok
    assert (root / "f").read_text() == "c"
    assert list(root.iterdir()) == [root / "f"]
    assert not (await ot.call("file.write", path="no/f", content="c")).ok


async def test_a_file_that_changes_meanwhile_is_left_alone(ot, root, monkeypatch):
    """An edit never takes back what somebody else has just written."""
    (root / "f").write_text("a")
    diff = file._diff

    def slow(*args):
        (root / "f").write_text("a and more")
        return diff(*args)

    monkeypatch.setattr(file, "_diff", slow)
    result = await ot.call("file.edit", path="f", old="a", new="b")
    assert "has changed in the meantime" in result.error.message
    assert (root / "f").read_text() == "a and more"


async def test_changes_need_approval():
    """Tools that write say so; tools that read do not."""
    async with memory_runtime() as ot:
        changing = {
            tool.spec.name
            async for tool in ot.runtime.catalog.tools()
            if tool.spec.pack == "file" and tool.spec.changes
        }
    assert changing == {"file.edit", "file.write"}


@pytest.mark.skipif(not shutil.which("patch"), reason="patch is not installed")
async def test_two_files_are_compared(ot, root):
    """The diff turns the one into the other, whatever their ends; the same text differs in nothing."""
    (root / "a").write_text("1\n2\n3")
    (root / "b").write_text("0\n1\n3\n")
    shown = (await ot.call("file.diff", path="a", other="b")).data
    patched = subprocess.run(
        ["patch", "-s", "-o", "-", "a"], input=shown, cwd=root, capture_output=True, text=True
    )
    assert patched.stdout == "0\n1\n3\n", (shown, patched)
    assert (await ot.call("file.diff", path="a", other="a")).data == ""
    (root / "empty").touch()
    assert "@@ -1,3 +0,0 @@" in (await ot.call("file.diff", path="a", other="empty")).data


async def test_a_hard_comparison_takes_no_time(ot, root, monkeypatch):
    """Neighbours that changed places are the worst for difflib; far too many lines are refused."""
    lines = [f"{n}\n" for n in range(10_000)]
    (root / "a").write_text("".join(lines))
    (root / "b").write_text("".join(lines[n ^ 1] for n in range(10_000)))
    started = time.perf_counter()
    assert (await ot.call("file.diff", path="a", other="b")).ok
    assert time.perf_counter() - started < 5
    monkeypatch.setattr(file, "MOST_COMPARED", 100)
    assert "More than 100 lines" in (await ot.call("file.diff", path="a", other="b")).error.message


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\0\1", "is binary"), (b"\xff\xfe", "not UTF-8"), (b"x" * 101, "larger than 100 bytes")],
)
async def test_what_is_no_text_is_refused(ot, root, monkeypatch, content, said):
    """Binary and huge files are neither read nor changed."""
    monkeypatch.setattr(file, "MOST_BYTES", 100)
    (root / "f").write_bytes(content)
    assert said in (await ot.call("file.read", path="f")).error.message
    assert said in (await ot.call("file.edit", path="f", old="x", new="y")).error.message
    assert (root / "f").read_bytes() == content
    assert "larger than 100" in (await ot.call("file.write", path="g", content="x" * 101)).error.message


async def test_nothing_outside_is_touched(ot, root):
    """Neither dots nor links nor OneTool's own directory lead out of the allowed ones."""
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


async def test_what_is_no_file_is_refused(ot, root):
    """A pipe is not waited for, and a directory is not replaced."""
    os.mkfifo(root / "pipe")
    (root / "dir").mkdir()
    for name in ("pipe", "dir"):
        assert not (await ot.call("file.read", path=name)).ok
        assert not (await ot.call("file.write", path=name, content="x", overwrite=True)).ok
    assert (root / "dir").is_dir()


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everything")
async def test_a_read_only_file_stays(ot, root):
    """Its directory could be written, but it says that it is not to be."""
    (root / "f").write_text("a")
    (root / "f").chmod(0o444)
    assert "is read-only" in (await ot.call("file.edit", path="f", old="a", new="b")).error.message
