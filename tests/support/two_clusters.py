"""An installation with two clusters, which are two databases of one server unless they must be stopped."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg

from onetool.storage.postgres.cluster_admin import ClusterAdmin
from onetool.storage.postgres.cluster_notices import ClusterNotices
from onetool.storage.postgres.clusters import HOME, Clusters
from onetool.storage.postgres.database import Database
from onetool.storage.postgres.directory import Directory, Workspace, WorkspaceAdmin
from onetool.storage.postgres.moves import MovedWorkspace, WorkspaceMoves
from onetool.storage.postgres.workspace_database import WorkspaceDatabase
from onetool.threads import Threads
from support.postgres import RING, WEST, new_database

TABLES = """
select relname from pg_class where relnamespace = 'onetool'::regnamespace and relkind = 'r' order by relname
"""
NOT_COMPARED = {"workspace_state", "audit", "job_owners", "chat_leases", "token_leases"}
"""Tables in which a move itself changes something."""


class TwoClusters:
    """The home cluster and a cluster named `west`, as one process sees them."""

    def __init__(self, home: str, west: str) -> None:
        self.urls = {HOME: home, WEST: west}
        self.others = {WEST: west}
        self.clusters = Clusters(Database(home), {WEST: Database(west)})
        self.directory = Directory(self.clusters.home, self.clusters)
        self.notices = ClusterNotices(self.urls, self.clusters, self.directory)
        self.admin = WorkspaceAdmin(home, RING, self.others)
        self.threads = Threads()

    def new_workspace(self, cluster: str = HOME) -> Workspace:
        """Create a workspace in a cluster."""
        return self.admin.create(f"w{uuid4().hex}", cluster=cluster)

    def rows(self, workspace: Workspace) -> WorkspaceDatabase:
        """Return the rows of a workspace, whose changes are noted."""
        found = self.directory.find(workspace.slug)
        assert found is not None
        return self.notices.workspace(found)

    def move(self, workspace: Workspace, target: str) -> MovedWorkspace:
        """Move a workspace."""
        return WorkspaceMoves(self.urls).move(workspace.slug, target)

    def contents(self, id: UUID, cluster: str) -> Mapping[str, list[Any]]:
        """Return all rows of a workspace in a cluster, by table, that a move does not change itself."""
        with psycopg.connect(self.urls[cluster]) as connection:
            tables = [name for (name,) in connection.execute(TABLES).fetchall()]
            return {
                table: sorted(
                    connection.execute(
                        f"select t::text from onetool.{table} t where workspace_id = %s",  # type: ignore[arg-type]
                        (id,),
                    ).fetchall()
                )
                for table in tables
                if table not in NOT_COMPARED
            }

    def close(self) -> None:
        """Close all connections."""
        self.notices.stop()
        self.clusters.close()
        self.threads.close()


@contextmanager
def two_databases() -> Iterator[dict[str, str]]:
    """Create two databases that are the clusters of one installation. Return their URLs by name."""
    with new_database() as home, new_database() as west:
        urls = {HOME: home, WEST: west}
        ClusterAdmin(urls).add(WEST)
        yield urls
