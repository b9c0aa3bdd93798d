"""Synchronization of the bundle index with the bundle files, and the generation counter."""

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

from onetool.domain.bundles.bundle import AlreadyExists, ToolKey
from onetool.files.atomic import PRIVATE
from onetool.files.fingerprint import fingerprint
from onetool.files.lock import TIMEOUT_S

from .index import BundleIndex
from .queries import IndexQueries
from .records import BundleRecords

log = logging.getLogger(__name__)

MAX_GENERATION_BYTES = 1_000_000
"""Size at which the generation file is truncated."""
BATCH_SIZE = 500
"""How many tools are indexed in one transaction, so that other writers are not blocked for long."""


CHECK_INTERVAL_S = 1.0
"""Minimum time between two checks of the directories for changes by hand."""
MAX_CHECK_SHARE = 0.05
"""Maximum share of the time that checks take in stores with many bundles."""
SETTLE_S = 1.0
"""A file that changed this recently may still be being copied and is indexed later."""


class IndexSync:
    """Indexes files that changed without the index: edited by hand, or written by a process that died."""

    def __init__(
        self,
        folder: Path,
        files: BundleRecords,
        index: BundleIndex,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.generation_file = str(folder / ".generation")
        self._folder, self._files, self._index = folder, files, index
        self._clock, self._now = clock, now
        self._check_lock = threading.Lock()
        self._next_check = 0.0
        self._unusable: dict[str, str] = {}
        """State of directories that have no usable bundle, when they were last scanned."""

    def sync(self) -> None:
        """Reindex every bundle whose directory changed since it was indexed, and drop deleted bundles."""
        start = self._clock()
        pending = {path.name for path in (self._folder / ".pending").glob("*")}
        for bundle_id in self._changed_bundles(pending):
            self._sync_bundle(bundle_id)
        self._schedule_check(start)

    def check(self) -> None:
        """Index files that were copied into the store while this process runs. Does nothing most of the time.

        A bundle that another process is writing, or a file that is being copied, waits for a later check.
        """
        if self._clock() < self._next_check or not self._check_lock.acquire(blocking=False):
            return
        try:
            start = self._clock()
            for bundle_id in self._changed_bundles(()):
                if not self._is_being_copied(bundle_id):
                    self._sync_bundle(bundle_id, timeout_s=0)
            self._schedule_check(start)
        finally:
            self._check_lock.release()

    def _schedule_check(self, start: float) -> None:
        end = self._clock()
        self._next_check = end + max(CHECK_INTERVAL_S, (end - start) / MAX_CHECK_SHARE)

    def _changed_bundles(self, pending: Collection[str]) -> list[str]:
        """Return the bundles that must be scanned. Drops the rows of bundles that were deleted."""
        with self._index.open() as rows:
            indexed = rows.bundle_stamps()
        current = {
            bundle_id: file_stamp(self._files.bundle_dir(bundle_id)) for bundle_id in self._files.bundle_ids()
        }
        gone = [
            bundle_id
            for bundle_id in indexed.keys() - current.keys()
            if not self._files.bundle_dir(bundle_id).exists()
        ]
        if gone:
            with self._index.open(writing=True) as rows:
                for bundle_id in gone:
                    rows.drop_bundle(bundle_id)
            self.bump_generation()
        known = self._unusable | indexed
        return sorted(id for id, stamp in current.items() if known.get(id) != stamp or id in pending)

    def _is_being_copied(self, bundle_id: str) -> bool:
        """Return whether a file that is not indexed changed a moment ago."""
        with self._index.open() as rows:
            indexed = {tool_id: stamp for tool_id, (stamp, _) in rows.tool_stamps(bundle_id).items()}
            is_new = rows.bundle_stamp(bundle_id) is None
        files = self._files.json_files(bundle_id) if is_new else self._files.tool_files(bundle_id)
        changed = [file for file in files if indexed.get(file.stem) != file_stamp(file)]
        return any(0 <= self._now() - modified_at(file) < SETTLE_S for file in changed)

    def _sync_bundle(self, bundle_id: str, timeout_s: float = TIMEOUT_S) -> None:
        """Reindex a bundle. A failure is reported and does not affect other bundles."""
        try:
            with self._files.locked(bundle_id, timeout_s):
                self.rescan(bundle_id)
        except (OSError, sqlite3.IntegrityError, ValueError, TypeError) as error:
            if isinstance(error, TimeoutError) and not timeout_s:
                return  # another process is writing, and indexes what it writes
            problem = f"cannot index bundle {bundle_id}: {type(error).__name__}: {error}"
            self._files.problems.append(problem)
            log.error("%s", problem)

    def rescan(self, bundle_id: str) -> None:
        """Bring the rows of a bundle up to date with its files. Reads only files that changed."""
        bundle = self._files.bundle(bundle_id)
        if bundle is not None:
            self._files.make_claims_dir(bundle_id)
        stamp = file_stamp(
            self._files.bundle_dir(bundle_id)
        )  # before the scan: a file may be added meanwhile
        with self._index.open(writing=True) as rows:
            if bundle is None:
                rows.drop_bundle(bundle_id)
                self._unusable[bundle_id] = stamp
            else:
                rows.put_bundle(bundle)
                self._scan_tools(rows, bundle_id)
                rows.stamp_bundle(bundle_id, stamp)
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


def modified_at(path: Path) -> float:
    """Return when a file was last written, in seconds since the epoch; 0 if it does not exist."""
    state = fingerprint(str(path))
    return 0.0 if state is None else state[0] / 1e9


def file_stamp(path: Path) -> str:
    """Return the fingerprint of a path as text, to compare with the one in the index."""
    state = fingerprint(str(path))
    return "" if state is None else ".".join(map(str, state))
