"""Administration of the clusters of an installation."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from psycopg import Connection

from onetool.domain.errors import SettingsError, StoreUnavailable

from .clusters import HOME, identity, not_configured
from .database import connect
from .migrate import check_migrated

LIST = """
select clusters.name, accepts_new, count(workspaces.id) from home.clusters
left join home.workspaces on cluster = clusters.name and deleted_at is null
group by clusters.name order by clusters.name <> 'home', clusters.name
"""
IS_HOME = "select from home.workspaces union all select from home.installation limit 1"


class ClusterStatus(NamedTuple):
    """A cluster of the installation."""

    name: str
    accepts_new: bool
    workspaces: int
    problem: str
    """Why it cannot be used: it is away, or has other tables than this version. Empty if it can."""


class ClusterAdmin:
    """Adds and lists clusters, with the owner's role. Blocks."""

    def __init__(self, urls: Mapping[str, str]) -> None:
        """urls: those of all clusters, by name."""
        self._urls = urls

    def list(self) -> list[ClusterStatus]:
        """Return all clusters, the home cluster first."""
        with self._home() as home:
            rows = home.execute(LIST).fetchall()
        return [ClusterStatus(name, is_open, count, self._problem(name)) for name, is_open, count in rows]

    def add(self, name: str) -> None:
        """Make a cluster part of the installation. New workspaces are created there.

        Raises:
            SettingsError: It has no URL, is the home cluster of an installation, or has another name already.
            StoreUnavailable: It, or another cluster, cannot be reached, or it lacks tables.
        """
        if name not in self._urls:
            raise SettingsError(not_configured(name))
        check_migrated(self._urls[name])
        with connect(self._urls[name]) as connection:
            connection.execute("set role onetool_owner")
            if connection.execute(IS_HOME).rowcount:
                raise SettingsError(f"The database of {name!r} is the home cluster of an installation.")
            added = identity(connection)
        with self._home() as home:
            self._check_names(home, name, added)
            home.execute("insert into home.clusters (name) values (%s) on conflict do nothing", (name,))

    def _check_names(self, home: Connection, name: str, added: object) -> None:
        """Check that a database has no other name: its workspaces would be in two clusters.

        Raises:
            SettingsError: It has one.
        """
        for (known,) in home.execute("select name from home.clusters where name <> %s", (name,)).fetchall():
            if known not in self._urls:
                raise SettingsError(not_configured(known))
            with connect(self._urls[known]) as connection:
                if identity(connection) == added:
                    raise SettingsError(f"The database of {name!r} is cluster {known!r} already.")

    def accept_new(self, name: str, *, accepts_new: bool) -> None:
        """Set whether new workspaces are created in a cluster.

        Raises:
            SettingsError: It is not part of the installation.
        """
        with self._home() as home:
            change = "update home.clusters set accepts_new = %s where name = %s"
            if not home.execute(change, (accepts_new, name)).rowcount:
                raise SettingsError(f"Cluster {name!r} is not part of the installation.")

    def _problem(self, name: str) -> str:
        if name not in self._urls:
            return not_configured(name)
        try:
            check_migrated(self._urls[name])
        except StoreUnavailable as error:
            return str(error)
        return ""

    @contextmanager
    def _home(self) -> Iterator[Connection]:
        with connect(self._urls[HOME]) as connection:
            connection.execute("set role onetool_owner")
            yield connection
