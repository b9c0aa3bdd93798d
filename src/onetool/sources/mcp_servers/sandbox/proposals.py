"""Proposals for grants: files and directories that the arguments of a server name."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from .packages import find_download
from .policy import GrantRefused, PathGrant
from .secret_places import SecretPlaces, resolve_grants

WRITERS = ("server-filesystem", "mcp-server-git", "server-memory", "mcp-server-sqlite")
"""Parts of the names of well-known servers that change what is named in their arguments."""


def propose_paths(command: str, args: Sequence[str], cwd: Path) -> tuple[PathGrant, ...]:
    """Return the existing paths that the arguments name, as grants to show to the user. It blocks.

    Paths that must not be granted are left out. A grant is writable if the server is known to write there.
    """
    writes = any(name in word for name in WRITERS for word in (command, *args))
    package = find_download(command, args)
    places = SecretPlaces(())
    grants: dict[Path, PathGrant] = {}
    for word in args:
        if package is None or word != package.package:
            for path in _paths_in(word, cwd, may_create=writes):
                for grant in _allowed(PathGrant(path=path, write=writes), places):
                    grants[grant.path] = grant
    covered = [path for path in grants if any(other in path.parents for other in grants)]
    return tuple(grant for path, grant in grants.items() if path not in covered)


def _paths_in(word: str, cwd: Path, *, may_create: bool) -> Iterator[Path]:
    """Yield the paths in an argument: `DIR`, `--root=DIR`, `file:///DIR`.

    may_create: also yield the existing directory of a file that the server will create.
    """
    value = word.partition("=")[2] if word.startswith("-") else word
    value = value.removeprefix("file://")
    if not value or "\0" in value or "://" in value:
        return
    path = Path(value).expanduser() if value.startswith("~/") else Path(value)
    looks_like_path = "/" in value or value in (".", "..") or value.startswith(".")
    try:
        if (looks_like_path or (cwd / path).is_dir()) and (cwd / path).exists():
            yield (cwd / path).resolve()
        elif looks_like_path and may_create and path.suffix and (cwd / path).parent.is_dir():
            yield (cwd / path).parent.resolve()
    except OSError:  # too long for a path
        return


def _allowed(grant: PathGrant, places: SecretPlaces) -> tuple[PathGrant, ...]:
    try:
        return resolve_grants([grant], Path("/nonexistent"), places)
    except GrantRefused:
        return ()
