"""The audit log of a workspace in PostgreSQL. The role of the application can only add entries."""

import json
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

import orjson
from psycopg import Connection
from uuid_utils.compat import uuid7

from onetool.domain.audit.entry import AuditAction, AuditEntry, AuditFilter
from onetool.domain.identity.interface import current_interface
from onetool.domain.identity.principal import current_principal
from onetool.domain.page import Page
from onetool.threads import Threads

from .database import Cursor, on_thread
from .texts import to_storable
from .workspace_database import WorkspaceDatabase

MAX_LENGTH = 500
"""Characters of names that are stored. An index refuses more than 2,700 bytes."""
CHUNK = 500
"""Entries that are exported at a time."""
MAX_MS = 2**48 - 1
"""The latest time of a UUID, in milliseconds since the epoch."""
RANDOM_BITS = 80
"""Bits of a UUID of version 7 after its time."""
NO_DETAIL: Mapping[str, Any] = MappingProxyType({})
INSERT = """
insert into onetool.audit (workspace_id, id, at, actor, interface, action, target, detail)
values (%s, %s, %s, %s, %s, %s, %s, %s)
"""


def record(
    cursor: Cursor | Connection,
    workspace: UUID,
    action: AuditAction,
    target: str,
    detail: Mapping[str, Any] = NO_DETAIL,
) -> None:
    """Add an entry in the transaction of a change, for the principal and the interface of the request.

    detail: JSON without the values of secrets.
    """
    id = uuid7()
    cursor.execute(
        INSERT,
        (
            workspace,
            id,
            datetime.fromtimestamp(_time(id), UTC),
            _name(current_principal().id),
            _name(current_interface()),
            action.value,
            _name(target),
            to_storable(json.dumps(dict(detail), ensure_ascii=False)),
        ),
    )


class PostgresAudit:
    """Reads the entries of one workspace."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads

    @on_thread
    def page(self, filter: AuditFilter, cursor: str | None, limit: int) -> Page[AuditEntry]:
        """Return entries, newest first."""
        conditions, values = _conditions(filter)
        if cursor is not None:
            conditions.append("id < %s")
            values.append(_parse_cursor(cursor))
        query = f"""
            select id, actor, interface, action, target, detail from audit
            where {" and ".join(["workspace_id = %s", *conditions])} order by id desc limit %s
        """
        with self._workspace.reading() as reading:
            rows = reading.execute(query.encode(), (self._workspace.workspace, *values, limit + 1)).fetchall()
        entries = [_entry(row) for row in rows[:limit]]
        return Page(entries, entries[-1].id if len(rows) > limit else None)

    async def export(self, filter: AuditFilter) -> AsyncIterator[Sequence[AuditEntry]]:
        """Return all entries, newest first. Each chunk is read in a transaction of its own."""
        page = await self.page(filter, None, CHUNK)
        yield page.items
        while page.next is not None:
            page = await self.page(filter, page.next, CHUNK)
            yield page.items

    async def aclose(self) -> None:
        """Do nothing: connections belong to the process."""


def _conditions(filter: AuditFilter) -> tuple[list[str], list[Any]]:
    """Return the conditions of a filter in SQL, and their values."""
    wanted: list[tuple[str, list[Any]]] = []
    if filter.actor is not None:
        wanted.append(("actor = %s", [_name(filter.actor)]))
    for column, text, separator in (("action", filter.action, "."), ("target", filter.target, "/")):
        if text is not None:
            condition = f"({column} = %s or starts_with({column}, %s))"
            wanted.append((condition, [_name(text), _name(f"{text}{separator}")]))
    if filter.since is not None:
        wanted.append(("id >= %s", [_first_id(filter.since)]))
    if filter.until is not None:
        wanted.append(("id < %s", [_first_id(filter.until)]))
    return [condition for condition, _ in wanted], [value for _, values in wanted for value in values]


def _first_id(time: float) -> UUID:
    """Return the lowest id of entries since a time."""
    milliseconds = round(max(time, 0.0) * 1000, 3)  # not more precise than the float
    return UUID(int=math.ceil(min(milliseconds, MAX_MS)) << RANDOM_BITS)


def _time(id: UUID) -> float:
    """Return the time in an id, in seconds since the epoch."""
    return (id.int >> RANDOM_BITS) / 1000


def _parse_cursor(cursor: str) -> UUID:
    try:
        return UUID(cursor)
    except ValueError:
        raise ValueError("The cursor is invalid. Omit it to start at the newest entry.") from None


def _name(text: str) -> str:
    return to_storable(text[:MAX_LENGTH])


def _entry(row: Sequence[Any]) -> AuditEntry:
    id, actor, interface, action, target, detail = row
    return AuditEntry(str(id), _time(id), actor, interface, action, target, orjson.loads(detail))
