"""The health of a running OneTool."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from onetool.domain.text.strings import pluralize


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The state of every component, for the interfaces and the `ot` pack."""

    version: str
    python: str
    cwd: str
    tool_count: int
    failures: Mapping[str, str]
    """Failed sources by name, with the reason."""
    skipped: Mapping[str, str]
    """Packs that were not loaded, with the reason."""
    untrusted_files: tuple[str, ...]
    """Project files that the user has not trusted yet."""
    abandoned: int
    """Tools that still occupy a thread after their call timed out or was cancelled."""
    servers: Mapping[str, bool]
    """Enabled MCP servers and whether they respond."""

    def problems(self) -> list["HealthProblem"]:
        """Return everything that needs attention, each with a suggested fix."""
        failed_sources = [
            HealthProblem(
                f"Source {source!r} failed: {reason}", "Fix the cause. It is retried automatically."
            )
            for source, reason in self.failures.items()
        ]
        skipped_packs = [
            HealthProblem(
                f"Pack {name!r} was not loaded: {reason}", "Fix the file. It is reloaded automatically."
            )
            for name, reason in self.skipped.items()
        ]
        silent_servers = [
            HealthProblem(
                f"Server {name!r} does not respond.", f"Find the cause with: onetool servers test {name}"
            )
            for name, responds in self.servers.items()
            if not responds
        ]
        untrusted = [
            HealthProblem(f"Project file {file} is not trusted.", "Review it, then run: onetool trust")
            for file in self.untrusted_files
        ]
        return [*failed_sources, *skipped_packs, *silent_servers, *untrusted, *self._abandoned_tools()]

    def _abandoned_tools(self) -> list["HealthProblem"]:
        if not self.abandoned:
            return []
        what = f"{pluralize(self.abandoned, 'abandoned tool')} still running after a timeout."
        return [HealthProblem(what, "If the number grows, restart OneTool and fix the tool that hangs.")]


class HealthProblem(NamedTuple):
    """A problem and its suggested fix."""

    what: str
    fix: str
