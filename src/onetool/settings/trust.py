"""Trust in the files of a project's `.onetool` directory, pinned by content hash."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from onetool.files.atomic import write_atomic
from onetool.files.own_files import read_own_file

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
    """Load the trust record of a project. A missing or corrupt record trusts nothing.

    Raises:
        SettingsError: Other users can change the record.
    """
    try:
        record = orjson.loads(read_own_file(_record_file(state, project)))
        hashes = {str(name): str(hash) for name, hash in record["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        hashes = {}
    return Trust(project, hashes)


def save_trust(state: Path, project: Path, contents: Iterable[tuple[Path, bytes]]) -> None:
    """Trust exactly these contents, which the user has reviewed. Nothing else remains trusted."""
    files: dict[str, str] = {}
    record_file = _record_file(state, project)
    directory = record_file.with_suffix("")
    for path, content in contents:
        name, hash_ = path.relative_to(project).as_posix(), digest(content)
        write_atomic(directory / hash_, content)
        files[name] = hash_
    record = {"project": os.fsencode(project.resolve()).decode(errors="backslashreplace"), "files": files}
    write_atomic(record_file, orjson.dumps(record, option=orjson.OPT_INDENT_2))
    for copy in directory.glob("*"):
        if copy.name not in files.values():
            copy.unlink(missing_ok=True)


def read_trusted_copy(state: Path, project: Path, hash_: str) -> bytes | None:
    """Return the copy of trusted content, or None if it is missing or damaged.

    It shows what has changed since. Files are compared with their hash, never with a copy.
    """
    content = read_regular(_record_file(state, project).with_suffix("") / hash_)
    return content if content is not None and digest(content) == hash_ else None


def _record_file(state: Path, project: Path) -> Path:
    name = digest(os.fsencode(project.resolve()))[:32]
    return state / "trust" / f"{name}.json"
