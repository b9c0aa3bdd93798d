"""Statistics and counters of earlier versions, which are taken over into the activity file.

data/usage/2026-01-31.jsonl     the events of a day
data/usage/2026-01-31.json      the summary of a day, if its events are missing
data/usage/archive.json         one summary of all earlier days
data/counters.sqlite3           the number of calls of each tool

First they are renamed, so that an earlier version that still runs starts new ones, which are taken over next
time. Then one transaction adds their figures together with their new names. At last they are deleted. After
an interruption, the names that were added are only deleted.
"""

import logging
import re
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from typing import Any

import orjson

from onetool.domain.activity.rollup import RollUp, SessionSaving
from onetool.domain.errors import Reason
from onetool.domain.usage.summary import HOUR, UNKNOWN_TOOL, CallCounter, ToolUsage
from onetool.files.corrupt_files import move_corrupt_file
from onetool.files.sqlite_files import LOG_FILES, SqliteFile

from . import activity_queries as queries

log = logging.getLogger(__name__)
OLD_NAMES = ("usage", "counters.sqlite3")
MARK = ".taken-over-"
RENAMED = re.compile(r"(usage|counters\.sqlite3)\.taken-over-[0-9a-f]{16}")
TIMEOUT_S = 10.0
INVALID = (ValueError, KeyError, TypeError, AttributeError)
"""What data in another form raises."""


def take_over_usage(data: Path, activity: Path) -> None:
    """Add the figures of earlier versions to the activity file, each once, and delete their files.

    Files that are corrupt are renamed. If nothing can be written, the next start tries again.
    """
    try:
        for name in OLD_NAMES:
            if (data / name).exists():
                _rename(data, name)
        for old in sorted(data.glob(f"*{MARK}*")):
            if RENAMED.fullmatch(old.name):
                _take_over(old, activity)
    except FileNotFoundError:
        pass  # another process takes them over
    except (OSError, sqlite3.Error) as error:
        log.warning("cannot take over the statistics of an earlier version: %s", error)


def _rename(data: Path, name: str) -> None:
    mark = f"{MARK}{secrets.token_hex(8)}"
    for suffix in LOG_FILES:  # before the file to which they belong
        if (log_file := data / f"{name}{suffix}").exists():
            log_file.rename(data / f"{name}{mark}{suffix}")
    (data / name).rename(data / f"{name}{mark}")


def _take_over(old: Path, activity: Path) -> None:
    reader = _OldDays(old) if old.is_dir() else _OldCounters(old)

    def add(connection: sqlite3.Connection) -> None:
        connection.execute("begin immediate")
        if connection.execute("insert or ignore into taken_over values (?)", (old.name,)).rowcount:
            queries.add_figures(connection, reader.figures)

    SqliteFile(activity, queries.TABLES, TIMEOUT_S).run(add)
    if reader.problem:
        log.error("moved corrupt file %s to %s: %s", old, move_corrupt_file(old), reader.problem)
    elif old.is_dir():
        rmtree(old)
    else:
        for suffix in ("", *LOG_FILES):
            Path(f"{old}{suffix}").unlink(missing_ok=True)


class _OldCounters:
    """The number of calls of each tool."""

    def __init__(self, file: Path) -> None:
        self.figures, self.problem = RollUp(), ""
        try:
            with closing(sqlite3.connect(file)) as connection:
                for tool_id, calls, at in connection.execute("select * from counters"):
                    self.figures.counters[tool_id] = CallCounter(calls, at)
        except sqlite3.OperationalError:  # locked, or the disk is full
            raise
        except sqlite3.DatabaseError as error:
            self.problem = str(error)


class _OldDays:
    """The usage of all days, and that of the archive."""

    def __init__(self, folder: Path) -> None:
        self.figures, self.problem = RollUp(), ""
        archive = self._parse(folder / "archive.json")
        self._add_summary(archive, 0.0)
        archived = set(archive.get("added", ()))  # their files were not deleted
        for stem in sorted({file.stem for file in folder.glob("????-??-??.json*")} - archived):
            events = folder / f"{stem}.jsonl"
            if events.exists():
                self._add_events(events)
            else:
                at = datetime.fromisoformat(f"{stem}T00:00:00+00:00").timestamp()
                self._add_summary(self._parse(folder / f"{stem}.json"), at)

    def _parse(self, file: Path) -> dict[str, Any]:
        try:
            content = orjson.loads(file.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            self.problem = f"{file.name}: {error}"
            return {}
        return content if isinstance(content, dict) else {}

    def _add_events(self, file: Path) -> None:
        """Add events. Skips those of other versions, and a line that a killed process left incomplete."""
        for line in file.read_bytes().splitlines():
            with suppress(*INVALID):
                self._add_event(orjson.loads(line))

    def _add_event(self, event: Mapping[str, Any]) -> None:
        at, kind = float(event["at"]), event["kind"]
        if kind == "call":
            failed, ms = int(not event["ok"]), float(event.get("duration_ms", 0.0))
            tool = UNKNOWN_TOOL if event.get("reason") == Reason.UNKNOWN else str(event["tool"])
            self._add(int(at // HOUR), tool, ToolUsage(1, failed, ms, ms, at))
        elif kind == "saving" and event["what"] == "definitions":
            self.figures.add_session(str(event["session"]), SessionSaving(int(event["tokens"]), at))
        elif kind == "saving":
            tokens, round_trips = int(event.get("tokens", 0)), int(event.get("round_trips", 0))
            usage = ToolUsage(saved_tokens=tokens, round_trips=round_trips)
            self._add(int(at // HOUR), str(event["tool"]), usage)

    def _add_summary(self, summary: Mapping[str, Any], at: float) -> None:
        """Add a summary. Of each hour it has only the calls and failures; the rest goes to the last hour.

        at: the start of its day, in seconds since the epoch.
        """
        try:
            for tool, usage in summary.get("tools", {}).items():
                hours = {int(hour): counts for hour, counts in usage["hours"].items()}
                for hour, (calls, failed) in hours.items():
                    self._add(hour, tool, ToolUsage(int(calls), int(failed)))
                rest = ToolUsage(
                    total_ms=float(usage["total_ms"]),
                    max_ms=float(usage["max_ms"]),
                    last_at=float(usage["last_at"]),
                    saved_tokens=int(usage["saved_tokens"]),
                    round_trips=int(usage["round_trips"]),
                )
                self._add(max(hours, default=int(at // HOUR)), tool, rest)
            for session, tokens in summary.get("sessions", {}).items():
                self.figures.add_session(session, SessionSaving(int(tokens), at))
        except INVALID as error:
            self.problem = f"a summary has another form: {error}"

    def _add(self, hour: int, tool: str, usage: ToolUsage) -> None:
        self.figures.hours.setdefault((hour, tool), ToolUsage()).add(usage)
