"""Check of a whole installation, for example of one that was restored: its tables, keys and sealed values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from uuid import UUID

from psycopg import Connection

from onetool.domain.errors import SettingsError, StoreUnavailable

from .clusters import HOME, not_configured
from .database import SETTINGS, connect
from .directory import KEY_CHECK
from .key_ring import KeyRing
from .migrate import check_migrated
from .sealed_columns import SEALED_COLUMNS
from .sealer import open_data_keys

WORKSPACES = "select cluster, id, slug from home.workspaces where deleted_at is null order by cluster, slug"


@dataclass(kw_only=True, slots=True)
class InstallationCheck:
    """What was found."""

    workspaces: int = 0
    opened: int = 0
    """Sealed values that were opened: one of each kind in each workspace."""
    problems: list[str] = field(default_factory=list)


def check_installation(
    url: str, ring: KeyRing, others: Mapping[str, str] = MappingProxyType({})
) -> InstallationCheck:
    """Check that this version can use all clusters, and that its keys open what is sealed. Changes nothing.

    others: the URLs of the clusters other than `home`.

    Raises:
        SettingsError: A cluster has no URL.
        StoreUnavailable: A database cannot be reached, does not fit this version, or has never seen keys.
    """
    urls, found = {HOME: url, **others}, InstallationCheck()
    for each in urls.values():
        check_migrated(each)
    with connect(url, autocommit=True) as connection:
        connection.execute(SETTINGS.encode())
        row = connection.execute("select key_check from home.installation").fetchone()
        if row is None:
            raise StoreUnavailable("The database has never seen these keys. Run: onetool migrate")
        ring.open(row[0], KEY_CHECK)
        workspaces = connection.execute(WORKSPACES).fetchall()
    for cluster, entries in groupby(workspaces, lambda entry: entry[0]):
        if cluster not in urls:
            raise SettingsError(not_configured(cluster))
        with connect(urls[cluster], autocommit=True) as connection:
            connection.execute(SETTINGS.encode())
            for _, id, slug in entries:
                _check_workspace(connection, id, slug, ring, found)
    return found


def _check_workspace(
    connection: Connection, id: UUID, slug: str, ring: KeyRing, found: InstallationCheck
) -> None:
    found.workspaces += 1
    try:
        found.opened += sum(1 for _ in _open_values(connection, id, ring))
    except StoreUnavailable as error:
        found.problems.append(f"{slug}: {error}")


def _open_values(connection: Connection, workspace: UUID, ring: KeyRing) -> Iterator[bytes]:
    with connection.transaction():
        connection.execute("select onetool.begin_read(%s)", (workspace,))
        keys = open_data_keys(connection, workspace, ring).ring
        for column in SEALED_COLUMNS:
            query = f"""
                select {column.column}, {", ".join(column.keys)} from onetool.{column.table}
                where workspace_id = %s and {column.column} is not null limit 1
            """
            for sealed, *row in connection.execute(query.encode(), (workspace,)).fetchall():
                yield keys.open(sealed, str(workspace), column.place, *map(str, row))
