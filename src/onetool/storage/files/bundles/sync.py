"""Synchronization of the bundle index with the bundle files, and the generation counter."""

import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from onetool.domain.bundles.bundle import ToolKey
from onetool.files.atomic import PRIVATE, make_private_dir

from .index import BundleIndex
from .indexer import BundleIndexer
from .queries import IndexQueries
from .records import RECORD, BundleRecords, modified_at

log = logging.getLogger(__name__)

MAX_GENERATION_BYTES = 1_000_000
"""Size at which the generation file is truncated."""
CHECK_INTERVAL_S = 1.0
"""Minimum time between two checks of the directories for changes by hand."""
MAX_CHECK_SHARE = 0.05
"""Maximum share of the time that checks take in stores with many bundles."""
SETTLE_S = 1.0
"""A file that changed this recently may still be being copied and is indexed later."""


BOOT_ID = "/proc/sys/kernel/random/boot_id"
PROGRESS_INTERVAL_S = 1.0
"""Time between two reports of the progress."""


class IndexSync:
    """Indexes files that changed without the index: edited by hand, or written by a process that died."""

    def __init__(
        self,
        folder: Path,
        files: BundleRecords,
        index: BundleIndex,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        report: Callable[[str], None] = log.info,
    ) -> None:
        self.generation_file = str(folder / ".generation")
        self._markers = str(folder / ".pending")
        self._folder, self._files, self._index = folder, files, index
        self._clock, self._now, self._report = clock, now, report
        self._indexer = BundleIndexer(files, index, self._finish)
        self._check_lock = threading.Lock()
        self._next_check = 0.0
        self._unusable: dict[str, str] = {}
        """State of directories that have no usable bundle, when they were last scanned."""

    def sync(self) -> None:
        """Reindex every bundle whose directory changed since it was indexed, and drop deleted bundles."""
        start = self._clock()
        boot_id = _read_boot_id()
        with self._index.open() as rows:
            is_rebooted = rows.boot_id() != boot_id
        pending = {path.name for path in Path(self._markers).glob("*")}
        changed = self._changed_bundles(self._files.bundle_ids() if is_rebooted else pending)
        self._indexer.index_all(changed, _IndexProgress(len(changed), self._clock, self._report))
        if is_rebooted:
            with self._index.open(writing=True) as rows:
                rows.set_boot_id(boot_id)
        self._schedule_check(start)

    def rescan(self, bundle_id: str) -> None:
        """Index a bundle that the caller has locked."""
        self._indexer.index_locked([bundle_id])

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
                    self._indexer.index(bundle_id, timeout_s=0)
            self._schedule_check(start)
        finally:
            self._check_lock.release()

    def is_current(self) -> bool:
        """Return whether the index has all changes of the files. Writes nothing.

        Raises:
            sqlite3.OperationalError: The index cannot be read.
        """
        with self._index.open_frozen() as rows:
            indexed = rows.bundle_stamps()
        current = self._current_stamps() if self._folder.exists() else {}
        return indexed == current and not any(Path(self._markers).glob("*"))

    def _current_stamps(self) -> dict[str, str]:
        return {bundle_id: self._files.dir_stamp(bundle_id) for bundle_id in self._files.bundle_ids()}

    def _schedule_check(self, start: float) -> None:
        end = self._clock()
        self._next_check = end + max(CHECK_INTERVAL_S, (end - start) / MAX_CHECK_SHARE)

    def _changed_bundles(self, pending: Collection[str]) -> list[str]:
        """Return the bundles that must be scanned. Drops the rows of bundles that were deleted."""
        with self._index.open() as rows:
            indexed = rows.bundle_stamps()
        current = self._current_stamps()
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
            indexed = rows.tool_stamps(bundle_id)
            is_new = rows.bundle_stamp(bundle_id) is None
        folder, ids = self._files.bundle_dir(bundle_id), self._files.tool_ids(bundle_id)
        changed = [id for id in ids if indexed.get(id) != self._files.tool_stamp(bundle_id, id)]
        names = [*(f"{id}.json" for id in changed), *([RECORD] if is_new else [])]
        return any(0 <= self._now() - modified_at(f"{folder}/{name}") < SETTLE_S for name in names)

    def has_unindexed(self, key: ToolKey, rows: IndexQueries) -> bool:
        """Return whether a file that is not indexed yet has this key. The bundle is locked."""
        bundle_id = key[0]
        indexed = rows.tool_stamps(bundle_id)
        return any(
            self._files.peek_key(bundle_id, id) == key
            for id in self._files.tool_ids(bundle_id)
            if indexed.get(id) != self._files.tool_stamp(bundle_id, id)
        )

    def _finish(self, bundle_id: str, unusable: str | None) -> None:
        """Complete the indexing of a bundle, after its transaction."""
        if unusable is not None:
            self._unusable[bundle_id] = unusable
        _unlink(f"{self._markers}/{bundle_id}")
        self.bump_generation()

    def is_marked(self, bundle_id: str) -> bool:
        """Return whether a writer of this bundle died before it had finished. The bundle is locked."""
        return os.path.exists(f"{self._markers}/{bundle_id}")  # noqa: PTH110 - runs with every write

    @contextmanager
    def marked(self, bundle_id: str) -> Iterator[None]:
        """Mark a bundle while its files and rows differ. Changes the generation at the end.

        If the block raises, or the process dies, the next writer indexes the bundle again.
        """
        marker = f"{self._markers}/{bundle_id}"
        try:
            _touch(marker)
        except FileNotFoundError:
            make_private_dir(Path(self._markers))
            _touch(marker)
        try:
            yield
        finally:
            self.bump_generation()
        # Only now: if this process dies before, the next writer changes the generation again.
        _unlink(marker)

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


class _IndexProgress:
    """Reports how much has been indexed, from time to time."""

    def __init__(self, total: int, clock: Callable[[], float], report: Callable[[str], None]) -> None:
        self._total, self._clock, self._report = total, clock, report
        self._bundles = self._tools = 0
        self._next = clock() + PROGRESS_INTERVAL_S

    def __call__(self, bundles: int, tools: int) -> None:
        self._bundles += bundles
        self._tools += tools
        if self._clock() >= self._next:
            self._next = self._clock() + PROGRESS_INTERVAL_S
            self._report(
                f"indexed {self._tools:,} stored tools in {self._bundles:,} of {self._total:,} bundles"
            )


def _read_boot_id() -> str:
    """Return a value that changes when the machine starts; empty if the system has none.

    After a power failure the index may lack its last changes. On Linux, the time of a directory may be too
    coarse to show that.
    """
    try:
        return Path(BOOT_ID).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, PRIVATE))


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108 - runs with every write
