"""Usage events in daily JSON Lines files, with summaries of past days.

usage/2026-01-31.jsonl      the events of a day
usage/2026-01-31.json       the summary of the first bytes of that file
usage/archive.json          one summary of all days before the last 35
"""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from onetool.domain.usage.events import DAY, Event, UsageSummary
from onetool.files.append import append_files
from onetool.threads import Threads

from .on_thread import on_thread
from .usage_archive import UsageArchive
from .usage_days import DayUsage, parse_event, to_line

log = logging.getLogger(__name__)

CLOSED_AFTER = timedelta(days=2)
"""Age at which a day receives no more events and its summary is cached."""
RETENTION = timedelta(days=35)
"""How long events are stored; longer than any period that is reported by the hour."""


class FileUsage:
    """Reads each event once: later summaries continue where the last one ended.

    A time before the last 35 days selects all events.
    """

    def __init__(self, folder: Path, threads: Threads, now: Callable[[], float] = time.time) -> None:
        self._folder, self._threads, self._now = folder, threads, now
        self._archive = UsageArchive(folder / "archive.json")
        self._days: dict[date, DayUsage] = {}
        self._lock = threading.Lock()

    @on_thread
    def add(self, events: Sequence[Event]) -> None:
        """Append events to the files of their days: all of them, or none if a file cannot be written."""
        days: defaultdict[Path, list[bytes]] = defaultdict(list)
        for event in events:
            days[self._folder / f"{_day(event.at)}.jsonl"].append(to_line(event))
        lines = {file: b"".join(day_lines) for file, day_lines in days.items()}
        append_files(lines, is_torn=lambda last: parse_event(last) is None)

    @on_thread
    def summarize(self, since: float | None) -> UsageSummary:
        """Summarize the events since `since`, or all events."""
        with self._lock:
            today = _day(self._now())
            self._archive_days([day for day in self._stored_days() if today - day > RETENTION])
            summary = UsageSummary()
            if since is None or _day(since) < today - RETENTION:
                summary.merge(self._archive.read())
            days = [day for day in self._stored_days() if not self._archive.includes(str(day))]
            self._days = {day: self._days.get(day) or self._day(day) for day in days}
            for day, usage in self._days.items():
                if since is None or _start(day) >= since:
                    summary.merge(usage.summarize())
                    if today - day >= CLOSED_AFTER:
                        usage.cache()
                elif _start(day) + DAY > since:
                    summary.add(usage.events(), since)
            return summary

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""

    def _archive_days(self, days: Sequence[date]) -> None:
        if not days:
            return
        try:
            self._archive.add({str(day): self._day(day) for day in days})
        except OSError as error:
            log.error("cannot archive the usage of %d days: %s", len(days), error)

    def _stored_days(self) -> list[date]:
        """Return the days that have a file, oldest first."""
        return sorted({day for file in self._folder.glob("*.json*") if (day := _parse_day(file))})

    def _day(self, day: date) -> DayUsage:
        return DayUsage(self._folder / f"{day}.jsonl", self._folder / f"{day}.json")


def _day(at: float) -> date:
    return datetime.fromtimestamp(at, UTC).date()


def _start(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _parse_day(file: Path) -> date | None:
    try:
        return date.fromisoformat(file.stem)
    except ValueError:
        return None
