"""How the parts of a running OneTool are."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the parts are, for doors and for the `ot` pack."""

    version: str
    python: str
    cwd: str
    tool_count: int
    failures: Mapping[str, str]
    """Sources that cannot be asked, and why."""
    held_back: tuple[str, ...]
    """Files of the project that wait for `onetool trust`."""
    abandoned: int
    """Tools that still run on their thread although nobody waits for them."""
    servers: Mapping[str, bool]
    """Other MCP servers that are enabled, and whether they answer."""
