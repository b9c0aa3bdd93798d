"""ripgrep: search files under the allowed directories with ripgrep."""

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from tempfile import TemporaryFile
from typing import IO, Any

from onetool.sdk import Context, allowed_path, requires_cli, tool, working_directory

pack = "ripgrep"

INSTALL = "https://github.com/BurntSushi/ripgrep#installation"
COMMON_OPTIONS = ("--no-config", "--no-messages", "--color=never", "--null", "--sort=path")
LINE_OPTIONS = ("--line-number", "--with-filename", "--no-heading", "--no-context-separator")
MAX_LENGTH, MAX_RESULTS, MAX_FILES, MAX_CONTEXT = 500, 1_000, 10_000, 20
CHUNK_BYTES, EXIT_ERROR = 65_536, 2
POLL_S, RESERVE_S = 0.1, 0.5
"""Interval of deadline checks, and time reserved before the deadline to return a result."""
LINE = re.compile(rb"(\d+)([:-])(.*)", re.DOTALL)


@tool(timeout=30, parallel=True, tags=["files", "grep", "code"])
@requires_cli("rg", version_flag="--version", install=INSTALL)
def search(
    *,
    pattern: str,
    ctx: Context,
    path: str = ".",
    glob: str = "",
    ignore_case: bool = False,
    context: int = 0,
    max_results: int = 100,
) -> list[dict[str, Any]]:
    """Search files for lines that match a pattern. Skips hidden, binary and ignored (.gitignore) files.

    Args:
        pattern: A regular expression in ripgrep syntax. Escape special characters to match them literally.
        path: Directory or file, absolute or relative to the working directory.
        glob: Search only matching files, such as `*.py`; `!*.md` excludes files.
        ignore_case: Ignore case.
        context: Number of lines to include before and after each match.
        max_results: Maximum number of matches. If it is reached, there may be more.

    Returns:
        path, line and text of each match, sorted by path; context lines have `context: true`.

    Example:
        ripgrep.search(pattern="def \\w+_url", path="src", glob="*.py")
    """
    options = [*LINE_OPTIONS, f"--max-columns={MAX_LENGTH}", "--max-columns-preview", f"--regexp={pattern}"]
    options += ["--ignore-case"] * ignore_case + [f"--context={min(context, MAX_CONTEXT)}"] * (context > 0)
    remaining = max(1, min(max_results, MAX_RESULTS))
    matches: list[dict[str, Any]] = []
    with closing(_output([*options, *_globs(glob)], path, ctx, b"\n")) as lines:
        for line in lines:
            entry = _entry(line)
            remaining -= bool(entry) and "context" not in entry
            if remaining < 0:
                break
            matches += [entry] if entry else []
    return matches


@tool(timeout=30, parallel=True, tags=["files", "find"])
@requires_cli("rg", version_flag="--version", install=INSTALL)
def files(*, ctx: Context, path: str = ".", glob: str = "", max_results: int = 1000) -> list[str]:
    """List the files in a directory and its subdirectories. Skips hidden and ignored (.gitignore) files.

    Args:
        path: The directory, absolute or relative to the working directory.
        glob: List only matching files, such as `**/test_*.py`.
        max_results: Maximum number of files. If it is reached, there may be more.

    Returns:
        Sorted paths.

    Example:
        ripgrep.files(path="src", glob="*.toml")
    """
    limit = max(1, min(max_results, MAX_FILES))
    paths: list[str] = []
    with closing(_output(["--files", *_globs(glob)], path, ctx, b"\0")) as names:
        for name in names:
            path_text = _display_path(name)
            paths += [path_text] if path_text else []
            if len(paths) == limit:
                break
    return paths


def _globs(glob: str) -> list[str]:
    """Return glob options. The last one wins, so OneTool's own directory is always excluded."""
    return [*([f"--glob={glob}"] if glob else []), "--iglob=!.onetool"]


def _entry(line: bytes) -> dict[str, Any]:
    """Parse a line of output. Returns an empty dict for lines that are neither a match nor context."""
    name, _, rest = line.rstrip(b"\r").partition(b"\0")
    parts = LINE.fullmatch(rest)
    path = _display_path(name) if parts else ""
    if parts is None or not path:
        return {}
    entry = {"path": path, "line": int(parts[1]), "text": parts[3].decode("utf-8", "replace")}
    return entry if parts[2] == b":" else entry | {"context": True}


def _display_path(name: bytes) -> str:
    """Return a path that other tools accept, or an empty string if the path is not allowed."""
    try:
        real = allowed_path(os.fsdecode(name))
    except PermissionError:
        return ""
    cwd = working_directory().resolve()
    path = real.relative_to(cwd) if real.is_relative_to(cwd) else real
    return str(path).encode("utf-8", "replace").decode()


def _output(options: list[str], path: str, ctx: Context, separator: bytes) -> Generator[bytes, None, None]:
    """Run ripgrep and yield records of its output. Closing the generator kills the process."""
    program, top = shutil.which("rg"), allowed_path(path)
    if program is None:
        raise FileNotFoundError(f"ripgrep (rg) is not installed. See {INSTALL}")
    if not (top.is_dir() or top.is_file()):
        raise FileNotFoundError(f"{path!r} is neither a directory nor a file.")
    command = [program, *COMMON_OPTIONS, *options, "--", str(top)]
    with (
        TemporaryFile() as stderr,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr) as process,
    ):
        timed_out = threading.Event()
        threading.Thread(target=_kill_at_deadline, args=(process, ctx, timed_out), daemon=True).start()
        try:
            yield from _records(process.stdout.fileno(), separator)  # type: ignore[union-attr]
            process.wait()
        finally:
            process.kill()
        if timed_out.is_set():
            raise TimeoutError("The search timed out. Use a smaller path or a glob.")
        if process.returncode == EXIT_ERROR and (error := _head(stderr)):
            raise ValueError(f"ripgrep failed: {error}")


def _records(descriptor: int, separator: bytes) -> Iterator[bytes]:
    rest = b""
    while block := os.read(descriptor, CHUNK_BYTES):
        *records, rest = (rest + block).split(separator)
        yield from records


def _kill_at_deadline(process: "subprocess.Popen[bytes]", ctx: Context, timed_out: threading.Event) -> None:
    while process.returncode is None:
        try:
            process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            if ctx.cancelled or time.monotonic() > ctx.deadline - RESERVE_S:
                timed_out.set()
                process.kill()


def _head(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(1_000).decode("utf-8", "replace").strip()
