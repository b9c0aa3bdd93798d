"""Replacement of the key that seals the data keys of workspaces, while servers run."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from uuid import UUID

from psycopg import Connection

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import SettingsError

from .audit import record
from .clusters import HOME, not_configured
from .database import connect
from .directory import KEY_CHECK
from .key_ring import KeyRing, key_name
from .sealer import DATA_KEY

BATCH = 100
"""Data keys that are sealed in one transaction."""
OTHERS = """
select workspace_id, id, sealed from onetool.data_keys where ring_key <> %s and workspace_id = any(%s)
order by workspace_id, id limit %s for update
"""
WORKSPACES = "select cluster, array_agg(id) from home.workspaces group by cluster"
REPLACE = "update onetool.data_keys set sealed = %s, ring_key = %s where workspace_id = %s and id = %s"


def rewrap_keys(url: str, ring: KeyRing, others: Mapping[str, str] = MappingProxyType({})) -> int:
    """Seal all data keys with the first key of the ring. Return how many were sealed with another one.

    Values stay as they are: the data keys themselves do not change. Servers that run have both keys.

    others: the URLs of the clusters other than `home`.

    Raises:
        SettingsError: A cluster is not configured.
        StoreUnavailable: A database cannot be reached, a data key is sealed with a key that is missing, or a
            workspace is being moved.
    """
    with connect(url, autocommit=True) as connection:
        connection.execute("set role onetool_owner")
        _rewrap_check(connection, ring)
        workspaces: dict[str, list[UUID]] = dict(connection.execute(WORKSPACES).fetchall())
        count = _rewrap_all(connection, ring, workspaces.pop(HOME, []))
    for cluster, ids in workspaces.items():
        if cluster not in others:
            raise SettingsError(not_configured(cluster))
        with connect(others[cluster], autocommit=True) as connection:
            connection.execute("set role onetool_owner")
            count += _rewrap_all(connection, ring, ids)
    return count


def _rewrap_all(connection: Connection, ring: KeyRing, workspaces: Sequence[UUID]) -> int:
    count = 0
    while batch := _rewrap_batch(connection, ring, workspaces):
        count += batch
    return count


def _rewrap_check(connection: Connection, ring: KeyRing) -> None:
    """Seal what shows whether a process has the right ring."""
    with connection.transaction():
        row = connection.execute("select key_check from home.installation for update").fetchone()
        if row is not None:
            plain = ring.open(row[0], KEY_CHECK)
            if key_name(row[0]) != ring.current:
                sealed = ring.seal(plain, KEY_CHECK)
                connection.execute("update home.installation set key_check = %s", (sealed,))


def _rewrap_batch(connection: Connection, ring: KeyRing, workspaces: Sequence[UUID]) -> int:
    with connection.transaction():
        rows = connection.execute(OTHERS, (ring.current, list(workspaces), BATCH)).fetchall()
        for workspace, id, sealed in rows:
            connection.execute("select onetool.begin_write(%s, null)", (workspace,))
            place = (DATA_KEY, str(workspace), id)
            again = ring.seal(ring.open(sealed, *place), *place)
            connection.execute(REPLACE, (again, ring.current, workspace, id))
            detail = {"from": key_name(sealed), "to": ring.current}
            record(connection, workspace, AuditAction.KEYS_REWRAP, str(id), detail)
    return len(rows)
