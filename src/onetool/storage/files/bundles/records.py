"""Bundles as directories that contain tool versions as JSON files, both named by id.

    bundles/<bundleID>/bundle.json          the bundle
    bundles/<bundleID>/<toolID>.json        a tool version
    bundles/<bundleID>/.claims/<hash>       a claim: the id of the tool with this slug and version
    bundles/<bundleID>/.lock                locked by the process that writes into the bundle

A writer claims the slug and version, then writes the tool. A crash in between leaves a claim without a tool,
which counts as free and is overwritten by the next writer.
"""

import hashlib
import logging
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import Any

import orjson

from onetool.domain.bundles.bundle import SCHEMA_VERSION, Bundle, ToolKey, ToolVersion
from onetool.files.atomic import PRIVATE, make_private_dir, write_atomic
from onetool.files.corrupt_files import move_corrupt_file
from onetool.files.fingerprint import fingerprint
from onetool.files.lock import TIMEOUT_S, locked

log = logging.getLogger(__name__)

RECORD, LOCK, CLAIMS, TRASH = "bundle.json", ".lock", ".claims", ".trash"
BUNDLE_DIR = re.compile("[0-9a-f].*-")


class BundleRecords:
    """Reads and writes the files. Renames unusable files and reports them."""

    def __init__(self, folder: Path) -> None:
        self.problems: list[str] = []
        self.folder = folder

    def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle, or None if there is none."""
        bundle: Bundle | None = self._read(self.bundle_dir(bundle_id) / RECORD, Bundle)
        return bundle

    def write_bundle(self, bundle: Bundle) -> None:
        """Write a bundle."""
        _write(self.bundle_dir(bundle.id) / RECORD, bundle)

    def remove_bundle(self, bundle_id: str) -> None:
        """Delete a bundle and everything in its directory. Atomic: it is renamed first, then deleted."""
        trash = self.folder / TRASH
        make_private_dir(trash)
        self.bundle_dir(bundle_id).rename(trash / f"{bundle_id}-{secrets.token_hex(4)}")
        self.empty_trash()

    def empty_trash(self) -> None:
        """Delete removed bundles, including those of processes that died while deleting."""
        rmtree(self.folder / TRASH, ignore_errors=True)

    def has_claim(self, key: ToolKey) -> bool:
        """Return whether a tool claims this slug and version."""
        return self._claim_file(key).exists()

    def tool(self, key: ToolKey) -> ToolVersion | None:
        """Return the tool with this slug and version."""
        try:
            tool_id = self._claim_file(key).read_text(encoding="ascii")
        except (OSError, ValueError):
            return None
        tool = self.read_tool(self.tool_file(key[0], tool_id))
        return tool if tool and tool.key == key else None

    def read_tool(self, file: Path) -> ToolVersion | None:
        """Return the tool in a file."""
        tool: ToolVersion | None = self._read(file, ToolVersion)
        return tool

    def write_tool(self, tool: ToolVersion) -> None:
        """Claim the slug and version, then write the tool."""
        self.claim(tool)
        _write(self.tool_file(tool.bundle_id, tool.id), tool)

    def claim(self, tool: ToolVersion, *, durable: bool = True) -> None:
        """Record that this tool owns its slug and version."""
        write_atomic(self._claim_file(tool.key), tool.id.encode(), durable=durable)

    def make_claims_dir(self, bundle_id: str) -> None:
        """Create the directory of claims, so that later claims do not change the bundle's directory."""
        make_private_dir(self.bundle_dir(bundle_id) / CLAIMS)

    def remove_tool(self, tool: ToolVersion) -> None:
        """Delete a tool, then its claim."""
        self.tool_file(tool.bundle_id, tool.id).unlink(missing_ok=True)
        self._claim_file(tool.key).unlink(missing_ok=True)

    def move_corrupt(self, file: Path, reason: str) -> None:
        """Rename an unusable file and report it."""
        problem = f"moved corrupt file {file} to {move_corrupt_file(file).name}: {reason}"
        self.problems.append(problem)
        log.error("%s", problem)

    def bundle_dir(self, bundle_id: str) -> Path:
        """Return the directory of a bundle."""
        return self.folder / bundle_id

    def tool_file(self, bundle_id: str, tool_id: str) -> Path:
        """Return the file of a tool."""
        return self.folder / bundle_id / f"{tool_id}.json"

    def bundle_ids(self) -> list[str]:
        """Return the ids of all bundles that have a directory."""
        with os.scandir(self.folder) as entries:
            return sorted(entry.name for entry in entries if BUNDLE_DIR.match(entry.name) and entry.is_dir())

    def tool_files(self, bundle_id: str) -> list[Path]:
        """Return the tool files of a bundle."""
        return [file for file in self.json_files(bundle_id) if file.name != RECORD]

    def json_files(self, bundle_id: str) -> list[Path]:
        """Return the record and the tool files of a bundle."""
        return list(self.bundle_dir(bundle_id).glob("*.json"))

    @contextmanager
    def locked(self, bundle_id: str, timeout_s: float = TIMEOUT_S) -> Iterator[None]:
        """Lock a bundle against other writers.

        Retries if the lock file was deleted with its bundle while waiting.

        Raises:
            TimeoutError: Another writer holds the lock.
        """
        folder = self.bundle_dir(bundle_id)
        while True:
            make_private_dir(folder)
            try:
                descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, PRIVATE)
            except FileNotFoundError:  # the directory was deleted in the meantime
                continue
            try:
                with locked(descriptor, timeout_s):
                    if _is_same_file(descriptor, folder / LOCK):
                        yield
                        return
            finally:
                os.close(descriptor)

    def _claim_file(self, key: ToolKey) -> Path:
        name = hashlib.sha256("\0".join(key[1:]).encode()).hexdigest()[:32]
        return self.bundle_dir(key[0]) / CLAIMS / name

    def _read(self, file: Path, kind: Any) -> Any:
        before = fingerprint(str(file))
        try:
            data = orjson.loads(file.read_bytes())
            if data["schemaVersion"] > SCHEMA_VERSION:
                log.error("skipped %s: written by a newer version of OneTool", file)
                return None
            return kind.from_json(data)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            log.error("cannot read %s: %s", file, error.strerror)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if fingerprint(str(file)) == before:  # not repaired in the meantime
                self.move_corrupt(file, f"{type(error).__name__}: {error}")
        return None


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _write(file: Path, record: Bundle | ToolVersion) -> None:
    data = {"schemaVersion": SCHEMA_VERSION, **record.to_json()}
    write_atomic(file, orjson.dumps(data, option=orjson.OPT_INDENT_2) + b"\n")
