"""Bundles as directories, tool versions as JSON files in them, both named by their ids.

    bundles/<bundleID>/bundle.json          the bundle
    bundles/<bundleID>/<toolID>.json        a tool version
    bundles/<bundleID>/.pairs/<hash>        which tool has a slug and version: one file for each pair
    bundles/<bundleID>/.lock                held by whoever writes into the bundle

A writer claims the pair and then writes the tool. A crash in between leaves a claim without a tool: it counts
as none, and the next writer takes it over.
"""

import hashlib
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any

import orjson

from onetool.domain.bundle import SCHEMA_VERSION, Bundle, Pair, ToolVersion
from onetool.files.atomic import PRIVATE, PRIVATE_DIR, write_atomic
from onetool.files.lock import locked
from onetool.files.quarantine import set_aside
from onetool.files.stamp import stamp

log = logging.getLogger(__name__)

RECORD, LOCK, PAIRS, TRASH = "bundle.json", ".lock", ".pairs", ".trash"


class BundleFiles:
    """Reads and writes; a file that cannot be used is set aside and reported."""

    def __init__(self, folder: Path) -> None:
        self.problems: list[str] = []
        self.folder = folder

    def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle."""
        found: Bundle | None = self._read(self.of_bundle(bundle_id) / RECORD, Bundle)
        return found

    def write_bundle(self, bundle: Bundle) -> None:
        """Write a bundle."""
        _write(self.of_bundle(bundle.id) / RECORD, bundle)

    def remove_bundle(self, bundle_id: str) -> None:
        """Remove a bundle with all that lies in its directory: at once out of the way, then for good."""
        trash = self.folder / TRASH
        trash.mkdir(mode=PRIVATE_DIR, exist_ok=True)
        self.of_bundle(bundle_id).rename(trash / f"{bundle_id}-{secrets.token_hex(4)}")
        self.empty_trash()

    def empty_trash(self) -> None:
        """Remove what is out of the way, also what a process that died has left there."""
        rmtree(self.folder / TRASH, ignore_errors=True)

    def has_claim(self, pair: Pair) -> bool:
        """Whether the pair is said to belong to a tool."""
        return self._claim(pair).exists()

    def tool(self, pair: Pair) -> ToolVersion | None:
        """Return the tool that has this slug and version."""
        try:
            tool_id = self._claim(pair).read_text(encoding="ascii")
        except (OSError, ValueError):
            return None
        tool = self.read_tool(self.of_tool(pair[0], tool_id))
        return tool if tool and tool.pair == pair else None

    def read_tool(self, file: Path) -> ToolVersion | None:
        """Return the tool that a file holds."""
        found: ToolVersion | None = self._read(file, ToolVersion)
        return found

    def write_tool(self, tool: ToolVersion) -> None:
        """Claim the pair, then write the tool."""
        self.claim(tool)
        _write(self.of_tool(tool.bundle_id, tool.id), tool)

    def claim(self, tool: ToolVersion, *, durable: bool = True) -> None:
        """Say that this tool has its slug and version."""
        write_atomic(self._claim(tool.pair), tool.id.encode(), durable=durable)

    def remove_tool(self, tool: ToolVersion) -> None:
        """Remove a tool, then its claim."""
        self.of_tool(tool.bundle_id, tool.id).unlink(missing_ok=True)
        self._claim(tool.pair).unlink(missing_ok=True)

    def set_aside(self, file: Path, why: str) -> None:
        """Rename a file that cannot be used, and say so."""
        problem = f"{file} is damaged and set aside as {set_aside(file).name}: {why}"
        self.problems.append(problem)
        log.error("%s", problem)

    def of_bundle(self, bundle_id: str) -> Path:
        """The directory of a bundle."""
        return self.folder / bundle_id

    def of_tool(self, bundle_id: str, tool_id: str) -> Path:
        """The file of a tool."""
        return self.folder / bundle_id / f"{tool_id}.json"

    def bundle_ids(self) -> list[str]:
        """Every bundle that has a directory."""
        return sorted(path.name for path in self.folder.glob("[0-9a-f]*-*") if path.is_dir())

    def tool_files(self, bundle_id: str) -> list[Path]:
        """Every tool's file of a bundle."""
        return [file for file in self.of_bundle(bundle_id).glob("*.json") if file.name != RECORD]

    @contextmanager
    def locked(self, bundle_id: str) -> Iterator[None]:
        """Hold a bundle against all other writers.

        A lock whose file was removed with its bundle while we waited is none: then once more.
        """
        folder = self.of_bundle(bundle_id)
        while True:
            folder.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
            try:
                descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, PRIVATE)
            except FileNotFoundError:  # the directory has just been removed
                continue
            try:
                with locked(descriptor):
                    if _is_still(descriptor, folder / LOCK):
                        yield
                        return
            finally:
                os.close(descriptor)

    def _claim(self, pair: Pair) -> Path:
        name = hashlib.sha256("\0".join(pair[1:]).encode()).hexdigest()[:32]
        return self.of_bundle(pair[0]) / PAIRS / name

    def _read(self, file: Path, kind: Any) -> Any:
        seen = stamp(str(file))
        try:
            said = orjson.loads(file.read_bytes())
            if said["schemaVersion"] > SCHEMA_VERSION:
                log.error("%s was written by a newer OneTool and is left alone", file)
                return None
            return kind.from_json(said)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            log.error("%s cannot be read: %s", file, error.strerror)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if stamp(str(file)) == seen:  # nobody has mended it meanwhile
                self.set_aside(file, f"{type(error).__name__}: {error}")
        return None


def _is_still(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _write(file: Path, thing: Bundle | ToolVersion) -> None:
    said = {"schemaVersion": SCHEMA_VERSION, **thing.to_json()}
    write_atomic(file, orjson.dumps(said, option=orjson.OPT_INDENT_2) + b"\n")
