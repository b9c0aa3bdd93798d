"""Real MCP servers from npm and PyPI that run without the internet, and the requests to compare."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_suffix(".yaml")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "onetool-fidelity"
INSTALL_S = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RealServer:
    """A server, how it is started, and what is asked of it besides its listings."""

    package: str
    registry: str
    program: str
    args: list[str] = field(default_factory=list)
    env: Mapping[str, str] = field(default_factory=dict)
    install: list[str] = field(default_factory=list)
    """Requirements to install with the package."""
    calls: list[tuple[str, Mapping[str, Any]]]
    prompts: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    changing: list[str] = field(default_factory=list)
    """Regular expressions of the texts that differ from one run to the next, such as times."""

    @property
    def folder(self) -> Path:
        """Where the package is installed."""
        return CACHE / self.registry / re.sub(r"[^\w.]+", "-", self.package).strip("-")

    def command(self, work: Path) -> list[str]:
        """Return the command that starts the installed server; `{work}` is a directory with sample files."""
        binaries = "node_modules/.bin" if self.registry == "npm" else "bin"
        return [str(self.folder / binaries / self.program), *fill(self.args, work)]

    def version(self) -> str:
        """Return the installed version."""
        if self.registry == "npm":
            file = self.folder / "node_modules" / self.package / "package.json"
            return str(json.loads(file.read_text(encoding="utf-8"))["version"])
        name = re.sub(r"[-_.]+", "[-_.]", self.package)
        (directory,) = self.folder.glob(f"lib/python*/site-packages/{name}-*.dist-info")
        return directory.name.removesuffix(".dist-info").rpartition("-")[2]


def load_servers() -> list[RealServer]:
    """Return the servers to compare."""
    entries = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return [RealServer(**entry | {"calls": [tuple(call) for call in entry["calls"]]}) for entry in entries]


def install_server(server: RealServer) -> None:
    """Install a package into a directory of its own, unless it is there.

    Raises:
        subprocess.CalledProcessError: It cannot be installed; the output says why.
    """
    done = server.folder / "installed"
    if done.exists():
        return
    server.folder.mkdir(parents=True, exist_ok=True)
    wanted = [server.package, *server.install]
    if server.registry == "npm":
        commands = [["npm", "install", "--prefix", str(server.folder), "--no-audit", "--no-fund", *wanted]]
    else:
        python = str(server.folder / "bin" / "python")
        commands = [
            ["uv", "venv", "--clear", str(server.folder)],
            ["uv", "pip", "install", "--python", python, *wanted],
        ]
    for command in commands:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_S)
    done.touch()


def fill(value: Any, work: Path) -> Any:
    """Replace `{work}` in the texts of a value."""
    if isinstance(value, str):
        return value.replace("{work}", str(work))
    if isinstance(value, Mapping):
        return {key: fill(item, work) for key, item in value.items()}
    return [fill(item, work) for item in value] if isinstance(value, list | tuple) else value
