"""How the parts of a running OneTool are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the parts are, for doors and for the `ot` pack."""

    version: str
    python: str
    cwd: str
    tool_count: int
    failures: Mapping[str, str]
    """Sources that cannot be asked, and why."""
    left_out: Mapping[str, str]
    """Pack files that could not be used, and why."""
    held_back: tuple[str, ...]
    """Files of the project that wait for `onetool trust`."""
    abandoned: int
    """Tools that still run on their thread although nobody waits for them."""
    servers: Mapping[str, bool]
    """Other MCP servers that are enabled, and whether they answer."""

    def problems(self) -> list["Problem"]:
        """What is wrong, and what a person can do about it."""
        broken = [
            Problem(f"{source} cannot be read: {why}", "Mend it; it is read again by itself.")
            for source, why in self.failures.items()
        ]
        unused = [
            Problem(f"The pack {name!r} is missing: {why}", "Mend the file; it is read again by itself.")
            for name, why in self.left_out.items()
        ]
        silent = [
            Problem(f"The server {name!r} does not answer.", f"See why: onetool servers test {name}")
            for name, answers in self.servers.items()
            if not answers
        ]
        held = [
            Problem(f"{file} of this project is held back.", "Look at it, then: onetool trust")
            for file in self.held_back
        ]
        return [*broken, *unused, *silent, *held, *self._left_behind()]

    def _left_behind(self) -> list["Problem"]:
        if not self.abandoned:
            return []
        what = f"{self.abandoned} tools still run although nobody waits for them."
        return [Problem(what, "If the number grows, restart OneTool and look for a tool that never ends.")]


class Problem(NamedTuple):
    """What is wrong, and what would mend it."""

    what: str
    fix: str
