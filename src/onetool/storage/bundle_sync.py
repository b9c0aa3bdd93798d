"""Bring the index of bundles up to their files, and tell every process that something has changed."""

import logging
import os
import sqlite3
from pathlib import Path

from onetool.domain.bundle import Pair, Taken
from onetool.files.atomic import PRIVATE
from onetool.files.stamp import stamp

from .bundle_files import BundleFiles
from .bundle_index import BundleIndex
from .bundle_rows import Rows

log = logging.getLogger(__name__)

MOST_MOVES = 1_000_000
"""Bytes after which the file that counts changes begins anew."""
TOGETHER = 500
"""How many tools are indexed before others have a turn."""


class BundleSync:
    """Looks at files that moved without the index: written by hand, or by a process that died."""

    def __init__(self, folder: Path, files: BundleFiles, index: BundleIndex) -> None:
        self.moves = str(folder / ".moves")
        self._folder, self._files, self._index = folder, files, index

    def catch_up(self) -> None:
        """Look at every bundle that is in another state than the index has seen."""
        with self._index.open() as rows:
            seen = rows.stamps()
        there = {
            bundle_id: state_of(self._files.of_bundle(bundle_id)) for bundle_id in self._files.bundle_ids()
        }
        unfinished = {path.name for path in (self._folder / ".unfinished").glob("*")}
        for bundle_id in sorted(there):
            if seen.get(bundle_id) != there[bundle_id] or bundle_id in unfinished:
                self._try_again(bundle_id)
        with self._index.open(writing=True) as rows:
            for bundle_id in seen.keys() - there.keys():
                if not self._files.of_bundle(bundle_id).exists():
                    rows.drop_bundle(bundle_id)

    def _try_again(self, bundle_id: str) -> None:
        """Look at a bundle again; one that cannot be indexed is reported, and harms no other."""
        try:
            with self._files.locked(bundle_id):
                self.look_again(bundle_id)
        except (OSError, sqlite3.IntegrityError, ValueError, TypeError) as error:
            problem = f"bundle {bundle_id} cannot be indexed: {type(error).__name__}: {error}"
            self._files.problems.append(problem)
            log.error("%s", problem)

    def look_again(self, bundle_id: str) -> None:
        """Make the rows of a bundle equal to its files; only files that moved are read."""
        bundle = self._files.bundle(bundle_id)
        with self._index.open(writing=True) as rows:
            if bundle is None:
                rows.drop_bundle(bundle_id)
            else:
                rows.put_bundle(bundle)
                self._look_at_tools(rows, bundle_id)
                rows.stamp_bundle(bundle_id, state_of(self._files.of_bundle(bundle_id)))
        self.unfinished(bundle_id).unlink(missing_ok=True)
        self.move()

    def _look_at_tools(self, rows: Rows, bundle_id: str) -> None:
        seen = rows.seen_tools(bundle_id)
        there = {file.stem: file for file in self._files.tool_files(bundle_id)}
        for gone in seen.keys() - there.keys():
            rows.drop_tool(gone)
        moved = [
            file for tool_id, file in sorted(there.items()) if not self._is_as_seen(file, seen.get(tool_id))
        ]
        for number, file in enumerate(moved, 1):
            self._take(rows, file)
            if number % TOGETHER == 0:
                rows.pause()

    def _is_as_seen(self, file: Path, seen: tuple[str, Pair] | None) -> bool:
        return seen is not None and seen[0] == state_of(file) and self._files.has_claim(seen[1])

    def _take(self, rows: Rows, file: Path) -> None:
        """Index a file that appeared or changed; one that cannot be used is set aside."""
        tool = self._files.read_tool(file)
        if tool is None:
            rows.drop_tool(file.stem)
            return
        first = self._files.tool(tool.pair)
        if tool.id != file.stem or tool.bundle_id != file.parent.name or (first and first.id != tool.id):
            self._files.set_aside(file, "its id, bundle or version belongs to another")
            return
        try:
            rows.check_free(tool)
        except Taken as error:
            self._files.set_aside(file, str(error))
            return
        self._files.claim(tool, durable=False)
        rows.put_tool(tool, state_of(file))

    def unfinished(self, bundle_id: str) -> Path:
        """The file that says that somebody writes into a bundle."""
        return self._folder / ".unfinished" / bundle_id

    def move(self) -> None:
        """Tell every process. The file is never replaced: nobody's byte goes to one that is gone."""
        descriptor = os.open(self.moves, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE)
        try:
            if os.fstat(descriptor).st_size > MOST_MOVES:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, b".")
        except OSError:  # the disk is full: its time moves without room
            os.utime(self.moves)
        finally:
            os.close(descriptor)


def state_of(path: Path) -> str:
    """What a stat shows of a path, as the index keeps it."""
    known = stamp(str(path))
    return "" if known is None else ".".join(map(str, known))
