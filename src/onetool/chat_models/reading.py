"""Reads what a provider sent without believing in its shape: what is not as promised counts as absent."""

from collections.abc import Mapping, Sequence
from typing import Any

from onetool.domain.chat import TokenCount


def a_map(value: Any) -> Mapping[str, Any]:
    """Return a map, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def a_list(value: Any) -> Sequence[Any]:
    """Return a list, or an empty one."""
    return value if isinstance(value, list) else []


def a_text(value: Any) -> str:
    """Return a text, or an empty one."""
    return value if isinstance(value, str) else ""


def token_count(usage: Any, input: Sequence[str], output: Sequence[str]) -> TokenCount | None:
    """Add up the named figures; None where one of the first of them is missing."""
    figures = a_map(usage)
    if not (_is_count(figures.get(input[0])) and _is_count(figures.get(output[0]))):
        return None
    return TokenCount(input=_sum(figures, input), output=_sum(figures, output))


def _sum(figures: Mapping[str, Any], names: Sequence[str]) -> int:
    return sum(figures[name] for name in names if _is_count(figures.get(name)))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
