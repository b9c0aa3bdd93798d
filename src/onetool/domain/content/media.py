"""Media: an image, a sound or a file in the result of a tool. Shown as one line, never as base64."""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from secrets import token_hex
from typing import Any

OCTET_STREAM = "application/octet-stream"
MIME_TYPE = re.compile(r"[\w.+-]{1,80}/[\w.+-]{1,80}", re.ASCII)
DATA_URI = re.compile(rf"data:({MIME_TYPE.pattern});base64,([A-Za-z0-9+/]*={{0,2}})", re.ASCII)
BLOCK_TYPES = ("image", "audio")
"""Types of media that have a content block of their own. All others are embedded resources."""
URL_SAFE = str.maketrans("-_", "+/")
RESULT_URI = "ot.result://"
"""URI of a stored result, followed by its handle."""
Path = tuple[str, ...]
"""Where the base64 text is in a content block."""


class Media:
    """Bytes with a type. Immutable; equal if the handle is equal.

    `repr` and `str` show type, size and handle. Only `to_block` returns base64, for the MCP protocol.
    """

    __slots__ = ("_block", "_bytes", "_encoded", "_path", "handle", "mime_type", "size")

    mime_type: str
    """The type, or `application/octet-stream` if the sender gave none or an invalid one."""
    size: int
    """Number of bytes."""
    handle: str
    """Unguessable id under which the bytes may be stored."""
    _block: Mapping[str, Any]
    _path: Path
    _encoded: str | None
    """The base64 text as received; None if the media were created from bytes."""
    _bytes: bytes | None

    def __init__(self, data: bytes, mime_type: str) -> None:
        """Create media from bytes.

        Raises:
            ValueError: The type is not a MIME type such as `image/png`.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise ValueError(f"Media needs bytes, not {type(data).__name__}.")
        if not isinstance(mime_type, str) or not MIME_TYPE.fullmatch(mime_type):
            raise ValueError(f"Invalid MIME type {mime_type!r}. Use one such as 'image/png'.")
        handle, kind = token_hex(16), mime_type.partition("/")[0]
        if kind in BLOCK_TYPES:
            block: dict[str, Any] = {"type": kind, "data": None, "mimeType": mime_type}
            path: Path = ("data",)
        else:
            resource = {"uri": f"{RESULT_URI}{handle}", "mimeType": mime_type, "blob": None}
            block, path = {"type": "resource", "resource": resource}, ("resource", "blob")
        self._set(mime_type=mime_type, size=len(data), handle=handle)
        self._set(_block=block, _path=path, _encoded=None, _bytes=bytes(data))

    @classmethod
    def from_block(cls, block: Mapping[str, Any], path: Path) -> "Media":
        """Return the media of a content block whose base64 text is at a path."""
        *parents, key = path
        owner = block
        for parent in parents:
            owner = owner[parent]
        encoded = owner[key]
        media = object.__new__(cls)
        media._set(mime_type=_mime_type(owner), size=_decoded_size(encoded), handle=token_hex(16))
        media._set(_block=_replace(block, path, None), _path=path, _encoded=encoded, _bytes=None)
        return media

    @classmethod
    def stored(cls, handle: str, data: bytes, mime_type: str) -> "Media":
        """Return media that are stored under a handle."""
        media = cls(data, mime_type)
        media._set(handle=handle)
        return media

    def with_block(self, block: Mapping[str, Any]) -> "Media":
        """Return the same media, under the same handle, with other fields in its content block."""
        is_resource = block.get("type") == "resource"
        owner = block["resource"] if is_resource else block
        path: Path = ("resource", "blob") if is_resource else ("data",)
        media = object.__new__(Media)
        media._set(mime_type=_mime_type(owner), size=self.size, handle=self.handle)
        media._set(_block=block, _path=path, _encoded=self._encoded, _bytes=self._bytes)
        return media

    @property
    def block(self) -> Mapping[str, Any]:
        """The content block as it was received, with None in place of the base64 text."""
        return self._block

    @property
    def annotations(self) -> Mapping[str, Any] | None:
        """For whom the block is, and how important."""
        return self._block.get("annotations")

    def to_bytes(self) -> bytes:
        """Return the bytes. Takes time for large media if they were received as base64."""
        return _decode(self._encoded) if self._bytes is None else self._bytes

    def to_block(self) -> dict[str, Any]:
        """Return the content block of the MCP protocol, with the bytes as base64, as received."""
        encoded = self._encoded
        if encoded is None:
            encoded = base64.b64encode(self._bytes or b"").decode()
        return _replace(self._block, self._path, encoded)

    def to_link(self) -> dict[str, Any]:
        """Return a content block that links to the stored media."""
        annotations = {"annotations": self.annotations} if self.annotations else {}
        link = {"uri": f"{RESULT_URI}{self.handle}", "name": self.handle, "mimeType": self.mime_type}
        return {"type": "resource_link", **link, "size": self.size, **annotations}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let functions of packs have parameters of this type."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(parse_media)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, str]:
        """Return the JSON Schema of a parameter of this type."""
        return {"type": "string", "format": "uri", "description": "A data URI with base64."}

    def __repr__(self) -> str:
        return f"Media(mime_type={self.mime_type!r}, size={self.size}, handle={self.handle!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Media) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Media is immutable: cannot set {name!r}.")

    def __reduce__(self) -> Any:
        raise TypeError("Media cannot be pickled.")

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


class MediaText(str):
    """The text of media in the arguments of a call. Functions of packs get the media themselves."""

    __slots__ = ("media",)
    media: Media

    @classmethod
    def of(cls, media: Media, text: str) -> "MediaText":
        """Return the text of media."""
        encoded = cls(text)
        encoded.media = media
        return encoded


def parse_media(value: Any) -> Media:
    """Return the media for an argument: media, their text, or a data URI with base64.

    Raises:
        ValueError: It is something else.
    """
    if isinstance(value, Media | MediaText):
        return value if isinstance(value, Media) else value.media
    if isinstance(value, str) and (match := DATA_URI.fullmatch(value)) and len(match[2]) % 4 == 0:
        return Media(base64.b64decode(match[2]), match[1])
    raise ValueError("Expected media, or a data URI such as 'data:image/png;base64,...'")


def find_media(value: Any) -> list[Media]:
    """Return the media in a value, in order, each once."""
    found: dict[str, Media] = {}
    pending, seen = [value], set[int]()
    while pending:
        item = pending.pop()
        if isinstance(item, Media):
            found.setdefault(item.handle, item)
        elif isinstance(item, Mapping | list | tuple | set | frozenset) and id(item) not in seen:
            seen.add(id(item))
            children: Iterable[Any] = item.values() if isinstance(item, Mapping) else item
            pending += reversed(list(children))
    return list(found.values())


def _mime_type(fields: Mapping[str, Any]) -> str:
    """Return the declared type. A text that is no type is not shown: the sender may be hostile."""
    declared = fields.get("mimeType")
    return declared if isinstance(declared, str) and MIME_TYPE.fullmatch(declared) else OCTET_STREAM


def _replace(block: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return a block with another value at a path; the order of its fields is unchanged."""
    key, *rest = path
    inner = _replace(block[key], tuple(rest), value) if rest else value
    return {name: inner if name == key else field for name, field in block.items()}


def _decoded_size(encoded: str) -> int:
    if len(encoded) % 4 or "\n" in encoded or "\r" in encoded:
        return len(_decode(encoded))
    return len(encoded) // 4 * 3 - encoded[-2:].count("=")


def _decode(encoded: str | None) -> bytes:
    """Return the bytes of a base64 text, with or without padding; none if it is malformed."""
    text = "".join((encoded or "").split()).rstrip("=").translate(URL_SAFE)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""
