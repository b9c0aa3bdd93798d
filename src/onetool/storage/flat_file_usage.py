"""Finished calls in daily files, one JSON line each; whole days are also kept added up."""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from onetool.domain.usage import DAY, CallEvent, Event, Saving, Tally
from onetool.files.append import append_lines
from onetool.files.atomic import write_atomic

log = logging.getLogger(__name__)

KINDS: Mapping[str, type[Event]] = {"call": CallEvent, "saving": Saving}
KIND_OF = {kind: name for name, kind in KINDS.items()}
STILL_WRITTEN = timedelta(days=2)
"""A day of which this much has passed since its beginning gets no more events."""
KEPT = timedelta(days=35)
"""How long the events themselves are kept: longer than any period that is asked for by the hour."""


class FlatFileUsage:
    """`2026-01-31.jsonl` holds a day's events, `2026-01-31.json` what they add up to, once asked for."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._folder, self._now = folder, now

    def add(self, events: Sequence[Event]) -> None:
        """Keep these events, each in its day's file."""
        for day, of_day in groupby(sorted(events, key=lambda event: event.at), lambda event: _day(event.at)):
            lines = b"".join(map(_line, of_day))
            append_lines(self._events_file(day), lines, is_torn=lambda last: _event(last) is None)

    def tally(self, since: float | None) -> Tally:
        """Add up all events from this moment on, or all."""
        tally = Tally()
        for day in self._days():
            start = _start(day)
            if since is None or start >= since:
                tally.merge(self._whole(day))
            elif start + DAY > since:
                tally.add(self._events(day), since)
        return tally

    def _days(self) -> list[date]:
        """The days of which anything is known."""
        return sorted({day for file in self._folder.glob("*.json*") if (day := _named(file))})

    def _whole(self, day: date) -> Tally:
        age = _day(self._now()) - day
        if age < STILL_WRITTEN:
            return Tally().add(self._events(day))
        tally = self._added_up(day)
        if age > KEPT:
            self._events_file(day).unlink(missing_ok=True)
        return tally

    def _added_up(self, day: date) -> Tally:
        """The sum of a day that is over: from its own file, as long as that has seen all events."""
        try:
            with self._events_file(day).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                return self._kept(day, size) or self._keep(day, size, Tally().add(_events(file)))
        except FileNotFoundError:
            return self._kept(day) or Tally()

    def _kept(self, day: date, size: int | None = None) -> Tally | None:
        """The sum that was kept, if it was made of events of this size."""
        file = self._sum_file(day)
        try:
            kept = orjson.loads(file.read_bytes())
            return Tally.from_json(kept) if size in (None, kept["bytes"]) else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            log.error("%s cannot be read: %s: %s", file, type(error).__name__, error)
            return None

    def _keep(self, day: date, size: int, tally: Tally) -> Tally:
        kept = orjson.dumps({"bytes": size, **tally.to_json()}, option=orjson.OPT_INDENT_2)
        try:
            write_atomic(self._sum_file(day), kept)
        except OSError as error:
            log.error("%s cannot be written: %s", self._sum_file(day), error.strerror)
        return tally

    def _events(self, day: date) -> Iterator[Event]:
        with suppress(FileNotFoundError), self._events_file(day).open("rb") as file:
            yield from _events(file)

    def _events_file(self, day: date) -> Path:
        return self._folder / f"{day.isoformat()}.jsonl"

    def _sum_file(self, day: date) -> Path:
        return self._folder / f"{day.isoformat()}.json"


def _events(file: Iterable[bytes]) -> Iterator[Event]:
    """Whole events; a line that a killed process left unfinished is none."""
    return (event for line in file if (event := _event(line)) is not None)


def _line(event: Event) -> bytes:
    said = {key: value for key, value in event._asdict().items() if value not in ("", None)}
    return orjson.dumps({"kind": KIND_OF[type(event)], **said}) + b"\n"


def _event(line: bytes) -> Event | None:
    """Read a line; None for a broken one, or one of a kind that this version does not know."""
    try:
        said: dict[str, Any] = orjson.loads(line)
        kind = KINDS[said["kind"]]
        return kind(**{key: said[key] for key in kind._fields if key in said})
    except (ValueError, KeyError, TypeError):
        return None


def _day(at: float) -> date:
    return datetime.fromtimestamp(at, UTC).date()


def _start(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _named(file: Path) -> date | None:
    try:
        return date.fromisoformat(file.stem)
    except ValueError:
        return None
