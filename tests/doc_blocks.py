"""Executes the blocks of a page from top to bottom, in one fresh home."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import yaml

from commands import start_command
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places

FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.M | re.S)
OPERATORS = frozenset("|;<>&()")
BIN = Path(sys.executable).parent
PORT = "8765"
"""Pages show the default; a server that they start gets a free one."""


class Block(NamedTuple):
    """A fenced block: ```language key="value" flag."""

    language: str
    marks: dict[str, str]
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, those in lists among them."""
    for indent, info, text in FENCE.findall(page.read_text(encoding="utf-8")):
        language, *marks = shlex.split(info) or [""]
        parts = [mark.partition("=") for mark in marks]
        lines = [line.removeprefix(indent) for line in text.splitlines(keepends=True)]
        yield Block(language, {key: value for key, _, value in parts}, "".join(lines))


def pattern(shown: str) -> str:
    """Expected output as a pattern: three dots stand for anything."""
    return re.escape(shown).replace(r"\.\.\.", r"[\s\S]*?")


def execute_page(page: Path, home: Any, python_prints: list[str] | None = None) -> list[str]:
    """Run every block; return the languages seen. Python blocks without a file must print what is listed."""
    reader = Reader(home, python_prints)
    try:
        return [reader.follow(block) for block in blocks(page)]
    finally:
        reader.leave()


@dataclass
class Reader:
    """Somebody who does what a page says, in one home and with one environment.

    Marks: `file=NAME` is a file of the config directory, of the working one as `./NAME`, of the user's own
    as `~/NAME`, `broken` if it shows a mistake; `norun="why"` is left out; `output` is what was printed last.
    """

    home: Any
    prints: list[str] | None = None
    printed: str = ""
    port: str = PORT
    env: dict[str, str] = field(default_factory=dict)
    servers: list[Any] = field(default_factory=list)
    said: list[TextIO] = field(default_factory=list)

    def __post_init__(self) -> None:
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        screen = {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "200"}
        self.env = os.environ | screen | {"PATH": path, "HOME": str(self.home.root), "NO_PROXY": "*"}

    def follow(self, block: Block) -> str:
        """Do what a block says."""
        language, marks, text = block
        if "norun" in marks:
            return language
        if "file" in marks:
            self._write(marks["file"], text, is_right="broken" not in marks)
        elif "output" in marks:
            assert re.fullmatch(pattern(text.rstrip()) + r"\s*", self.printed), self.printed
        elif language == "console":
            self._console(text)
        elif language == "python":
            self._python(text)
        elif language in ("shell", "bash"):
            self.printed = self._bash(text)
        elif language in ("yaml", "json"):
            assert (yaml.safe_load if language == "yaml" else json.loads)(text) is not None
        return language

    def leave(self) -> None:
        """End the servers that the page has started."""
        for server in self.servers:
            os.kill(server.pid, signal.SIGTERM)
            server.wait()
        for said in self.said:
            said.close()

    def _write(self, name: str, text: str, *, is_right: bool) -> None:
        if name.startswith(("./", "~/")):
            file = (self.home.cwd if name[0] == "." else self.home.root) / name[2:]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            return
        self.home.write(name, text)
        if name == "onetool.yaml" and is_right:
            load_configuration(find_places(self.env, self.home.cwd), self.env)

    def _console(self, text: str) -> None:
        """Each command answers as shown, at a terminal."""
        for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            printed = self._command(command.replace(PORT, self.port))
            shown = pattern(expected.rstrip("\n").replace(PORT, self.port))
            assert re.fullmatch(shown + r"\s*", printed), (command, printed)

    def _command(self, command: str) -> str:
        words = list(shlex.shlex(command, posix=True, punctuation_chars=True))
        if words[0] == "export":
            self.env.update([command.removeprefix("export ").split("=", 1)])
            return ""
        if words[-1] == "&":
            return self._serve(shlex.split(command)[1:-1])
        if words[0] == "onetool" and not any(OPERATORS.issuperset(word) for word in words if word):
            return self._type(shlex.split(command)[1:])
        return self._bash(command, checked=False)

    def _type(self, words: list[str]) -> str:
        """Run a command at a terminal; return what then stands on the screen, without colours."""
        screen, shown = pty.openpty()
        with Path(os.devnull).open("rb") as nobody, ThreadPoolExecutor(1) as looking:
            seen = looking.submit(_all_of, screen)
            start_command(words, (nobody, shown, shown), self.env, self.home.cwd).wait()
            os.close(shown)
            text = seen.result().decode().replace("\r\n", "\n")
        return re.sub(r"(?m) +$", "", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text))

    def _bash(self, text: str, *, checked: bool = True) -> str:
        text = text.replace(PORT, self.port)
        done = self._run(["bash", "-euo", "pipefail", "-c", text])
        assert not checked or done.returncode == 0, (text, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def _python(self, text: str) -> None:
        done = self._run([sys.executable, "-c", text])
        assert done.stderr == "", done.stderr
        self.printed = done.stdout
        if self.prints is not None:
            assert done.stdout == self.prints.pop(0)

    def _run(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, cwd=self.home.cwd, env=self.env
        )

    def _serve(self, words: list[str]) -> str:
        """Start a server that stays until the page ends; say where it listens."""
        (reading, writing), words = os.pipe(), [*words, "--port", "0"]
        with Path(os.devnull).open("r+b") as nobody:
            self.servers.append(start_command(words, (nobody, writing, nobody), self.env, self.home.cwd))
        os.close(writing)
        self.said.append(os.fdopen(reading, encoding="utf-8"))
        line = self.said[-1].readline()
        self.port = line.strip().rpartition(":")[2]
        return line


def _all_of(screen: int) -> bytes:
    """What is written until the last process that has the terminal has closed it."""
    seen = b""
    with os.fdopen(screen, "rb", buffering=0) as file:
        try:
            while more := file.read(65536):
                seen += more
        except OSError:  # Linux says so when the other side is closed
            return seen
    return seen
