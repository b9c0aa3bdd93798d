"""The README and the tutorial work as written, and what they scaffold does."""

import os
import re
import subprocess
import sys
from pathlib import Path

from commands import onetool
from doc_blocks import execute_page

ROOT = Path(__file__).parent.parent


def run_own_tests(home) -> None:
    """The one test that lies beside the user's packs passes."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(home.config / "tests")],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=home.cwd,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # a user has none of ours
    )
    assert "1 passed" in done.stdout, done.stdout


def test_the_readme_works_as_written(home):
    """From top to bottom: commands, files and Python."""
    seen = execute_page(ROOT / "README.md", home, ["True [1, 1]\nhi\n"])
    assert seen == ["shell", "console", "python", "console", "console", "python", "console", "shell"]


def test_the_first_pack_works_as_written(home):
    """Scaffold, edit, run, and the tests that it shows pass."""
    seen = execute_page(ROOT / "docs" / "first-pack.md", home)
    assert seen == ["console", "python", "console", "console", "python"]
    run_own_tests(home)


def test_the_readme_leads_somewhere():
    """Every page and picture that it names is there."""
    named = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_a_scaffolded_pack_is_ready_to_run(home):
    """It works, its own test passes, and nothing is overwritten."""
    for _ in range(2):
        assert onetool("scaffold", "pack", "mine").returncode == 0
    run_own_tests(home)
    wrong = onetool("scaffold", "pack", "my-pack")
    assert wrong.returncode == 2
    assert "is not a name" in wrong.stderr
