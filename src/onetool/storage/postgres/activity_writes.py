"""SQL that writes the records of calls."""

from collections.abc import Sequence
from typing import Any, cast

import orjson

from onetool.domain.activity.record import CallRecord
from onetool.domain.activity.rollup import RollUp
from onetool.domain.usage.summary import HOURS_PER_DAY, ToolUsage

from .activity_queries import COLUMNS, fetch_value
from .database import Cursor
from .texts import to_storable

FLOATS = frozenset({"started", "ended", "duration_ms"})
INTEGERS = frozenset({"bytes_in", "bytes_out"})
LOCK = "select from workspace_state for update"
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


def lock(cursor: Cursor) -> None:
    """Let others that write records of the workspace wait for the end of the transaction."""
    cursor.execute(LOCK)


def to_batch(records: Sequence[CallRecord], figures: RollUp) -> str:
    """Return records and figures as the function `add_calls` of the database reads them."""
    bodies = [
        {"number": number, "arguments": to_storable(record.arguments), "result": to_storable(record.result)}
        for number, record in enumerate(records, 1)
        if record.arguments or record.result
    ]
    hours = [
        {"hour": hour, "tool": to_storable(tool), **_usage_row(usage)}
        for (hour, tool), usage in figures.hours.items()
    ]
    sessions = [
        {"session": to_storable(name), "tokens": saving.tokens, "at": float(saving.at)}
        for name, saving in figures.sessions.items()
    ]
    counters = [
        {"tool_id": to_storable(id_), "calls": counter.calls, "last_called_at": float(counter.last_called_at)}
        for id_, counter in figures.counters.items()
    ]
    batch = {
        "calls": [_call_row(record) for record in records],
        "bodies": bodies,
        "hours": hours,
        "sessions": sessions,
        "counters": counters,
    }
    return orjson.dumps(batch).decode()


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


def _call_row(record: CallRecord) -> dict[str, Any]:
    return {name: _to_column(name, value) for name, value in zip(COLUMNS, record, strict=False)}


def _to_column(name: str, value: Any) -> Any:
    """Return a field as it is stored."""
    if name in FLOATS:
        return float(value)
    if name in INTEGERS:
        return int(value)
    return None if value is None else to_storable(str(value))


def _usage_row(usage: ToolUsage) -> dict[str, float]:
    return {
        "calls": usage.calls,
        "failed": usage.failed,
        "total_ms": float(usage.total_ms),
        "max_ms": float(usage.max_ms),
        "last_at": float(usage.last_at),
        "saved_tokens": usage.saved_tokens,
        "round_trips": usage.round_trips,
    }
