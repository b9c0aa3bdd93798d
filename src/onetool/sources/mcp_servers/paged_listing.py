"""Listings of a server over all pages. What is above the limits is ignored, and the reason is reported."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from onetool.domain.text.json_text import encode, is_deeper
from onetool.domain.text.strings import truncate_middle

from .results import MAX_NESTING

MAX_LISTING_BYTES = 64 * 2**20
MAX_NAMES_LENGTH = 200
ReadPage = Callable[[str | None], Awaitable[dict[str, Any]]]
"""Returns the page after a cursor as the server sent it, without invalid items."""


class Listing(NamedTuple):
    """The items that a server lists, and what of them is ignored."""

    items: list[dict[str, Any]]
    problems: list[str]
    """What is ignored, and why. Fragments without a full stop."""


async def read_listing(read_page: ReadPage, kind: str, max_items: int) -> Listing:
    """Read all pages of a list, up to the limits.

    kind: the field of a page that contains the items, such as `tools`.
    """
    items: list[dict[str, Any]] = []
    size, cursor, problem = 0, None, ""
    while not problem:
        page = await read_page(cursor)
        size += len(encode(page))
        if size > MAX_LISTING_BYTES:
            problem = f"the list of {kind} has more than {MAX_LISTING_BYTES:,} bytes; the rest is ignored"
            break
        items += page[kind]
        if len(items) > max_items:
            problem = f"the server lists more than {max_items:,} {kind}; the rest is ignored"
        next_cursor = page.get("nextCursor")
        if not next_cursor or next_cursor == cursor:
            break
        cursor = next_cursor
    usable, problems = _skip_deep(items[:max_items], kind)
    return Listing(usable, [problem, *problems] if problem else problems)


def _skip_deep(items: list[dict[str, Any]], kind: str) -> tuple[list[dict[str, Any]], list[str]]:
    usable, names = [], []
    for item in items:
        if is_deeper(item, MAX_NESTING):
            names.append(item.get("name"))
        else:
            usable.append(item)
    shown = truncate_middle(", ".join(map(repr, names)), MAX_NAMES_LENGTH)
    return usable, [f"ignored {kind} nested deeper than {MAX_NESTING} levels: {shown}"] if names else []
