"""The directories of a server and of OneTool, with fixed paths and sample files."""

import base64
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fidelity.rules import INSTRUCTIONS, NAME
from fidelity.servers import RealServer, fill
from support.user_home import Home
from support.waiting import HANG_S

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@dataclass(frozen=True, slots=True)
class World:
    """Directories with fixed paths, created anew for each recording."""

    root: Path

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def home(self) -> Home:
        return Home(self.root / "home", self.work)

    def reset(self) -> None:
        """Remove what a server wrote, and create the sample files. The settings of OneTool stay."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(self.root / "user", ignore_errors=True)
        (self.root / "user").mkdir(parents=True)
        write_samples(self.work)

    def env(self, server: RealServer) -> dict[str, str]:
        """Return the environment of a server."""
        return {"HOME": str(self.root / "user"), "PATH": os.environ["PATH"], **fill(server.env, self.work)}

    def write_settings(self, server: RealServer) -> None:
        """Add the server to the settings of OneTool."""
        program, *args = server.command(self.work)
        entry = {"command": program, "args": args, "env": fill(server.env, self.work), "sandbox": False}
        settings = {"servers": {NAME: entry}, "approval": {"mcp": "allow"}}
        self.home.write("onetool.yaml", json.dumps(settings))

    def quarantined(self) -> set[str]:
        """List the tools for the first time. Return what OneTool has quarantined, by name."""
        self._onetool("servers", "test", NAME)  # waits for a server that is slow to start
        listed = self._onetool("servers", "tools", NAME, "--json")
        names = {row["name"].partition(".")[2] for row in json.loads(listed.stdout) if row["quarantined"]}
        return names | ({INSTRUCTIONS} if "instructions are quarantined" in listed.stderr else set())

    def _onetool(self, *words: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "onetool", *words]
        env = os.environ | self.home.env | {"HOME": str(self.root / "user")}
        options: dict[str, Any] = {"env": env, "cwd": self.work, "timeout": HANG_S, "check": True}
        return subprocess.run(command, capture_output=True, text=True, **options)


def write_samples(work: Path) -> None:
    """Create the files that the calls use."""
    (work / "files").mkdir(parents=True)
    (work / "files" / "one.txt").write_text("one\n")
    (work / "files" / "two.md").write_text("# Two\n")
    (work / "note.txt").write_text("A note.\nA second line.\n")
    (work / "page.html").write_text("<!doctype html><title>Sample</title><h1>Sample</h1><p>A paragraph.</p>")
    (work / "image.png").write_bytes(PNG)
    (work / "paper.pdf").write_bytes(b"%PDF-1.4\n%%EOF\n")
    (work / "script.js").write_text("var unused = 1\n")
    with closing(sqlite3.connect(work / "data.db")) as database:
        database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        database.executemany("INSERT INTO notes (text) VALUES (?)", [("first",), ("second",)])
        database.commit()
    repository = work / "repository"
    repository.mkdir()
    (repository / "tracked.txt").write_text("before\n")
    moment = "2026-01-02T03:04:05Z"
    person = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in {"NAME": "Ada", "EMAIL": "ada@example.com", "DATE": moment}.items()
    }
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "First"]):
        subprocess.run(["git", *words], cwd=repository, check=True, env=os.environ | person, timeout=60)
    (repository / "tracked.txt").write_text("after\n")
