"""The MCP servers of the tasks: installed once, and what they list stored for new homes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from onetool.files.lock import locked

FILE = Path(__file__).with_suffix(".yaml")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onetool-agents"
LIMIT_S = 900.0
Entries = dict[str, dict[str, Any]]


def load_entries() -> Entries:
    """Return the servers by name."""
    entries: Entries = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return entries


def settings_of(entries: Entries, work: Path, state: Path) -> dict[str, Any]:
    """Return the settings of the servers, whose sandboxes contain the files of the user."""
    granted = [
        {"path": str(CACHE)},
        {"path": str(work), "write": True},
        {"path": str(state), "write": True},
    ]

    def fill(text: str) -> str:
        return text.replace("{work}", str(work)).replace("{state}", str(state))

    return {
        name: {
            "command": str(_bin(entry) / entry["program"]),
            "args": [fill(word) for word in entry.get("args", ())],
            "env": {key: fill(value) for key, value in entry.get("env", {}).items()},
            "paths": granted,
        }
        for name, entry in entries.items()
    }


def _bin(entry: dict[str, Any]) -> Path:
    if "npm" in entry:
        return CACHE / "node" / "node_modules" / ".bin"
    return CACHE / "py" / str(entry["pypi"][0]) / "bin"


def install(entries: Entries) -> None:
    """Install the servers that are missing."""
    with _lock():
        npm = [entry["npm"] for entry in entries.values() if "npm" in entry and not _is_there(entry)]
        if npm:
            _run("npm", "install", "--prefix", str(CACHE / "node"), "--no-audit", "--no-fund", *npm)
        for entry in entries.values():
            if "pypi" in entry and not _is_there(entry):
                python = _bin(entry) / "python"
                _run("uv", "venv", "--quiet", "--clear", "--python", sys.executable, str(_bin(entry).parent))
                _run("uv", "pip", "install", "--quiet", "--python", str(python), *entry["pypi"])


def _is_there(entry: dict[str, Any]) -> bool:
    return Path(_bin(entry), entry["program"]).exists()


@contextmanager
def _lock() -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(CACHE / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with locked(descriptor):
            yield
    finally:
        os.close(descriptor)


def _run(*command: str) -> None:
    print(f"Installing {command[-1]} ...", file=sys.stderr)
    subprocess.run(command, check=True, timeout=LIMIT_S, stdout=sys.stderr)
