"""Indexing of whole bundles: reads the files that changed and writes their rows in large transactions."""

import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from onetool.domain.bundles.bundle import Bundle
from onetool.files.lock import TIMEOUT_S

from .index import BundleIndex
from .queries import IndexQueries
from .records import BundleRecords
from .rows import ToolRow, tool_row

log = logging.getLogger(__name__)

MAX_LOCKED = 100
"""How many bundles are locked at a time."""
MAX_BATCH_BYTES = 8 << 20
"""Size of the files that are indexed in one transaction, so that other writers are not blocked for long."""
MIN_FILE_BYTES = 4096
"""What a small file counts for."""
MAX_BATCH_FILES = MAX_BATCH_BYTES // MIN_FILE_BYTES
OnProgress = Callable[[int, int], None]
FAILURES = (OSError, sqlite3.IntegrityError, ValueError, TypeError)
"""Errors that concern one bundle."""


class _Scan(NamedTuple):
    """What must be done to index a bundle."""

    bundle_id: str
    bundle: Bundle | None
    stamp: str
    """State of the directory before the scan, because a file may be added meanwhile."""
    removed: Sequence[str]
    """Ids of tools that have no file any more."""
    changed: Sequence[str]
    """Ids of tools whose files are new or changed."""


class _Part(NamedTuple):
    """What one transaction writes of a bundle."""

    scan: _Scan
    rows: list[ToolRow]
    unusable: list[str]
    """Ids of tools whose files are not usable."""
    is_last: bool


class BundleIndexer:
    """Brings the rows of bundles up to date with their files."""

    def __init__(
        self, files: BundleRecords, index: BundleIndex, on_indexed: Callable[[str, str | None], None]
    ) -> None:
        """Store the parameters.

        on_indexed: called after the transaction that completes a bundle, with its id, and with the state of
            its directory if that contains no usable bundle.
        """
        self._files, self._index, self._on_indexed = files, index, on_indexed

    def index_all(self, bundle_ids: Sequence[str], on_progress: OnProgress) -> None:
        """Index many bundles. A failure is reported and does not affect other bundles.

        on_progress: called after each transaction with the numbers of bundles and tools that it completed.
        """
        remaining = deque(bundle_ids)
        while remaining:
            alone = list[str]()
            with ExitStack() as locks:
                locked = self._lock_some(locks, remaining, alone)
                if not self._try_index(locked, on_progress):
                    alone += locked
            for bundle_id in alone:  # waits for its lock, and reports its problems
                self.index(bundle_id, TIMEOUT_S)

    def index(self, bundle_id: str, timeout_s: float) -> None:
        """Lock and index a bundle. A failure is reported and does not affect other bundles."""
        try:
            with self._files.locked(bundle_id, timeout_s):
                self.index_locked([bundle_id])
        except FAILURES as error:
            if isinstance(error, TimeoutError) and not timeout_s:
                return  # another process is writing, and indexes what it writes
            problem = f"cannot index bundle {bundle_id}: {type(error).__name__}: {error}"
            self._files.problems.append(problem)
            log.error("%s", problem)

    def index_locked(
        self, bundle_ids: Iterable[str], on_progress: OnProgress = lambda bundles, tools: None
    ) -> None:
        """Index bundles that the caller has locked."""
        batch, size = list[_Part](), 0
        for part, part_size in self._parts(bundle_ids):
            batch.append(part)
            size += part_size
            if size >= MAX_BATCH_BYTES:
                self._write(batch, on_progress)
                batch, size = [], 0
        self._write(batch, on_progress)

    def _lock_some(self, locks: ExitStack, remaining: deque[str], busy: list[str]) -> list[str]:
        """Lock the next bundles, as many as fit into one transaction. Adds locked ones to `busy`."""
        locked, files = list[str](), 0
        while remaining and files < MAX_BATCH_FILES and len(locked) < MAX_LOCKED:
            bundle_id = remaining.popleft()
            try:
                locks.enter_context(self._files.locked(bundle_id, 0))
                files += len(self._files.tool_ids(bundle_id))
                locked.append(bundle_id)
            except OSError:
                busy.append(bundle_id)
        return locked

    def _try_index(self, bundle_ids: Sequence[str], on_progress: OnProgress) -> bool:
        """Index bundles that are locked. Return False if one of them failed."""
        try:
            self.index_locked(bundle_ids, on_progress)
        except FAILURES:
            return False
        return True

    def _parts(self, bundle_ids: Iterable[str]) -> Iterator[tuple[_Part, int]]:
        """Yield bundles, or parts of large bundles, with their sizes."""
        for bundle_id in bundle_ids:
            scan = self._scan(bundle_id)
            part, size = _Part(scan, [], [], is_last=False), MIN_FILE_BYTES
            for tool_id in scan.changed:
                row = self._read(bundle_id, tool_id)
                if row is None:
                    part.unusable.append(tool_id)
                else:
                    part.rows.append(row)
                    size += max(MIN_FILE_BYTES, row.size)
                if size >= MAX_BATCH_BYTES:
                    yield part, size
                    part, size = _Part(scan, [], [], is_last=False), 0
            yield part._replace(is_last=True), size

    def _scan(self, bundle_id: str) -> _Scan:
        bundle = self._files.bundle(bundle_id)
        if bundle is not None and bundle.id != bundle_id:
            raise ValueError(f"its record has the id {bundle.id}")
        if bundle is not None:
            self._files.prepare_dir(bundle_id)
        stamp = self._files.dir_stamp(bundle_id)
        if bundle is None:
            return _Scan(bundle_id, None, stamp, (), ())
        with self._index.open() as rows:
            indexed = rows.tool_stamps(bundle_id)
        tool_ids = self._files.tool_ids(bundle_id)
        changed = [
            tool_id
            for tool_id in tool_ids
            if tool_id not in indexed or indexed[tool_id] != self._files.tool_stamp(bundle_id, tool_id)
        ]
        return _Scan(bundle_id, bundle, stamp, sorted(indexed.keys() - set(tool_ids)), changed)

    def _read(self, bundle_id: str, tool_id: str) -> ToolRow | None:
        tool, stamp = self._files.tool(bundle_id, tool_id)
        if tool is None:
            return None
        if tool.id != tool_id or tool.bundle_id != bundle_id:
            self._move(bundle_id, tool_id, "its id or bundle belongs to another tool")
            return None
        return tool_row(tool, stamp)

    def _write(self, batch: Sequence[_Part], on_progress: OnProgress) -> None:
        if not batch:
            return
        with self._index.open(writing=True) as rows:
            for part in batch:
                self._write_part(rows, part)
        complete = [part.scan for part in batch if part.is_last]
        for scan in complete:
            self._on_indexed(scan.bundle_id, None if scan.bundle else scan.stamp)
        on_progress(len(complete), sum(len(part.rows) for part in batch))

    def _write_part(self, rows: IndexQueries, part: _Part) -> None:
        scan = part.scan
        if scan.bundle is None:
            rows.drop_bundle(scan.bundle_id)
            return
        rows.put_bundle(scan.bundle)
        for tool_id in (*scan.removed, *part.unusable):
            rows.drop_tool(tool_id)
        rows.put_tools(self._available(rows, scan.bundle_id, part.rows), scan.bundle)
        if part.is_last:
            rows.stamp_bundle(scan.bundle_id, scan.stamp)

    def _available(self, rows: IndexQueries, bundle_id: str, new: Sequence[ToolRow]) -> list[ToolRow]:
        """Return the rows whose id and key no other tool has. Renames the files of the others."""
        keys = rows.keys_by_id(row.tool.id for row in new)
        owners = rows.ids_by_key(bundle_id, {row.tool.slug for row in new})
        available = list[ToolRow]()
        for row in new:
            tool = row.tool
            owner = owners.get(tool.key)
            if keys.get(tool.id, tool.key) != tool.key:
                self._move(bundle_id, tool.id, "its id belongs to another tool")
            elif owner and owner != tool.id and self._files.peek_key(bundle_id, owner) == tool.key:
                self._move(bundle_id, tool.id, "its slug and version belong to another tool")
            else:
                if owner:
                    rows.drop_tool(
                        owner
                    )  # the old row, or one whose file has changed too and is indexed later
                owners[tool.key] = tool.id
                available.append(row)
        return available

    def _move(self, bundle_id: str, tool_id: str, reason: str) -> None:
        self._files.move_corrupt(self._files.tool_file(bundle_id, tool_id), reason)
