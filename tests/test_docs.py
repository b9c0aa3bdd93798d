"""Documentation is made from the code, or executed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import generate
from doc_blocks import blocks, execute_page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
HOW_TO = [page for page in sorted(DOCS.rglob("*.md")) if generate.MADE not in page.parents]
WRITTEN = [*sorted(ROOT.glob("*.md")), *HOW_TO]
EXECUTED = {"console", "python", "shell", "bash"}
CHECKED = EXECUTED | {"yaml", "json"}
PLAIN = {"text", ""}
COMMANDS = ("onetool ", "$ ", "curl ", "pip ", "uv ", "docker ")
NOT_RUN = 7


def is_work(page: Path) -> bool:
    """Whether a page holds anything to do that no other test does."""
    todo = [block for block in blocks(page) if block.language in CHECKED and "norun" not in block.marks]
    return bool(todo) and page.parent.name != "tutorial" and page.name != "first-pack.md"


def test_the_reference_is_what_the_code_says():
    """Every setting, command, route, error, SDK name and shipped tool is on its page, and nothing else."""
    assert generate.written() == generate.pages()


@pytest.mark.parametrize("page", list(filter(is_work, HOW_TO)), ids=lambda page: page.stem)
def test_a_page_works_as_written(page, home):
    """From top to bottom, in one fresh home: commands, files, Python and settings."""
    execute_page(page, home)


def test_every_block_is_executed_or_says_why_not():
    """No block is in a language that nobody checks, and no command hides in plain text."""
    found = [(page.name, block) for page in WRITTEN for block in blocks(page)]
    assert [(name, block.language) for name, block in found if block.language not in CHECKED | PLAIN] == []
    plain = [(name, block.text) for name, block in found if block.language in PLAIN]
    hidden = [(name, line) for name, text in plain for line in text.splitlines() if line.startswith(COMMANDS)]
    assert hidden == []
    reasons = [(name, block.marks["norun"]) for name, block in found if "norun" in block.marks]
    assert all(len(why) > 8 for _, why in reasons)
    assert len(reasons) == NOT_RUN, reasons


def test_the_site_is_whole(tmp_path):
    """The strict build passes: no link, anchor, picture or entry of the navigation leads nowhere."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    loaded = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not [mark for mark in ('src="http', 'rel="stylesheet" href="http', "fonts.g") if mark in loaded]
