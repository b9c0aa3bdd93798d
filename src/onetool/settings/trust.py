"""Which files of a project's `.onetool` directory the user has said yes to, by their content."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from onetool.files.atomic import write_atomic

MAX_BYTES = 1_000_000
READ = ("onetool.yaml", "prompts.yaml", "tools/*.py")
"""All that OneTool ever opens in a project's directory."""


def digest(content: bytes) -> str:
    """The hash by which a file's content is known."""
    return hashlib.sha256(content).hexdigest()


def read_regular(file: Path) -> bytes | None:
    """Read a file that somebody else has laid there: a regular one of a sane size, or nothing.

    A link to a device or a named pipe would otherwise be read for ever.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    with os.fdopen(descriptor, "rb", closefd=True) as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        return stream.read(MAX_BYTES + 1)


@dataclass(slots=True)
class Trust:
    """Hands out the content of a project's files that are trusted as they are now; holds back the rest."""

    project: Path
    pins: Mapping[str, str]
    held_back: list[str] = field(default_factory=list)

    def read(self, file: Path) -> bytes | None:
        """Return the very bytes that were checked, or None for a file that is missing or not trusted."""
        content = read_regular(file)
        if content is None:
            return None
        name = file.relative_to(self.project).as_posix()
        if self.pins.get(name) == digest(content):
            return content
        if name not in self.held_back:
            self.held_back.append(name)
        return None


def project_files(project: Path) -> list[Path]:
    """Every file of the project that OneTool would read, in a fixed order."""
    return [path for pattern in READ for path in sorted(project.glob(pattern)) if path.is_file()]


def load_trust(state: Path, project: Path) -> Trust:
    """What the user has trusted of this project; a missing or damaged record trusts nothing."""
    try:
        record = orjson.loads(_record(state, project).read_bytes())
        pins = {str(name): str(pin) for name, pin in record["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pins = {}
    return Trust(project, pins)


def save_trust(state: Path, project: Path, contents: Iterable[tuple[Path, bytes]]) -> None:
    """Pin exactly these contents, the ones that the user was shown; everything else is not trusted."""
    files = {path.relative_to(project).as_posix(): digest(content) for path, content in contents}
    record = {"project": str(project.resolve()), "files": files}
    write_atomic(_record(state, project), orjson.dumps(record, option=orjson.OPT_INDENT_2))


def _record(state: Path, project: Path) -> Path:
    name = digest(str(project.resolve()).encode())[:32]
    return state / "trust" / f"{name}.json"
