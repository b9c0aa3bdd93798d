"""Copies of all rows of a workspace. The tables are found in the catalog of the database."""

from collections.abc import Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple
from uuid import UUID

from psycopg import Connection
from psycopg.sql import SQL, Identifier, Literal

from onetool.domain.errors import StoreUnavailable

TABLES = """
select relname::text,
    array(select attname::text from pg_attribute
        where attrelid = pg_class.oid and attnum > 0 and not attisdropped and attgenerated = ''
        order by attnum),
    array(select parent.relname::text from pg_constraint join pg_class parent on parent.oid = confrelid
        where conrelid = pg_class.oid and contype = 'f' and confrelid <> conrelid)
from pg_class
where relnamespace = 'onetool'::regnamespace and relkind in ('r', 'p') and not relispartition
"""
MOVING = "set local onetool.moving = 'on'"
"""Triggers do nothing: what they would write is copied or deleted too."""


class _Table(NamedTuple):
    """A table of workspaces, and its columns."""

    name: str
    columns: Sequence[str]

    @property
    def place(self) -> Identifier:
        return Identifier("onetool", self.name)

    @property
    def fields(self) -> SQL:
        return SQL(", ").join(map(Identifier, self.columns))  # type: ignore[return-value]


def copy_rows(source: Connection, target: Connection, workspace: UUID) -> int:
    """Replace the rows of a workspace at the target by those of the source. Return how many there are.

    Both connections have a transaction. Row-level security does not permit to copy into a table itself.

    Raises:
        StoreUnavailable: The copy is different.
    """
    tables = _tables(source)
    delete_rows(target, workspace)
    target.execute(MOVING)
    count = 0
    for table in tables:
        _copy(table, source, target, workspace)
        expected = _fingerprint(table, source, workspace)
        if _fingerprint(table, target, workspace) != expected:
            raise StoreUnavailable(f"The copy of table {table.name} is different. Nothing was moved.")
        count += expected[0]
    return count


def delete_rows(connection: Connection, workspace: UUID) -> None:
    """Delete all rows of a workspace, in a transaction."""
    connection.execute(MOVING)
    for table in reversed(_tables(connection)):
        query = SQL("delete from {} where workspace_id = %s").format(table.place)
        connection.execute(query, (workspace,))


def _tables(connection: Connection) -> list[_Table]:
    """Return all tables of workspaces, each after those to which it refers."""
    found = {name: (columns, parents) for name, columns, parents in connection.execute(TABLES).fetchall()}
    order = TopologicalSorter({name: parents for name, (_, parents) in sorted(found.items())}).static_order()
    return [_Table(name, found[name][0]) for name in order]


def _copy(table: _Table, source: Connection, target: Connection, workspace: UUID) -> None:
    target.execute(SQL("create temporary table copied (like {}) on commit drop").format(table.place))
    read = SQL("copy (select {} from {} where workspace_id = {}) to stdout").format(
        table.fields, table.place, Literal(workspace)
    )
    write = SQL("copy copied ({}) from stdin").format(table.fields)
    with source.cursor().copy(read) as rows, target.cursor().copy(write) as copied:
        for data in rows:
            copied.write(data)
    insert = SQL("insert into {} ({}) select {} from copied")
    target.execute(insert.format(table.place, table.fields, table.fields))
    target.execute("drop table copied")


def _fingerprint(table: _Table, connection: Connection, workspace: UUID) -> tuple[int, int]:
    """Return the number of rows, and the sum of their hashes."""
    query = SQL(
        "select count(*), coalesce(sum(hashtextextended(row({})::text, 0)::numeric), 0)"
        " from {} where workspace_id = %s"
    ).format(table.fields, table.place)
    ((count, total),) = connection.execute(query, (workspace,)).fetchall()
    return int(count), int(total)
