"""Every block of the README is executed, and shows what the README says it shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.M | re.S)
BIN = Path(sys.executable).parent


def run(command: list[str], home) -> str:
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=home.cwd, env=env)
    assert done.stderr == ""
    return done.stdout


def pattern(shown: str) -> str:
    """Expected output as a pattern: three dots stand for anything."""
    return re.escape(shown).replace(r"\.\.\.", r"[\s\S]*?")


def check_console(text: str, home) -> None:
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        assert re.fullmatch(pattern(expected.rstrip("\n")) + r"\s*", run(shlex.split(command), home)), command


def check_python(text: str, home) -> None:
    assert run([sys.executable, "-c", text], home) == "True [1, 1]\nhi\n"


def test_the_readme_works_as_written(home):
    """From top to bottom, in one fresh home: commands, files and Python."""
    seen = []
    for language, file, text in BLOCK.findall(README.read_text(encoding="utf-8")):
        seen.append(language)
        if file:
            home.write(f"tools/{file}", text)
        elif language == "console":
            check_console(text, home)
        elif language == "python":
            check_python(text, home)
    assert seen == ["shell", "console", "python", "console", "python", "console"]


@pytest.mark.parametrize(
    "name", ["ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "docs/tools.md", "docs/settings.md"]
)
def test_linked_pages_exist(name):
    """The README leads nowhere that is not there."""
    assert f"]({name})" in README.read_text(encoding="utf-8")
    assert (README.parent / name).read_text(encoding="utf-8").startswith("# ")
