"""SQL that reads the records of calls."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from onetool.domain.activity.record import ActivityFilter, CallRecord, parse_cursor
from onetool.domain.errors import Reason
from onetool.domain.page import Page
from onetool.domain.usage.summary import (
    HOUR,
    UNKNOWN_TOOL,
    CallCounter,
    ToolUsage,
    UsageSummary,
)
from onetool.ports.activity import MAX_TREE

from .database import Cursor
from .texts import is_storable, to_storable

COLUMNS = CallRecord._fields[:-2]
"""All but the bodies, `arguments` and `result`, which are in a table of their own."""
FIELDS = ", ".join(f"calls.{name}" for name in COLUMNS)
USAGE = """
select tool, sum(calls)::bigint, sum(failed)::bigint, sum(total_ms), max(max_ms), max(last_at),
sum(saved_tokens)::bigint, sum(round_trips)::bigint from call_hours where hour > %s group by tool
"""
FIRST_HOUR = f"""
select case when reason = '{Reason.UNKNOWN.value}' then '{UNKNOWN_TOOL}' else tool end, count(*),
count(reason), sum(duration_ms), max(duration_ms), max(ended)
from calls where ended >= %s and ended < %s and kind = 'call' group by 1
"""
GET = f"""
select {FIELDS}, arguments, result from calls left join call_bodies using (workspace_id, seq)
where id = %s order by seq desc limit 1
"""
TREE = f"""
with recursive inside(id) as (
    select %s::text collate "C" union select calls.id from calls join inside on calls.parent = inside.id
    where calls.parent <> ''
), found as (select id from inside limit {MAX_TREE})
select {FIELDS}, arguments, result from found join calls using (id)
left join call_bodies using (workspace_id, seq) order by started limit {MAX_TREE}
"""
MAX_SEARCHED = 100_000
"""Records that one page searches. The next page goes on."""
MAX_DELAY_S = 3600.0
"""How much later than it ended a call is stored at the latest, usually."""


def fetch_value(cursor: Cursor) -> Any:
    """Return the only column of the only row of a result."""
    return cast(tuple[Any], cursor.fetchone())[0]


def page(cursor: Cursor, filter: ActivityFilter, after: str | None, limit: int) -> Page[CallRecord]:
    """Return records, newest first, and the cursor of the next page."""
    where, values = _conditions(filter)
    last = parse_cursor(after)
    if last is None:
        last = int(fetch_value(cursor.execute("select calls + 1 from workspace_state")))
    first = 0 if filter.parent else max(last - MAX_SEARCHED, 0)  # calls are found by their parent
    bodies = "" if filter.text is None else "left join call_bodies using (workspace_id, seq)"
    query = f"""
        select seq, {FIELDS} from calls {bodies}
        where seq < %s and seq >= %s {where} order by seq desc limit %s
    """
    rows = cursor.execute(query.encode(), (last, first, *values, limit + 1)).fetchall()
    records = [_record(row[1:]) for row in rows[:limit]]
    if len(rows) > limit:
        return Page(records, str(rows[limit - 1][0]))
    return Page(records, str(first) if _goes_on(cursor, first, filter.since) else None)


def _goes_on(cursor: Cursor, first: int, since: float | None) -> bool:
    """Return whether there are records before those that were searched which the filter may select."""
    query = "select ended from calls where seq < %s order by seq desc limit 1"
    row = cursor.execute(query, (first,)).fetchone()
    return row is not None and (since is None or row[0] >= since - MAX_DELAY_S)


def _conditions(filter: ActivityFilter) -> tuple[str, list[Any]]:
    """Return the SQL of a filter, after `where`, and its values."""
    fields = ("principal", "interface", "client", "profile", "session", "reason", "parent")
    texts = {name: str(value) for name in fields if (value := getattr(filter, name)) is not None}
    if not all(map(is_storable, texts.values())):
        return "and false", []
    times = {"ended >= %s": filter.since, "ended < %s": filter.until}
    wanted = {f"calls.{name} = %s": text for name, text in texts.items()} | times
    conditions = [condition for condition, value in wanted.items() if value is not None]
    values: list[Any] = [value for value in wanted.values() if value is not None]
    if filter.parent:
        conditions.append("calls.parent <> ''")  # the index has only these
    if filter.ok is not None:
        conditions.append(f"reason is {'' if filter.ok else 'not '}null")
    if filter.tool is not None:
        conditions.append("(tool like %s or tool like %s)")
        values += map(_to_like, filter.patterns)
    if filter.text is not None:
        conditions.append("concat_ws(e'\\n', tool, coalesce(arguments, ''), coalesce(result, '')) ilike %s")
        values.append(f"%{_escape(filter.text)}%")
    return "".join(f"and {condition} " for condition in conditions), values


def _to_like(pattern: str) -> str:
    return _escape(pattern).replace("*", "%").replace("?", "_")


def _escape(text: str) -> str:
    return to_storable(text).replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")


def get(cursor: Cursor, id: str) -> CallRecord | None:
    """Return the record of a call."""
    row = cursor.execute(GET.encode(), (id,)).fetchone()
    return _record(row) if row else None


def tree(cursor: Cursor, id: str) -> Sequence[CallRecord]:
    """Return a call and all calls inside it, by their start; none if the call is unknown."""
    records = [_record(row) for row in cursor.execute(TREE.encode(), (id,))]
    return records if any(record.id == id for record in records) else []


def summarize(cursor: Cursor, since: float | None) -> UsageSummary:
    """Return the usage since a time, or of all time."""
    summary, start = UsageSummary(), -1 if since is None else int(since // HOUR)
    for tool, *row in cursor.execute(USAGE, (start,)):
        summary.tools[tool] = ToolUsage(*row)
    query = b"select tool, hour, calls, failed from call_hours where hour > %s and calls > 0"
    for tool, hour, calls, failed in cursor.execute(query, (start,)):
        summary.add(tool, ToolUsage(hours={hour: (calls, failed)}))
    if since is not None:
        query = b"select tool, saved_tokens, round_trips from call_hours where hour = %s"
        for tool, tokens, round_trips in cursor.execute(query, (start,)):
            summary.add(tool, ToolUsage(saved_tokens=tokens, round_trips=round_trips))
        for tool, *row in cursor.execute(FIRST_HOUR.encode(), (since, (start + 1) * HOUR)):
            usage = ToolUsage(*row)
            usage.hours[start] = usage.calls, usage.failed
            summary.add(tool, usage)
    query = b"select session, tokens from session_savings where at >= %s"
    summary.sessions = dict(cursor.execute(query, (since or 0.0,)).fetchall())
    return summary


def counters(cursor: Cursor, tool_ids: Collection[str]) -> Mapping[str, CallCounter]:
    """Return the counters of tools."""
    query = "select tool_id, calls, last_called_at from tool_counters where tool_id = any(%s)"
    rows = cursor.execute(query, (list(filter(is_storable, tool_ids)),))
    return {tool_id: CallCounter(calls, at) for tool_id, calls, at in rows}


def _record(row: Sequence[Any]) -> CallRecord:
    record = CallRecord._make([*row, "", ""][: len(CallRecord._fields)])
    return record._replace(
        reason=Reason(record.reason) if record.reason else None,
        arguments=record.arguments or "",
        result=record.result or "",
    )
