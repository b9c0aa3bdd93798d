"""The ripgrep pack: searching and listing allowed files."""

import os
import re
import shutil
from pathlib import Path

import pytest

from onetool.starter_packs import ripgrep
from onetool.testing import memory_runtime

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


async def search(ot, **args):
    return (await ot.call("ripgrep.search", **args)).data["matches"]


async def list_files(ot, **args):
    return (await ot.call("ripgrep.files", **args)).data["paths"]


async def test_matches_have_paths_that_other_tools_accept(ot):
    matches = await search(ot, pattern=r"def \w+_url")
    assert matches == [{"path": "src/a.py", "line": 3, "text": "def find_url():"}]
    assert (await ot.call("file.read", path=matches[0]["path"])).ok


async def test_search_by_path_glob_and_case(ot):
    both = await search(ot, pattern="find.*url", ignore_case=True)
    assert [match["path"] for match in both] == ["b.md", "src/a.py"]
    assert [match["path"] for match in await search(ot, pattern="(?i)url", glob="*.md")] == ["b.md"]
    assert (await ot.call("ripgrep.search", pattern="(?i)url", glob="!*.md", path="b.md")).ok
    assert len(await search(ot, pattern="import", path="src/a.py")) == 1
    assert await search(ot, pattern="no such line") == []


async def test_context_lines_are_marked_and_not_counted(ot):
    matches = await search(ot, pattern="def", context=1, max_results=1)
    assert [(match["line"], match.get("context", False)) for match in matches] == [
        (2, True),
        (3, False),
        (4, True),
    ]


async def test_number_of_matches_is_limited(ot, root):
    (root / "many").write_text("hit\n" * 500_000)
    assert len(await search(ot, pattern="hit", max_results=7)) == 7
    assert len(await search(ot, pattern="hit", max_results=10**9)) == 1000


async def test_long_lines_are_truncated(ot, root):
    (root / "long").write_text("needle" + "x" * 5_000_000 + "\nneedle\n")
    matches = await search(ot, pattern="needle", path="long", context=1)
    assert [match["line"] for match in matches] == [1, 2]
    assert len(matches[0]["text"]) < 600


async def test_files_are_listed(ot, root):
    """Paths are sorted; hidden and ignored files are skipped."""
    (root / ".gitignore").write_text("built\n")
    (root / ".git").mkdir()
    (root / "built").touch()
    (root / "new\nline").touch()
    assert await list_files(ot) == ["b.md", "new\nline", "src/a.py"]
    assert await list_files(ot, glob="*.py") == ["src/a.py"]
    assert await list_files(ot, max_results=1) == ["b.md"]


@pytest.mark.parametrize("given", ["absolute", "linked"])
async def test_absolute_path_gives_absolute_paths(ot, root, given):
    """Programs of servers, which have another working directory, accept them too."""
    (root / "linked").symlink_to(root / "src")
    top = str(root / ("src" if given == "absolute" else "linked"))
    expected = str((root / "src" / "a.py").resolve())
    assert await list_files(ot, path=top) == [expected]
    assert [match["path"] for match in await search(ot, pattern="def", path=top)] == [expected]
    assert (await ot.call("fs.read_file", path=expected)).ok
    assert await list_files(ot, path="src") == ["src/a.py"]


async def test_cut_list_says_so_and_how_to_count(ot, root):
    """The call in the text returns the number. A complete list has no such text."""
    for number in range(12):
        (root / "src" / f"{number:02}.txt").write_text("hit\nHIT\n")
    calls = (
        ("files", {"path": "src", "glob": "*.txt"}, "paths", {"files": 12}),
        ("search", {"pattern": "hit", "path": "src"}, "matches", {"files": 12, "lines": 12}),
    )
    for name, args, key, expected in calls:
        cut = (await ot.call(f"ripgrep.{name}", **args, max_results=11)).data
        assert (len(cut[key]), "These are the first 11." in cut["more"]) == (11, True)
        code = re.search(r"Count all: (ripgrep\.count\(.*?\))\.", cut["more"])[1]
        assert (await ot.run(code)).data == expected
        assert "more" not in (await ot.call(f"ripgrep.{name}", **args, max_results=12)).data
    assert (await ot.call("ripgrep.count", pattern="hit", ignore_case=True)).data == {
        "files": 12,
        "lines": 24,
    }
    assert (await ot.call("ripgrep.count", pattern="nothing")).data == {"files": 0, "lines": 0}
    assert (await ot.call("ripgrep.count")).data == {"files": 14}


async def test_paths_outside_the_roots_are_rejected(ot, root):
    (root / "link").symlink_to(root.parent / "outside")
    for path in ("..", "../outside", "/etc", "link", "src/../../outside", ".onetool", "/"):
        for tool, args in (("search", {"pattern": "secret"}), ("files", {})):
            result = await ot.call(f"ripgrep.{tool}", path=path, **args)
            assert result.error.message.startswith("PermissionError:"), path


@pytest.mark.parametrize("tool", ["search", "count", "files"])
async def test_directory_that_is_a_link_while_ripgrep_runs_leads_to_nothing_outside(
    ot, root, tmp_path, monkeypatch, tool
):
    """A program in place of ripgrep exchanges the directory, runs ripgrep and restores the directory."""
    programs, directory = tmp_path / "programs", root / "d"
    for folder in (programs, directory, tmp_path / "away"):
        folder.mkdir()
    (directory / "f").write_text("plain needle\n")
    (tmp_path / "away" / "f").write_text("secret needle\nsecret needle\n")
    (tmp_path / "away" / "only-outside").write_text("secret needle\n")
    away, real = tmp_path / "away", shutil.which("rg")
    (programs / "rg").write_text(
        f"#!/bin/sh\nmv {directory} {directory}.moved && ln -s {away} {directory}\n"
        f'{real} "$@" > {tmp_path}/output; status=$?\n'
        f"rm {directory} && mv {directory}.moved {directory}; cat {tmp_path}/output; exit $status\n"
    )
    (programs / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    args = {} if tool == "files" else {"pattern": "needle"}
    found = (await ot.call(f"ripgrep.{tool}", path="d", **args)).data
    assert (
        found
        == {
            "search": {"matches": [{"path": "d/f", "line": 1, "text": "plain needle"}]},
            "count": {"files": 1, "lines": 1},
            "files": {"paths": ["d/f"]},
        }[tool]
    )


async def test_globs_do_not_include_links_or_onetools_own_files(ot, root):
    (root / "link").symlink_to(root.parent / "outside")
    (root / "file_link.txt").symlink_to(root.parent / "outside" / "secret.txt")
    for glob in ("", "**", ".onetool/**", "*", ".*", "**/onetool.yaml", "link/**", "../**"):
        assert await search(ot, pattern="secret|own", glob=glob) == [], glob
        paths = await list_files(ot, glob=glob)
        assert not any("secret" in path or "onetool" in path for path in paths), glob


async def test_onetools_own_directories_are_skipped():
    """This also holds if they are under a root and not hidden."""
    async with memory_runtime() as ot:
        cwd = Path((await ot.call("shell.pwd")).data)
        for name in ("config", "open"):
            (cwd / name).mkdir(exist_ok=True)
            (cwd / name / "x.txt").write_text("needle\n")
        assert [match["path"] for match in (await search(ot, pattern="needle"))] == ["open/x.txt"]
        assert await list_files(ot) == ["open/x.txt"]
        assert (await ot.call("ripgrep.count", pattern="needle")).data == {"files": 1, "lines": 1}
        assert (await ot.call("ripgrep.count")).data == {"files": 1}


async def test_binary_files_are_skipped(ot, root):
    (root / "binary").write_bytes(b"needle\0needle\n" * 100)
    for path in (".", "binary"):
        assert await search(ot, pattern="needle", path=path) == []


async def test_patterns_are_not_parsed_as_options_or_commands(ot, root):
    for pattern in ("--pre=touch pwned", "-f/etc/passwd", "--", "$(touch pwned)", "; touch pwned", "-r x"):
        (root / "odd").write_text(f"before {pattern} after\n")
        escaped = re.sub(r"([$()])", r"\\\1", pattern)
        assert await search(ot, pattern=escaped, glob="--pre=touch") == []
        matches = await search(ot, pattern=escaped)
        assert [match["path"] for match in matches] == ["odd"], pattern
    assert not (root / "pwned").exists()


async def test_ripgrep_config_file_is_ignored(ot, root, monkeypatch):
    """It could run programs."""
    (root / "rc").write_text("--hidden\n--no-line-number\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(root / "rc"))
    matches = await search(ot, pattern="find_url")
    assert [match["path"] for match in matches] == ["src/a.py"]


async def test_invalid_searches_are_errors(ot):
    for args, message in (
        ({"pattern": "("}, "ripgrep failed: regex parse error"),
        ({"pattern": "a{1000}{1000}{100}"}, "ripgrep failed"),
        ({"pattern": "x", "glob": "{"}, "ripgrep failed"),
        ({"pattern": "a\nb"}, "ripgrep failed"),
        ({"pattern": "a\0b"}, "null byte"),
        ({"pattern": "x", "path": "gone"}, "'gone' is neither a directory nor a file"),
    ):
        assert message in (await ot.call("ripgrep.search", **args)).error.message


async def test_catastrophic_patterns_do_not_time_out(ot, root):
    """A backtracking search would not end before the time limit of the call."""
    (root / "evil").write_text("a" * 100_000 + "\n")
    for pattern in ("(a+)+b", "(a|aa)+b", "(a+)+$"):
        result = await ot.call("ripgrep.search", pattern=pattern, path="evil")
        assert [match["line"] for match in result.data["matches"]] == [1] * pattern.endswith("$"), pattern


async def test_search_times_out_before_the_deadline(tmp_path, monkeypatch):
    """All but one second of the time limit of the call are reserved for returning the error."""
    monkeypatch.setattr(ripgrep, "RESERVE_S", 29.0)
    with (tmp_path / "big").open("wb") as file:
        file.write(b"text\n" * 20_000)  # a file with zeros at its start is skipped
        file.truncate(2**40)  # a sparse file
    async with memory_runtime(cwd=tmp_path) as ot:
        result = await ot.call("ripgrep.search", pattern="none", path="big")
    assert "The search timed out." in result.error.message


async def test_file_names_that_are_not_utf8(ot, root):
    (root / os.fsdecode(b"n\xff.txt")).write_text("needle\n")
    matches = await search(ot, pattern="needle")
    assert [match["path"] for match in matches] == ["n?.txt"]


async def test_missing_program_names_the_installation_page(ot, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert "is not installed. See https://" in (await ot.call("ripgrep.search", pattern="x")).error.message
    assert "missing" in str((await ot.call("ot.check", tool="ripgrep")).data)
