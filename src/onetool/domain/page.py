"""A page of a listing; ports never return a whole collection."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items and the opaque cursor of the next page; None on the last page."""

    items: Sequence[T]
    next: str | None = None


async def all_items(read: Callable[[str | None], Awaitable[Page[T]]]) -> AsyncIterator[T]:
    """Iterate over the items of all pages. `read` returns the page at a cursor; None: the first one."""
    cursor: str | None = None
    while True:
        page = await read(cursor)
        for item in page.items:
            yield item
        cursor = page.next
        if cursor is None:
            return
