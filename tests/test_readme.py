"""Every block of the README and the tutorial is executed, and shows what the page says it shows."""

import subprocess
import sys
from pathlib import Path

import pytest

from doc_blocks import execute_page

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
LINKED = [
    "ARCHITECTURE.md",
    "SECURITY.md",
    "CONTRIBUTING.md",
    "docs/first-pack.md",
    "docs/tools.md",
    "docs/settings.md",
    "docs/servers.md",
    "docs/asking.md",
    "docs/search.md",
]


def run_own_tests(home) -> None:
    """The one test that lies beside the user's packs passes."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            str(home.config / "tests"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=home.cwd,
    )
    assert "1 passed" in done.stdout, done.stdout


def test_the_readme_works_as_written(home):
    """From top to bottom: commands, files and Python."""
    seen = execute_page(README, home, ["True [1, 1]\nhi\n"])
    assert seen == ["shell", "console", "python", "console", "console", "python", "console"]


def test_the_tutorial_works_as_written(home):
    """Scaffold, edit, run, and the tests that it shows pass."""
    page = ROOT / "docs" / "first-pack.md"
    seen = execute_page(page, home)
    assert seen == ["console", "python", "console", "console", "python"]
    run_own_tests(home)


def test_the_page_on_asking_works_as_written(home):
    """The scripted model answers as the page shows."""
    assert "console" in execute_page(ROOT / "docs" / "asking.md", home)


def test_a_scaffolded_pack_is_ready_to_run(home):
    """It works, its own test passes, and nothing is overwritten."""
    for _ in range(2):
        subprocess.run([sys.executable, "-m", "onetool", "scaffold", "pack", "mine"], check=True, timeout=60)
    run_own_tests(home)
    wrong = subprocess.run(
        [sys.executable, "-m", "onetool", "scaffold", "pack", "my-pack"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert wrong.returncode == 2
    assert "is not a name" in wrong.stderr


@pytest.mark.parametrize("name", LINKED)
def test_linked_pages_exist(name):
    """The README leads nowhere that is not there."""
    assert f"]({name})" in README.read_text(encoding="utf-8")
    assert (ROOT / name).read_text(encoding="utf-8").startswith("# ")
