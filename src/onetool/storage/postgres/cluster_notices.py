"""Changes in other processes, at all clusters."""

from collections.abc import Mapping

from .clusters import HOME, Clusters
from .database import Database
from .directory import Directory, Workspace
from .notices import ChangeNotices, HomeChanges, OpenRows
from .workspace_database import WorkspaceDatabase


class ClusterNotices:
    """Notes the changes to workspaces that are in use here. Each cluster has a thread and a connection."""

    def __init__(self, urls: Mapping[str, str], clusters: Clusters, directory: Directory) -> None:
        """urls: where to listen, by cluster."""
        self._rows = rows = OpenRows(directory)
        home_changes = HomeChanges(rows, clusters)
        self._clusters = clusters
        self.of = {
            name: ChangeNotices(
                url, clusters[name], rows=rows, home_changes=home_changes if name == HOME else None
            )
            for name, url in urls.items()
        }
        """By cluster."""

    def start(self) -> None:
        """Begin to listen."""
        for notices in self.of.values():
            notices.start()

    def workspace(self, found: Workspace) -> WorkspaceDatabase:
        """Return the rows of a workspace. Its changes are noted as long as it is in use."""
        return self._rows.open(found)

    def age_s(self) -> float:
        """Return the seconds since all changes in the home cluster were known: a few, unless it is away."""
        return self.of[HOME].age_s()

    def age_of(self, workspace: WorkspaceDatabase) -> float:
        """Return the seconds since all changes to a workspace, and to rights of people, were known."""
        return max(self.age_s(), *self._other_ages(workspace.database))

    def oldest_s(self) -> float:
        """Return the seconds since all changes in all clusters were known."""
        return max(self.age_s(), *self._other_ages(None))

    def _other_ages(self, database: Database | None) -> list[float]:
        """Return the ages of a cluster, or of all, other than `home`; at least one number."""
        names = [name for name in self.of if name != HOME and database in (None, self._clusters[name])]
        return [0.0, *(self.of[name].age_s() for name in names)]

    def replicas(self) -> int:
        """Return the number of processes that listen, as last counted; at least 1."""
        return self.of[HOME].replicas()

    def stop(self) -> None:
        """Stop to listen. Waits for the threads."""
        for notices in self.of.values():
            notices.stop()
