"""Stored results in memory."""

import time
from collections.abc import Callable

from onetool.domain.content.media import Media
from onetool.domain.results.stored_result import (
    DEFAULT_TTL_S,
    StoredResult,
    create_stored_media,
    create_stored_result,
    oldest_media,
)


class MemoryResults:
    """Texts and media that expire, for the lifetime of the process."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._stored: dict[str, StoredResult] = {}
        self._texts: dict[str, str] = {}
        self._media: dict[str, Media] = {}

    async def put(self, text: str, tool: str, ttl_s: float = DEFAULT_TTL_S) -> StoredResult:
        """Store a text."""
        stored = create_stored_result(text, tool, self._now(), ttl_s)
        self._stored[stored.handle], self._texts[stored.handle] = stored, text
        return stored

    async def put_media(self, media: Media, tool: str, ttl_s: float = DEFAULT_TTL_S) -> StoredResult:
        """Store media."""
        now = self._now()
        if await self.media(media.handle) is None:
            data, lifetime = media.to_bytes(), (now, now + ttl_s)
            stored = create_stored_media(media.handle, data, media.mime_type, tool, lifetime)
            self._stored[media.handle] = stored
            self._media[media.handle] = Media.stored(media.handle, data, media.mime_type)
            self._delete_media(now)
        return self._stored[media.handle]

    async def media(self, handle: str) -> Media | None:
        """Return stored media."""
        stored = self._stored.get(handle)
        if stored is None or stored.expires_at <= self._now():
            self._media.pop(handle, None)
        return self._media.get(handle)

    async def find(self, handle: str) -> StoredResult | None:
        """Return the metadata of a handle."""
        return self._stored.get(handle)

    async def text(self, handle: str) -> str | None:
        """Return the text, or None if it has expired."""
        stored = self._stored.get(handle)
        if stored is None or stored.expires_at <= self._now():
            self._texts.pop(handle, None)
        return self._texts.get(handle)

    def _delete_media(self, now: float) -> None:
        """Delete expired media, and the oldest ones if there are too many."""
        for handle in [handle for handle in self._media if self._stored[handle].expires_at <= now]:
            del self._media[handle]
        stored = [self._stored[handle] for handle in self._media]
        for handle in oldest_media([(item.created_at, item.size_bytes, item.handle) for item in stored], now):
            del self._media[handle]

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""
