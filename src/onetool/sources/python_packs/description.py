"""The description of a pack file, known without importing it."""

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
        "options",
        "requires",
        "context",
        "plain",
    }
)
"""The keys of each described tool. An index entry with other keys is outdated."""


@dataclass(frozen=True, slots=True)
class PackDescription:
    """The tools of a module as plain JSON, and why its other public functions cannot be tools."""

    pack: str
    tools: list[dict[str, Any]]
    invalid: list[str]
    docs_url: str | None = None
    """The URL of the documentation; empty if there is none; None to derive it from the name of the pack."""
