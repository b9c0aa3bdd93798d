"""Files of a program: links to it, its interpreter, and the directory that it is installed in."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .secret_places import SecretPlaces
from .system_files import VisibleFile, is_system_file

RUNTIMES = ("node", "python3", "python", "uv", "bun", "deno")
"""Programs that package runners start."""
PROGRAM_DIRECTORIES = ("bin", "shims")
INSTALLATION_MARKS = (
    "pyvenv.cfg",
    "lib/node_modules",
    "lib/python3*/os.py",
    "lib/ruby",
    "shims",
    "tools/image",  # Volta
    "Cellar",  # Homebrew
)
"""What is found in a directory in which a runtime is installed, and not in a directory of the user."""
MAX_LINKS = 40
MAX_SHEBANG_BYTES = 256


def find_runtime(program: Path, path: str, places: SecretPlaces) -> tuple[VisibleFile, ...]:
    """Return what a program needs to start: its files, those of its interpreter, and the directories on PATH.

    Nothing of the system is listed, and nothing that contains a secret place or the home directory.
    """
    programs = [program, *(Path(found) for name in RUNTIMES if (found := shutil.which(name, path=path)))]
    candidates = [
        *(step for start in programs for step in _follow(start, path)),
        *(directory for part in path.split(":") if part for directory in _with_prefix(Path(part))),
    ]
    visible: list[VisibleFile] = []
    for target in sorted(set(candidates), key=lambda candidate: len(candidate.parts)):
        source = target.resolve()
        known = is_system_file(target) or any(target.is_relative_to(file.target) for file in visible)
        if not known and target.is_absolute() and source.exists() and _is_harmless(source, places):
            visible.append(VisibleFile(source=source, target=target))
    return tuple(visible)


def _is_harmless(source: Path, places: SecretPlaces) -> bool:
    """Return whether no secret is visible with a path. A runtime may be installed in ~/.config."""
    if places.contains_home(source) or places.inside(source):
        return False
    return not places.around(source) or _is_installation(source)


def _is_installation(directory: Path) -> bool:
    return any(next(directory.glob(mark), None) for mark in INSTALLATION_MARKS)


def _follow(program: Path, path: str) -> Iterator[Path]:
    """Yield every link to a program, its file and its installation, then the same for its interpreter."""
    seen: set[Path] = set()
    pending = [program]
    while pending and len(seen) < MAX_LINKS:
        step = pending.pop()
        if step in seen or not step.exists():
            continue
        seen.add(step)
        yield step
        for directory in _with_prefix(step.parent):
            yield directory
            if (directory / "pyvenv.cfg").exists():
                pending.append(directory / "bin" / "python")
        pending += _next_steps(step, path)


def _next_steps(step: Path, path: str) -> list[Path]:
    real_parent = step.parent.resolve()
    if real_parent != step.parent:
        return [real_parent / step.name]
    if step.is_symlink():
        return [step.parent / step.readlink()]
    interpreter = _read_interpreter(step, path)
    return [interpreter] if interpreter else []


def _with_prefix(directory: Path) -> Iterator[Path]:
    """Yield a directory of programs, and the installation that it belongs to."""
    if directory.name in PROGRAM_DIRECTORIES:
        yield directory
        prefix = directory.parent
        if _is_installation(prefix):
            yield prefix
            yield prefix.resolve()


def _read_interpreter(script: Path, path: str) -> Path | None:
    """Return the program that a script names in its first line."""
    line = b""
    with suppress(OSError), script.open("rb") as file:
        line = file.read(MAX_SHEBANG_BYTES).partition(b"\n")[0]
    words = line.removeprefix(b"#!").decode(errors="replace").split() if line.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = shutil.which(named[0], path=path) if named else None
        return Path(found) if found else None
    return Path(words[0]) if words else None
