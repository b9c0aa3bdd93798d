"""OAuth tokens in PostgreSQL, sealed."""

import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Literal

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import StoreUnavailable
from onetool.threads import Threads

from .audit import record
from .database import WAIT_S, Cursor, WorkspaceDatabase, on_thread
from .sealer import Sealer, reads_sealed

TokenKind = Literal["server", "http"]
MAX_LOCKED = 2
"""How many tokens of all workspaces a process locks at a time: each holds a connection while an issuer
answers."""
MAX_HELD_S = 120
_locks = threading.BoundedSemaphore(MAX_LOCKED)


class PostgresTokens:
    """Tokens of logins to servers, or of HTTP tools, as JSON text by name."""

    def __init__(
        self, workspace: WorkspaceDatabase, threads: Threads, sealer: Sealer, kind: TokenKind
    ) -> None:
        self._workspace, self._threads, self._sealer, self._kind = workspace, threads, sealer, kind

    @on_thread
    def read(self, server: str) -> str | None:
        """Return the stored text of a server, or None."""
        with self._workspace.reading() as cursor:
            return self._read(cursor, server)

    @asynccontextmanager
    async def exclusive(self, server: str) -> AsyncIterator["LockedTokenRow"]:
        """Lock the text of a server against all other processes for the block."""
        tokens = LockedTokenRow(self, self._threads, server)
        try:
            await tokens.lock()
            yield tokens
        finally:
            await tokens.unlock()

    async def aclose(self) -> None:
        """Do nothing: the connections belong to the process."""

    def hold(self, server: str, held: ExitStack) -> str | None:
        """Wait for the lock of a server, hold it until `held` is closed, and return its text."""
        if not _locks.acquire(timeout=WAIT_S):
            raise StoreUnavailable("Too many tokens are being refreshed.")
        held.callback(_locks.release)
        cursor = held.enter_context(self._workspace.reading())
        cursor.execute(f"set local idle_in_transaction_session_timeout = '{MAX_HELD_S}s'")
        name = f"{self._workspace.workspace} {self._kind} {server}"
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 1))", (name,))
        return self._read(cursor, server)

    def write(self, server: str, text: str | None, *, is_refresh: bool) -> None:
        """Replace the text of a server; None deletes it."""
        place = self._workspace.workspace, self._kind, server
        with self._workspace.recording() as cursor:
            if text is None:
                action = AuditAction.LOGIN_DELETE
                cursor.execute(
                    "delete from credentials where workspace_id = %s and kind = %s and name = %s", place
                )
            else:
                action = AuditAction.LOGIN_STORE
                cursor.execute(
                    "insert into credentials (workspace_id, kind, name, sealed) values (%s, %s, %s, %s)"
                    " on conflict (workspace_id, kind, name) do update set sealed = excluded.sealed",
                    (*place, self._sealer.seal(cursor, text, "token", self._kind, server)),
                )
            if not is_refresh:
                record(cursor, self._workspace.workspace, action, server, {"kind": self._kind})

    @reads_sealed
    def _read(self, cursor: Cursor, server: str) -> str | None:
        cursor.execute(
            "select sealed from credentials where workspace_id = %s and kind = %s and name = %s",
            (self._workspace.workspace, self._kind, server),
        )
        row = cursor.fetchone()
        return None if row is None else self._sealer.open(cursor, row[0], "token", self._kind, server)


class LockedTokenRow:
    """The stored text of one server while this process holds its lock."""

    def __init__(self, tokens: PostgresTokens, threads: Threads, server: str) -> None:
        self._tokens, self._threads, self._server = tokens, threads, server
        self._state_lock, self._is_unlocked = threading.Lock(), False
        self._held = ExitStack()
        self._text: str | None = None

    @property
    def text(self) -> str | None:
        """The stored text, or None."""
        return self._text

    @on_thread
    def replace(self, text: str | None, *, is_refresh: bool = False) -> None:
        """Replace the stored text; None deletes it. Durable on return."""
        if text != self._text and not self._is_unlocked:
            self._tokens.write(self._server, text, is_refresh=is_refresh)
            self._text = text

    @on_thread
    def lock(self) -> None:
        """Wait for the lock and read the text."""
        with ExitStack() as held:
            self._text = self._tokens.hold(self._server, held)
            with self._state_lock:
                if not self._is_unlocked:  # otherwise the caller was cancelled while this thread waited
                    self._held = held.pop_all()

    @on_thread
    def unlock(self) -> None:
        """Release the lock: now, or when the thread that waits for it is done."""
        with self._state_lock:
            self._is_unlocked = True
        self._held.close()
