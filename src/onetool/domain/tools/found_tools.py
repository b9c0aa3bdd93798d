"""The tools that a search found."""

from collections.abc import Sequence
from typing import NamedTuple

from .tool import ToolSpec


class FoundTools(NamedTuple):
    """Tools that match a query, best first and deprecated ones last."""

    specs: Sequence[ToolSpec]
    """The first matches, up to the limit of the search."""
    total: int = 0
    """The number of close matches that were ranked."""
    has_more: bool = False
    """Whether there may be matches that were not ranked."""
    is_close: bool = True
    """Whether the tools fit the query; otherwise they are only the nearest ones."""
