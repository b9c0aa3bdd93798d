"""The README, the first-pack page and scaffolded packs work as documented."""

import os
import re
import subprocess
import sys

from onetool.sources.python_packs.script_metadata import ScriptMetadata, read_metadata
from support.doc_blocks import execute_page
from support.onetool_process import onetool
from support.paths import PROJECT as ROOT


def check_scaffolded_tests(home) -> None:
    """Run the tests in the config directory; there is one and it must pass."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(home.config / "tests")],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=home.cwd,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # users do not have our pytest plugins
    )
    assert "1 passed" in done.stdout, done.stdout


def test_readme_examples_work_as_written(home):
    languages = execute_page(ROOT / "README.md", home, ["True [1, 1]\nhi\n"])
    assert languages == ["shell", "console", "python", "console", "console", "python", "console", "shell"]


def test_first_pack_page_works_as_written(home):
    """The page scaffolds, edits and runs a pack; its tests pass."""
    languages = execute_page(ROOT / "docs" / "first-pack.md", home)
    assert languages == ["console", "python", "console", "console", "python", "python"]
    check_scaffolded_tests(home)


def test_readme_links_to_existing_files():
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(targets) > 10
    assert [target for target in targets if not (ROOT / target).is_file()] == []


def test_scaffolded_pack_passes_its_own_test(home):
    """Scaffolding twice overwrites nothing; an invalid pack name is a usage error."""
    for _ in range(2):
        assert onetool("scaffold", "pack", "mine").returncode == 0
    check_scaffolded_tests(home)
    invalid = onetool("scaffold", "pack", "my-pack")
    assert invalid.returncode == 2
    assert "is not a valid pack name" in invalid.stderr


def test_scaffolded_pack_declares_its_libraries(home):
    """Its first lines list them. A text that is not a library is rejected."""
    done = onetool("scaffold", "pack", "sizes", "--library", "humanize>=4", "--library", "rich")
    assert done.returncode == 0
    script = read_metadata((home.config / "tools" / "sizes.py").read_bytes())
    assert script == ScriptMetadata(("humanize>=4", "rich"))
    wrong = onetool("scaffold", "pack", "other", "--library", "--upgrade now")
    assert "'--upgrade now' is not a library" in wrong.stderr
    assert not (home.config / "tools" / "other.py").exists()
