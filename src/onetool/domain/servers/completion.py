"""Values that a server suggests for an argument of a prompt or a template."""

from collections.abc import Mapping
from typing import Any

MAX_VALUES = 100
"""Limit of the protocol."""


def completion_values(result: Mapping[str, Any]) -> tuple[list[str], bool]:
    """Return the texts in the result of `completion/complete`, and whether the server has more."""
    completion = result.get("completion")
    fields = completion if isinstance(completion, dict) else {}
    listed = fields.get("values")
    texts = [value for value in listed if isinstance(value, str)] if isinstance(listed, list) else []
    return texts[:MAX_VALUES], len(texts) > MAX_VALUES or fields.get("hasMore") is True
