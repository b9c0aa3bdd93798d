"""Usage events of one day: their lines, and a summary that is read incrementally."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from onetool.domain.usage.events import CallEvent, Event, TokenSaving, UsageSummary
from onetool.files.append import committed_size
from onetool.files.atomic import write_atomic

log = logging.getLogger(__name__)

KINDS: Mapping[str, type[Event]] = {"call": CallEvent, "saving": TokenSaving}
KIND_OF = {kind: name for name, kind in KINDS.items()}
CACHE_AFTER_BYTES = 64 * 1024
"""How many bytes of events may follow those in the cached summary. Other processes read them again."""
INVALID = (ValueError, KeyError, TypeError, AttributeError)
"""What data in another form raises."""


class DayUsage:
    """The events of one day, and the summary of their first bytes in another file.

    Not thread-safe.
    """

    def __init__(self, events: Path, summary: Path) -> None:
        self._events_file, self._summary_file = events, summary
        self.size = 0
        """How many bytes of events the summary covers."""
        self._cached_size = 0
        self._summary: UsageSummary | None = None

    def summarize(self) -> UsageSummary:
        """Return the summary of all events. Reads only those that were added since the last time."""
        summary = self._load() if self._summary is None else self._summary
        try:
            if self._events_file.stat().st_size != self.size:
                with self._events_file.open("r+b") as file:
                    summary = self._read_on(file, summary)
        except FileNotFoundError:
            pass  # only the summary is left
        self._summary = summary
        if self.size - self._cached_size >= CACHE_AFTER_BYTES:
            self.cache()
        return summary

    def events(self) -> Iterator[Event]:
        """Return all events."""
        try:
            with self._events_file.open("rb") as file:
                yield from parse_events(file)
        except FileNotFoundError:
            return

    def cache(self) -> None:
        """Store the summary, unless it is stored already."""
        if self._summary is None or self._cached_size == self.size:
            return
        data = {"bytes": self.size, **self._summary.to_json()}
        try:
            write_atomic(self._summary_file, orjson.dumps(data, option=orjson.OPT_INDENT_2))
            self._cached_size = self.size
        except OSError as error:
            log.error("cannot write usage summary %s: %s", self._summary_file, error.strerror)

    def remove(self) -> None:
        """Delete the files."""
        self._events_file.unlink(missing_ok=True)
        self._summary_file.unlink(missing_ok=True)

    def _load(self) -> UsageSummary:
        try:
            data = orjson.loads(self._summary_file.read_bytes())
            summary = UsageSummary.from_json(data)
            self.size = self._cached_size = int(data["bytes"])
            return summary
        except FileNotFoundError:
            pass
        except (OSError, *INVALID) as error:
            log.error("cannot read usage summary %s: %s: %s", self._summary_file, type(error).__name__, error)
        return UsageSummary()

    def _read_on(self, file: BinaryIO, summary: UsageSummary) -> UsageSummary:
        end = committed_size(file.fileno())
        if end < self.size:  # replaced by hand, or restored from a backup
            summary, self.size, self._cached_size = UsageSummary(), 0, 0
        file.seek(self.size)
        lines = file.read(end - self.size)
        whole = lines[: lines.rfind(b"\n") + 1]  # the rest belongs to a process that died while writing
        self.size += len(whole)
        return summary.add(parse_events(whole.splitlines()))


def parse_events(lines: Iterable[bytes]) -> Iterator[Event]:
    """Parse lines. Skips invalid ones, such as a line that a killed process left incomplete."""
    return (event for line in lines if (event := parse_event(line)) is not None)


def to_line(event: Event) -> bytes:
    """Serialize an event as one line of a file."""
    fields = {key: value for key, value in event._asdict().items() if value not in ("", None)}
    return orjson.dumps({"kind": KIND_OF[type(event)], **fields}) + b"\n"


def parse_event(line: bytes) -> Event | None:
    """Parse a line. Return None if it is invalid or of a kind that this version does not know."""
    try:
        data: dict[str, Any] = orjson.loads(line)
        kind = KINDS[data["kind"]]
        return kind(**{key: data[key] for key in kind._fields if key in data})
    except (ValueError, KeyError, TypeError):
        return None
