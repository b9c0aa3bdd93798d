"""What a list of packs says about each."""

from typing import NamedTuple


class PackSummary(NamedTuple):
    """A pack, the kind of its source (`local` or `proxy`), and how many tools the caller may call in it."""

    name: str
    source: str
    tool_count: int
