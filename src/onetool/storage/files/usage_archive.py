"""One summary of all days whose events are no longer stored."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from onetool.domain.usage.events import UsageSummary
from onetool.files.atomic import PRIVATE, make_private_dir, write_atomic
from onetool.files.corrupt_files import move_corrupt_file
from onetool.files.fingerprint import Fingerprint, fingerprint
from onetool.files.lock import locked

from .usage_days import INVALID, DayUsage

log = logging.getLogger(__name__)


class UsageArchive:
    """A summary with daily instead of hourly figures. Not thread-safe, but safe for several processes."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._state: Fingerprint = None
        self._summary, self._added = UsageSummary(), frozenset[str]()

    def read(self) -> UsageSummary:
        """Return the summary. It is parsed again only after a change."""
        state = fingerprint(str(self._file))
        if state != self._state:
            self._state, (self._summary, self._added) = state, self._load()
        return self._summary

    def includes(self, day: str) -> bool:
        """Return whether a day was added whose files could not be deleted. Call `read` before."""
        return day in self._added

    def add(self, days: Mapping[str, DayUsage]) -> None:
        """Add days and delete their files. A day is added once, even if a process dies in between.

        Raises:
            OSError: The archive cannot be written, or a file cannot be deleted.
        """
        make_private_dir(self._file.parent)
        descriptor = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, PRIVATE)
        try:
            with locked(descriptor):
                summary, added = self._load()
                for name, day in days.items():
                    if name not in added:
                        summary.merge(day.summarize().by_day())
                self._store(summary, list(days))
                for day in days.values():
                    day.remove()
                self._store(summary, [])
        finally:
            os.close(descriptor)

    def _load(self) -> tuple[UsageSummary, frozenset[str]]:
        """Return the summary, and the days in it whose files were perhaps not deleted."""
        try:
            data: dict[str, Any] = orjson.loads(self._file.read_bytes())
            return UsageSummary.from_json(data), frozenset(data["added"])
        except FileNotFoundError:
            pass
        except INVALID as error:
            log.error("moved corrupt file %s to %s: %s", self._file, move_corrupt_file(self._file), error)
        return UsageSummary(), frozenset()

    def _store(self, summary: UsageSummary, added: list[str]) -> None:
        write_atomic(self._file, orjson.dumps({"added": added, **summary.to_json()}))
