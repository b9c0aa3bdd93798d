"""Directories with the libraries of pack files, installed once with uv and used by all processes."""

import asyncio
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from importlib import metadata, util
from pathlib import Path

from packaging.requirements import Requirement

from onetool.domain.text.strings import printable
from onetool.files.atomic import make_private_dir
from onetool.files.lock import locked
from onetool.threads import Threads

from .script_metadata import ScriptMetadata, hide_user_info

INSTALL_TIMEOUT_S = 600.0
"""Time limit for the installation of the libraries of one pack, in seconds."""
MAX_LINES, MAX_LENGTH = 12, 2_000
"""Last part of uv's output in a message."""
NO_UV = (
    "uv is needed to install libraries, and was not found on PATH. Install it: "
    "https://docs.astral.sh/uv/getting-started/installation/ (for example `pipx install uv`)"
)


class InstallFailed(Exception):
    """Libraries could not be installed. The message has the last lines of uv's output."""


class PackEnvironments:
    """Installs the libraries of packs. Each set of libraries is installed once, by one process."""

    def __init__(self, directory: Path, threads: Threads, *, timeout_s: float = INSTALL_TIMEOUT_S) -> None:
        self._directory, self._threads, self._timeout_s = directory, threads, timeout_s
        self._tasks: dict[Path, asyncio.Task[None]] = {}
        self._installations: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def path(self, script: ScriptMetadata) -> Path:
        """Return the directory of these libraries. It exists if they are installed."""
        python = [sys.implementation.cache_tag, sys.platform, platform.machine()]
        key = json.dumps([sorted(script.dependencies), python, list(_constraints())])
        return self._directory / sha256(key.encode()).hexdigest()[:32]

    async def ensure(self, script: ScriptMetadata) -> Path:
        """Return the directory of installed libraries. Install them first if necessary.

        If the caller is cancelled, the installation continues.

        Raises:
            InstallFailed: The libraries cannot be installed.
        """
        path = self.path(script)
        if not path.is_dir():
            task = self._tasks.get(path)
            if task is None:
                work = self._threads.run(self._install, script, path)
                task = self._tasks[path] = asyncio.create_task(work, name=f"install {script.libraries}")
                task.add_done_callback(lambda task: self._forget(path, task))
            await asyncio.shield(task)
        return path

    async def close(self) -> None:
        """Stop the installations of this process."""
        with self._lock:
            self._is_closed = True
            for process in self._installations:
                _kill(process)
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, path: Path, task: "asyncio.Task[None]") -> None:
        """Let the next call try again. An error was raised to all that waited, if there were any."""
        del self._tasks[path]
        if not task.cancelled():
            task.exception()

    def _install(self, script: ScriptMetadata, path: Path) -> None:
        make_private_dir(self._directory)
        try:
            with path.with_suffix(".lock").open("wb") as lock, locked(lock.fileno(), self._timeout_s):
                if path.is_dir():
                    return  # another process has installed them
                for abandoned in self._directory.glob(f"{path.name}-*"):
                    shutil.rmtree(abandoned, ignore_errors=True)
                self._build(script, path)
        except TimeoutError:
            raise InstallFailed("another process has been installing its libraries for too long") from None
        except OSError as error:
            raise InstallFailed(f"cannot install libraries in {str(self._directory)!r}: {error}") from None

    def _build(self, script: ScriptMetadata, path: Path) -> None:
        with tempfile.TemporaryDirectory(
            dir=self._directory, prefix=f"{path.name}-", ignore_cleanup_errors=True
        ) as folder:
            target, constraints = Path(folder, "libraries"), Path(folder, "constraints.txt")
            target.mkdir()
            constraints.write_text("\n".join(_constraints()))
            if script.dependencies:
                self._run_uv(
                    ["--target", str(target), "--constraints", str(constraints), "--", *script.dependencies]
                )
            target.rename(path)  # only now do other processes see it, complete

    def _run_uv(self, args: list[str]) -> None:
        # The working directory is ours: the uv.toml of a project must not choose where libraries come from.
        command = [find_uv(), "pip", "install", "--python", sys.executable, "--no-progress"]
        with self._lock:
            if self._is_closed:
                raise InstallFailed("OneTool ended")
            process = subprocess.Popen(
                [*command, "--color", "never", *args],
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=os.name != "nt",
            )
            self._installations.add(process)
        try:
            output, _ = process.communicate(timeout=self._timeout_s)
        except subprocess.TimeoutExpired:
            raise InstallFailed(f"uv took longer than {self._timeout_s:g} s") from None
        finally:
            _kill(process)
            with process, self._lock:  # waits for its end
                self._installations.discard(process)
        if process.returncode != 0:
            needed = ", ".join(_constraints())
            raise InstallFailed(
                f"uv could not install its libraries:\n{last_lines(output)}\n"
                f"If the pack has one of these, OneTool's SDK needs: {needed}"
            )


def find_uv() -> str:
    """Return the path of uv: on PATH, beside this Python, or in the package `uv`.

    Raises:
        InstallFailed: There is none.
    """
    beside = Path(sys.executable).parent
    found = shutil.which("uv") or shutil.which("uv", path=str(beside))
    if found is None and util.find_spec("uv") is not None:
        from uv import find_uv_bin  # type: ignore[import-not-found, unused-ignore]

        try:
            found = find_uv_bin()
        except FileNotFoundError:
            found = None
    if found is None:
        raise InstallFailed(NO_UV)
    return str(found)


def _kill(process: subprocess.Popen[str]) -> None:
    """End uv with the programs that it started to build libraries, unless it has ended."""
    if process.poll() is not None:
        return
    if os.name == "nt":  # pragma: no cover - Windows has no process groups
        process.kill()
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def last_lines(output: str) -> str:
    """Return the last lines of a program's output, without credentials in URLs."""
    lines = [printable(line.rstrip()) for line in output.splitlines() if line.strip()]
    return hide_user_info("\n".join(lines[-MAX_LINES:]))[-MAX_LENGTH:]


def _constraints() -> Iterator[str]:
    """Yield versions of libraries that the SDK can work with, in case that the pack needs them too."""
    yield "pydantic>=2.10"
    yield "orjson>=3.10"
    for text in metadata.requires("pydantic") or ():
        requirement = Requirement(text)
        if requirement.marker is None and requirement.name != "pydantic-core":
            yield f"{requirement.name}{requirement.specifier}"
