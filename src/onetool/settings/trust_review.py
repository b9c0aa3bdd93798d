"""The review of a project before it is trusted: its files, read once, and their trusted content."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from onetool.domain.errors import SettingsError

from .trust import MAX_BYTES, digest, load_trust, project_files, read_regular, read_trusted_copy

MAX_TOTAL_BYTES = 50_000_000
"""Maximum size of all files of a project together; the review holds them in memory."""

Status = Literal["new", "changed", "trusted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedFile:
    """A file of a project, with the content that would be trusted."""

    name: str
    path: Path
    content: bytes
    status: Status
    trusted_content: bytes | None = None
    """The content that was trusted before. None if there is none or its copy is missing."""

    @property
    def is_pack(self) -> bool:
        """Whether the file is loaded as a pack."""
        return self.path.suffix == ".py" and not self.path.name.startswith("_")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectReview:
    """The files of a project at one point in time."""

    files: tuple[ReviewedFile, ...]
    removed: tuple[str, ...] = ()
    """Files that were trusted and no longer exist."""
    rejected: Mapping[str, str] = field(default_factory=dict)
    """Files that OneTool never reads, with the reason."""

    @property
    def is_trusted(self) -> bool:
        """Whether exactly these files are already trusted."""
        return not self.removed and all(file.status == "trusted" for file in self.files)

    @property
    def has_trusted_files(self) -> bool:
        """Whether the user has trusted this project before."""
        return bool(self.removed) or any(file.status != "new" for file in self.files)

    def read(self, path: Path) -> bytes | None:
        """Return the reviewed content of a file."""
        return next((file.content for file in self.files if file.path == path), None)

    def read_trusted(self, path: Path) -> bytes | None:
        """Return the content of a file that was trusted before."""
        return next((file.trusted_content for file in self.files if file.path == path), None)

    def packs(self) -> Mapping[str, bytes]:
        """Return the pack files that would be loaded, by name."""
        return {file.name: file.content for file in self.files if file.is_pack}

    def trusted_packs(self) -> Mapping[str, bytes]:
        """Return the pack files as they were trusted before, by name."""
        return {
            file.name: file.trusted_content
            for file in self.files
            if file.is_pack and file.trusted_content is not None
        }


def review_project(state: Path, project: Path) -> ProjectReview:
    """Read every file of a project once.

    Raises:
        SettingsError: The files are too large to be reviewed.
    """
    hashes = load_trust(state, project).hashes
    files: list[ReviewedFile] = []
    rejected: dict[str, str] = {}
    total = 0
    for path in project_files(project):
        name, content = path.relative_to(project).as_posix(), read_regular(path)
        if content is None:
            rejected[name] = f"it is larger than {MAX_BYTES:,} bytes, or cannot be read"
        elif not _is_text(name):
            rejected[name] = "its name is not UTF-8 text"
        else:
            total += len(content)
            files.append(_reviewed_file(state, project, path, content, hashes.get(name)))
        if total > MAX_TOTAL_BYTES:
            raise SettingsError(f"{project}: the files are larger than {MAX_TOTAL_BYTES:,} bytes together.")
    removed = tuple(name for name in hashes if name not in {file.name for file in files})
    return ProjectReview(files=tuple(files), removed=removed, rejected=rejected)


def _reviewed_file(
    state: Path, project: Path, path: Path, content: bytes, trusted_hash: str | None
) -> ReviewedFile:
    is_same = trusted_hash == digest(content)
    status: Status = "trusted" if is_same else "changed" if trusted_hash else "new"
    before = content if is_same else None
    if status == "changed" and trusted_hash:
        before = read_trusted_copy(state, project, trusted_hash)
    return ReviewedFile(
        name=path.relative_to(project).as_posix(),
        path=path,
        content=content,
        status=status,
        trusted_content=before,
    )


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
