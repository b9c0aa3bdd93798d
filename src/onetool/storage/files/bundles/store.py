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
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
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
from onetool.files.atomic import PRIVATE, make_private_dir
from onetool.files.fingerprint import fingerprint
from onetool.storage.files.on_thread import on_thread
from onetool.threads import Threads

from .index import BundleIndex
from .queries import IndexQueries
from .records import BundleRecords
from .sync import IndexSync, file_stamp

log = logging.getLogger(__name__)


class FileBundles:
    """Bundles in files. The index can always be rebuilt from them."""

    def __init__(
        self,
        folder: Path,
        threads: Threads,
        *,
        full_text: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._threads = folder, threads
        self._files = BundleRecords(folder)
        self._index = BundleIndex(folder / "index.sqlite3", full_text=full_text)
        self._sync = IndexSync(folder, self._files, self._index, clock)
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
        with self._locked(bundle_id):
            bundle = change(self._files.bundle(bundle_id))
            with self._transaction(bundle_id) as rows:
                self._files.write_bundle(bundle)
                rows.put_bundle(bundle)
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
        self._check_new(tool, check)
        with self._locked(tool.bundle_id):
            self._check_new(tool, check)
            with self._transaction(tool.bundle_id) as rows:
                return self._put(rows, tool)

    @on_thread
    def import_bundle(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        """Store a bundle with all its tools, or nothing. The bundle's record is written last."""
        self._check_import(bundle, tools)
        with self._locked(bundle.id):
            self._check_import(bundle, tools)
            with self._transaction(bundle.id) as rows:
                for tool in tools:
                    rows.check_id_available(tool)
                for tool in tools:
                    self._files.write_tool(tool)
                self._files.write_bundle(bundle)
                rows.put_bundle(bundle)
                for tool in tools:
                    rows.put_tool(tool, file_stamp(self._files.tool_file(tool.bundle_id, tool.id)))

    @on_thread
    def change_tool(
        self, key: ToolKey, change: Callable[[Bundle | None, ToolVersion | None], ToolVersion]
    ) -> StoredTool:
        """Replace a version with what `change` returns."""
        change(self._files.bundle(key[0]), self._files.tool(key))
        with self._locked(key[0]):
            tool = change(self._files.bundle(key[0]), self._files.tool(key))
            with self._transaction(key[0]) as rows:
                return self._put(rows, tool)

    @on_thread
    def delete_tool(self, key: ToolKey) -> bool:
        """Delete a version permanently. Return whether it existed."""
        self._open()
        if self._files.tool(key) is None:
            return False
        with self._locked(key[0]):
            tool = self._files.tool(key)
            if tool is not None:
                with self._transaction(key[0]) as rows:
                    self._files.remove_tool(tool)
                    rows.drop_tool(tool.id)
        return tool is not None

    @on_thread
    def tool(self, key: ToolKey) -> StoredTool | None:
        """Return a version. Includes versions of deleted bundles."""
        self._open()  # a copied file has no claim until it is indexed
        tool = self._files.tool(key)
        if tool is None:
            return None
        with self._query() as rows:
            stored = rows.find_tool(tool.id)
        return stored if stored and stored.tool.key == key else None

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
        return deleted_at is not None and deleted_at < before and not self._files.tool_files(bundle_id)

    def _check_import(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        old = self._files.bundle(bundle.id)
        if old is not None and not old.soft_deleted_at:
            raise AlreadyExists
        for tool in tools:
            owner = self._files.tool(tool.key)
            if owner is not None and owner.id != tool.id:
                raise AlreadyExists(
                    f"{tool.slug!r} version {tool.version!r} already exists in the deleted bundle."
                )

    def _check_new(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> None:
        check(self._files.bundle(tool.bundle_id))
        if self._files.tool(tool.key) is not None:
            raise AlreadyExists

    def _put(self, rows: IndexQueries, tool: ToolVersion) -> StoredTool:
        rows.check_id_available(tool)
        self._files.write_tool(tool)
        rows.put_tool(tool, file_stamp(self._files.tool_file(tool.bundle_id, tool.id)))
        return rows.get_tool(tool.id)

    @contextmanager
    def _locked(self, bundle_id: str) -> Iterator[None]:
        """Lock a bundle. First reindexes what a writer that died left unfinished."""
        self._open()
        with self._files.locked(bundle_id):
            if self._sync.pending_marker(bundle_id).exists():
                self._sync.rescan(bundle_id)
            yield

    @contextmanager
    def _transaction(self, bundle_id: str) -> Iterator[IndexQueries]:
        """Change the files and rows of a locked bundle."""
        marker = self._sync.pending_marker(bundle_id)
        make_private_dir(marker.parent)
        marker.touch(mode=PRIVATE)
        try:
            with self._index.open(writing=True) as rows:
                indexed, before = rows.bundle_stamp(bundle_id), self._stamp(bundle_id)
                yield rows
                # A directory that had other changes before keeps its old stamp, and is scanned later.
                rows.stamp_bundle(bundle_id, self._stamp(bundle_id) if indexed in (None, before) else indexed)
        finally:
            self._sync.bump_generation()
        # Only now: if this process dies before, the next writer changes the generation again.
        marker.unlink(missing_ok=True)

    @contextmanager
    def _query(self) -> Iterator[IndexQueries]:
        self._open()
        with self._index.open() as rows:
            yield rows

    def _stamp(self, bundle_id: str) -> str:
        return file_stamp(self._files.bundle_dir(bundle_id))

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

    def _slugs_of(self, rows: IndexQueries, filter: BundleFilter) -> list[str]:
        """Return the slugs that a filter selects. They are read again only after a change."""
        key = self.generation(), filter
        if self._slugs[0] != key or key[0] is None:
            self._slugs = key, rows.slugs(filter)
        return self._slugs[1]
