"""The program that the pool starts as a worker: the interpreter, on Linux inside its jail."""

import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

SHELL = Path("/bin/sh")


class Launcher:
    """A small script that jails the interpreter; gone when it is closed."""

    def __init__(self, interpreter: str) -> None:
        self._folder = TemporaryDirectory(prefix="onetool-") if _can_jail() else None
        self.program = self._write(interpreter, Path(self._folder.name)) if self._folder else interpreter

    def close(self) -> None:
        """Remove the script."""
        if self._folder is not None:
            self._folder.cleanup()

    def _write(self, interpreter: str, folder: Path) -> str:
        jail = Path(__file__).with_name("jail.py")
        words = [sys.executable, "-I", "-S", str(jail), interpreter]
        script = folder / "worker"
        script.write_text(f'#!{SHELL}\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
        script.chmod(0o700)
        return str(script)


def _can_jail() -> bool:
    return sys.platform == "linux" and SHELL.exists()
