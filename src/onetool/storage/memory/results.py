"""Stored results in memory."""

import time
from collections.abc import Callable

from onetool.domain.content.media import Media
from onetool.domain.identity.principal import may_read
from onetool.domain.results.stored_result import (
    DEFAULT_TTL_S,
    StoredResult,
    create_stored_media,
    create_stored_result,
    oldest_media,
)

Key = tuple[str, str]
"""Owner and handle."""


class MemoryResults:
    """Texts and media that expire, for the lifetime of the process."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._stored: dict[str, dict[str, StoredResult]] = {}
        """By handle and owner."""
        self._texts: dict[Key, str] = {}
        self._media: dict[Key, Media] = {}

    async def put(
        self, text: str, tool: str, ttl_s: float = DEFAULT_TTL_S, *, owner: str, value: str = ""
    ) -> StoredResult:
        """Store a text."""
        now = self._now()
        stored = create_stored_result(text, tool, owner, (now, now + ttl_s), value)
        self._stored[stored.handle], self._texts[_key(stored)] = {owner: stored}, text
        return stored

    async def put_media(
        self, media: Media, tool: str, ttl_s: float = DEFAULT_TTL_S, *, owner: str
    ) -> StoredResult:
        """Store media."""
        now = self._now()
        self._delete_media(now)
        owners = self._stored.setdefault(media.handle, {})
        if (owner, media.handle) not in self._media:
            data = media.to_bytes()
            stored = owners[owner] = create_stored_media(media, data, tool, owner, (now, now + ttl_s))
            self._media[_key(stored)] = Media.stored(media.handle, data, media.mime_type)
            self._delete_media(now)
        return owners[owner]

    async def media(self, handle: str, *, reader: str) -> Media | None:
        """Return stored media."""
        stored = self._find(handle, reader)
        if stored is None or stored.expires_at <= self._now():
            return None
        return self._media.get(_key(stored))

    async def find(self, handle: str, *, reader: str) -> StoredResult | None:
        """Return the metadata of a handle."""
        return self._find(handle, reader)

    async def text(self, handle: str, *, reader: str) -> str | None:
        """Return the text, or None if it has expired."""
        stored = self._find(handle, reader)
        if stored is None:
            return None
        if stored.expires_at <= self._now():
            self._texts.pop(_key(stored), None)
        return self._texts.get(_key(stored))

    def _find(self, handle: str, reader: str) -> StoredResult | None:
        owners = self._stored.get(handle, {})
        readable = [owner for owner in owners if may_read(reader, owner)]
        return owners[min(readable)] if readable else None

    def _delete_media(self, now: float) -> None:
        """Delete expired media, and the oldest ones if there are too many."""
        stored = [self._stored[handle][owner] for owner, handle in self._media]
        expired = [_key(item) for item in stored if item.expires_at <= now]
        young = [(item.created_at, item.size_bytes, _key(item)) for item in stored if item.expires_at > now]
        for key in [*expired, *oldest_media(young, now)]:
            del self._media[key]

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


def _key(stored: StoredResult) -> Key:
    return stored.owner, stored.handle
