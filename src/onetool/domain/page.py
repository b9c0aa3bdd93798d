"""A page of a listing; ports never return a whole collection."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items and the opaque cursor of the next page; None on the last page."""

    items: Sequence[T]
    next: str | None = None
