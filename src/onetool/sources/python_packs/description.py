"""What is known of a pack file without importing it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Description:
    """A module's tools as plain JSON, and its functions that cannot be any."""

    pack: str
    tools: list[dict[str, Any]]
    refused: list[str]
