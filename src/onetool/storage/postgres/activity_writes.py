"""SQL that writes the records of calls."""

from collections.abc import Iterable, Sequence
from typing import Any, cast
from uuid import UUID

from onetool.domain.activity.record import CallRecord
from onetool.domain.activity.rollup import RollUp
from onetool.domain.usage.summary import HOURS_PER_DAY, ToolUsage

from .activity_queries import COLUMNS, fetch_value
from .database import Cursor
from .texts import to_storable

NUMBERS = {
    "started": "float8",
    "ended": "float8",
    "duration_ms": "float8",
    "bytes_in": "bigint",
    "bytes_out": "bigint",
}
"""Types of the columns that are no text."""
NAMES = ", ".join(COLUMNS)
ARRAYS = ", ".join(f"%s::{NUMBERS.get(name, 'text')}[]" for name in COLUMNS)
TAKE_NUMBERS = "update workspace_state set calls = calls + %s returning calls"
ADD_CALLS = f"""
insert into calls (workspace_id, seq, {NAMES})
select %s, %s + number, {NAMES} from unnest({ARRAYS}) with ordinality as new({NAMES}, number)
"""
ADD_BODIES = """
insert into call_bodies (workspace_id, seq, arguments, result)
select %s, seq, arguments, result
from unnest(%s::bigint[], %s::text[], %s::text[]) as new(seq, arguments, result)
"""
HOUR_COLUMNS = "hour, tool, calls, failed, total_ms, max_ms, last_at, saved_tokens, round_trips"
SUM_OF_HOURS = """
sum(calls), sum(failed), sum(total_ms), max(max_ms), max(last_at), sum(saved_tokens), sum(round_trips)
"""
ON_SAME_HOUR = """
on conflict (workspace_id, hour, tool) do update set
calls = call_hours.calls + excluded.calls, failed = call_hours.failed + excluded.failed,
total_ms = call_hours.total_ms + excluded.total_ms, max_ms = greatest(call_hours.max_ms, excluded.max_ms),
last_at = greatest(call_hours.last_at, excluded.last_at),
saved_tokens = call_hours.saved_tokens + excluded.saved_tokens,
round_trips = call_hours.round_trips + excluded.round_trips
"""
ADD_HOURS = f"""
insert into call_hours (workspace_id, {HOUR_COLUMNS})
select %s, hour, tool, {SUM_OF_HOURS}
from unnest(%s::bigint[], %s::text[], %s::bigint[], %s::bigint[], %s::float8[], %s::float8[], %s::float8[],
%s::bigint[], %s::bigint[]) as new({HOUR_COLUMNS}) group by hour, tool {ON_SAME_HOUR}
"""
ADD_SESSIONS = """
insert into session_savings (workspace_id, session, tokens, at)
select %s, session, max(tokens), max(at)
from unnest(%s::text[], %s::bigint[], %s::float8[]) as new(session, tokens, at) group by session
on conflict (workspace_id, session) do update
set tokens = greatest(session_savings.tokens, excluded.tokens), at = greatest(session_savings.at, excluded.at)
"""
ADD_COUNTERS = """
insert into tool_counters (workspace_id, tool_id, calls, last_called_at)
select %s, tool_id, sum(calls), max(last_called_at)
from unnest(%s::text[], %s::bigint[], %s::float8[]) as new(tool_id, calls, last_called_at) group by tool_id
on conflict (workspace_id, tool_id) do update set calls = tool_counters.calls + excluded.calls,
last_called_at = greatest(tool_counters.last_called_at, excluded.last_called_at)
"""
HOURS_UNTIL_DAILY = 35 * HOURS_PER_DAY
"""Age at which the hours of a day become one row; longer than any period that is reported by the hour."""
JOIN_HOURS = f"""
with old as (
    delete from call_hours
    where hour < (select max(hour) from call_hours) - {HOURS_UNTIL_DAILY} and mod(hour, {HOURS_PER_DAY}) <> 0
    returning *
)
insert into call_hours (workspace_id, {HOUR_COLUMNS})
select workspace_id, hour - mod(hour, {HOURS_PER_DAY}) as day, tool, {SUM_OF_HOURS}
from old group by workspace_id, day, tool {ON_SAME_HOUR}
"""
USED_BYTES = """
select (select count(*) from calls) * %s
    + coalesce((select sum(octet_length(arguments) + octet_length(result)) from call_bodies), 0)::bigint
"""
DELETE_BODIES = """
with deleted as (
    delete from call_bodies where seq in (select seq from call_bodies order by seq limit %s)
    returning octet_length(arguments) + octet_length(result) as size
)
select coalesce(sum(size), 0)::bigint from deleted
"""
DELETE_CALLS = """
with found as ({found}),
bodies as (delete from call_bodies where seq in (select seq from found)
    returning octet_length(arguments) + octet_length(result) as size),
records as (delete from calls where seq in (select seq from found) returning seq)
select (select count(*) from records), coalesce((select sum(size) from bodies), 0)::bigint
"""
EXPIRED = "select seq from calls where ended < %s order by ended limit %s"
OLDEST = "select seq from calls order by seq limit %s"
CHUNK = 1_000
"""Records that are deleted in one transaction, so that other processes wait only briefly."""
RECORD_BYTES = 500
"""Estimated size of a record without its body."""


def take_numbers(cursor: Cursor, count: int) -> int:
    """Reserve the next numbers of records; return the last one. Other writers wait from here on."""
    return int(fetch_value(cursor.execute(TAKE_NUMBERS, (count,))))


def insert_records(cursor: Cursor, workspace: UUID, records: Sequence[CallRecord], last: int) -> None:
    """Insert records, and the bodies that are not empty. `last` is the number of the last one."""
    if not records:
        return
    first = last - len(records)
    columns = [[_to_column(name, value) for value in column] for name, column in _columns(records)]
    cursor.execute(ADD_CALLS.encode(), (workspace, first, *columns[:-2]))
    bodies = [
        (seq, *body) for seq, body in enumerate(zip(*columns[-2:], strict=True), first + 1) if any(body)
    ]
    if bodies:
        cursor.execute(ADD_BODIES, (workspace, *_transpose(bodies)))


def add_figures(cursor: Cursor, workspace: UUID, figures: RollUp) -> None:
    """Add figures to those of earlier calls."""
    hours = [(hour, to_storable(tool), *_usage_row(usage)) for (hour, tool), usage in figures.hours.items()]
    sessions = [(to_storable(name), item.tokens, float(item.at)) for name, item in figures.sessions.items()]
    counters = [
        (to_storable(id_), item.calls, float(item.last_called_at)) for id_, item in figures.counters.items()
    ]
    statements = ((ADD_HOURS, hours), (ADD_SESSIONS, sessions), (ADD_COUNTERS, counters))
    for statement, rows in statements:
        if rows:
            cursor.execute(statement.encode(), (workspace, *_transpose(rows)))


def join_hours(cursor: Cursor) -> None:
    """Replace the hours of long past days by one row for each day and tool."""
    cursor.execute(JOIN_HOURS.encode())


def used_bytes(cursor: Cursor) -> int:
    """Return the estimated size of all records."""
    return int(fetch_value(cursor.execute(USED_BYTES, (RECORD_BYTES,))))


def delete_expired(cursor: Cursor, before: float) -> int:
    """Delete some records of calls that ended before a time. Return their size in bytes."""
    return _delete(cursor, EXPIRED, (before, CHUNK))


def delete_oldest(cursor: Cursor) -> int:
    """Delete some of the oldest bodies, or if there are none, of the oldest records. Return their size."""
    return int(fetch_value(cursor.execute(DELETE_BODIES, (CHUNK,)))) or _delete(cursor, OLDEST, (CHUNK,))


def _delete(cursor: Cursor, found: str, values: Sequence[float]) -> int:
    statement = DELETE_CALLS.format(found=found)
    count, size = cast(tuple[int, int], cursor.execute(statement.encode(), values).fetchone())
    return count * RECORD_BYTES + size


def _transpose(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _columns(records: Sequence[CallRecord]) -> Iterable[tuple[str, list[Any]]]:
    return zip(CallRecord._fields, _transpose(records), strict=True)


def _to_column(name: str, value: Any) -> Any:
    """Return a field as it is stored. An array must not mix types."""
    match NUMBERS.get(name):
        case "float8":
            return float(value)
        case "bigint":
            return int(value)
    return None if value is None else to_storable(str(value))


def _usage_row(usage: ToolUsage) -> tuple[float, ...]:
    times = (float(usage.total_ms), float(usage.max_ms), float(usage.last_at))
    return usage.calls, usage.failed, *times, usage.saved_tokens, usage.round_trips
