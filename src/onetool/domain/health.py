"""The health of a running OneTool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from onetool.domain.text.strings import pluralize

ServerState = Literal["configured", "idle", "starting", "connected", "failed"]


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
    unwritable: Mapping[str, str]
    """Directories in which nothing can be stored, with the reason."""
    servers: Mapping[str, "ServerHealth"]
    """Enabled MCP servers by name."""
    unavailable_secrets: Mapping[str, str] = field(default_factory=dict)
    """Secrets without a value because a command failed, with the reason."""
    settings_error: str = ""
    """Why the settings, prompts or secrets cannot be loaded again; the ones loaded before are active."""
    blocked_loop: str = ""
    """The code that last blocked the event loop, and for how long; empty if none did within an hour."""

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
        servers = [problem for name, server in self.servers.items() for problem in server.problems(name)]
        untrusted = [
            HealthProblem(f"Project file {file} is not trusted.", "Review it, then run: onetool trust")
            for file in self.untrusted_files
        ]
        return [
            *self._invalid_settings(),
            *self._unwritable_directories(),
            *self._unavailable_secrets(),
            *failed_sources,
            *skipped_packs,
            *servers,
            *untrusted,
            *self._abandoned_tools(),
            *self._blocked_event_loop(),
        ]

    def _invalid_settings(self) -> list["HealthProblem"]:
        if not self.settings_error:
            return []
        what = f"The settings cannot be loaded; the ones loaded before stay active: {self.settings_error}"
        return [HealthProblem(what, "Fix the file, then reload it: onetool run 'ot.reload()'")]

    def _unwritable_directories(self) -> list["HealthProblem"]:
        return [
            HealthProblem(
                f"Cannot write to {directory}: {reason}. Calls go on, but nothing new is stored there: "
                "bundles, sessions, results, logins and statistics, or the log and caches.",
                "Free some space, or make the directory writable.",
            )
            for directory, reason in self.unwritable.items()
        ]

    def _unavailable_secrets(self) -> list["HealthProblem"]:
        fix = "Run `secrets.command` yourself to see why, then reload: onetool run 'ot.reload()'"
        return [
            HealthProblem(f"Secret {name!r} is unavailable: {reason}.", fix)
            for name, reason in self.unavailable_secrets.items()
        ]

    def _abandoned_tools(self) -> list["HealthProblem"]:
        if not self.abandoned:
            return []
        what = f"{pluralize(self.abandoned, 'abandoned tool')} still running after a timeout."
        return [HealthProblem(what, "If the number grows, restart OneTool and fix the tool that hangs.")]

    def _blocked_event_loop(self) -> list["HealthProblem"]:
        if not self.blocked_loop:
            return []
        what = f"Nothing was answered for a time: {self.blocked_loop} blocked the event loop."
        fix = "In an async tool, do blocking work with: await to_thread(...); or make the tool not async."
        return [HealthProblem(what, fix)]


class ServerHealth(NamedTuple):
    """The state of an MCP server, and why it cannot be used."""

    state: ServerState
    reason: str = ""
    disabled_tools: Sequence[str] = ()
    """Tools that a mistake in the settings disables: the setting, and what is wrong."""
    warnings: Sequence[str] = ()
    """Settings that have no effect and parts of a listing that are ignored, and why."""

    def problems(self, name: str) -> "list[HealthProblem]":
        """Return the problem of a server that failed or is still starting, and its disabled tools."""
        fix = "Fix the settings, then reload them: onetool run 'ot.reload()'"
        disabled = [HealthProblem(f"Tool disabled: {problem}.", fix) for problem in self.disabled_tools]
        return [*self._state_problems(name), *disabled]

    def _state_problems(self, name: str) -> "list[HealthProblem]":
        if self.state == "starting":
            fix = f"Wait, and see what it does with: onetool servers logs {name} -f"
            return [HealthProblem(f"Server {name!r} is not ready: {self.reason}.", fix)]
        if self.state == "failed":
            fix = f"Fix the cause, then test it: onetool servers test {name}"
            return [HealthProblem(f"Server {name!r} cannot be used: {self.reason}.", fix)]
        return []


class HealthProblem(NamedTuple):
    """A problem and its suggested fix."""

    what: str
    fix: str
