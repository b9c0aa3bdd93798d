"""Sessions in PostgreSQL: a row for each session and one for each of its records."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from uuid import UUID

import orjson

from onetool.domain.chat.transcript import (
    SESSION_NAME,
    Record,
    SessionSummary,
    check_session_name,
    replay,
    to_line,
)
from onetool.domain.errors import StoreUnavailable
from onetool.domain.page import Page
from onetool.threads import Threads

from .chats import current_owner, is_lost
from .database import Cursor, on_thread, store_errors
from .workspace_database import WorkspaceDatabase

log = logging.getLogger(__name__)
LAST_PLACE = (float("inf"), "")
EXTEND = """
insert into sessions (workspace_id, owner, id, changed_at, length) values (%s, %s, %s, %s, %s)
on conflict (workspace_id, owner, id) do update set
    changed_at = excluded.changed_at, length = sessions.length + excluded.length, summary = null
returning length
"""
"""Locks the session until the records are stored, and returns the number of the last one."""
ADD = """
insert into session_records (workspace_id, owner, session_id, n, body)
select %s, %s, %s, %s + n, body from unnest(%s::text[]) with ordinality as added (body, n)
"""
READ = """
select n, body from session_records
where workspace_id = %s and owner = %s and session_id = %s and n <= %s order by n
"""
PAGE = """
select id, changed_at, length, summary from sessions
where workspace_id = %s and owner = %s and (changed_at, id) < (%s, %s)
order by changed_at desc, id desc limit %s
"""
SUMMARIZE = """
update sessions set summary = %s
where workspace_id = %s and owner = %s and id = %s and changed_at = %s and length = %s
"""
DELETE = "delete from sessions where workspace_id = %s and owner = %s and id = %s"
REAP = """
delete from sessions where workspace_id = %(workspace)s and (owner, id) in (
    select owner, id from sessions
    where workspace_id = %(workspace)s and changed_at < %(before)s
        and (owner <> %(owner)s or id is distinct from %(keep)s)
    for update skip locked
)
"""
FORGET_LEASES = """
delete from chat_leases where workspace_id = %s and lease_until < clock_timestamp() - interval '1 day'
"""
"""Of processes that were killed."""
MAX_LENGTH = 2**31 - 1


class _Row(NamedTuple):
    """A session in a listing."""

    id: str
    changed_at: float
    length: int
    summary: str | None
    """JSON of the title and the number of messages; None if they are not known."""


class PostgresSessions:
    """Stores records of the current principal as JSON. The row of a session serializes writes to it."""

    def __init__(
        self,
        workspace: WorkspaceDatabase,
        threads: Threads,
        now: Callable[[], float] = time.time,
        replica: str = "",
    ) -> None:
        """replica: the name under which this process reserves sessions."""
        self._workspace, self._threads, self._now, self._replica = workspace, threads, now, replica

    @on_thread
    def append(self, session: str, records: Sequence[Record]) -> None:
        """Append records to a session. Durable on return.

        Raises:
            StoreUnavailable: Another process has reserved the session. A title is stored nevertheless.
        """
        check_session_name(session)
        place, bodies = self._place(session), [to_line(record).decode() for record in records]
        is_message = any(record.get("type") != "title" for record in records)
        with self._workspace.recording() as cursor:
            if is_message and is_lost(cursor, self._workspace, session, self._replica):
                raise StoreUnavailable(f"Another process continues session {session!r}.")
            cursor.execute(EXTEND, (*place, self._now(), len(bodies)))
            ((length,),) = cursor.fetchall()
            cursor.execute(ADD, (*place, length - len(bodies), bodies))

    @on_thread
    def read(self, session: str) -> Sequence[Record]:
        """Return all records of a session."""
        check_session_name(session)
        with self._workspace.reading() as cursor:
            return list(self._records(cursor, session))

    @on_thread
    def page(self, cursor: str | None, limit: int) -> Page[SessionSummary]:
        """Return sessions, most recently changed first. Reads the records of those that changed since.

        Raises:
            ValueError: The cursor is not valid.
        """
        place = _parse_cursor(cursor) if cursor else LAST_PLACE
        with self._workspace.reading() as reader:
            values = (self._workspace.workspace, current_owner(), *place, limit + 1)
            reader.execute(PAGE, values)
            rows = [_Row(*row) for row in reader.fetchall()]
            page = [self._summarize(reader, row) for row in rows[:limit]]
        self._store_summaries(new for old, new in zip(rows, page, strict=False) if old.summary is None)
        next_cursor = _to_cursor(rows[limit - 1]) if len(rows) > limit else None
        return Page([_to_summary(row) for row in page], next_cursor)

    @on_thread
    def delete(self, session: str) -> bool:
        """Delete a session. Return False if there is none."""
        check_session_name(session)
        with self._workspace.recording() as cursor:
            cursor.execute(DELETE, self._place(session))
            return cursor.rowcount > 0

    @on_thread
    def reap(self, before: float, keep: str | None = None) -> int:
        """Delete sessions of all principals that were last changed before `before`.

        `keep` and those that are being written stay. Return how many were deleted.
        """
        kept = keep if keep and SESSION_NAME.fullmatch(keep) else None
        values = {"workspace": self._workspace.workspace, "before": before, "keep": kept}
        values["owner"] = current_owner()
        with self._workspace.recording() as cursor:
            cursor.execute(FORGET_LEASES, (self._workspace.workspace,))
            cursor.execute(REAP, values)
            return cursor.rowcount

    async def aclose(self) -> None:
        """Do nothing: connections belong to the process."""

    def _place(self, session: str) -> tuple[UUID, str, str]:
        return self._workspace.workspace, current_owner(), session

    def _records(self, cursor: Cursor, session: str, length: int = MAX_LENGTH) -> Iterator[Record]:
        for number, body in cursor.execute(READ, (*self._place(session), length)).fetchall():
            if (record := _parse_record(body)) is not None:
                yield record
            else:
                log.warning("skipped invalid record %d of session %s", number, session)

    def _summarize(self, cursor: Cursor, row: _Row) -> _Row:
        """Return a row with its summary."""
        if row.summary is not None:
            return row
        transcript = replay(self._records(cursor, row.id, row.length))
        summary = orjson.dumps([transcript.title, len(transcript.messages)]).decode()
        return row._replace(summary=summary)

    def _store_summaries(self, rows: Iterable[_Row]) -> None:
        """Store new summaries, except of sessions that have changed again."""
        values = [(row.summary, *self._place(row.id), row.changed_at, row.length) for row in sorted(rows)]
        if not values:
            return
        try:
            with store_errors(), self._workspace.recording() as cursor:
                for row in values:
                    cursor.execute(SUMMARIZE, row)
        except StoreUnavailable as error:  # the next listing summarizes them again
            log.warning("cannot store summaries of sessions: %s", error)


def _to_summary(row: _Row) -> SessionSummary:
    title, messages = orjson.loads(row.summary or "")
    return SessionSummary(row.id, title, row.changed_at, messages)


def _to_cursor(row: _Row) -> str:
    return f"{row.changed_at!r}|{row.id}"


def _parse_cursor(cursor: str) -> tuple[float, str]:
    """Read the output of `_to_cursor`. Another text raises ValueError."""
    changed_at, id = cursor.split("|")
    if not SESSION_NAME.fullmatch(id):
        raise ValueError(f"Invalid cursor {cursor!r}. Use the one of the page before.")
    return float(changed_at), id


def _parse_record(body: str) -> Record | None:
    try:
        record = orjson.loads(body)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
