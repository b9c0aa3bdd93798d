"""Paths that the arguments of a server name, as settings to propose to the user."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onetool.sources.mcp_servers.sandbox.proposals import propose_paths


def propose_path_settings(command: str, args: Sequence[str]) -> list[dict[str, Any]]:
    """Return entries of `servers.NAME.paths` for the existing paths in a command. It blocks."""
    grants = propose_paths(command, args, Path.cwd())
    return [{"path": str(grant.path)} | ({"write": True} if grant.write else {}) for grant in grants]
