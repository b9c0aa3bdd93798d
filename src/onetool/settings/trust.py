"""Trust in the files of a project's `.onetool` directory, pinned by content hash."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from onetool.files.atomic import write_atomic

MAX_BYTES = 1_000_000
PROJECT_FILES = ("onetool.yaml", "prompts.yaml", "tools/*.py")
"""Patterns of the only files that OneTool opens in a project's directory."""


def digest(content: bytes) -> str:
    """Return the hash of a file's content."""
    return hashlib.sha256(content).hexdigest()


def read_regular(file: Path) -> bytes | None:
    """Read an untrusted file. Return None unless it is a regular file of at most MAX_BYTES.

    A link to a device or a named pipe could otherwise block or never end.
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
    """Reads the trusted files of a project, and collects the names of the untrusted ones."""

    project: Path
    hashes: Mapping[str, str]
    untrusted: list[str] = field(default_factory=list)

    def read(self, file: Path) -> bytes | None:
        """Return exactly the bytes that were verified, or None if the file is missing or not trusted."""
        content = read_regular(file)
        if content is None:
            return None
        name = file.relative_to(self.project).as_posix()
        if self.hashes.get(name) == digest(content):
            return content
        if name not in self.untrusted:
            self.untrusted.append(name)
        return None


def project_files(project: Path) -> list[Path]:
    """Return every file of the project that OneTool would read, in a fixed order."""
    return [path for pattern in PROJECT_FILES for path in sorted(project.glob(pattern)) if path.is_file()]


def load_trust(state: Path, project: Path) -> Trust:
    """Load the trust record of a project. A missing or corrupt record trusts nothing."""
    try:
        record = orjson.loads(_record_file(state, project).read_bytes())
        hashes = {str(name): str(hash) for name, hash in record["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        hashes = {}
    return Trust(project, hashes)


def save_trust(state: Path, project: Path, contents: Iterable[tuple[Path, bytes]]) -> None:
    """Trust exactly these contents, which the user has reviewed. Nothing else remains trusted."""
    files = {path.relative_to(project).as_posix(): digest(content) for path, content in contents}
    record = {"project": str(project.resolve()), "files": files}
    write_atomic(_record_file(state, project), orjson.dumps(record, option=orjson.OPT_INDENT_2))


def _record_file(state: Path, project: Path) -> Path:
    name = digest(str(project.resolve()).encode())[:32]
    return state / "trust" / f"{name}.json"
