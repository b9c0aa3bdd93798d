"""Executes the blocks of a page from top to bottom, in one fresh home."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.M | re.S)
BIN = Path(sys.executable).parent


def run(command: list[str], home: Any) -> str:
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=home.cwd, env=env)
    assert done.stderr == "", done.stderr
    return done.stdout


def pattern(shown: str) -> str:
    """Expected output as a pattern: three dots stand for anything."""
    return re.escape(shown).replace(r"\.\.\.", r"[\s\S]*?")


def check_console(text: str, home: Any) -> None:
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        printed = run(shlex.split(command), home)
        assert re.fullmatch(pattern(expected.rstrip("\n")) + r"\s*", printed), (command, printed)


def execute_page(page: Path, home: Any, python_prints: list[str] | None = None) -> list[str]:
    """Run every block; return the languages seen. Python blocks without a file must print what is listed."""
    seen, prints = [], list(python_prints or [])
    for language, file, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        seen.append(language)
        if file:
            home.write(file, text)
        elif language == "console":
            check_console(text, home)
        elif language == "python":
            assert run([sys.executable, "-c", text], home) == prints.pop(0)
    return seen
