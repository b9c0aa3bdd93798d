"""Synchronization of the bundle index with the bundle files, and the generation counter."""

import logging
import os
import sqlite3
from pathlib import Path

from onetool.domain.bundles.bundle import AlreadyExists, ToolKey
from onetool.files.atomic import PRIVATE
from onetool.files.fingerprint import fingerprint

from .index import BundleIndex
from .queries import IndexQueries
from .records import BundleRecords

log = logging.getLogger(__name__)

MAX_GENERATION_BYTES = 1_000_000
"""Size at which the generation file is truncated."""
BATCH_SIZE = 500
"""How many tools are indexed in one transaction, so that other writers are not blocked for long."""


class IndexSync:
    """Indexes files that changed without the index: edited by hand, or written by a process that died."""

    def __init__(self, folder: Path, files: BundleRecords, index: BundleIndex) -> None:
        self.generation_file = str(folder / ".generation")
        self._folder, self._files, self._index = folder, files, index

    def sync(self) -> None:
        """Reindex every bundle whose directory changed since it was indexed, and drop deleted bundles."""
        with self._index.open() as rows:
            indexed = rows.bundle_stamps()
        current = {
            bundle_id: file_stamp(self._files.bundle_dir(bundle_id)) for bundle_id in self._files.bundle_ids()
        }
        pending = {path.name for path in (self._folder / ".pending").glob("*")}
        for bundle_id in sorted(current):
            if indexed.get(bundle_id) != current[bundle_id] or bundle_id in pending:
                self._sync_bundle(bundle_id)
        with self._index.open(writing=True) as rows:
            for bundle_id in indexed.keys() - current.keys():
                if not self._files.bundle_dir(bundle_id).exists():
                    rows.drop_bundle(bundle_id)

    def _sync_bundle(self, bundle_id: str) -> None:
        """Reindex a bundle. A failure is reported and does not affect other bundles."""
        try:
            with self._files.locked(bundle_id):
                self.rescan(bundle_id)
        except (OSError, sqlite3.IntegrityError, ValueError, TypeError) as error:
            problem = f"cannot index bundle {bundle_id}: {type(error).__name__}: {error}"
            self._files.problems.append(problem)
            log.error("%s", problem)

    def rescan(self, bundle_id: str) -> None:
        """Bring the rows of a bundle up to date with its files. Reads only files that changed."""
        bundle = self._files.bundle(bundle_id)
        with self._index.open(writing=True) as rows:
            if bundle is None:
                rows.drop_bundle(bundle_id)
            else:
                rows.put_bundle(bundle)
                self._scan_tools(rows, bundle_id)
                rows.stamp_bundle(bundle_id, file_stamp(self._files.bundle_dir(bundle_id)))
        self.pending_marker(bundle_id).unlink(missing_ok=True)
        self.bump_generation()

    def _scan_tools(self, rows: IndexQueries, bundle_id: str) -> None:
        indexed = rows.tool_stamps(bundle_id)
        files = {file.stem: file for file in self._files.tool_files(bundle_id)}
        for tool_id in indexed.keys() - files.keys():
            rows.drop_tool(tool_id)
        changed = [
            file
            for tool_id, file in sorted(files.items())
            if not self._is_unchanged(file, indexed.get(tool_id))
        ]
        for number, file in enumerate(changed, 1):
            self._index_file(rows, file)
            if number % BATCH_SIZE == 0:
                rows.commit()

    def _is_unchanged(self, file: Path, indexed: tuple[str, ToolKey] | None) -> bool:
        return indexed is not None and indexed[0] == file_stamp(file) and self._files.has_claim(indexed[1])

    def _index_file(self, rows: IndexQueries, file: Path) -> None:
        """Index a new or changed file. Renames an unusable file."""
        tool = self._files.read_tool(file)
        if tool is None:
            rows.drop_tool(file.stem)
            return
        owner = self._files.tool(tool.key)
        if tool.id != file.stem or tool.bundle_id != file.parent.name or (owner and owner.id != tool.id):
            self._files.move_corrupt(file, "its id, bundle or version belongs to another tool")
            return
        try:
            rows.check_id_available(tool)
        except AlreadyExists as error:
            self._files.move_corrupt(file, str(error))
            return
        self._files.claim(tool, durable=False)
        rows.put_tool(tool, file_stamp(file))

    def pending_marker(self, bundle_id: str) -> Path:
        """Return the path of the file that marks an unfinished change of a bundle."""
        return self._folder / ".pending" / bundle_id

    def bump_generation(self) -> None:
        """Change the generation for all processes.

        The file is never replaced, because another process could append to the old one.
        """
        descriptor = os.open(self.generation_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE)
        try:
            if os.fstat(descriptor).st_size > MAX_GENERATION_BYTES:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, b".")
        except OSError:  # the disk is full: changing the time needs no space
            os.utime(self.generation_file)
        finally:
            os.close(descriptor)


def file_stamp(path: Path) -> str:
    """Return the fingerprint of a path as text, to compare with the one in the index."""
    state = fingerprint(str(path))
    return "" if state is None else ".".join(map(str, state))
