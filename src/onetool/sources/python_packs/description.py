"""What is known of a pack file without importing it."""

from dataclasses import dataclass
from typing import Any

TOOL_KEYS = frozenset(
    {
        "name",
        "description",
        "input_schema",
        "returns",
        "return_type",
        "example",
        "declaration",
        "requires",
        "context",
        "plain",
    }
)
"""What is written of each tool; an index that lacks any of it is from another time."""


@dataclass(frozen=True, slots=True)
class Description:
    """A module's tools as plain JSON, and its functions that cannot be any."""

    pack: str
    tools: list[dict[str, Any]]
    refused: list[str]
