"""Large results that are stored: handle, preview, and selection by JSON path."""

import json
import re
from collections.abc import Iterable
from hashlib import sha256
from operator import itemgetter
from secrets import token_hex
from typing import Any, NamedTuple, TypeVar

from onetool.domain.content.media import Media
from onetool.domain.identity.principal import LOCAL
from onetool.domain.text.json_text import pretty
from onetool.domain.text.strings import truncate_middle
from onetool.domain.text.suggestions import did_you_mean

K = TypeVar("K")
HANDLE = re.compile(r"[0-9a-f]{12}|[0-9a-f]{32}")
"""A handle. Earlier versions have created those of 12 digits."""
DEFAULT_TTL_S = 3600.0
METADATA_RETENTION_S = 7 * 86_400.0
"""How long after expiry a handle is still reported as expired instead of unknown."""
PREVIEW_LINES = 20
MAX_PREVIEW_LINE_LENGTH = 160
PREVIEW_CHARS = 40_000
"""Characters of the text that are searched for the lines of the preview."""


MAX_MEDIA_BYTES = 2**30
"""Total size of stored media. The oldest are deleted first."""
MIN_MEDIA_AGE_S = 600.0
"""Media that are younger are not deleted, also over that size."""


class StoredResult(NamedTuple):
    """Metadata of a stored text or of media; outlives them to tell expired handles from unknown ones."""

    handle: str
    tool: str
    total_lines: int
    size_bytes: int
    created_at: float
    expires_at: float
    mime_type: str = ""
    """Type of media; empty for a text."""
    digest: str = ""
    """SHA-256 of media, as hexadecimal digits."""
    owner: str = LOCAL.scope
    """The scope of the principal to whom it belongs. Earlier versions have stored none."""
    value: str = ""
    """The handle of the value as JSON, if the text shows a value in another form."""


class ModelText(NamedTuple):
    """A text for a model, and the handle of the full text if it is only a preview."""

    text: str
    handle: str = ""


def create_stored_result(
    text: str, tool: str, owner: str, lifetime: tuple[float, float], value: str = ""
) -> StoredResult:
    """Return the metadata of a new text, with a new handle. `lifetime`: when it is created and expires."""
    size = len(text.encode("utf-8", "surrogatepass"))
    return StoredResult(
        token_hex(16), tool, len(split_lines(text)), size, *lifetime, owner=owner, value=value
    )


def create_stored_media(
    media: Media, data: bytes, tool: str, owner: str, lifetime: tuple[float, float]
) -> StoredResult:
    """Return the metadata of media with these bytes. `lifetime`: when they are created and expire."""
    digest, size = sha256(data).hexdigest(), len(data)
    return StoredResult(media.handle, tool, 0, size, *lifetime, media.mime_type, digest, owner)


def oldest_media(stored: Iterable[tuple[float, int, K]], now: float, max_bytes: int | None = None) -> list[K]:
    """Return the keys of the media to delete so that the others fit into MAX_MEDIA_BYTES.

    stored: creation time, size in bytes and key of all media.
    max_bytes: into which they must fit instead.
    """
    by_age = sorted(stored, key=itemgetter(0))
    limit = MAX_MEDIA_BYTES if max_bytes is None else max_bytes
    excess, deleted = sum(size for _, size, _ in by_age) - limit, list[K]()
    for created_at, size, key in by_age:
        if excess <= 0 or created_at > now - MIN_MEDIA_AGE_S:
            break
        excess -= size
        deleted.append(key)
    return deleted


def split_lines(text: str) -> list[str]:
    """Split at LF and CRLF only; a final line break does not start another line."""
    lines = (text.replace("\r\n", "\n") if "\r\n" in text else text).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def preview(stored: StoredResult, text: str) -> str:
    """Return the first lines of a stored text and how to read the rest."""
    first_lines = [
        truncate_middle(line, MAX_PREVIEW_LINE_LENGTH)
        for line in split_lines(text[:PREVIEW_CHARS])[:PREVIEW_LINES]
    ]
    return (
        f"{stored.size_bytes} bytes in {stored.total_lines} lines are stored as {stored.handle!r}.\n"
        f"Read them with ot.result(handle={stored.handle!r}, offset=1, limit=100), "
        f"or pass search='pattern' to get matching lines.\n\n" + "\n".join(first_lines)
    )


def cut_unstored(text: str, max_bytes: int, reason: str) -> str:
    """Return the beginning of a text that could not be stored, and why the rest is missing."""
    data = text.encode("utf-8", "replace")
    shown = data[:max_bytes].decode("utf-8", "ignore")
    return (
        f"The first {max_bytes} of {len(data)} bytes. The rest could not be stored and is lost: {reason}. "
        f"Do not repeat a call that changed something; request less where that is possible.\n\n{shown}"
    )


def select_path(text: str, path: str) -> str:
    """Return the part of a stored JSON text at a dotted path such as `items.0.name`, one element per line.

    Raises:
        ValueError: The text is not JSON, or the path does not exist.
    """
    try:
        value = json.loads(text)
    except ValueError:
        raise ValueError("path requires a JSON result. Use offset, limit and search instead.") from None
    for step in path.split("."):
        keys = _keys(value)
        if step not in keys:
            raise ValueError(f"Path {path!r} does not exist at {step!r}.{did_you_mean(step, keys)}")
        value = value[step] if isinstance(value, dict) else value[int(step)]
    return value if isinstance(value, str) else pretty(value)


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return list(value)
    return [str(index) for index in range(len(value))] if isinstance(value, list) else []
