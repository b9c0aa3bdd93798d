"""Bundles as directories that contain tool versions as JSON files, both named by id.

    bundles/<bundleID>/bundle.json          the bundle
    bundles/<bundleID>/<toolID>.json        a tool version
    bundles/<bundleID>/.staged/             tools that are being written; renamed when they are complete
    bundles/<bundleID>/.lock                locked by the process that writes into the bundle

A writer syncs a new tool before it locks the bundle, and the bundle's directory after it has unlocked it, so
that writers wait for the disk at the same time.
"""

import errno
import logging
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import Any

import orjson

from onetool.domain.bundles.bundle import SCHEMA_VERSION, Bundle, ToolKey, ToolVersion
from onetool.files.atomic import PRIVATE, create_file, make_private_dir, sync_directory, write_atomic
from onetool.files.corrupt_files import move_corrupt_file
from onetool.files.fingerprint import Fingerprint, fingerprint, status_fingerprint
from onetool.files.lock import TIMEOUT_S, is_same_file, locked

log = logging.getLogger(__name__)

RECORD, LOCK, STAGED, TRASH = "bundle.json", ".lock", ".staged", ".trash"
OLD_CLAIMS = ".claims"
"""Directory of files that older versions wrote for each tool, to make its slug and version unique."""
BUNDLE_DIR = re.compile("[0-9a-f].*-")


class BundleRecords:
    """Reads and writes the files. Renames unusable files and reports them."""

    def __init__(self, folder: Path) -> None:
        self.problems: list[str] = []
        self.folder = folder

    def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle, or None if there is none."""
        return self.read_bundle(bundle_id)[0]

    def read_bundle(self, bundle_id: str) -> tuple[Bundle | None, str]:
        """Return a bundle, or None, and the state of its file."""
        bundle: tuple[Bundle | None, str] = self._read(f"{self.folder}/{bundle_id}/{RECORD}", Bundle)
        return bundle

    def bundle_stamp(self, bundle_id: str) -> str:
        """Return the state of the file of a bundle."""
        return file_stamp(f"{self.folder}/{bundle_id}/{RECORD}")

    def remove_bundle(self, bundle_id: str) -> None:
        """Delete a bundle and everything in its directory. Atomic: it is renamed first, then deleted."""
        trash = self.folder / TRASH
        make_private_dir(trash)
        self.bundle_dir(bundle_id).rename(trash / f"{bundle_id}-{secrets.token_hex(4)}")
        self.empty_trash()

    def empty_trash(self) -> None:
        """Delete removed bundles, including those of processes that died while deleting."""
        rmtree(self.folder / TRASH, ignore_errors=True)

    def tool(self, bundle_id: str, tool_id: str) -> tuple[ToolVersion | None, str]:
        """Return the tool in a file, or None, and the state of the file."""
        tool: tuple[ToolVersion | None, str] = self._read(
            f"{self.folder}/{bundle_id}/{tool_id}.json", ToolVersion
        )
        return tool

    def peek_key(self, bundle_id: str, tool_id: str) -> ToolKey | None:
        """Return the key of the tool in a file. Returns None, and reports nothing, if it is unusable."""
        try:
            data = orjson.loads(_read_file(f"{self.folder}/{bundle_id}/{tool_id}.json")[0])
            return data["bundleID"], data["slug"], data["version"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def stage(self, record: Bundle | ToolVersion) -> str:
        """Write a record durably to a file that is not part of the store yet. Return the file."""
        folder = f"{self.folder}/{record.id if isinstance(record, Bundle) else record.bundle_id}/{STAGED}"
        staged, content = f"{folder}/{record.id}.{secrets.token_hex(6)}", _encode(record)
        try:
            create_file(staged, content)
        except FileNotFoundError:
            make_private_dir(Path(folder))
            create_file(staged, content)
        return staged

    def discard_abandoned(self, before: float) -> None:
        """Delete the staged files of processes that died while writing: those last written before a time."""
        for file in self.folder.glob(f"*/{STAGED}/*"):
            with suppress(FileNotFoundError):
                if file.stat().st_mtime < before:
                    file.unlink()

    def discard(self, staged: str) -> None:
        """Delete a staged file that was not published."""
        Path(staged).unlink(missing_ok=True)

    def publish(self, staged: str, record: Bundle | ToolVersion) -> None:
        """Make a staged record part of the store, atomically. Durable after `sync_bundle`."""
        file = self._record_file(record)
        try:
            os.replace(staged, file)  # noqa: PTH105 - runs with every write, like the other strings here
        except FileNotFoundError:  # the directory was deleted and created again meanwhile
            write_atomic(Path(file), _encode(record))

    def sync_bundle(self, bundle_id: str) -> None:
        """Make the names of the bundle's files durable."""
        sync_directory(f"{self.folder}/{bundle_id}")

    def prepare_dir(self, bundle_id: str) -> None:
        """Create what later writes need, so that they change only the bundle's files in its directory."""
        make_private_dir(self.bundle_dir(bundle_id) / STAGED)
        rmtree(self.bundle_dir(bundle_id) / OLD_CLAIMS, ignore_errors=True)

    def remove_tool(self, tool: ToolVersion) -> None:
        """Delete a tool. Durable after `sync_bundle`."""
        self.tool_file(tool.bundle_id, tool.id).unlink(missing_ok=True)

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

    def dir_stamp(self, bundle_id: str) -> str:
        """Return the state of the directory of a bundle."""
        return file_stamp(f"{self.folder}/{bundle_id}")

    def tool_stamp(self, bundle_id: str, tool_id: str) -> str:
        """Return the state of the file of a tool."""
        return file_stamp(f"{self.folder}/{bundle_id}/{tool_id}.json")

    def bundle_ids(self) -> list[str]:
        """Return the ids of all bundles that have a directory."""
        with os.scandir(self.folder) as entries:
            return sorted(entry.name for entry in entries if BUNDLE_DIR.match(entry.name) and entry.is_dir())

    def tool_ids(self, bundle_id: str) -> list[str]:
        """Return the ids of the tools that have a file in the directory of a bundle."""
        names = os.listdir(self.bundle_dir(bundle_id))  # noqa: PTH208 - a Path for each name costs more
        return sorted(name[:-5] for name in names if name.endswith(".json") and name != RECORD)

    @contextmanager
    def locked(self, bundle_id: str, timeout_s: float = TIMEOUT_S) -> Iterator[None]:
        """Lock a bundle against other writers.

        Retries if the lock file was deleted with its bundle while waiting.

        Raises:
            TimeoutError: Another writer holds the lock.
        """
        file = f"{self.folder}/{bundle_id}/{LOCK}"
        while True:
            try:
                descriptor = os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE)
            except FileNotFoundError:  # no directory yet, or deleted in the meantime
                make_private_dir(self.bundle_dir(bundle_id))
                continue
            try:
                with locked(descriptor, timeout_s):
                    if is_same_file(descriptor, file):
                        yield
                        return
            finally:
                os.close(descriptor)

    def _record_file(self, record: Bundle | ToolVersion) -> str:
        if isinstance(record, Bundle):
            return f"{self.folder}/{record.id}/{RECORD}"
        return f"{self.folder}/{record.bundle_id}/{record.id}.json"

    def _read(self, file: str, kind: Any) -> Any:
        """Return the record in a file, or None, and the state of the file."""
        stamp = ""
        try:
            content, stamp = _read_file(file)
            data = orjson.loads(content)
            if data["schemaVersion"] > SCHEMA_VERSION:
                log.error("skipped %s: written by a newer version of OneTool", file)
                return None, stamp
            return kind.from_json(data), stamp
        except (FileNotFoundError, NotADirectoryError):
            return None, stamp
        except OSError as error:
            log.error("cannot read %s: %s", file, error.strerror)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if file_stamp(file) == stamp:  # not repaired in the meantime
                self.move_corrupt(Path(file), f"{type(error).__name__}: {error}")
        return None, stamp


def _read_file(file: str) -> tuple[bytes, str]:
    """Return the content of a file and its state. Does not block if it is a pipe."""
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", file)
        return os.read(descriptor, status.st_size + 1), _stamp(status_fingerprint(status))
    finally:
        os.close(descriptor)


def _encode(record: Bundle | ToolVersion) -> bytes:
    data = {"schemaVersion": SCHEMA_VERSION, **record.to_json()}
    return orjson.dumps(data, option=orjson.OPT_INDENT_2) + b"\n"


def modified_at(path: str) -> float:
    """Return when a file was last written, in seconds since the epoch; 0 if it does not exist."""
    state = fingerprint(path)
    return 0.0 if state is None else state[0] / 1e9


def file_stamp(path: str) -> str:
    """Return the fingerprint of a path as text, to compare with the one in the index."""
    return _stamp(fingerprint(path))


def _stamp(state: Fingerprint) -> str:
    return "" if state is None else f"{state[0]}.{state[1]}.{state[2]}"
