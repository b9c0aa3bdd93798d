"""OneTool as people get it: the built wheel in an environment that holds nothing else, and a shell in it."""

import fcntl
import os
import pty
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

ROOT = Path(__file__).parent.parent
UV = shutil.which("uv")
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
PATIENCE_S = 60.0
needs_uv = pytest.mark.skipif(UV is None, reason="the wheel is built and installed with uv")


def uv(*words: object, env: Mapping[str, str] | None = None) -> str:
    """Run uv to its end; it takes packages from its cache where it can."""
    command = [str(UV), "--quiet", "--no-progress", *map(str, words)]
    around = {**os.environ, **(env or {})}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=around)
    assert done.returncode == 0, done.stderr
    return done.stdout


def wheel(factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the versions that are locked, built once in a test run."""

    def build(folder: Path) -> None:
        uv("build", "--wheel", "--out-dir", folder, ROOT)
        versions = uv("export", "--frozen", "--no-dev", "--no-hashes", "--no-emit-project")
        (folder / "versions.txt").write_text(versions)

    folder = _once(factory, "wheel", build)
    return next(folder.glob("*.whl")), folder / "versions.txt"


def environment(factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it, made once in a test run."""
    built, versions = wheel(factory)

    def install(folder: Path) -> None:
        uv("venv", "--python", sys.executable, folder / "env")
        python = folder / "env" / "bin" / "python"
        uv("pip", "install", "--compile-bytecode", "--python", python, "--constraint", versions, built)

    return _once(factory, "installed", install) / "env"


def _once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Let the first process of a test run make a folder; the others wait for it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    done = folder / ".done"
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder


class Shell:
    """Somebody with a fresh home and a bash: what is typed, and what then stands on the screen.

    Commands share one shell, so that `export`, `cd` and `&` mean what they say. Nobody answers questions.
    """

    READ = 'while IFS= read -r line <&9; do eval "$line" </dev/null; echo "@end $?"; done'

    def __init__(self, home: Path, path: str, **more: str) -> None:
        self.home, self.cwd = home, home / "work"
        self.cwd.mkdir(parents=True)
        self._typed, given = os.pipe()[::-1]
        self._screen, shown = pty.openpty()
        env = {"HOME": str(home), "PATH": path, "TERM": "xterm", "COLUMNS": "200", "LANG": "C.UTF-8", **more}
        command = ["bash", "--norc", "-c", f"exec 9<&{given}; {self.READ}"]
        self._bash = subprocess.Popen(
            command,
            cwd=self.cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=shown,
            stderr=shown,
            pass_fds=[given],
            start_new_session=True,
        )
        os.close(given)
        os.close(shown)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._bash.pid, 15)
        self._bash.wait(PATIENCE_S)
        os.close(self._typed)
        os.close(self._screen)

    def type(self, command: str) -> tuple[str, int]:
        """Run a command; return what it wrote, without colours, and how it ended."""
        os.write(self._typed, (command.replace("\\\n", " ") + "\n").encode())
        seen = ""
        while not (end := re.search(r"@end (\d+)\n", seen)):
            seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen + self._read())
        return re.sub(r"(?m) +$", "", seen[: end.start()]), int(end[1])

    def write(self, name: str, text: str) -> None:
        """Write a file: of the working directory, or of the home as `~/NAME`."""
        file = self.home / name[2:] if name.startswith("~/") else self.cwd / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def _read(self) -> str:
        assert select.select([self._screen], [], [], PATIENCE_S)[0], "nothing more comes"
        return os.read(self._screen, 65536).decode(errors="replace").replace("\r\n", "\n")


@contextmanager
def shell_of(environment: Path, home: Path) -> Iterator[Shell]:
    """A shell in which the environment is active."""
    path = f"{environment / 'bin'}:{SYSTEM}"
    with Shell(home, path, VIRTUAL_ENV=str(environment)) as shell:
        yield shell
