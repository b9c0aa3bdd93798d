"""Paths that the program of a server may access: named in its command, or granted by the user."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from onetool.bootstrap.server_paths import propose_path_settings


def path_settings(
    command: str, args: Sequence[str], read: Sequence[str], write: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the paths that a command names, and those that the user grants."""
    grants = {grant["path"]: grant for grant in propose_path_settings(command, args)}
    for path in (*read, *write):
        resolved = str(Path(path).expanduser().resolve())
        grants[resolved] = {"path": resolved} | ({"write": True} if path in write else {})
    return list(grants.values())


def grant_paths(entry: dict[str, Any], values: Sequence[str] | None = None) -> list[str]:
    """Grant the paths that a command names. Return what it may access.

    values: the texts that the user entered. Other paths in the command are not granted: its publisher chose
        them.
    """
    if "command" not in entry:
        return []
    paths = propose_path_settings(entry["command"], entry.get("args", ()))
    if values is not None:
        entered = [Path(text).resolve() for text in values if Path(text).is_absolute()]
        # The directory of a file that the server will create is granted in its place.
        allowed = {str(path if path.exists() else path.parent) for path in entered}
        paths = [grant for grant in paths if grant["path"] in allowed]
    if paths:
        entry["paths"] = paths
    return describe_grants(entry)


def describe_grants(entry: Mapping[str, Any]) -> list[str]:
    """Return what the command of an entry may access, one phrase for each path."""
    return [
        f"may {'read and change' if grant.get('write') else 'read'} {grant['path']}"
        for grant in entry.get("paths", ())
    ]
