"""Stored results in PostgreSQL: a row with metadata, which outlives the text or the bytes in it."""

import json
import time
from collections.abc import Callable
from typing import Any

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
from .texts import is_storable, to_storable
from .workspace_database import WorkspaceDatabase

MAX_BYTES = 64 * 2**20
"""Maximum size of one text, or of the bytes of one media."""
SWEEP_SIZE = 50
"""How many expired results one `put` deletes, so that none waits for thousands of rows."""
REAP_SIZE = 1_000
"""How many expired results one transaction of `reap` deletes."""
PUT = """
insert into results (workspace_id, handle, owner, meta, body, is_media, created_at, expires_at, size)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
PUT_MEDIA = f"""
{PUT} on conflict (workspace_id, handle, owner) do update set
    meta = excluded.meta, body = excluded.body, created_at = excluded.created_at,
    expires_at = excluded.expires_at, size = excluded.size
where results.is_media and (results.body is null or results.expires_at <= excluded.created_at)
"""
"""If two processes store the same media of an owner, the first one wins."""
READABLE = """
workspace_id = %(workspace)s and handle = %(handle)s
    and (owner = %(reader)s or starts_with(owner, %(reader)s || '#'))
order by owner limit 1
"""
"""The same as `may_read`. The results of the reader come first."""
FIND = f"select meta from results where {READABLE}"
READ = f"select meta, body from results where {READABLE}"
FIND_MEDIA = """
select meta from results
where workspace_id = %s and handle = %s and owner = %s and is_media and expires_at > %s and body is not null
"""
MEDIA_SIZE = """
select coalesce(sum(size), 0)::bigint from results
where workspace_id = %s and expires_at > %s and is_media and body is not null
"""
ALL_MEDIA = """
select created_at, size, array[handle, owner] from results
where workspace_id = %s and expires_at > %s and is_media and body is not null
"""
EMPTY_MEDIA = """
update results set body = null where workspace_id = %(workspace)s and (handle, owner) in (
    select handle, owner from results
    where workspace_id = %(workspace)s and created_at <= %(before)s
        and (handle, owner) in (select * from unnest(%(handles)s::text[], %(owners)s::text[]))
    for update skip locked
)
"""
EMPTY_EXPIRED = """
update results set body = null where workspace_id = %(workspace)s and (handle, owner) in (
    select handle, owner from results
    where workspace_id = %(workspace)s and expires_at <= %(before)s and body is not null
    order by expires_at limit %(limit)s for update skip locked
)
"""
DELETE_EXPIRED = """
delete from results where workspace_id = %(workspace)s and (handle, owner) in (
    select handle, owner from results where workspace_id = %(workspace)s and expires_at < %(before)s
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
    def put(
        self, text: str, tool: str, ttl_s: float = DEFAULT_TTL_S, *, owner: str, value: str = ""
    ) -> StoredResult:
        """Store a text. Durable on return.

        Raises:
            StoreUnavailable: The text is longer than MAX_BYTES.
            QuotaExceeded: The workspace would store more than it may.
        """
        now = self._now()
        stored = create_stored_result(text, tool, to_storable(owner), (now, now + ttl_s), value)
        _check_size(stored)
        with self._workspace.recording() as cursor:
            self._make_room(cursor, stored)
            cursor.execute(PUT, self._row(stored, text.encode("utf-8", "surrogatepass")))
        return stored

    @on_thread
    def put_media(self, media: Media, tool: str, ttl_s: float = DEFAULT_TTL_S, *, owner: str) -> StoredResult:
        """Store media. Durable on return.

        Raises:
            StoreUnavailable: The media have more than MAX_BYTES.
            QuotaExceeded: The workspace would store more than it may.
        """
        now, owner = self._now(), to_storable(owner)
        with self._workspace.reading() as cursor:
            values = (self._workspace.workspace, media.handle, owner, now)
            row = cursor.execute(FIND_MEDIA, values).fetchone()
        if row is not None and (found := _parse(row[0])) is not None:
            return found
        data = media.to_bytes()
        stored = create_stored_media(media, data, tool, owner, (now, now + ttl_s))
        _check_size(stored)
        with self._workspace.recording() as cursor:
            self._make_room(cursor, stored)
            cursor.execute(PUT_MEDIA, self._row(stored, data))
            self._empty_oldest(cursor)
            key = {"workspace": self._workspace.workspace, "handle": media.handle, "reader": owner}
            row = cursor.execute(FIND.encode(), key).fetchone()
        found = None if row is None else _parse(row[0])
        return found or stored

    @on_thread
    def media(self, handle: str, *, reader: str) -> Media | None:
        """Return media, or None if they have expired."""
        stored, body = self._read(handle, reader)
        if stored is None or body is None or not stored.mime_type:
            return None
        return Media.stored(handle, body, stored.mime_type)

    @on_thread
    def find(self, handle: str, *, reader: str) -> StoredResult | None:
        """Return the metadata of a handle. Corrupt ones count as an unknown handle."""
        row = self._fetch(FIND, handle, reader)
        return None if row is None else _parse(row[0])

    @on_thread
    def text(self, handle: str, *, reader: str) -> str | None:
        """Return the text, or None if it has expired."""
        stored, body = self._read(handle, reader)
        if stored is None or body is None or stored.mime_type:
            return None
        return body.decode("utf-8", "surrogatepass")

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
        key = (self._workspace.workspace, stored.handle, stored.owner)
        times = (stored.created_at, stored.expires_at)
        return (*key, meta, body, bool(stored.mime_type), *times, stored.size_bytes)

    def _fetch(self, query: str, handle: str, reader: str) -> tuple[Any, ...] | None:
        """Return the row of a result that the reader may read."""
        if not (HANDLE.fullmatch(handle) and is_storable(reader)):
            return None
        values = {"workspace": self._workspace.workspace, "handle": handle, "reader": reader}
        with self._workspace.reading() as cursor:
            return cursor.execute(query.encode(), values, binary=True).fetchone()

    def _read(self, handle: str, reader: str) -> tuple[StoredResult | None, bytes | None]:
        """Return the metadata of a result and its content, if it has not expired."""
        row = self._fetch(READ, handle, reader)
        stored = None if row is None else _parse(row[0])
        if row is None or stored is None or stored.expires_at <= self._now():
            return stored, None
        return stored, row[1]

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
            oldest: list[tuple[str, str]] = oldest_media(
                cursor.execute(ALL_MEDIA, (id, now)).fetchall(), now, max_bytes
            )
            keys = {"handles": [handle for handle, _ in oldest], "owners": [owner for _, owner in oldest]}
            cursor.execute(EMPTY_MEDIA, {"workspace": id, "before": now - MIN_MEDIA_AGE_S, **keys})


def _check_size(stored: StoredResult) -> None:
    if stored.size_bytes > MAX_BYTES:
        raise StoreUnavailable(f"A result of {stored.size_bytes} bytes exceeds the limit of {MAX_BYTES}.")


def _parse(meta: str) -> StoredResult | None:
    try:
        return StoredResult(**json.loads(meta))
    except (ValueError, TypeError):
        return None
