"""A page of something longer: no port returns everything."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items, and the opaque cursor of the next page; None at the end."""

    items: Sequence[T]
    next: str | None = None
