"""The built wheel in a virtual environment of its own, and a shell that uses it."""

import fcntl
import os
import pty
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

from support.paths import PROJECT as ROOT
from support.screen import render_screen

UV = shutil.which("uv")
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
TIMEOUT_S = 60.0
needs_uv = pytest.mark.skipif(UV is None, reason="the wheel is built and installed with uv")


def run_uv(*words: object, env: Mapping[str, str] | None = None) -> str:
    """Run uv and return its output; packages come from its cache if possible."""
    command = [str(UV), "--quiet", "--no-progress", *map(str, words)]
    environment = {**os.environ, **(env or {})}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def build_wheel(factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build the wheel once per test run; return it and the file of locked versions."""

    def build(folder: Path) -> None:
        run_uv("build", "--wheel", "--out-dir", folder, ROOT)
        versions = run_uv("export", "--frozen", "--no-dev", "--no-hashes", "--no-emit-project")
        (folder / "versions.txt").write_text(versions)

    folder = _once(factory, "wheel", build)
    return next(folder.glob("*.whl")), folder / "versions.txt"


def install_wheel(factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a virtual environment once per test run; return the environment."""
    wheel, versions = build_wheel(factory)

    def install(folder: Path) -> None:
        run_uv("venv", "--python", sys.executable, folder / "env")
        python = folder / "env" / "bin" / "python"
        run_uv("pip", "install", "--compile-bytecode", "--python", python, "--constraint", versions, wheel)

    return _once(factory, "installed", install) / "env"


def _once(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """Let the first process of a test run fill a folder; the other processes wait for it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    done = folder / ".done"
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            fill(folder)
            done.touch()
    return folder


class Shell:
    """A bash process on a terminal, with a fresh home directory.

    Commands share one shell, so `export`, `cd` and `&` work as usual. Their standard input is empty, or the
    terminal if there are answers to type.
    """

    READ = 'while IFS= read -r line <&9; do eval "$line" </dev/null; echo "@end $?"; done'
    PROMPT = re.compile(r"\]: $")

    def __init__(self, home: Path, path: str, **variables: str) -> None:
        self.home, self.cwd = home, home / "work"
        self.cwd.mkdir(parents=True)
        self._commands, command_input = os.pipe()[::-1]
        self._master, slave = pty.openpty()
        env = {
            "HOME": str(home),
            "PATH": path,
            "TERM": "xterm",
            "COLUMNS": "200",
            "LANG": "C.UTF-8",
            **variables,
        }
        command = ["bash", "--norc", "-c", f"exec 8<&1 9<&{command_input}; {self.READ}"]
        self._bash = subprocess.Popen(
            command,
            cwd=self.cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=slave,
            pass_fds=[command_input],
            start_new_session=True,
        )
        os.close(command_input)
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._bash.pid, 15)
        self._bash.wait(TIMEOUT_S)
        os.close(self._commands)
        os.close(self._master)

    def run(self, command: str, answers: Sequence[str] = ()) -> tuple[str, int]:
        """Run a command; return what is visible of its output, and its exit code.

        answers: what to type when the command asks.
        """
        line, remaining = command.replace("\\\n", " "), [*answers]
        os.write(self._commands, f"{line}{' <&8' if answers else ''}\n".encode())
        raw = b""
        while not (end := re.search(rb"@end (\d+)\r\n", raw)):
            raw += self._read()
            if remaining and self.PROMPT.search(_visible(raw)):
                os.write(self._master, f"{remaining.pop(0)}\n".encode())
        return re.sub(r"(?m) +$", "", _visible(raw[: end.start()])), int(end[1])

    def write(self, name: str, text: str) -> None:
        """Write a file to the working directory, or to the home directory as `~/NAME`."""
        file = self.home / name[2:] if name.startswith("~/") else self.cwd / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def _read(self) -> bytes:
        assert select.select([self._master], [], [], TIMEOUT_S)[0], "the command printed nothing in time"
        return os.read(self._master, 65536)


def _visible(raw: bytes) -> str:
    return render_screen(raw.decode(errors="replace"))


@contextmanager
def open_shell(environment: Path, home: Path, path: str = SYSTEM, **variables: str) -> Iterator[Shell]:
    """Open a shell in which the environment is active."""
    with Shell(home, f"{environment / 'bin'}:{path}", VIRTUAL_ENV=str(environment), **variables) as shell:
        yield shell
