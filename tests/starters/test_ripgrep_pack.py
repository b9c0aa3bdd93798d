"""The ripgrep pack: patterns find lines, never a way out of the allowed directories."""

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from onetool.domain.caller import Caller, grant
from onetool.testing import MemoryTools, memory_runtime

pytestmark = pytest.mark.skipif(not shutil.which("rg"), reason="ripgrep is not installed")


@pytest.fixture
async def ot(tmp_path):
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("import os\n\ndef find_url():\n    return 'x'\n")
    (root / "b.md").write_text("Find the URL\n")
    (root / ".hidden").write_text("find_url hidden\n")
    (root / ".onetool").mkdir()
    (root / ".onetool" / "onetool.yaml").write_text("find_url own\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("find_url secret\n")
    async with memory_runtime(cwd=root) as tools:
        yield tools


@pytest.fixture
def root(tmp_path, ot):
    return tmp_path / "root"


async def test_lines_are_found(ot):
    """With path, line and text, as other tools take them."""
    found = (await ot.call("ripgrep.search", pattern=r"def \w+_url")).data
    assert found == [{"path": "src/a.py", "line": 3, "text": "def find_url():"}]
    assert (await ot.call("file.read", path=found[0]["path"])).ok


async def test_search_is_narrowed(ot):
    """By path, by glob, by case."""
    both = (await ot.call("ripgrep.search", pattern="find.*url", ignore_case=True)).data
    assert [one["path"] for one in both] == ["b.md", "src/a.py"]
    assert [
        one["path"] for one in (await ot.call("ripgrep.search", pattern="(?i)url", glob="*.md")).data
    ] == ["b.md"]
    assert (await ot.call("ripgrep.search", pattern="(?i)url", glob="!*.md", path="b.md")).ok
    assert len((await ot.call("ripgrep.search", pattern="import", path="src/a.py")).data) == 1
    assert (await ot.call("ripgrep.search", pattern="no such line")).data == []


async def test_lines_around_a_match_are_marked(ot):
    """They are told from matches, and do not count as such."""
    found = (await ot.call("ripgrep.search", pattern="def", context=1, max_results=1)).data
    assert [(one["line"], one.get("context", False)) for one in found] == [(2, True), (3, False), (4, True)]


async def test_no_more_than_asked_for(ot, root):
    """A search that would fill the screen is stopped."""
    (root / "many").write_text("hit\n" * 500_000)
    assert len((await ot.call("ripgrep.search", pattern="hit", max_results=7)).data) == 7
    assert len((await ot.call("ripgrep.search", pattern="hit", max_results=10**9)).data) == 1000


async def test_a_line_without_end_is_cut(ot, root):
    """Also beside a match."""
    (root / "long").write_text("needle" + "x" * 5_000_000 + "\nneedle\n")
    found = (await ot.call("ripgrep.search", pattern="needle", path="long", context=1)).data
    assert [one["line"] for one in found] == [1, 2]
    assert len(found[0]["text"]) < 600


async def test_files_are_listed(ot, root):
    """Sorted, by glob, without hidden and ignored ones, up to a number."""
    (root / ".gitignore").write_text("built\n")
    (root / ".git").mkdir()
    (root / "built").touch()
    (root / "new\nline").touch()
    assert (await ot.call("ripgrep.files")).data == ["b.md", "new\nline", "src/a.py"]
    assert (await ot.call("ripgrep.files", glob="*.py")).data == ["src/a.py"]
    assert (await ot.call("ripgrep.files", max_results=1)).data == ["b.md"]


async def test_nothing_outside_is_searched(ot, root):
    """Neither dots nor links lead out."""
    (root / "link").symlink_to(root.parent / "outside")
    for path in ("..", "../outside", "/etc", "link", "src/../../outside", ".onetool", "/"):
        for tool, args in (("search", {"pattern": "secret"}), ("files", {})):
            result = await ot.call(f"ripgrep.{tool}", path=path, **args)
            assert result.error.message.startswith("PermissionError:"), path


async def test_no_glob_opens_what_is_closed(ot, root):
    """Links are not followed, and what is OneTool's own stays out whatever the glob says."""
    (root / "link").symlink_to(root.parent / "outside")
    (root / "file_link.txt").symlink_to(root.parent / "outside" / "secret.txt")
    for glob in ("", "**", ".onetool/**", "*", ".*", "**/onetool.yaml", "link/**", "../**"):
        assert (await ot.call("ripgrep.search", pattern="secret|own", glob=glob)).data == [], glob
        listed = (await ot.call("ripgrep.files", glob=glob)).data
        assert not any("secret" in path or "onetool" in path for path in listed), glob


async def test_directories_of_onetool_stay_closed():
    """Also where they lie under an allowed one, and are not hidden."""
    async with memory_runtime() as ot:
        here = Path((await ot.call("shell.pwd")).data)
        for name in ("config", "open"):
            (here / name).mkdir(exist_ok=True)
            (here / name / "x.txt").write_text("needle\n")
        assert [one["path"] for one in (await ot.call("ripgrep.search", pattern="needle")).data] == [
            "open/x.txt"
        ]
        assert (await ot.call("ripgrep.files")).data == ["open/x.txt"]


async def test_a_binary_file_is_passed_over(ot, root):
    """Also when it is named itself."""
    (root / "binary").write_bytes(b"needle\0needle\n" * 100)
    for path in (".", "binary"):
        assert (await ot.call("ripgrep.search", pattern="needle", path=path)).data == []


async def test_a_pattern_is_only_a_pattern(ot, root):
    """What looks like an option or a command is looked for."""
    for pattern in ("--pre=touch pwned", "-f/etc/passwd", "--", "$(touch pwned)", "; touch pwned", "-r x"):
        (root / "odd").write_text(f"before {pattern} after\n")
        literally = re.sub(r"([$()])", r"\\\1", pattern)
        assert (await ot.call("ripgrep.search", pattern=literally, glob="--pre=touch")).data == []
        found = (await ot.call("ripgrep.search", pattern=literally)).data
        assert [one["path"] for one in found] == ["odd"], pattern
    assert not (root / "pwned").exists()


async def test_settings_of_the_user_are_not_read(ot, root, monkeypatch):
    """A ripgrep configuration could run programs."""
    (root / "rc").write_text("--hidden\n--no-line-number\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(root / "rc"))
    found = (await ot.call("ripgrep.search", pattern="find_url")).data
    assert [one["path"] for one in found] == ["src/a.py"]


async def test_what_cannot_be_searched_is_said(ot):
    """The program's own words, or ours."""
    for args, said in (
        ({"pattern": "("}, "ripgrep cannot do this: regex parse error"),
        ({"pattern": "a{1000}{1000}{100}"}, "ripgrep cannot do this"),
        ({"pattern": "x", "glob": "{"}, "ripgrep cannot do this"),
        ({"pattern": "a\nb"}, "ripgrep cannot do this"),
        ({"pattern": "a\0b"}, "null byte"),
        ({"pattern": "x", "path": "gone"}, "'gone' is neither a directory nor a file"),
    ):
        assert said in (await ot.call("ripgrep.search", **args)).error.message


async def test_catastrophic_patterns_are_no_danger(ot, root):
    """What takes other engines years is linear here."""
    (root / "evil").write_text("a" * 100_000 + "\n")
    started = time.perf_counter()
    assert (await ot.call("ripgrep.search", pattern="(a+)+$|(a|aa)+b", path="evil")).ok
    assert time.perf_counter() - started < 10


async def test_a_search_ends_with_its_time(tmp_path):
    """The program is stopped before the call is over, and the message says what to do."""
    with (tmp_path / "big").open("wb") as file:
        file.truncate(2**40)  # nothing in it, and a terabyte of that
    async with memory_runtime(cwd=tmp_path) as ot:
        hurried = Caller(door="python", approve=grant, deadline=time.monotonic() + 3)
        result = await MemoryTools(ot.runtime, hurried).call("ripgrep.search", pattern="x", path="big")
    assert "did not end in time" in result.error.message


async def test_names_of_any_bytes(ot, root):
    """A name that is no UTF-8 is shown as well as it can be."""
    (root / os.fsdecode(b"n\xff.txt")).write_text("needle\n")
    found = (await ot.call("ripgrep.search", pattern="needle")).data
    assert [one["path"] for one in found] == ["n?.txt"]


async def test_a_missing_program_is_said(ot, monkeypatch):
    """Where to get it is part of the message, and the check shows it too."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert "is not installed: https://" in (await ot.call("ripgrep.search", pattern="x")).error.message
    assert "missing" in str((await ot.call("ot.check", tool="ripgrep")).data)
