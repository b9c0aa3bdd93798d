"""Descriptions of packs, by content: files that several homes have are inspected once in a test process."""

from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

import onetool.packs
import onetool.starter_packs
from onetool.sources.python_packs.directory import describe_shipped
from onetool.sources.python_packs.index import PackIndex
from onetool.threads import Threads

INDEX = "packs.json"
_seen: dict[str, Any] = {}
"""Entries of the indexes of servers that have ended, by the digest of the file."""


@cache
def _shipped() -> Mapping[str, Any]:
    """Return an index of the packs that ship with OneTool."""
    with TemporaryDirectory() as folder:
        index = PackIndex(Path(folder) / INDEX)
        for package in (onetool.packs, onetool.starter_packs):
            describe_shipped(package.__name__, Path(package.__path__[0]), index=index, threads=Threads())
        document: Mapping[str, Any] = orjson.loads((Path(folder) / INDEX).read_bytes())
        return document


def write_index(state: Path, packs: Iterable[Path] = ()) -> None:
    """Write the index of a new home, with those of its packs that another home had."""
    known = {str(file): _seen.get(sha256(file.read_bytes()).hexdigest()) for file in packs}
    files = {path: entry for path, entry in known.items() if entry}
    index = state / INDEX
    if not index.exists():
        index.write_bytes(orjson.dumps({**_shipped(), "files": {**_shipped()["files"], **files}}))


def remember_index(state: Path) -> None:
    """Let later homes use what a home has found out about its packs."""
    if (state / INDEX).exists():
        entries = orjson.loads((state / INDEX).read_bytes())["files"].values()
        _seen.update({entry["digest"]: entry for entry in entries if "description" in entry["result"]})
