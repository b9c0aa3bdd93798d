"""OAuth tokens in PostgreSQL, sealed."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Literal
from uuid import UUID, uuid4

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import StoreUnavailable, WorkspaceUnavailable
from onetool.threads import Threads

from .audit import record
from .database import WAIT_S, Cursor, on_thread
from .sealer import Sealer, reads_sealed
from .workspace_database import WorkspaceDatabase

log = logging.getLogger(__name__)
TokenKind = Literal["server", "http"]
LEASE_S = 10.0
"""Seconds after which the lock of a process expires that does not renew it."""
FIRST_PAUSE_S, MAX_PAUSE_S = 0.02, 0.2
"""Between two attempts to get a lock."""
WHERE = "workspace_id = %s and kind = %s and owner = %s and name = %s"
PUT = """
insert into credentials (workspace_id, kind, owner, name, sealed) values (%s, %s, %s, %s, %s)
on conflict (workspace_id, kind, owner, name) do update set sealed = excluded.sealed
"""
TAKE = f"""
insert into token_leases (workspace_id, kind, owner, name, holder, expires_at)
values (%s, %s, %s, %s, %s, clock_timestamp() + interval '{LEASE_S:g} seconds')
on conflict (workspace_id, kind, owner, name) do update
set holder = excluded.holder, expires_at = excluded.expires_at
where token_leases.expires_at < clock_timestamp()
"""
RENEW = f"""
update token_leases set expires_at = clock_timestamp() + interval '{LEASE_S:g} seconds'
where {WHERE} and holder = %s
"""


class PostgresTokens:
    """Tokens of logins to servers, or of HTTP tools, as JSON text by name."""

    def __init__(
        self,
        workspace: WorkspaceDatabase,
        threads: Threads,
        sealer: Sealer,
        kind: TokenKind,
        owner: str = "",
    ) -> None:
        """owner: the id of the principal who has logged in; empty: the workspace."""
        self._workspace, self._threads, self._sealer, self._kind = workspace, threads, sealer, kind
        self._owner = owner

    def of(self, owner: str) -> "PostgresTokens":
        """Return the tokens of a member; those of the workspace have no owner."""
        return PostgresTokens(self._workspace, self._threads, self._sealer, self._kind, owner)

    def generation(self) -> int:
        """Return how often a member may have logged in or out: announced like a revoked key."""
        return self._workspace.keys_changes

    @on_thread
    def read(self, server: str) -> str | None:
        """Return the stored text of a server, or None."""
        with self._workspace.reading() as cursor:
            return self._read(cursor, server)

    @asynccontextmanager
    async def exclusive(self, server: str) -> AsyncIterator["LeasedTokens"]:
        """Lock the text of a server against all other processes for the block.

        The lock is a row that expires, because an issuer may take long to answer: no connection waits.

        Raises:
            StoreUnavailable: Another process holds the lock for too long.
        """
        holder = uuid4()
        text = await self._wait_for_lease(server, holder)
        renewing = asyncio.create_task(self._renew_until_cancelled(server, holder))
        try:
            yield LeasedTokens(text, partial(self._replace, server, holder))
        finally:
            renewing.cancel()
            await asyncio.shield(self._release(server, holder))

    async def aclose(self) -> None:
        """Do nothing: the connections belong to the process."""

    async def _wait_for_lease(self, server: str, holder: UUID) -> str | None:
        end, pause_s = time.monotonic() + WAIT_S, FIRST_PAUSE_S
        while True:
            is_held, text = await self._take(server, holder)
            if is_held:
                return text
            if time.monotonic() > end:
                raise StoreUnavailable(f"Another process refreshes the tokens of {server!r} for too long.")
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_PAUSE_S)

    async def _renew_until_cancelled(self, server: str, holder: UUID) -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            with suppress(OSError):  # the next attempt may be in time
                await self._renew(server, holder)

    @on_thread
    def _take(self, server: str, holder: UUID) -> tuple[bool, str | None]:
        """Take the lease of a server if no one holds it. Return whether this succeeded, and the text."""
        with self._workspace.recording() as cursor:
            cursor.execute(TAKE, (*self._place(server), holder))
            if not cursor.rowcount:
                return False, None
            return True, self._read(cursor, server)

    @on_thread
    def _renew(self, server: str, holder: UUID) -> None:
        with self._workspace.recording() as cursor:
            cursor.execute(RENEW, (*self._place(server), holder))

    @on_thread
    def _release(self, server: str, holder: UUID) -> None:
        with self._workspace.recording() as cursor:
            cursor.execute(
                f"delete from token_leases where {WHERE} and holder = %s", (*self._place(server), holder)
            )

    @on_thread
    def _replace(self, server: str, holder: UUID, text: str | None, *, is_refresh: bool) -> None:
        """Replace the text of a server whose lease is held; None deletes it.

        Raises:
            StoreUnavailable: The lease has expired, and another process may have replaced the text.
        """
        is_kept = is_refresh and text is not None
        with self._workspace.recording() if is_kept else self._workspace.writing("keys") as cursor:
            cursor.execute(
                f"select 1 from token_leases where {WHERE} and holder = %s for update",
                (*self._place(server), holder),
            )
            if cursor.fetchone() is None:
                raise StoreUnavailable(f"The lock of the tokens of {server!r} has expired.")
            self._write(cursor, server, text)
            if not is_refresh:
                action = AuditAction.LOGIN_DELETE if text is None else AuditAction.LOGIN_STORE
                detail = {"kind": self._kind} | ({"owner": self._owner} if self._owner else {})
                record(cursor, self._workspace.workspace, action, server, detail)

    def _write(self, cursor: Cursor, server: str, text: str | None) -> None:
        place = self._place(server)
        if text is None:
            cursor.execute(f"delete from credentials where {WHERE}", place)
        else:
            cursor.execute(PUT, (*place, self._sealer.seal(cursor, text, *self._sealed_place(server))))

    def _read(self, cursor: Cursor, server: str) -> str | None:
        """Return a text. One that cannot be opened counts as missing: a new login replaces it."""
        try:
            return self._open(cursor, server)
        except WorkspaceUnavailable:
            raise
        except StoreUnavailable as error:
            log.error("the tokens of %r cannot be opened: %s", server, error)
            return None

    @reads_sealed
    def _open(self, cursor: Cursor, server: str) -> str | None:
        cursor.execute(f"select sealed from credentials where {WHERE}", self._place(server))
        row = cursor.fetchone()
        return None if row is None else self._sealer.open(cursor, row[0], *self._sealed_place(server))

    def _place(self, server: str) -> tuple[UUID, str, str, str]:
        return self._workspace.workspace, self._kind, self._owner, server

    def _sealed_place(self, server: str) -> tuple[str, ...]:
        return "token", self._kind, self._owner, server


class LeasedTokens:
    """The stored text of one server while this process holds its lease."""

    def __init__(self, text: str | None, replace: Callable[..., Awaitable[None]]) -> None:
        self._text, self._replace = text, replace

    @property
    def text(self) -> str | None:
        """The stored text, or None."""
        return self._text

    async def replace(self, text: str | None, *, is_refresh: bool = False) -> None:
        """Replace the stored text; None deletes it. Durable on return."""
        if text != self._text:
            await self._replace(text, is_refresh=is_refresh)
            self._text = text
