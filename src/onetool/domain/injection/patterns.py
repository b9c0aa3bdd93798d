"""Compiled patterns. RE2 matches them in time linear in the text, whatever the text contains."""

from collections.abc import Iterable
from functools import cache
from typing import Any

MAX_MEMORY = 64 * 2**20
"""Below this, RE2 falls back to a slower engine."""


@cache
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern that ignores case."""
    import re2  # type: ignore[import-untyped]

    return re2.compile(f"(?i){pattern}", _options())


def compile_set(patterns: Iterable[str]) -> Any:
    """Compile patterns that are searched together; `Match` returns the indexes of those found, or None."""
    import re2

    pattern_set = re2.Set.SearchSet(_options())
    for pattern in patterns:
        pattern_set.Add(pattern)
    pattern_set.Compile()
    return pattern_set


def _options() -> Any:
    import re2

    options = re2.Options()
    options.max_mem, options.log_errors = MAX_MEMORY, False
    return options
