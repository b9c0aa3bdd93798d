"""Stored results in PostgreSQL: a row with metadata, which outlives the text or the bytes in it."""

import json
import time
from collections.abc import Callable

from onetool.domain.content.media import Media
from onetool.domain.errors import QuotaExceeded, StoreUnavailable
from onetool.domain.results import stored_result
from onetool.domain.results.stored_result import (
    DEFAULT_TTL_S,
    HANDLE,
    METADATA_RETENTION_S,
    MIN_MEDIA_AGE_S,
    StoredResult,
    create_stored_media,
    create_stored_result,
    oldest_media,
)
from onetool.threads import Threads

from .database import Cursor, on_thread
from .limits import read_limits
from .workspace_database import WorkspaceDatabase

MAX_BYTES = 64 * 2**20
"""Maximum size of one text, or of the bytes of one media."""
SWEEP_SIZE = 50
"""How many expired results one `put` deletes, so that none waits for thousands of rows."""
REAP_SIZE = 1_000
"""How many expired results one transaction of `reap` deletes."""
PUT = """
insert into results (workspace_id, handle, meta, body, is_media, created_at, expires_at, size)
values (%s, %s, %s, %s, %s, %s, %s, %s)
"""
PUT_MEDIA = f"""
{PUT} on conflict (workspace_id, handle) do update set
    meta = excluded.meta, body = excluded.body, created_at = excluded.created_at,
    expires_at = excluded.expires_at, size = excluded.size
where results.is_media and (results.body is null or results.expires_at <= excluded.created_at)
"""
"""If two processes store the same media, the first one wins."""
FIND = "select meta from results where workspace_id = %s and handle = %s"
FIND_MEDIA = f"{FIND} and is_media and expires_at > %s and body is not null"
TEXT = """
select body from results where workspace_id = %s and handle = %s and not is_media and expires_at > %s
"""
MEDIA = """
select meta, body from results where workspace_id = %s and handle = %s and is_media and expires_at > %s
"""
MEDIA_SIZE = """
select coalesce(sum(size), 0)::bigint from results
where workspace_id = %s and expires_at > %s and is_media and body is not null
"""
ALL_MEDIA = """
select created_at, size, handle from results
where workspace_id = %s and expires_at > %s and is_media and body is not null
"""
EMPTY_MEDIA = """
update results set body = null where workspace_id = %(workspace)s and handle in (
    select handle from results
    where workspace_id = %(workspace)s and handle = any(%(handles)s) and created_at <= %(before)s
    for update skip locked
)
"""
EMPTY_EXPIRED = """
update results set body = null where workspace_id = %(workspace)s and handle in (
    select handle from results
    where workspace_id = %(workspace)s and expires_at <= %(before)s and body is not null
    order by expires_at limit %(limit)s for update skip locked
)
"""
DELETE_EXPIRED = """
delete from results where workspace_id = %(workspace)s and handle in (
    select handle from results where workspace_id = %(workspace)s and expires_at < %(before)s
    order by expires_at limit %(limit)s for update skip locked
)
"""
LOCK_TOTAL = """
insert into result_totals (workspace_id, bytes) values (%s, 0)
on conflict (workspace_id) do update set bytes = result_totals.bytes
"""
"""Triggers keep the sum of the sizes. It is locked before results change, so that they stay in the limit."""
TOTAL = "select bytes from result_totals where workspace_id = %s"


class PostgresResults:
    """Stores each result as a row. Expired rows first lose their content, and are deleted later."""

    def __init__(
        self, workspace: WorkspaceDatabase, threads: Threads, now: Callable[[], float] = time.time
    ) -> None:
        self._workspace, self._threads, self._now = workspace, threads, now

    @on_thread
    def put(self, text: str, tool: str, ttl_s: float = DEFAULT_TTL_S) -> StoredResult:
        """Store a text. Durable on return.

        Raises:
            StoreUnavailable: The text is longer than MAX_BYTES.
            QuotaExceeded: The workspace would store more than it may.
        """
        stored = create_stored_result(text, tool, self._now(), ttl_s)
        _check_size(stored)
        with self._workspace.recording() as cursor:
            self._make_room(cursor, stored)
            cursor.execute(PUT, self._row(stored, text.encode("utf-8", "surrogatepass")))
        return stored

    @on_thread
    def put_media(self, media: Media, tool: str, ttl_s: float = DEFAULT_TTL_S) -> StoredResult:
        """Store media. Durable on return.

        Raises:
            StoreUnavailable: The media have more than MAX_BYTES.
            QuotaExceeded: The workspace would store more than it may.
        """
        now = self._now()
        with self._workspace.reading() as cursor:
            if found := self._find(cursor, FIND_MEDIA, media.handle, now):
                return found
        data = media.to_bytes()
        stored = create_stored_media(media.handle, data, media.mime_type, tool, (now, now + ttl_s))
        _check_size(stored)
        with self._workspace.recording() as cursor:
            self._make_room(cursor, stored)
            cursor.execute(PUT_MEDIA, self._row(stored, data))
            self._empty_oldest(cursor)
            return self._find(cursor, FIND, media.handle) or stored

    @on_thread
    def media(self, handle: str) -> Media | None:
        """Return media, or None if they have expired."""
        if not HANDLE.fullmatch(handle):
            return None
        with self._workspace.reading() as cursor:
            values = (self._workspace.workspace, handle, self._now())
            row = cursor.execute(MEDIA, values, binary=True).fetchone()
        if row is None or row[1] is None or (stored := _parse(row[0])) is None:
            return None
        return Media.stored(handle, row[1], stored.mime_type)

    @on_thread
    def find(self, handle: str) -> StoredResult | None:
        """Return the metadata of a handle. Corrupt ones count as an unknown handle."""
        if not HANDLE.fullmatch(handle):
            return None
        with self._workspace.reading() as cursor:
            return self._find(cursor, FIND, handle)

    @on_thread
    def text(self, handle: str) -> str | None:
        """Return the text, or None if it has expired."""
        if not HANDLE.fullmatch(handle):
            return None
        with self._workspace.reading() as cursor:
            values = (self._workspace.workspace, handle, self._now())
            row = cursor.execute(TEXT, values, binary=True).fetchone()
        return None if row is None or row[0] is None else row[0].decode("utf-8", "surrogatepass")

    @on_thread
    def reap(self) -> None:
        """Delete everything that has expired, in several transactions."""
        changed = REAP_SIZE
        while changed >= REAP_SIZE:
            with self._workspace.recording() as cursor:
                changed = self._sweep(cursor, REAP_SIZE)

    async def aclose(self) -> None:
        """Do nothing: connections belong to the process."""

    def _row(self, stored: StoredResult, body: bytes) -> tuple[object, ...]:
        meta = json.dumps({key: value for key, value in stored._asdict().items() if value != ""})
        times = (stored.created_at, stored.expires_at)
        is_media = bool(stored.mime_type)
        return (self._workspace.workspace, stored.handle, meta, body, is_media, *times, stored.size_bytes)

    def _find(self, cursor: Cursor, query: str, handle: str, *values: float) -> StoredResult | None:
        row = cursor.execute(query.encode(), (self._workspace.workspace, handle, *values)).fetchone()
        return None if row is None else _parse(row[0])

    def _make_room(self, cursor: Cursor, stored: StoredResult) -> None:
        """Delete expired results, and the oldest media if the workspace could not store another one.

        Raises:
            QuotaExceeded: It cannot.
        """
        id = self._workspace.workspace
        cursor.execute(LOCK_TOTAL, (id,))
        limit = read_limits(cursor, id).result_bytes
        while self._sweep(cursor) == SWEEP_SIZE and self._excess(cursor, stored, limit) > 0:
            pass
        excess = self._excess(cursor, stored, limit)
        if excess > 0:
            self._empty_oldest(cursor, excess)
            excess = self._excess(cursor, stored, limit)
        if excess > 0:
            raise QuotaExceeded(
                f"A result of {stored.size_bytes} bytes was not stored: the stored results of the workspace"
                f" have {excess + (limit or 0) - stored.size_bytes} bytes, and their limit is {limit}"
                " (result_bytes). They expire with time."
            )

    def _excess(self, cursor: Cursor, stored: StoredResult, limit: int | None) -> int:
        """Return by how many bytes another result exceeds the limit of the workspace."""
        if limit is None:
            return 0
        ((total,),) = cursor.execute(TOTAL, (self._workspace.workspace,)).fetchall()
        return int(total) + stored.size_bytes - limit

    def _sweep(self, cursor: Cursor, limit: int = SWEEP_SIZE) -> int:
        """Delete the content of expired results, and their rows after METADATA_RETENTION_S.

        Return the larger number of rows that either statement has changed.
        """
        now, changed = self._now(), 0
        for query, before in ((EMPTY_EXPIRED, now), (DELETE_EXPIRED, now - METADATA_RETENTION_S)):
            values = {"workspace": self._workspace.workspace, "before": before, "limit": limit}
            changed = max(changed, cursor.execute(query, values).rowcount)
        return changed

    def _empty_oldest(self, cursor: Cursor, excess: int = 0) -> None:
        """Delete the bytes of the oldest media if there are too many, or to make room for so many bytes."""
        id, now = self._workspace.workspace, self._now()
        ((size,),) = cursor.execute(MEDIA_SIZE, (id, now)).fetchall()
        max_bytes = min(stored_result.MAX_MEDIA_BYTES, size - excess) if excess else None
        if excess or size > stored_result.MAX_MEDIA_BYTES:
            oldest = oldest_media(cursor.execute(ALL_MEDIA, (id, now)).fetchall(), now, max_bytes)
            values = {"workspace": id, "handles": oldest, "before": now - MIN_MEDIA_AGE_S}
            cursor.execute(EMPTY_MEDIA, values)


def _check_size(stored: StoredResult) -> None:
    if stored.size_bytes > MAX_BYTES:
        raise StoreUnavailable(f"A result of {stored.size_bytes} bytes exceeds the limit of {MAX_BYTES}.")


def _parse(meta: str) -> StoredResult | None:
    try:
        return StoredResult(**json.loads(meta))
    except (ValueError, TypeError):
        return None
