"""Port of the audit log: what was changed in a workspace, by whom."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from onetool.domain.audit.entry import AuditEntry, AuditFilter
from onetool.domain.page import Page


class AuditLog(Protocol):
    """Reads the entries. The stores write them, each in the transaction of its change."""

    async def page(self, filter: AuditFilter, cursor: str | None, limit: int) -> Page[AuditEntry]:
        """Return up to `limit` entries after an opaque cursor, newest first.

        Raises:
            ValueError: The cursor is invalid.
        """
        ...

    def export(self, filter: AuditFilter) -> AsyncIterator[Sequence[AuditEntry]]:
        """Return all entries up to now, newest first, in chunks of limited size.

        Nothing is held open between two chunks.
        """
        ...

    async def aclose(self) -> None:
        """Close what the log holds open. May be called more than once."""
        ...
