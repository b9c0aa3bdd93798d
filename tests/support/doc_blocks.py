"""Executes the fenced blocks of a documentation page from top to bottom, in one fresh home."""

import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from support.onetool_process import TIMEOUT_S, start_onetool

FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.M | re.S)
OPERATORS = frozenset("|;<>&()")
BIN = Path(sys.executable).parent
PORT = "8765"
"""The default port, which pages show; servers started by a page listen on a free port."""


class Block(NamedTuple):
    """A fenced block, opened by ```language key="value" flag."""

    language: str
    marks: dict[str, str]
    text: str


def read_blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page, including indented ones."""
    for indent, info, text in FENCE.findall(page.read_text(encoding="utf-8")):
        language, *marks = shlex.split(info) or [""]
        parts = [mark.partition("=") for mark in marks]
        lines = [line.removeprefix(indent) for line in text.splitlines(keepends=True)]
        yield Block(language, {key: value for key, _, value in parts}, "".join(lines))


def output_pattern(shown: str) -> str:
    """Convert expected output to a regular expression in which three dots match anything."""
    return re.escape(shown).replace(r"\.\.\.", r"[\s\S]*?")


def execute_page(page: Path, home: Any, python_prints: list[str] | None = None) -> list[str]:
    """Run every block and return their languages; `python_prints` is the expected output of Python blocks."""
    runner = PageRunner(home, python_prints)
    try:
        return [runner.run_block(block) for block in read_blocks(page)]
    finally:
        runner.close()


@dataclass
class PageRunner:
    """Runs the blocks of a page in one home and one environment.

    Marks: `file=NAME` writes a file to the config directory, `./NAME` to the working directory and `~/NAME`
    to the user's home; `broken` marks a file that is invalid on purpose; `norun="reason"` skips the block;
    `output` is the expected output of the previous block.
    """

    home: Any
    prints: list[str] | None = None
    printed: str = ""
    port: str = PORT
    env: dict[str, str] = field(default_factory=dict)
    servers: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        terminal = {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "200"}
        self.env = os.environ | terminal | {"PATH": path, "HOME": str(self.home.root), "NO_PROXY": "*"}

    def run_block(self, block: Block) -> str:
        """Run one block and return its language."""
        language, marks, text = block
        if "norun" in marks:
            return language
        if "file" in marks:
            self._write(marks["file"], text, is_valid="broken" not in marks)
        elif "output" in marks:
            assert re.fullmatch(output_pattern(text.rstrip()) + r"\s*", self.printed), self.printed
        elif language == "console":
            self._console(text)
        elif language == "python":
            self._python(text)
        elif language in ("shell", "bash"):
            self.printed = self._bash(text)
        elif language in ("yaml", "json"):
            assert (yaml.safe_load if language == "yaml" else json.loads)(text) is not None
        return language

    def close(self) -> None:
        """Stop the servers that the page started."""
        for server in self.servers:
            server.terminate()
            server.wait(TIMEOUT_S)
            server.stdout.close()

    def _write(self, name: str, text: str, *, is_valid: bool) -> None:
        if name.startswith(("./", "~/")):
            file = (self.home.cwd if name[0] == "." else self.home.root) / name[2:]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            return
        self.home.write(name, text)
        if name == "onetool.yaml" and is_valid:
            load_configuration(find_paths(self.env, self.home.cwd), self.env)

    def _console(self, text: str) -> None:
        """Run each command on a terminal and compare its output."""
        for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.M)[1:]:
            command, _, expected = part.partition("\n")
            printed = self._command(command.replace(PORT, self.port))
            if "warning: " not in expected:  # a thread writes the log, between any other lines
                printed = re.sub("^warning: .*\n", "", printed, flags=re.M)
            pattern = output_pattern(expected.rstrip("\n").replace(PORT, self.port))
            assert re.fullmatch(pattern + r"\s*", printed), (command, printed)

    def _command(self, command: str) -> str:
        words = list(shlex.shlex(command, posix=True, punctuation_chars=True))
        if words[0] == "export":
            self.env.update([command.removeprefix("export ").split("=", 1)])
            return ""
        if words[-1] == "&":
            return self._serve(shlex.split(command)[1:-1])
        if words[0] == "onetool" and not any(OPERATORS.issuperset(word) for word in words if word):
            return self._run_on_terminal(shlex.split(command)[1:])
        return self._bash(command, check=False)

    def _run_on_terminal(self, words: list[str]) -> str:
        """Run a command on a terminal and return its output without colors."""
        master, slave = pty.openpty()
        with Path(os.devnull).open("rb") as devnull, ThreadPoolExecutor(1) as reader:
            output = reader.submit(_read_all, master)
            start_onetool(
                *words, stdin=devnull, stdout=slave, stderr=slave, env=self.env, cwd=self.home.cwd
            ).wait(TIMEOUT_S)
            os.close(slave)
            text = output.result().decode().replace("\r\n", "\n")
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
        text = re.sub(r"[\u2800-\u28ff] Starting [^\r\n]*[\r\n]*", "", text)  # the spinner
        return re.sub(r"(?m) +$", "", text.replace("\r", ""))

    def _bash(self, text: str, *, check: bool = True) -> str:
        text = text.replace(PORT, self.port)
        done = self._run(["bash", "-euo", "pipefail", "-c", text])
        assert not check or done.returncode == 0, (text, done.stdout, done.stderr)
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
        """Start a server that runs until the page ends, and return the line with its address."""
        files: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        server = start_onetool(*words, "--port", "0", env=self.env, cwd=self.home.cwd, text=True, **files)
        self.servers.append(server)
        line: str = server.stdout.readline()
        self.port = line.strip().rpartition(":")[2]
        return line


def _read_all(master: int) -> bytes:
    """Read from a terminal until the last process that uses it has closed it."""
    output = b""
    with os.fdopen(master, "rb", buffering=0) as file:
        try:
            while block := file.read(65536):
                output += block
        except OSError:  # raised on Linux when the other end is closed
            return output
    return output
