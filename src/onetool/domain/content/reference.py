"""Media by handle, as conversations know and store them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from .audience import READERS, Reader, readers_of
from .media import BLOCK_TYPES, Media


class MediaReference(NamedTuple):
    """The handle, the type and the size of media that may be stored."""

    handle: str
    mime_type: str
    size: int
    readers: frozenset[Reader] = READERS

    @classmethod
    def of(cls, media: Media) -> "MediaReference":
        """Return the reference to media."""
        return cls(media.handle, media.mime_type, media.size, readers_of(media.annotations))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "MediaReference":
        """Return the reference that `to_json` wrote.

        Raises:
            KeyError, TypeError: It has another form.
        """
        handle, mime_type, size = data["handle"], data["mimeType"], data["size"]
        if not (isinstance(handle, str) and isinstance(mime_type, str) and isinstance(size, int)):
            raise TypeError(handle)
        return cls(handle, mime_type, size, readers_of(data.get("annotations")))

    def to_json(self) -> dict[str, Any]:
        """Return the reference as a content part without its bytes."""
        kind = self.mime_type.partition("/")[0]
        audience = {"annotations": {"audience": sorted(self.readers)}} if self.readers != READERS else {}
        return {
            "type": kind if kind in BLOCK_TYPES else "resource",
            "mimeType": self.mime_type,
            "size": self.size,
            "handle": self.handle,
            **audience,
        }

    def __str__(self) -> str:
        return f"Media(mime_type={self.mime_type!r}, size={self.size}, handle={self.handle!r})"
