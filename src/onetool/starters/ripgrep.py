"""ripgrep: search files by pattern, fast, under the allowed directories."""

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
COMMON = ("--no-config", "--no-messages", "--color=never", "--null", "--sort=path")
LINES = ("--line-number", "--with-filename", "--no-heading", "--no-context-separator")
LONGEST, MOST_RESULTS, MOST_FILES, MOST_CONTEXT = 500, 1_000, 10_000, 20
CHUNK, BAD_ARGUMENTS = 65_536, 2
LOOK, RESERVE = 0.1, 0.5
"""Seconds between looks at the clock, and before the end of the call: an answer takes time too."""
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
    """Find lines that match a pattern in files; hidden, binary and ignored (.gitignore) files are left out.

    Args:
        pattern: A regular expression in ripgrep's syntax; escape what is meant literally.
        path: Directory or file, absolute or relative to the working directory.
        glob: Only files that match, such as `*.py`; `!*.md` for all but these.
        ignore_case: Whether upper and lower case are the same.
        context: How many lines before and after each match to show too.
        max_results: How many matches at most; as many as that means that there may be more.

    Returns:
        path, line and text of each match, by path; lines around a match have `context: true`.

    Example:
        ripgrep.search(pattern="def \\w+_url", path="src", glob="*.py")
    """
    options = [*LINES, f"--max-columns={LONGEST}", "--max-columns-preview", f"--regexp={pattern}"]
    options += ["--ignore-case"] * ignore_case + [f"--context={min(context, MOST_CONTEXT)}"] * (context > 0)
    most = max(1, min(max_results, MOST_RESULTS))
    found: list[dict[str, Any]] = []
    with closing(_output([*options, *_globs(glob)], path, ctx, b"\n")) as lines:
        for line in lines:
            entry = _entry(line)
            most -= bool(entry) and "context" not in entry
            if most < 0:
                break
            found += [entry] if entry else []
    return found


@tool(timeout=30, parallel=True, tags=["files", "find"])
@requires_cli("rg", version_flag="--version", install=INSTALL)
def files(*, ctx: Context, path: str = ".", glob: str = "", max_results: int = 1000) -> list[str]:
    """List the files of a directory and all below it; hidden and ignored (.gitignore) ones are left out.

    Args:
        path: The directory, absolute or relative to the working directory.
        glob: Only files that match, such as `**/test_*.py`.
        max_results: How many at most; as many as that means that there may be more.

    Returns:
        Paths, sorted.

    Example:
        ripgrep.files(path="src", glob="*.toml")
    """
    most = max(1, min(max_results, MOST_FILES))
    found: list[str] = []
    with closing(_output(["--files", *_globs(glob)], path, ctx, b"\0")) as names:
        for name in names:
            shown = _shown(name)
            found += [shown] if shown else []
            if len(found) == most:
                break
    return found


def _globs(glob: str) -> list[str]:
    """The last one wins: what is OneTool's own stays closed whatever the first says."""
    return [*([f"--glob={glob}"] if glob else []), "--iglob=!.onetool"]


def _entry(line: bytes) -> dict[str, Any]:
    """A line of output as path, line and text; empty for what is neither a match nor beside one."""
    name, _, rest = line.rstrip(b"\r").partition(b"\0")
    parts = LINE.fullmatch(rest)
    shown = _shown(name) if parts else ""
    if parts is None or not shown:
        return {}
    entry = {"path": shown, "line": int(parts[1]), "text": parts[3].decode("utf-8", "replace")}
    return entry if parts[2] == b":" else entry | {"context": True}


def _shown(name: bytes) -> str:
    """A path as other tools take it; empty where they would not."""
    try:
        real = allowed_path(os.fsdecode(name))
    except PermissionError:
        return ""
    here = working_directory().resolve()
    shown = real.relative_to(here) if real.is_relative_to(here) else real
    return str(shown).encode("utf-8", "replace").decode()


def _output(options: list[str], path: str, ctx: Context, end: bytes) -> Generator[bytes, None, None]:
    """Start the program and yield its output piece by piece; it is stopped when nobody wants more."""
    program, top = shutil.which("rg"), allowed_path(path)
    if program is None:
        raise FileNotFoundError(f"ripgrep (rg) is not installed: {INSTALL}")
    if not (top.is_dir() or top.is_file()):
        raise FileNotFoundError(f"{path!r} is neither a directory nor a file.")
    command = [program, *COMMON, *options, "--", str(top)]
    with (
        TemporaryFile() as said,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said) as process,
    ):
        late = threading.Event()
        threading.Thread(target=_stop_in_time, args=(process, ctx, late), daemon=True).start()
        try:
            yield from _pieces(process.stdout.fileno(), end)  # type: ignore[union-attr]
            process.wait()
        finally:
            process.kill()
        if late.is_set():
            raise TimeoutError("The search did not end in time; give a smaller path, or a glob.")
        if process.returncode == BAD_ARGUMENTS and (error := _begin(said)):
            raise ValueError(f"ripgrep cannot do this: {error}")


def _pieces(descriptor: int, end: bytes) -> Iterator[bytes]:
    rest = b""
    while block := os.read(descriptor, CHUNK):
        *whole, rest = (rest + block).split(end)
        yield from whole


def _stop_in_time(process: "subprocess.Popen[bytes]", ctx: Context, late: threading.Event) -> None:
    while process.returncode is None:
        try:
            process.wait(LOOK)
        except subprocess.TimeoutExpired:
            if ctx.cancelled or time.monotonic() > ctx.deadline - RESERVE:
                late.set()
                process.kill()


def _begin(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(1_000).decode("utf-8", "replace").strip()
