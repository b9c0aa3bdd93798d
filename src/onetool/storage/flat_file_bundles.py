"""Stored bundles in plain files, with an index beside them.

bundles/<bundleID>/...                  the truth: see bundle_files.py
bundles/index.sqlite3                   names, pages and words, derived from the files
bundles/.unfinished/<bundleID>          somebody writes; if it died, the index must look at the bundle again
bundles/.moves                          grows by a byte with every change, so that others see it by a stat
"""

import logging
import sqlite3
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from onetool.domain.bundle import Bundle, Filter, Listed, Pair, Taken, ToolVersion
from onetool.domain.paging import Page
from onetool.domain.search import closest_words, words_of
from onetool.files.atomic import PRIVATE, PRIVATE_DIR
from onetool.files.stamp import stamp

from .bundle_files import BundleFiles
from .bundle_index import BundleIndex
from .bundle_rows import Rows
from .bundle_sync import BundleSync, state_of

log = logging.getLogger(__name__)

ALIKE = 50
"""How many slugs are looked up that only resemble the query."""


class FlatFileBundles:
    """The files are the truth; whatever else there is can be made from them."""

    def __init__(self, folder: Path, *, with_words: bool = True) -> None:
        self._folder = folder
        self._files = BundleFiles(folder)
        self._index = BundleIndex(folder / "index.sqlite3", with_words=with_words)
        self._sync = BundleSync(folder, self._files, self._index)
        self._opening, self._is_open = threading.Lock(), False
        self._slugs: tuple[Hashable, list[str]] = (None, [])

    @property
    def problems(self) -> Sequence[str]:
        """What was found damaged and set aside."""
        return self._files.problems

    def generation(self) -> Hashable:
        """Moves with every change."""
        return stamp(self._sync.moves)

    def change_bundle(self, bundle_id: str, change: Callable[[Bundle | None], Bundle]) -> Bundle:
        """Create or replace a bundle by what the function makes of it."""
        change(self._files.bundle(bundle_id))  # what it refuses leaves no directory behind
        with self._locked(bundle_id):
            bundle = change(self._files.bundle(bundle_id))
            with self._changing(bundle_id) as rows:
                self._files.write_bundle(bundle)
                rows.put_bundle(bundle)
        return bundle

    def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle, a deleted one too."""
        return self._files.bundle(bundle_id)

    def bundles(self, wanted: Filter, cursor: str | None, limit: int) -> Page[Bundle]:
        """Return bundles from an opaque cursor on."""
        with self._rows() as rows:
            return rows.bundles(wanted, cursor, limit)

    def add_tool(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> Listed:
        """Keep a new version, if the check of its bundle lets it pass."""
        self._check_new(tool, check)
        with self._locked(tool.bundle_id):
            self._check_new(tool, check)
            with self._changing(tool.bundle_id) as rows:
                return self._put(rows, tool)

    def import_bundle(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        """Keep a bundle with all its tools, or nothing: the record is written last, and makes it be there."""
        self._check_import(bundle, tools)
        with self._locked(bundle.id):
            self._check_import(bundle, tools)
            with self._changing(bundle.id) as rows:
                for tool in tools:
                    rows.check_free(tool)
                for tool in tools:
                    self._files.write_tool(tool)
                self._files.write_bundle(bundle)
                rows.put_bundle(bundle)
                for tool in tools:
                    rows.put_tool(tool, state_of(self._files.of_tool(tool.bundle_id, tool.id)))

    def change_tool(
        self, pair: Pair, change: Callable[[Bundle | None, ToolVersion | None], ToolVersion]
    ) -> Listed:
        """Replace a version by what the function makes of it."""
        change(self._files.bundle(pair[0]), self._files.tool(pair))
        with self._locked(pair[0]):
            tool = change(self._files.bundle(pair[0]), self._files.tool(pair))
            with self._changing(pair[0]) as rows:
                return self._put(rows, tool)

    def delete_tool(self, pair: Pair) -> bool:
        """Remove a version for good; return whether it was there."""
        if self._files.tool(pair) is None:
            return False
        with self._locked(pair[0]):
            tool = self._files.tool(pair)
            if tool is not None:
                with self._changing(pair[0]) as rows:
                    self._files.remove_tool(tool)
                    rows.drop_tool(tool.id)
        return tool is not None

    def tool(self, pair: Pair) -> Listed | None:
        """Return a version, also from a bundle that is deleted."""
        tool = self._files.tool(pair)
        if tool is None:
            return None
        with self._rows() as rows:
            listed = rows.listed(tool.id)
        return listed if listed and listed.tool.pair == pair else None

    def find(self, name: str) -> Sequence[Listed]:
        """Return all versions of the tool that code calls by this name, the newest first."""
        pack, _, func = name.partition(".")
        with self._rows() as rows:
            return rows.named(pack, func)

    def tools(self, wanted: Filter, cursor: str | None, limit: int) -> Page[Listed]:
        """Return versions from an opaque cursor on."""
        with self._rows() as rows:
            return rows.tools(wanted, cursor, limit)

    def packs(self) -> Sequence[str]:
        """Return the names by which code calls the bundles that hold a tool."""
        with self._rows() as rows:
            return rows.packs()

    def pack(self, name: str) -> Sequence[Listed]:
        """Return the active versions of one bundle."""
        with self._rows() as rows:
            return rows.pack(name)

    def matching(self, query: str, wanted: Filter, limit: int) -> Sequence[Listed]:
        """Return up to `limit` versions that may be meant: by words, or by slugs that resemble the query."""
        words = words_of(query)
        if not words:
            return []
        with self._rows() as rows:
            found = rows.beginning(query.strip(), limit) + rows.with_words(words, limit)
            found += rows.of_slugs(closest_words(query, self._all_slugs(rows), ALIKE), limit)
        return list({listed.tool.id: listed for listed in found if wanted.takes(listed)}.values())

    def count(self) -> int:
        """Return how many versions there are."""
        with self._rows() as rows:
            return rows.count()

    def reap(self, before: str) -> Sequence[str]:
        """Remove bundles that were deleted before this moment and hold no tool; return their ids."""
        self._open()
        self._files.empty_trash()
        return [bundle_id for bundle_id in self._files.bundle_ids() if self._reaped(bundle_id, before)]

    def _reaped(self, bundle_id: str, before: str) -> bool:
        try:
            return self._is_over(bundle_id, before) and self._reap(bundle_id, before)
        except (OSError, sqlite3.Error) as error:  # one that cannot be removed keeps no other
            log.error("bundle %s cannot be removed: %s", bundle_id, error)
            return False

    def _reap(self, bundle_id: str, before: str) -> bool:
        with self._locked(bundle_id):
            if not self._is_over(bundle_id, before):  # somebody has put it back, or a tool into it
                return False
            with self._changing(bundle_id) as rows:
                self._files.remove_bundle(bundle_id)
                rows.drop_bundle(bundle_id)
        return True

    def _is_over(self, bundle_id: str, before: str) -> bool:
        bundle = self._files.bundle(bundle_id)
        deleted_at = bundle.soft_deleted_at if bundle else None
        return deleted_at is not None and deleted_at < before and not self._files.tool_files(bundle_id)

    def _check_import(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        old = self._files.bundle(bundle.id)
        if old is not None and not old.soft_deleted_at:
            raise Taken
        for tool in tools:
            first = self._files.tool(tool.pair)
            if first is not None and first.id != tool.id:
                raise Taken(
                    f"{tool.slug!r} version {tool.version!r} is there already, from before it was deleted."
                )

    def _check_new(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> None:
        check(self._files.bundle(tool.bundle_id))
        if self._files.tool(tool.pair) is not None:
            raise Taken

    def _put(self, rows: Rows, tool: ToolVersion) -> Listed:
        rows.check_free(tool)
        self._files.write_tool(tool)
        rows.put_tool(tool, state_of(self._files.of_tool(tool.bundle_id, tool.id)))
        return rows.must_list(tool.id)

    @contextmanager
    def _locked(self, bundle_id: str) -> Iterator[None]:
        """Hold a bundle; what a writer that died has left unfinished is finished first."""
        self._open()
        with self._files.locked(bundle_id):
            if self._sync.unfinished(bundle_id).exists():
                self._sync.look_again(bundle_id)
            yield

    @contextmanager
    def _changing(self, bundle_id: str) -> Iterator[Rows]:
        """Change files and rows of a bundle that is held."""
        unfinished = self._sync.unfinished(bundle_id)
        unfinished.parent.mkdir(mode=PRIVATE_DIR, exist_ok=True)
        unfinished.touch(mode=PRIVATE)
        try:
            with self._index.open(writing=True) as rows:
                yield rows
                rows.stamp_bundle(bundle_id, state_of(self._files.of_bundle(bundle_id)))
        finally:
            self._sync.move()
        unfinished.unlink(missing_ok=True)  # after everybody was told: who finds it tells them again

    @contextmanager
    def _rows(self) -> Iterator[Rows]:
        self._open()
        with self._index.open() as rows:
            yield rows

    def _open(self) -> None:
        """Once a process: bring the index up to files that moved without it."""
        if self._is_open and self._index.exists():
            return
        with self._opening:
            if not self._is_open or not self._index.exists():
                self._folder.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
                self._index.ensure()
                self._sync.catch_up()
                self._is_open = True

    def _all_slugs(self, rows: Rows) -> list[str]:
        moved = self.generation()
        if self._slugs[0] != moved or moved is None:
            self._slugs = (moved, rows.slugs())
        return self._slugs[1]
