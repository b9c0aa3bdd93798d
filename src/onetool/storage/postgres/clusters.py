"""The clusters of an installation: databases that share its workspaces. One of them is the home cluster."""

from collections.abc import Iterator, Mapping

from psycopg import Connection

from onetool.domain.errors import StoreUnavailable

from .database import Database

HOME = "home"
"""The cluster with the directory of workspaces, people and groups."""
IDENTITY = """
select pg_postmaster_start_time()::text, oid from pg_database where datname = current_database()
"""


def url_variable(name: str) -> str:
    """Return the environment variable with the URL of a cluster.

    >>> url_variable("west")
    'ONETOOL_CLUSTER_WEST_URL'
    """
    return "ONETOOL_DATABASE_URL" if name == HOME else f"ONETOOL_CLUSTER_{name.upper()}_URL"


class Clusters:
    """The databases of all clusters that are configured."""

    def __init__(self, home: Database, others: Mapping[str, Database] | None = None) -> None:
        self.home = home
        self._databases = {HOME: home, **(others or {})}

    def __getitem__(self, name: str) -> Database:
        """Return the database of a cluster.

        Raises:
            StoreUnavailable: It is not configured.
        """
        database = self._databases.get(name)
        if database is None:
            raise StoreUnavailable(not_configured(name))
        return database

    def __iter__(self) -> Iterator[str]:
        return iter(self._databases)

    def close(self) -> None:
        """Close all connections."""
        for database in self._databases.values():
            database.close()


def identity(connection: Connection) -> object:
    """Return a value that is the same for all connections to a database, by whatever address."""
    return connection.execute(IDENTITY).fetchone()


def not_configured(name: str) -> str:
    """Return what is wrong if a process does not know the URL of a cluster."""
    return f"There is no URL of cluster {name!r}. Set {url_variable(name)}."
