"""Coercion of untrusted provider data: a value of an unexpected type counts as missing."""

from collections.abc import Mapping, Sequence
from typing import Any

from onetool.domain.chat.messages import TokenCount


def as_dict(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> Sequence[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_str(value: Any) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def token_count(usage: Any, input: Sequence[str], output: Sequence[str]) -> TokenCount | None:
    """Return the sums of the named counts, or None if the first input or output count is missing."""
    counts = as_dict(usage)
    if not (_is_count(counts.get(input[0])) and _is_count(counts.get(output[0]))):
        return None
    return TokenCount(input=_sum(counts, input), output=_sum(counts, output))


def _sum(counts: Mapping[str, Any], names: Sequence[str]) -> int:
    return sum(counts[name] for name in names if _is_count(counts.get(name)))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
