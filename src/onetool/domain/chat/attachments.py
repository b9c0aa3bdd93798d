"""Files that a user attaches to a question: images, and texts that become part of the message."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from onetool.domain.content.images import image_type
from onetool.domain.content.media import Media
from onetool.domain.errors import OneToolError
from onetool.domain.text.strings import escape_invisible, first_line

MAX_ATTACHMENTS = 10
MAX_IMAGE_BYTES = 3_900_000
"""Providers reject images over 5 MiB, some of them measured as base64."""
MAX_TOTAL_IMAGE_BYTES = 12 * 2**20
"""Images in one request to a model. Providers limit the size of a request."""
MAX_FILE_CHARACTERS = 200_000
"""With longer texts, models could not answer."""
FENCE = re.compile(r"`{3,}")


class InvalidAttachment(OneToolError):
    """A file cannot be sent to a model."""


class Attachments(NamedTuple):
    """What is attached to a question."""

    images: tuple[Media, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    """Names and contents of text files."""

    def add_to(self, text: str) -> str:
        """Return a question with the contents of the text files."""
        return "\n\n".join([text, *(_fenced(name, content) for name, content in self.texts)])

    def user_text(self, text: str) -> str | None:
        """Return the question as the user sees it: with the names of the files. None: as the model does."""
        names = ", ".join(f"`{name}`" for name, _ in self.texts)
        return f"{text}\n\n{names}" if names else None


NO_ATTACHMENTS = Attachments()


def read_attachments(files: Sequence[tuple[str, bytes]]) -> Attachments:
    """Return what files contain. Their bytes decide, not what a client says about them.

    Raises:
        InvalidAttachment: A file is too large, or neither an image nor a text, or the images are too large
            together.
    """
    images, texts = list[Media](), list[tuple[str, str]]()
    for raw_name, data in files:
        name = _safe_name(raw_name)
        if kind := image_type(data):
            images.append(_image(name, data, kind))
        else:
            texts.append((name, _text(name, data)))
    total = sum(image.size for image in images)
    if total > MAX_TOTAL_IMAGE_BYTES:
        limit = f"{MAX_TOTAL_IMAGE_BYTES:,} bytes"
        raise InvalidAttachment(
            f"The images have {total:,} bytes together. Attach at most {limit} of images."
        )
    return Attachments(tuple(images), tuple(texts))


def _image(name: str, data: bytes, kind: str) -> Media:
    if len(data) > MAX_IMAGE_BYTES:
        limit = f"{MAX_IMAGE_BYTES:,} bytes"
        raise InvalidAttachment(f"Image {name!r} has {len(data):,} bytes. Attach one of at most {limit}.")
    return Media(data, kind)


def _text(name: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InvalidAttachment(
            f"File {name!r} is neither an image nor a text. "
            "Attach PNG, JPEG, GIF or WebP images, or texts in UTF-8."
        )
    if len(text) > MAX_FILE_CHARACTERS:
        limit = f"{MAX_FILE_CHARACTERS:,} characters"
        raise InvalidAttachment(f"File {name!r} has {len(text):,} characters. Attach one of at most {limit}.")
    return text


def _safe_name(name: str) -> str:
    """Return the name without what could be read as something else in a message."""
    return escape_invisible(first_line(name)).replace("`", "'").strip() or "file"


def _fenced(name: str, content: str) -> str:
    """Return a file between fences that its content does not have."""
    longest = max((len(run) for run in FENCE.findall(content)), default=2)
    fence = "`" * (longest + 1)
    return f"File `{name}`:\n{fence}\n{content}\n{fence}"
