"""SQL of the activity file."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from onetool.domain.activity.record import ActivityFilter, CallRecord, parse_cursor
from onetool.domain.activity.rollup import RollUp
from onetool.domain.errors import Reason
from onetool.domain.page import Page
from onetool.domain.usage.summary import (
    HOUR,
    HOURS_PER_DAY,
    UNKNOWN_TOOL,
    CallCounter,
    ToolUsage,
    UsageSummary,
)
from onetool.ports.activity import MAX_TREE

COLUMNS = CallRecord._fields[:-2]
"""All but the bodies, `arguments` and `result`, which are in a table of their own."""
FIELDS = ", ".join(f"calls.{name}" for name in COLUMNS)
TABLES = """
create table if not exists calls (
    seq integer primary key, id text not null, tool text not null, started real not null, ended real not null,
    kind text not null, parent text not null, principal text not null, interface text not null,
    client text not null, profile text not null, session text not null, source text not null,
    tool_id text not null, version text not null, reason text, decision text not null,
    duration_ms real not null, bytes_in integer not null, bytes_out integer not null
);
create index if not exists calls_by_id on calls (id);
create index if not exists calls_by_parent on calls (parent) where parent != '';
create index if not exists calls_by_end on calls (ended);
create table if not exists bodies (
    seq integer primary key, arguments text not null, result text not null
);
create table if not exists hours (
    hour integer not null, tool text not null, calls integer not null, failed integer not null,
    total_ms real not null, max_ms real not null, last_at real not null,
    saved_tokens integer not null, round_trips integer not null, primary key (hour, tool)
) without rowid;
create table if not exists sessions (
    session text primary key, tokens integer not null, at real not null
) without rowid;
create table if not exists counters (
    tool_id text primary key, calls integer not null, last_called_at real not null
) without rowid;
create table if not exists taken_over (name text primary key) without rowid
"""
ADD_HOUR = """
insert into hours values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do update set
calls = calls + excluded.calls, failed = failed + excluded.failed,
total_ms = total_ms + excluded.total_ms, max_ms = max(max_ms, excluded.max_ms),
last_at = max(last_at, excluded.last_at), saved_tokens = saved_tokens + excluded.saved_tokens,
round_trips = round_trips + excluded.round_trips
"""
ADD_SESSION = """
insert into sessions values (?, ?, ?) on conflict do update
set tokens = max(tokens, excluded.tokens), at = max(at, excluded.at)
"""
ADD_COUNTER = """
insert into counters values (?, ?, ?) on conflict do update
set calls = calls + excluded.calls, last_called_at = max(last_called_at, excluded.last_called_at)
"""
HOURS_UNTIL_DAILY = 35 * HOURS_PER_DAY
"""Age at which the hours of a day become one row; longer than any period that is reported by the hour."""
DAILY = f"hour < (select max(hour) from hours) - {HOURS_UNTIL_DAILY} and hour % {HOURS_PER_DAY}"  # noqa: S608 - constants
USAGE = """
select tool, sum(calls), sum(failed), sum(total_ms), max(max_ms), max(last_at), sum(saved_tokens),
sum(round_trips) from hours where hour > ? group by tool
"""
FIRST_HOUR = f"""
select iif(reason = '{Reason.UNKNOWN.value}', '{UNKNOWN_TOOL}', tool), count(*), count(reason),
sum(duration_ms), max(duration_ms), max(ended)
from calls where ended >= ? and ended < ? and kind = 'call' group by 1
"""  # noqa: S608 - constants
TREE = f"""
with recursive inside(id) as (
    select ? union select calls.id from calls, inside
    where calls.parent = inside.id and calls.parent != '' limit {MAX_TREE}
)
select {FIELDS}, arguments, result from inside join calls using (id) left join bodies using (seq)
order by started limit {MAX_TREE}
"""  # noqa: S608 - constants
MAX_SEARCHED = 100_000
"""Records that one page searches. The next page goes on."""
MAX_DELAY_S = 3600.0
"""How much later than it ended a call is stored at the latest, usually."""
CHUNK = 1_000
"""Records that are deleted in one transaction, so that other processes wait only briefly."""
MAX_VALUES = 500


def insert_records(connection: sqlite3.Connection, records: Sequence[CallRecord]) -> None:
    """Insert records, and the bodies that are not empty."""
    last = connection.execute("select ifnull(max(seq), 0) from calls").fetchone()[0]
    rows = [(seq, *record) for seq, record in enumerate(records, last + 1)]
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    connection.executemany(f"insert into calls values ({marks})", [row[:-2] for row in rows])  # noqa: S608 - values are bound
    bodies = [(row[0], *row[-2:]) for row in rows if row[-2] or row[-1]]
    connection.executemany("insert into bodies values (?, ?, ?)", bodies)


def add_figures(connection: sqlite3.Connection, figures: RollUp) -> None:
    """Add figures to those of earlier calls."""
    hours = [(hour, tool, *_usage_row(usage)) for (hour, tool), usage in figures.hours.items()]
    connection.executemany(ADD_HOUR, hours)
    connection.executemany(ADD_SESSION, [(name, *saving) for name, saving in figures.sessions.items()])
    connection.executemany(ADD_COUNTER, [(id_, *counter) for id_, counter in figures.counters.items()])


def page(
    connection: sqlite3.Connection, filter: ActivityFilter, cursor: str | None, limit: int
) -> Page[CallRecord]:
    """Return records, newest first, and the cursor of the next page."""
    where, values = _conditions(filter)
    last = parse_cursor(cursor)
    if last is None:
        last = connection.execute("select ifnull(max(seq), 0) + 1 from calls").fetchone()[0]
    first = 0 if filter.parent else max(last - MAX_SEARCHED, 0)  # calls are found by their parent
    rows = connection.execute(
        f"select calls.seq, {FIELDS} from calls left join bodies using (seq) "  # noqa: S608 - values are bound
        f"where calls.seq < ? and calls.seq >= ? {where} order by calls.seq desc limit ?",
        (last, first, *values, limit + 1),
    ).fetchall()
    records = [_record(row[1:]) for row in rows[:limit]]
    if len(rows) > limit:
        return Page(records, str(rows[limit - 1][0]))
    return Page(records, str(first) if _goes_on(connection, first, filter.since) else None)


def _goes_on(connection: sqlite3.Connection, first: int, since: float | None) -> bool:
    """Return whether there are records before those that were searched which the filter may select."""
    query = "select ended from calls where seq < ? order by seq desc limit 1"
    row = connection.execute(query, (first,)).fetchone()
    return row is not None and (since is None or row[0] >= since - MAX_DELAY_S)


def _conditions(filter: ActivityFilter) -> tuple[str, list[Any]]:
    """Return the SQL of a filter, after `where`, and its values."""
    fields = ("principal", "interface", "client", "profile", "session", "reason", "parent")
    wanted = {f"calls.{name} = ?": getattr(filter, name) for name in fields}
    wanted |= {"ended >= ?": filter.since, "ended < ?": filter.until}
    conditions = [condition for condition, value in wanted.items() if value is not None]
    values: list[Any] = [value for value in wanted.values() if value is not None]
    if filter.parent:
        conditions.append("calls.parent != ''")  # the index has only these
    if filter.ok is not None:
        conditions.append(f"reason is {'' if filter.ok else 'not '}null")
    if filter.tool is not None:
        conditions.append("(tool glob ? or tool glob ?)")
        values += filter.patterns
    if filter.text is not None:
        conditions.append(
            "tool || char(10) || ifnull(arguments || char(10) || result, '') like ? escape '\\'"
        )
        values.append(f"%{_escape(filter.text)}%")
    return "".join(f"and {condition} " for condition in conditions), values


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def get(connection: sqlite3.Connection, id: str) -> CallRecord | None:
    """Return the record of a call."""
    query = f"select {FIELDS}, arguments, result from calls left join bodies using (seq) where id = ?"  # noqa: S608 - constants
    row = connection.execute(f"{query} order by seq desc limit 1", (id,)).fetchone()
    return _record(row) if row else None


def tree(connection: sqlite3.Connection, id: str) -> Sequence[CallRecord]:
    """Return a call and all calls inside it, by their start; none if the call is unknown."""
    records = [_record(row) for row in connection.execute(TREE, (id,))]
    return records if any(record.id == id for record in records) else []


def summarize(connection: sqlite3.Connection, since: float | None) -> UsageSummary:
    """Return the usage since a time, or of all time."""
    summary, start = UsageSummary(), -1 if since is None else int(since // HOUR)
    for tool, *row in connection.execute(USAGE, (start,)):
        summary.tools[tool] = ToolUsage(*row)
    query = "select tool, hour, calls, failed from hours where hour > ? and calls"
    for tool, hour, calls, failed in connection.execute(query, (start,)):
        summary.tools[tool].hours[hour] = calls, failed
    if since is not None:
        query = "select tool, saved_tokens, round_trips from hours where hour = ?"
        for tool, tokens, round_trips in connection.execute(query, (start,)):
            summary.add(tool, ToolUsage(saved_tokens=tokens, round_trips=round_trips))
        for tool, *row in connection.execute(FIRST_HOUR, (since, (start + 1) * HOUR)):
            usage = ToolUsage(*row)
            usage.hours[start] = usage.calls, usage.failed
            summary.add(tool, usage)
    query = "select session, tokens from sessions where at >= ?"
    summary.sessions = dict(connection.execute(query, (since or 0.0,)).fetchall())
    return summary


def counters(connection: sqlite3.Connection, tool_ids: Sequence[str]) -> Mapping[str, CallCounter]:
    """Return the counters of tools."""
    found: dict[str, CallCounter] = {}
    for start in range(0, len(tool_ids), MAX_VALUES):
        batch = tool_ids[start : start + MAX_VALUES]
        marks = ",".join("?" * len(batch))
        rows = connection.execute(f"select * from counters where tool_id in ({marks})", batch)  # noqa: S608 - values are bound
        found |= {tool_id: CallCounter(calls, at) for tool_id, calls, at in rows}
    return found


def used_bytes(connection: sqlite3.Connection) -> int:
    """Return the size of the file without the space that deleted records have left in it."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = (connection.execute(f"pragma {name}").fetchone()[0] for name in names)
    return int((pages - free) * size)


def delete_expired(connection: sqlite3.Connection, before: float) -> int:
    """Delete some records of calls that ended before a time. Return how many."""
    return _delete(
        connection,
        connection.execute("select seq from calls where ended < ? order by ended limit ?", (before, CHUNK)),
    )


def delete_oldest(connection: sqlite3.Connection) -> int:
    """Delete some of the oldest bodies, or if there are none, of the oldest records. Return how many."""
    query = "delete from bodies where seq in (select seq from bodies order by seq limit ?)"
    deleted = connection.execute(query, (CHUNK,)).rowcount
    return deleted or _delete(
        connection, connection.execute("select seq from calls order by seq limit ?", (CHUNK,))
    )


def _delete(connection: sqlite3.Connection, found: Iterable[tuple[int]]) -> int:
    rows = list(found)
    for table in ("bodies", "calls"):
        connection.executemany(f"delete from {table} where seq = ?", rows)  # noqa: S608 - constants
    return len(rows)


def join_hours(connection: sqlite3.Connection) -> None:
    """Replace the hours of long past days by one row for each day and tool."""
    rows = connection.execute(f"select * from hours where {DAILY}").fetchall()  # noqa: S608 - constants
    connection.execute(f"delete from hours where {DAILY}")  # noqa: S608 - constants
    connection.executemany(ADD_HOUR, [(row[0] - row[0] % HOURS_PER_DAY, *row[1:]) for row in rows])


def _usage_row(usage: ToolUsage) -> tuple[float, ...]:
    calls = (usage.calls, usage.failed, usage.total_ms, usage.max_ms, usage.last_at)
    return *calls, usage.saved_tokens, usage.round_trips


def _record(row: Sequence[Any]) -> CallRecord:
    record = CallRecord._make([*row, "", ""][: len(CallRecord._fields)])
    return record._replace(
        reason=Reason(record.reason) if record.reason else None,
        arguments=record.arguments or "",
        result=record.result or "",
    )
