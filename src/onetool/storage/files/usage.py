"""Usage events in daily JSON Lines files, with a cached summary of each past day."""

import logging
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from onetool.domain.usage.events import DAY, CallEvent, Event, TokenSaving, UsageSummary
from onetool.files.append import append_files
from onetool.files.atomic import write_atomic

log = logging.getLogger(__name__)

KINDS: Mapping[str, type[Event]] = {"call": CallEvent, "saving": TokenSaving}
KIND_OF = {kind: name for name, kind in KINDS.items()}
CLOSED_AFTER = timedelta(days=2)
"""Age at which a day receives no more events and its summary is cached."""
RETENTION = timedelta(days=35)
"""How long events are stored; longer than any period that is reported by the hour."""


class FileUsage:
    """Stores a day's events in `2026-01-31.jsonl` and caches their summary in `2026-01-31.json`."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._folder, self._now = folder, now

    def add(self, events: Sequence[Event]) -> None:
        """Append events to the files of their days: all of them, or none if a file cannot be written."""
        days: defaultdict[Path, list[bytes]] = defaultdict(list)
        for event in events:
            days[self._events_file(_day(event.at))].append(_to_line(event))
        lines = {file: b"".join(day_lines) for file, day_lines in days.items()}
        append_files(lines, is_torn=lambda last: _parse_event(last) is None)

    def summarize(self, since: float | None) -> UsageSummary:
        """Summarize the events since `since`, or all events."""
        summary = UsageSummary()
        for day in self._days():
            start = _start(day)
            if since is None or start >= since:
                summary.merge(self._summarize_day(day))
            elif start + DAY > since:
                summary.add(self._events(day), since)
        return summary

    def _days(self) -> list[date]:
        """Return the days that have a file, oldest first."""
        return sorted({day for file in self._folder.glob("*.json*") if (day := _parse_day(file))})

    def _summarize_day(self, day: date) -> UsageSummary:
        age = _day(self._now()) - day
        if age < CLOSED_AFTER:
            return UsageSummary().add(self._events(day))
        summary = self._summarize_closed_day(day)
        if age > RETENTION:
            self._events_file(day).unlink(missing_ok=True)
        return summary

    def _summarize_closed_day(self, day: date) -> UsageSummary:
        """Return the cached summary of a past day, or rebuild it if the events file has changed since."""
        try:
            with self._events_file(day).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                return self._read_cache(day, size) or self._cache(
                    day, size, UsageSummary().add(_parse_events(file))
                )
        except FileNotFoundError:
            return self._read_cache(day) or UsageSummary()

    def _read_cache(self, day: date, size: int | None = None) -> UsageSummary | None:
        """Return the cached summary if it covers `size` bytes of events; None matches any size."""
        file = self._summary_file(day)
        try:
            data = orjson.loads(file.read_bytes())
            return UsageSummary.from_json(data) if size in (None, data["bytes"]) else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            log.error("cannot read usage summary %s: %s: %s", file, type(error).__name__, error)
            return None

    def _cache(self, day: date, size: int, summary: UsageSummary) -> UsageSummary:
        content = orjson.dumps({"bytes": size, **summary.to_json()}, option=orjson.OPT_INDENT_2)
        try:
            write_atomic(self._summary_file(day), content)
        except OSError as error:
            log.error("cannot write usage summary %s: %s", self._summary_file(day), error.strerror)
        return summary

    def _events(self, day: date) -> Iterator[Event]:
        with suppress(FileNotFoundError), self._events_file(day).open("rb") as file:
            yield from _parse_events(file)

    def _events_file(self, day: date) -> Path:
        return self._folder / f"{day.isoformat()}.jsonl"

    def _summary_file(self, day: date) -> Path:
        return self._folder / f"{day.isoformat()}.json"


def _parse_events(file: Iterable[bytes]) -> Iterator[Event]:
    """Parse lines. Skips invalid ones, such as a line that a killed process left incomplete."""
    return (event for line in file if (event := _parse_event(line)) is not None)


def _to_line(event: Event) -> bytes:
    fields = {key: value for key, value in event._asdict().items() if value not in ("", None)}
    return orjson.dumps({"kind": KIND_OF[type(event)], **fields}) + b"\n"


def _parse_event(line: bytes) -> Event | None:
    """Parse a line. Return None if it is invalid or of a kind that this version does not know."""
    try:
        data: dict[str, Any] = orjson.loads(line)
        kind = KINDS[data["kind"]]
        return kind(**{key: data[key] for key in kind._fields if key in data})
    except (ValueError, KeyError, TypeError):
        return None


def _day(at: float) -> date:
    return datetime.fromtimestamp(at, UTC).date()


def _start(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _parse_day(file: Path) -> date | None:
    try:
        return date.fromisoformat(file.stem)
    except ValueError:
        return None
