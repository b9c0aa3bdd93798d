"""The signal that the settings or secrets of a workspace have changed."""

from collections.abc import Hashable

from .workspace_database import WorkspaceDatabase


class WorkspaceReloadSignal:
    """Compares the number of changes to the settings that are known in this process."""

    def __init__(self, workspace: WorkspaceDatabase) -> None:
        self._workspace = workspace
        self._acknowledged: Hashable = None

    def current(self) -> Hashable:
        """Return the number of changes so far."""
        return self._workspace.settings_changes

    @property
    def is_pending(self) -> bool:
        """Whether there was a change since the last reload."""
        return self._workspace.settings_changes != self._acknowledged

    def acknowledge(self, signalled: Hashable) -> None:
        """Mark a change as handled."""
        self._acknowledged = signalled

    def notify(self) -> None:
        """Signal a change."""
        self._workspace.note_settings_change()
