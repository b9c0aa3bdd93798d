"""ripgrep: search files under the allowed directories with ripgrep."""

import os
import re
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple, NotRequired, TypedDict

from onetool.sdk import (
    Context,
    allowed_path,
    open_allowed,
    open_allowed_directory,
    requires_cli,
    tool,
    working_directory,
)

pack = "ripgrep"

INSTALL = "https://github.com/BurntSushi/ripgrep#installation"
COMMON_OPTIONS = ("--no-config", "--no-messages", "--color=never", "--null")
SEARCH_OPTIONS = ("--with-filename", "--threads=1")
"""One thread searches files in their given order."""
LINE_OPTIONS = ("--line-number", "--no-heading", "--no-context-separator")
MAX_OPEN_FILES = 64
"""Files that are searched by one process."""
HEAD_BYTES = 65_536
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""First bytes of texts that contain zeros."""
MAX_LENGTH, MAX_RESULTS, MAX_FILES, MAX_CONTEXT = 500, 1_000, 10_000, 20
CHUNK_BYTES, EXIT_ERROR = 65_536, 2
POLL_S, RESERVE_S = 0.1, 0.5
"""Interval of deadline checks, and time reserved before the deadline to return a result."""
LINE = re.compile(rb"(\d+)([:-])(.*)", re.DOTALL)


class OpenFile(NamedTuple):
    """A file below a root, opened without following links.

    Attributes:
        real: Its path.
        shown: The path for results.
        descriptor: For reading, or only for its properties.
    """

    real: Path
    shown: str
    descriptor: int


class MatchedLine(TypedDict):
    """A line that matches, or one near it."""

    path: str
    line: int
    text: str
    context: NotRequired[bool]


class MatchedLines(TypedDict):
    """The first lines that match, and how to get more if there are more."""

    matches: list[MatchedLine]
    more: NotRequired[str]


class ListedFiles(TypedDict):
    """The first paths, and how to get more if there are more."""

    paths: list[str]
    more: NotRequired[str]


class MatchCount(TypedDict):
    """The number of files and of matching lines in them."""

    files: int
    lines: NotRequired[int]


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
) -> MatchedLines:
    """Search files for lines that match a pattern. Skips hidden, binary and ignored (.gitignore) files.

    Args:
        pattern: A regular expression in ripgrep syntax. Escape special characters to match them literally.
        path: Directory or file, absolute or relative to the working directory; an absolute path gives
            absolute paths.
        glob: Search only matching files, such as `*.py`; `!*.md` excludes files.
        ignore_case: Ignore case.
        context: Number of lines to include before and after each match.
        max_results: Maximum number of matches.

    Returns:
        matches: path, line and text of each, sorted by path; context lines have `context: true`.
        more: how to count or get the others, only if there are more.

    Example:
        ripgrep.search(pattern="def \\w+_url", path="src", glob="*.py")["matches"]
    """
    options = [*LINE_OPTIONS, f"--max-columns={MAX_LENGTH}", "--max-columns-preview", f"--regexp={pattern}"]
    options += ["--ignore-case"] * ignore_case + [f"--context={min(context, MAX_CONTEXT)}"] * (context > 0)
    limit = remaining = max(1, min(max_results, MAX_RESULTS))
    result: MatchedLines = {"matches": []}
    with closing(_search(options, path, glob, ctx)) as lines:
        for shown, line in lines:
            entry = _entry(shown, line)
            remaining -= entry is not None and "context" not in entry
            if remaining < 0:
                result["more"] = _more(limit, MAX_RESULTS, pattern=pattern, path=path, glob=glob)
                break
            result["matches"] += [entry] if entry else []
    return result


@tool(timeout=30, parallel=True, tags=["files", "find"])
@requires_cli("rg", version_flag="--version", install=INSTALL)
def files(*, ctx: Context, path: str = ".", glob: str = "", max_results: int = 1000) -> ListedFiles:
    """List the files in a directory and its subdirectories. Skips hidden and ignored (.gitignore) files.

    Args:
        path: The directory, absolute or relative to the working directory; an absolute path gives absolute
            paths.
        glob: List only matching files, such as `**/test_*.py`.
        max_results: Maximum number of files.

    Returns:
        paths: sorted, relative to the working directory, or absolute.
        more: how to count or get the others, only if there are more.

    Example:
        ripgrep.files(path="src", glob="*.toml")["paths"]
    """
    limit = max(1, min(max_results, MAX_FILES))
    result: ListedFiles = {"paths": []}
    for path_text in _listed(path, glob, ctx):
        if len(result["paths"]) == limit:
            result["more"] = _more(limit, MAX_FILES, path=path, glob=glob)
            break
        result["paths"].append(path_text)
    return result


@tool(timeout=30, parallel=True, tags=["files", "grep"])
@requires_cli("rg", version_flag="--version", install=INSTALL)
def count(
    *, ctx: Context, pattern: str = "", path: str = ".", glob: str = "", ignore_case: bool = False
) -> MatchCount:
    """Count the files and lines that match a pattern; without a pattern, the files.

    Args:
        pattern: A regular expression in ripgrep syntax.
        path: Directory or file, absolute or relative to the working directory.
        glob: Count only matching files, such as `*.py`.
        ignore_case: Ignore case.

    Returns:
        The number of files; with a pattern, also the number of matching lines in them.

    Example:
        ripgrep.count(pattern="TODO", path="src")
    """
    if not pattern:
        return {"files": sum(1 for _ in _listed(path, glob, ctx))}
    options = ["--count", f"--regexp={pattern}", *["--ignore-case"] * ignore_case]
    with closing(_search(options, path, glob, ctx)) as lines:
        counts = [int(number) for _, number in lines]
    return {"files": len(counts), "lines": sum(counts)}


def _listed(path: str, glob: str, ctx: Context) -> Iterator[str]:
    """Yield the paths of allowed files."""
    with closing(_opened(path, glob, ctx, getattr(os, "O_PATH", os.O_RDONLY))) as files:
        for file in files:
            os.close(file.descriptor)
            yield file.shown


def _opened(path: str, glob: str, ctx: Context, flags: int) -> Generator[OpenFile, None, None]:
    """Open the regular files that ripgrep lists. The caller closes them.

    While ripgrep reads directories, another process can exchange one with a link that leads elsewhere. So
    only the names count: each is opened below the roots without following a link, or it is skipped.
    """
    top = allowed_path(path)
    if not (top.is_dir() or top.is_file()):
        raise FileNotFoundError(f"{path!r} is neither a directory nor a file.")
    listing = _output(["--files", "--sort=path", *_globs(glob)], [str(top)], ctx, b"\0")
    with closing(listing), ExitStack() as stack:
        parent = None
        for name in listing:
            file = Path(os.fsdecode(name))
            with suppress(OSError):
                if file == top:  # which can be a root itself
                    real, descriptor = top, _open_alone(top)
                else:
                    if file.parent != parent:
                        parent = None
                        stack.close()
                        directory = stack.enter_context(open_allowed_directory(str(file.parent)))
                        parent = file.parent
                    real, descriptor = directory.path / file.name, directory.open_file(file.name, flags)
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    yield OpenFile(real, _shown(real, path), descriptor)
                else:
                    os.close(descriptor)


def _open_alone(file: Path) -> int:
    with open_allowed(str(file)) as opened:
        return os.dup(opened.fileno())


def _search(
    options: list[str], path: str, glob: str, ctx: Context
) -> Generator[tuple[str, bytes], None, None]:
    """Search files in groups, by their descriptors. Yield the path of a file and a line about it."""
    with closing(_opened(path, glob, ctx, os.O_RDONLY)) as files:
        is_first = True  # also without a file, so that an invalid pattern is an error
        while True:
            with ExitStack() as stack:
                group = {}
                for file in islice(files, MAX_OPEN_FILES):
                    stack.callback(os.close, file.descriptor)
                    group[_argument(file)] = file
                if not (group or is_first):
                    return
                is_first = False
                names = [name for name, file in group.items() if not _is_binary(file.descriptor)]
                descriptors = [file.descriptor for file in group.values()]
                searched = names or [os.devnull]
                lines = _output([*SEARCH_OPTIONS, *options], searched, ctx, b"\n", descriptors)
                for line in stack.enter_context(closing(lines)):
                    name, _, rest = line.partition(b"\0")
                    if os.fsdecode(name) in group:
                        yield group[os.fsdecode(name)].shown, rest


def _argument(file: OpenFile) -> str:
    """Return the name by which a child process opens a file."""
    return f"/dev/fd/{file.descriptor}" if os.name == "posix" else str(file.real)


def _is_binary(descriptor: int) -> bool:
    """Return whether ripgrep would skip a file that it found itself. It searches files that it is given."""
    head = os.read(descriptor, HEAD_BYTES)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return b"\0" in head and not head.startswith(UTF_16)


def _more(limit: int, max_limit: int, **args: str) -> str:
    """Say that a list is cut, and how to count and get the rest."""
    call = ", ".join(f"{name}={value!r}" for name, value in args.items() if value)
    larger = f", or increase max_results (at most {max_limit})" if limit < max_limit else ""
    return f"These are the first {limit}. Count all: ripgrep.count({call}). Narrow path or glob{larger}."


def _globs(glob: str) -> list[str]:
    """Return glob options. The last one wins, so OneTool's own directory is always excluded."""
    return [*([f"--glob={glob}"] if glob else []), "--iglob=!.onetool"]


def _entry(path: str, line: bytes) -> MatchedLine | None:
    """Parse a line of output. Returns None for lines that are neither a match nor context."""
    parts = LINE.fullmatch(line.rstrip(b"\r"))
    if parts is None:
        return None
    entry: MatchedLine = {
        "path": path,
        "line": int(parts[1]),
        "text": parts[3].decode("utf-8", "replace"),
    }
    return entry if parts[2] == b":" else {**entry, "context": True}


def _shown(real: Path, top: str) -> str:
    """Return a path that other tools accept.

    It is absolute if the caller's path is absolute: programs of servers have other working directories.
    """
    cwd = working_directory().resolve()
    is_relative = not Path(top).expanduser().is_absolute() and real.is_relative_to(cwd)
    path = real.relative_to(cwd) if is_relative else real
    return str(path).encode("utf-8", "replace").decode()


def _output(
    options: list[str], paths: Sequence[str], ctx: Context, separator: bytes, descriptors: Sequence[int] = ()
) -> Generator[bytes, None, None]:
    """Run ripgrep and yield records of its output. Closing the generator kills the process."""
    program = shutil.which("rg")
    if program is None:
        raise FileNotFoundError(f"ripgrep (rg) is not installed. See {INSTALL}")
    command = [program, *COMMON_OPTIONS, *options, "--", *paths]
    inherited = descriptors if os.name == "posix" else ()
    with (
        TemporaryFile() as stderr,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, pass_fds=inherited
        ) as process,
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
