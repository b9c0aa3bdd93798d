"""Replacement of the data keys of workspaces, while servers run.

A new data key is added while no transaction writes to the workspace. Each later one that seals looks for the
newest key, so that no value is sealed with an older one any more. Then all values are sealed again, and the
older key is deleted. A rotation that was interrupted has left several data keys: the next one completes it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg import Connection

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import SettingsError, StoreUnavailable

from .audit import record
from .clusters import HOME, not_configured
from .database import STATEMENT_TIMEOUT_S, WAIT_S, connect
from .key_ring import KeyRing, key_prefix
from .sealed_columns import SEALED_COLUMNS, SealedColumn
from .sealer import add_data_key, open_data_keys

LOCK = 7_306_086_840_021_119_001
"""Key of the advisory lock that lets one process rotate keys at a time."""
BATCH = 100
"""Values that are read at a time."""
REPORTED = 1_000
"""After so many values, progress is reported."""
WAIT_MS, ATTEMPTS = 2_000, 30
"""How long a new key waits for the writers of a workspace, who then wait for it, and how often it tries."""
SETTINGS = f"""
set role onetool_owner;
set lock_timeout = '{WAIT_S:.0f}s';
set statement_timeout = '{STATEMENT_TIMEOUT_S:.0f}s';
set synchronous_commit = off
"""
"""Commits need not wait for the disk before the last one: an older key is deleted after all of them."""
PASSES = 3
"""How often all values are looked at. Once is enough, unless a server seals with an older key."""
FIND = """
select workspace_id from onetool.data_keys where workspace_id = any(%(ids)s)
group by workspace_id
having %(age)s::interval is null or count(*) > 1
    or max(created_at) <= clock_timestamp() - %(age)s
order by count(*) desc, max(created_at), workspace_id
"""
"""Those with a rotation to complete are the first."""
EXISTS = "select from home.workspaces where slug = %s and deleted_at is null"
WORKSPACES = "select id, slug, cluster from home.workspaces where %(slug)s::text is null or slug = %(slug)s"
BEGIN = "select onetool.begin_write(%s, null)"
LOCK_WRITERS = "select pg_advisory_xact_lock(hashtextextended(%s, 0))"
"""Of a workspace: all of them hold the shared lock, see `begin_write`."""
RING_KEY = """
select ring_key from onetool.data_keys where workspace_id = %s order by created_at desc limit 1
"""
RETIRE = "delete from onetool.data_keys where workspace_id = %s and id <> %s returning id"
Report = Callable[[str], None]
"""Is given a line about the progress."""


@dataclass(kw_only=True, slots=True)
class RotatedKeys:
    """What a rotation did in one workspace."""

    slug: str
    values: int = 0
    """How many were sealed again."""
    unreadable: list[str] = field(default_factory=list)
    """Values that cannot be opened, and why. While there are any, the older key stays."""


def rotate_keys(
    url: str,
    ring: KeyRing,
    slug: str | None = None,
    *,
    others: Mapping[str, str] = MappingProxyType({}),
    older_than: timedelta | None = None,
    report: Report = lambda line: None,
) -> Sequence[RotatedKeys]:
    """Give a workspace, or all of them, a new data key, seal all values with it, and delete older keys.

    others: the URLs of the clusters other than `home`.
    older_than: skip data keys that are younger. A rotation that was interrupted is completed in any case.

    Raises:
        SettingsError: There is no such workspace.
        StoreUnavailable: The database cannot be reached, a key is missing, or another process rotates keys.
    """
    with connect(url, autocommit=True) as connection:
        connection.execute(SETTINGS.encode())
        if connection.execute("select pg_try_advisory_lock(%s)", (LOCK,)).fetchone() != (True,):
            raise StoreUnavailable("Another process is rotating keys. Try again when it has ended.")
        try:
            if slug is not None and connection.execute(EXISTS, (slug,)).fetchone() is None:
                raise SettingsError(f"There is no workspace {slug!r}.")
            slugs: dict[str, dict[UUID, str]] = {}
            for id, name, cluster in connection.execute(WORKSPACES, {"slug": slug}).fetchall():
                slugs.setdefault(cluster, {})[id] = name
            done = []
            for cluster, names in slugs.items():
                with _connected(connection, cluster, others) as rows:
                    for (id,) in rows.execute(FIND, {"ids": list(names), "age": older_than}).fetchall():
                        done.append(_rotate(rows, ring, id, RotatedKeys(slug=names[id]), report))
            return done
        finally:
            if not connection.closed and not connection.broken:
                # the end of the connection is noticed only after a while
                connection.execute("select pg_advisory_unlock(%s)", (LOCK,))


@contextmanager
def _connected(home: Connection, cluster: str, others: Mapping[str, str]) -> Iterator[Connection]:
    """Return a connection to a cluster."""
    if cluster == HOME:
        yield home
    elif cluster in others:
        with connect(others[cluster], autocommit=True) as connection:
            connection.execute(SETTINGS.encode())
            yield connection
    else:
        raise SettingsError(not_configured(cluster))


def _rotate(
    connection: Connection, ring: KeyRing, id: UUID, done: RotatedKeys, report: Report
) -> RotatedKeys:
    keys = open_data_keys(connection, id, ring)
    if len(keys.ring) == 1:
        _add_key(connection, ring, id, done.slug, keys.root)
        keys = open_data_keys(connection, id, ring)
    values = _SealedValues(connection, id, keys.ring, done, report)
    for _ in range(PASSES):
        for column in SEALED_COLUMNS:
            values.reseal(column)
        if done.unreadable or _retire(values):
            report(f"{done.slug}: {done.values:,} values sealed again")
            return done
    raise StoreUnavailable(
        f"Values of workspace {done.slug!r} are still being sealed with an older key. "
        "Stop servers of earlier versions, and run the command again."
    )


def _add_key(connection: Connection, ring: KeyRing, id: UUID, slug: str, root: bytes) -> None:
    """Add a data key while no transaction writes to the workspace."""
    for _ in range(ATTEMPTS):
        try:
            with connection.transaction():
                connection.execute(f"set local lock_timeout = {WAIT_MS}".encode())
                connection.execute(LOCK_WRITERS, (str(id),))
                connection.execute(BEGIN, (id,))
                ((name,),) = connection.execute(RING_KEY, (id,)).fetchall()
                # servers may not have another key of the ring yet
                add_data_key(connection, id, ring.starting_with(name), root)
            return
        except psycopg.errors.LockNotAvailable:
            continue
    raise StoreUnavailable(f"Workspace {slug!r} is being written without a pause. Try again.")


def _retire(values: "_SealedValues") -> bool:
    """Delete the older keys. Return False if a value needs one of them."""
    with values.connection.transaction():
        values.connection.execute("set local synchronous_commit = on")
        values.connection.execute(BEGIN, (values.id,))
        if any(values.older(column, None, 1) for column in SEALED_COLUMNS):
            return False
        newest = values.keys.current
        retired = values.connection.execute(RETIRE, (values.id, newest)).fetchall()
        detail = {"from": [name for (name,) in retired]}
        record(values.connection, values.id, AuditAction.KEYS_ROTATE, newest, detail)
    return True


class _SealedValues(NamedTuple):
    """The sealed values of a workspace."""

    connection: Connection
    id: UUID
    keys: KeyRing
    done: RotatedKeys
    report: Report

    def reseal(self, column: SealedColumn) -> None:
        """Seal the values of a column with the newest key."""
        last: Sequence[Any] | None = None
        while rows := self.older(column, last, BATCH):
            before = self.done.values
            for *row, sealed in rows:
                self._reseal_row(column, row, sealed)
            if before // REPORTED != self.done.values // REPORTED:
                self.report(f"{self.done.slug}: {self.done.values:,} values sealed again so far")
            last = rows[-1][:-1]

    def older(self, column: SealedColumn, last: Sequence[Any] | None, limit: int) -> list[Any]:
        """Return rows with values of an older key, after the last one: their keys, and the value."""
        keys, prefix = ", ".join(column.keys), key_prefix(self.keys.current)
        after = "" if last is None else f"and ({keys}) > ({', '.join(['%s'] * len(last))})"
        query = f"""
            select {keys}, {column.column} from onetool.{column.table}
            where workspace_id = %s and substring({column.column} from 1 for %s) <> %s {after}
            order by {keys} limit %s
        """
        values = (self.id, len(prefix), prefix, *(last or ()), limit)
        return self.connection.execute(query.encode(), values).fetchall()

    def _reseal_row(self, column: SealedColumn, row: Sequence[Any], sealed: bytes) -> None:
        """Seal a value again, unless it was changed or deleted meanwhile.

        The transaction locks no other row, so that it cannot be part of a deadlock.
        """
        place = (str(self.id), column.place, *map(str, row))
        try:
            again = self.keys.seal(self.keys.open(sealed, *place), *place)
        except StoreUnavailable as error:
            self.done.unreadable.append(f"{column.table} {', '.join(map(repr, place[2:]))}: {error}")
            return
        unchanged = " and ".join(f"{name} = %s" for name in ("workspace_id", *column.keys, column.column))
        change = f"update onetool.{column.table} set {column.column} = %s where {unchanged}"
        with self.connection.transaction():
            self.connection.execute(BEGIN, (self.id,))
            changed = self.connection.execute(change.encode(), (again, self.id, *row, sealed))
        self.done.values += changed.rowcount
