"""Stored bundles in files, with a SQLite index.

bundles/<bundleID>/...                  the bundle and its tools, see records.py
bundles/index.sqlite3                   names, pages and words, derived from the files
bundles/.pending/<bundleID>             a change in progress; if the writer died, the bundle is reindexed
bundles/.generation                     grows by a byte with every change, so that one stat detects changes
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from onetool.domain.bundles.bundle import (
    AlreadyExists,
    Bundle,
    BundleFilter,
    StoredTool,
    ToolKey,
    ToolVersion,
)
from onetool.domain.bundles.ranking import SearchHit, SearchPosition, SearchQuery
from onetool.domain.page import Page
from onetool.domain.search.terms import IndexedTool, TermStatistics
from onetool.files.atomic import make_private_dir
from onetool.files.fingerprint import fingerprint
from onetool.storage.files.on_thread import on_thread
from onetool.threads import Threads

from .index import BundleIndex
from .queries import IndexQueries
from .records import BundleRecords, file_stamp
from .rows import tool_row
from .sync import IndexSync

log = logging.getLogger(__name__)
MAX_STAGED_AGE_S = 3600.0
"""Age from which on a file that was not published belongs to a process that died."""


class FileBundles:
    """Bundles in files. The index can always be rebuilt from them."""

    def __init__(
        self,
        folder: Path,
        threads: Threads,
        *,
        full_text: bool = True,
        clock: Callable[[], float] = time.monotonic,
        report: Callable[[str], None] = log.info,
    ) -> None:
        """Store the parameters.

        report: called with the progress while many files are indexed.
        """
        self._folder, self._threads = folder, threads
        self._files = BundleRecords(folder)
        self._index = BundleIndex(folder / "index.sqlite3", full_text=full_text)
        self._sync = IndexSync(folder, self._files, self._index, clock=clock, report=report)
        self._open_lock, self._is_open = threading.Lock(), False
        self._slugs: tuple[Hashable, list[str]] = (None, [])

    @property
    def problems(self) -> Sequence[str]:
        """The corrupt files that were renamed, and the bundles that could not be indexed."""
        return self._files.problems

    def generation(self) -> Hashable:
        """Return a value that changes with every write."""
        return fingerprint(self._sync.generation_file)

    @on_thread
    def change_bundle(self, bundle_id: str, change: Callable[[Bundle | None], Bundle]) -> Bundle:
        """Create or replace a bundle with what `change` returns."""
        change(self._files.bundle(bundle_id))  # if it raises, no directory is created
        self._open()
        with self._locked(bundle_id):
            bundle = change(self._files.bundle(bundle_id))
            with self._staged([bundle]) as (staged,), self._transaction(bundle_id) as rows:
                self._files.publish(staged, bundle)
                rows.put_bundle(bundle)
        self._files.sync_bundle(bundle_id)
        return bundle

    @on_thread
    def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle. Includes deleted ones."""
        return self._files.bundle(bundle_id)

    @on_thread
    def bundles(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[Bundle]:
        """Return a page of bundles, starting at an opaque cursor."""
        with self._query() as rows:
            return rows.bundles(filter, cursor, limit)

    @on_thread
    def add_tool(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> StoredTool:
        """Store a new version, unless `check` raises for its bundle."""
        self._open()
        bundle, stamp = self._files.read_bundle(tool.bundle_id)
        check(bundle)  # if it raises, no directory is created
        if self._find(tool.key) is not None:
            raise AlreadyExists
        with self._staged([tool]) as (staged,):
            row = tool_row(tool, file_stamp(staged))
            with self._locked(tool.bundle_id):
                if self._files.bundle_stamp(tool.bundle_id) != stamp:
                    bundle = self._files.bundle(tool.bundle_id)
                    check(bundle)
                with self._transaction(tool.bundle_id, partial(self._check_unique, tool)) as rows:
                    self._files.publish(staged, tool)
                    (stored,) = rows.put_tools([row], bundle)
        self._files.sync_bundle(tool.bundle_id)
        return stored

    @on_thread
    def import_bundle(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        """Store a bundle with all its tools, or nothing. The bundle's record is written last."""
        self._open()
        self._check_import(bundle, tools)
        records: list[Bundle | ToolVersion] = [*tools, bundle]
        with self._staged(records) as staged, self._locked(bundle.id):
            self._check_import(bundle, tools)
            new = [tool_row(tool, file_stamp(file)) for tool, file in zip(tools, staged, strict=False)]
            with self._transaction(bundle.id, partial(_check_ids, tools)) as rows:
                for file, record in zip(staged, records, strict=True):
                    self._files.publish(file, record)
                rows.put_bundle(bundle)
                for tool in tools:
                    rows.drop_tool(tool.id)
                rows.put_tools(new, bundle)
        self._files.sync_bundle(bundle.id)

    @on_thread
    def change_tool(
        self, key: ToolKey, change: Callable[[Bundle | None, ToolVersion | None], ToolVersion]
    ) -> StoredTool:
        """Replace a version with what `change` returns."""
        self._open()
        change(self._files.bundle(key[0]), self._find(key))
        with self._locked(key[0]):
            bundle = self._files.bundle(key[0])
            tool = change(bundle, self._find(key))
            with self._staged([tool]) as (staged,):
                row = tool_row(tool, file_stamp(staged))
                with self._transaction(key[0], partial(_check_ids, [tool])) as rows:
                    self._files.publish(staged, tool)
                    rows.drop_tool(tool.id)
                    (stored,) = rows.put_tools([row], bundle)
        self._files.sync_bundle(key[0])
        return stored

    @on_thread
    def delete_tool(self, key: ToolKey) -> bool:
        """Delete a version permanently. Return whether it existed."""
        self._open()
        if self._find(key) is None:
            return False
        with self._locked(key[0]):
            tool = self._find(key)
            if tool is None:  # deleted by another process
                return False
            with self._transaction(key[0]) as rows:
                self._files.remove_tool(tool)
                rows.drop_tool(tool.id)
        self._files.sync_bundle(key[0])
        return True

    @on_thread
    def tool(self, key: ToolKey) -> StoredTool | None:
        """Return a version. Includes versions of deleted bundles."""
        with self._query() as rows:
            tool_id = rows.tool_id(key)
            stored = rows.find_tool(tool_id) if tool_id else None
        return stored if stored and self._read(stored.tool.id, key) else None

    @on_thread
    def find(self, name: str) -> Sequence[StoredTool]:
        """Return all versions of the tool with this qualified name, newest first."""
        pack, _, func = name.partition(".")
        with self._query() as rows:
            return rows.versions(pack, func)

    @on_thread
    def tools(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[StoredTool]:
        """Return a page of versions, starting at an opaque cursor."""
        with self._query() as rows:
            return rows.tools(filter, cursor, limit)

    @on_thread
    def packs(self) -> Sequence[str]:
        """Return the pack names of the bundles that contain a tool."""
        with self._query() as rows:
            return rows.packs()

    @on_thread
    def pack(self, name: str) -> Sequence[StoredTool]:
        """Return the active versions of a bundle by its pack name."""
        with self._query() as rows:
            return rows.pack(name)

    @on_thread
    def named(self, names: Collection[str]) -> Sequence[StoredTool]:
        """Return the active versions of tools by their names in code."""
        with self._query() as rows:
            return rows.named(names)

    @on_thread
    def pack_sizes(self) -> Mapping[str, int]:
        """Return the number of enabled tools in each pack."""
        with self._query() as rows:
            return rows.pack_sizes()

    @on_thread
    def term_statistics(self, terms: Collection[str]) -> TermStatistics:
        """Return how common terms are."""
        with self._query() as rows:
            return rows.terms.statistics(terms)

    @on_thread
    def similar_terms(self, terms: Sequence[str]) -> Sequence[str]:
        """Return the terms of tools that misspelled ones may stand for."""
        with self._query() as rows:
            return rows.terms.similar(terms)

    @on_thread
    def candidates(
        self, terms: Sequence[str], packs: Collection[str] | None, limit: int
    ) -> Sequence[IndexedTool]:
        """Return the enabled tools that match terms best."""
        with self._query() as rows:
            return rows.terms.candidates(terms, packs, limit)

    @on_thread
    def search(
        self, query: SearchQuery, filter: BundleFilter, after: SearchPosition | None, limit: int
    ) -> Sequence[SearchHit]:
        """Return the best matches, or those after a position."""
        if not query.words:
            return []
        with self._query() as rows:
            return rows.search(
                query, filter, lambda: query.similar_slugs(self._slugs_of(rows, filter)), after, limit
            )

    @on_thread
    def count(self) -> int:
        """Return the number of tool versions."""
        with self._query() as rows:
            return rows.count()

    @on_thread
    def reap(self, before: str) -> Sequence[str]:
        """Delete the empty bundles that were soft-deleted before `before`. Return their ids."""
        self._open()
        self._files.empty_trash()
        self._files.discard_abandoned(time.time() - MAX_STAGED_AGE_S)
        return [bundle_id for bundle_id in self._files.bundle_ids() if self._try_reap(bundle_id, before)]

    @on_thread
    def aclose(self) -> None:
        """Close the idle connection of the index."""
        self._index.close()

    def _try_reap(self, bundle_id: str, before: str) -> bool:
        try:
            return self._is_reapable(bundle_id, before) and self._reap(bundle_id, before)
        except (OSError, sqlite3.Error) as error:  # a failure does not affect other bundles
            log.error("cannot reap bundle %s: %s", bundle_id, error)
            return False

    def _reap(self, bundle_id: str, before: str) -> bool:
        with self._locked(bundle_id):
            if not self._is_reapable(bundle_id, before):  # restored or filled by another process
                return False
            with self._transaction(bundle_id) as rows:
                self._files.remove_bundle(bundle_id)
                rows.drop_bundle(bundle_id)
        return True

    def _is_reapable(self, bundle_id: str, before: str) -> bool:
        bundle = self._files.bundle(bundle_id)
        deleted_at = bundle.soft_deleted_at if bundle else None
        return deleted_at is not None and deleted_at < before and not self._files.tool_ids(bundle_id)

    def _check_import(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        old = self._files.bundle(bundle.id)
        if old is not None and not old.soft_deleted_at:
            raise AlreadyExists
        for tool in tools:
            owner = self._find(tool.key)
            if owner is not None and owner.id != tool.id:
                raise AlreadyExists(
                    f"{tool.slug!r} version {tool.version!r} already exists in the deleted bundle."
                )

    def _check_unique(self, tool: ToolVersion, rows: IndexQueries, is_synced: bool) -> None:
        """Check that no other tool has the id or the key of a new one, not even in a file without a row."""
        rows.check_unique(tool, is_new=True)
        if not is_synced and self._sync.has_unindexed(tool.key, rows):
            raise AlreadyExists

    def _find(self, key: ToolKey) -> ToolVersion | None:
        """Return a version as it is in its file. The index is only used to find the file."""
        with self._index.open() as rows:
            tool_id = rows.tool_id(key)
        return self._read(tool_id, key) if tool_id else None

    def _read(self, tool_id: str, key: ToolKey) -> ToolVersion | None:
        tool, _ = self._files.tool(key[0], tool_id)
        return tool if tool and tool.key == key else None

    @contextmanager
    def _staged(self, records: Sequence[Bundle | ToolVersion]) -> Iterator[list[str]]:
        """Write records to files that the block publishes. Those that it does not publish are deleted."""
        staged = list[str]()
        try:
            for record in records:
                staged.append(self._files.stage(record))
            yield staged
        except BaseException:
            for file in staged:
                self._files.discard(file)
            raise

    @contextmanager
    def _locked(self, bundle_id: str) -> Iterator[None]:
        """Lock a bundle. First indexes what a writer that died left unfinished."""
        with self._files.locked(bundle_id):
            if self._sync.is_marked(bundle_id):
                self._sync.rescan(bundle_id)
            yield

    @contextmanager
    def _transaction(
        self, bundle_id: str, check: Callable[[IndexQueries, bool], None] = lambda rows, is_synced: None
    ) -> Iterator[IndexQueries]:
        """Change the files and rows of a locked bundle.

        check: called with the rows, and whether they have all changes of the files. If it raises, nothing
            changes.
        """
        with self._index.open(writing=True) as rows:
            indexed = rows.bundle_stamp(bundle_id)
            is_synced = indexed == self._files.dir_stamp(bundle_id)
            check(rows, is_synced)
            with self._sync.marked(bundle_id):
                yield rows
                # A directory that had other changes before keeps its old stamp, and is scanned later.
                if indexed is None or is_synced:
                    indexed = self._files.dir_stamp(bundle_id)
                rows.stamp_bundle(bundle_id, indexed)
                rows.commit()

    @contextmanager
    def _query(self) -> Iterator[IndexQueries]:
        with self._index.open() if self._open_for_reading() else self._index.open_frozen() as rows:
            yield rows

    def _open(self) -> None:
        """Synchronize the index with the files: at the first use, and from time to time."""
        if self._is_open and self._index.exists():
            self._sync.check()
            return
        with self._open_lock:
            if not self._is_open or not self._index.exists():
                make_private_dir(self._folder)
                self._index.ensure()
                self._sync.sync()
                self._is_open = True

    def _open_for_reading(self) -> bool:
        """Synchronize the index. Return False if it cannot be written, but is complete."""
        try:
            self._open()
        except (OSError, sqlite3.OperationalError):
            if not self._sync.is_current():  # what the user disabled could be enabled in the index
                raise
            return False
        return True

    def _slugs_of(self, rows: IndexQueries, filter: BundleFilter) -> list[str]:
        """Return the slugs that a filter selects. They are read again only after a change."""
        key = self.generation(), filter
        if self._slugs[0] != key or key[0] is None:
            self._slugs = key, rows.slugs(filter)
        return self._slugs[1]


def _check_ids(tools: Sequence[ToolVersion], rows: IndexQueries, is_synced: bool) -> None:
    for tool in tools:
        rows.check_unique(tool, is_new=False)
