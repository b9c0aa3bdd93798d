"""The images that are sent to a model: those of the user and of tools that it accepts, the newest first."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from onetool.domain.chat.attachments import MAX_IMAGE_BYTES, MAX_TOTAL_IMAGE_BYTES
from onetool.domain.chat.messages import Message
from onetool.domain.content.images import image_type
from onetool.domain.content.media import Media
from onetool.domain.content.reference import MediaReference
from onetool.ports import ResultStore
from onetool.threads import Threads

MAX_IMAGES = 20
"""Images in one request. Providers limit their number."""
MAX_LINES = 20
"""Lines about images that are not sent with a message."""


class ImageLoader:
    """Adds images to messages for a model. All other media are lines in the texts of the messages."""

    def __init__(
        self, results: ResultStore, threads: Threads, accepted_types: frozenset[str], *, reader: str
    ) -> None:
        """reader: the scope of the principal whose conversation it is."""
        self._results, self._threads, self._reader = results, threads, reader
        self._accepted_types = accepted_types
        self._media: dict[str, Media | None] = {}

    def add(self, media: Iterable[Media]) -> None:
        """Keep media in memory, so that they are not read from the store."""
        self._media |= {item.handle: item for item in media if self._may_be_sent(MediaReference.of(item))}

    def send_none(self) -> None:
        """Send no more images, because the model rejected them."""
        self._accepted_types = frozenset()

    async def attach(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages with their images, as far as these fit into one request.

        In place of an image that is not sent, a line says that it has expired or was left out.
        """
        limits = _RequestLimits()
        newest_first = [await self._attach(message, limits) for message in reversed(messages)]
        return newest_first[::-1]

    async def _attach(self, message: Message, limits: "_RequestLimits") -> Message:
        images, lines = list[Media](), list[str]()
        for reference in filter(self._may_be_sent, message.media_for("assistant")):
            if not limits.allows(reference.size):
                lines.append(f"{reference} was left out: the conversation has too many or too large images.")
                continue
            media = await self._find(reference.handle)
            if media is None:
                lines.append(f"{reference} has expired.")
            elif (image := await self._threads.run(self._to_image, media)) is not None:
                images.append(image)
                limits.count(image.size)
        if not images and not lines:
            return message
        if len(lines) > MAX_LINES:
            lines[MAX_LINES:] = [f"And {len(lines) - MAX_LINES} more."]
        return replace(message, text="\n".join([message.text, *lines]), images=tuple(images))

    def _may_be_sent(self, reference: MediaReference) -> bool:
        is_image = reference.mime_type.startswith("image/")
        return bool(self._accepted_types) and is_image and reference.size <= MAX_IMAGE_BYTES

    async def _find(self, handle: str) -> Media | None:
        """Return media, or None if they have expired."""
        if handle not in self._media:
            self._media[handle] = await self._results.media(handle, reader=self._reader)
        return self._media[handle]

    def _to_image(self, media: Media) -> Media | None:
        """Return media with the type that their bytes have."""
        data = media.to_bytes()
        kind = image_type(data)
        return Media.stored(media.handle, data, kind) if kind in self._accepted_types else None


class _RequestLimits:
    """How many images a request may still contain."""

    def __init__(self) -> None:
        self._count, self._bytes = MAX_IMAGES, MAX_TOTAL_IMAGE_BYTES

    def allows(self, size: int) -> bool:
        return self._count > 0 and size <= self._bytes

    def count(self, size: int) -> None:
        self._count, self._bytes = self._count - 1, self._bytes - size
