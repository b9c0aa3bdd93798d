"""Documentation: generated pages match the code, and all examples run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import generate
from support.doc_blocks import execute_page, read_blocks
from support.paths import PROJECT as ROOT

DOCS = ROOT / "docs"
HOW_TO = [page for page in sorted(DOCS.rglob("*.md")) if generate.REFERENCE not in page.parents]
WRITTEN = [*sorted(ROOT.glob("*.md")), *HOW_TO]
EXECUTED = {"console", "python", "shell", "bash"}
CHECKED = EXECUTED | {"yaml", "json"}
PLAIN = {"text", ""}
COMMANDS = ("onetool ", "$ ", "curl ", "pip ", "uv ", "docker ")
NOT_RUN = 66


def has_examples(page: Path) -> bool:
    """Return whether a page has blocks to check that no other test covers."""
    checked = [
        block for block in read_blocks(page) if block.language in CHECKED and "norun" not in block.marks
    ]
    return bool(checked) and page.parent.name != "tutorial" and page.name != "first-pack.md"


def test_reference_pages_match_the_code():
    """They list every setting, command, route, error, SDK name and shipped tool."""
    assert generate.existing_pages() == generate.pages()


@pytest.mark.parametrize("page", list(filter(has_examples, HOW_TO)), ids=lambda page: page.stem)
def test_page_examples_work_as_written(page, home):
    """All blocks of a page run in order, in one fresh home."""
    execute_page(page, home)


def test_every_block_is_checked_or_states_why_not():
    """No block uses an unchecked language, and no plain-text block contains commands."""
    all_blocks = [(page.name, block) for page in WRITTEN for block in read_blocks(page)]
    assert [
        (name, block.language) for name, block in all_blocks if block.language not in CHECKED | PLAIN
    ] == []
    plain = [(name, block.text) for name, block in all_blocks if block.language in PLAIN]
    hidden = [(name, line) for name, text in plain for line in text.splitlines() if line.startswith(COMMANDS)]
    assert hidden == []
    reasons = [(name, block.marks["norun"]) for name, block in all_blocks if "norun" in block.marks]
    assert all(len(reason) > 8 for _, reason in reasons)
    assert len(reasons) == NOT_RUN, reasons


def test_site_builds_without_broken_links_or_external_assets(tmp_path):
    """The strict build fails on a broken link, anchor, image or navigation entry."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not [text for text in ('src="http', 'rel="stylesheet" href="http', "fonts.g") if text in html]
