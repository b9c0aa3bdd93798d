"""The parts of a tool's result. Each is a view of the JSON that the server sent, unknown fields included."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from .audience import Reader, readers_of
from .media import BLOCK_TYPES, Media

KNOWN_TYPES = {"text", "resource", "resource_link", *BLOCK_TYPES}
PROTOCOL_FIELDS = {
    *("type", "text", "data", "mimeType", "annotations", "_meta", "resource", "uri", "blob", "name", "title"),
    *("description", "size", "icons", "structuredContent", "isError"),
}
Fields = Mapping[str, Any]
Convert = Callable[[Any], Any]
"""Returns a JSON value with other texts."""


class Text(NamedTuple):
    """A text block."""

    fields: Fields

    @property
    def text(self) -> str:
        """The text."""
        return str(self.fields["text"])


class Link(NamedTuple):
    """A link to a resource."""

    fields: Fields

    @property
    def uri(self) -> str:
        """The URI of the resource."""
        return str(self.fields["uri"])


class Embedded(NamedTuple):
    """A resource inside the result: a text or media."""

    fields: Fields
    """The block; None in place of the base64 text of media."""
    body: str | Media

    @property
    def uri(self) -> str:
        """The URI of the resource."""
        return str(self.fields["resource"].get("uri", ""))


class Unknown(NamedTuple):
    """A block of a type that is unknown to us."""

    fields: Fields


Part = Text | Media | Link | Embedded | Unknown


class InvalidContent(ValueError):
    """A result does not follow the protocol. The message is a fragment without a full stop."""


def parse_part(block: Any) -> Part:
    """Return the part for a content block.

    Raises:
        InvalidContent: It is not an object with a type.
    """
    if not isinstance(block, dict) or not isinstance(kind := block.get("type"), str):
        raise InvalidContent(f"a content block is an object with a type, not {type(block).__name__}")
    if kind == "text" and isinstance(block.get("text"), str):
        return Text(block)
    if kind == "resource_link" and isinstance(block.get("uri"), str):
        return Link(block)
    if kind == "resource" and isinstance(resource := block.get("resource"), dict):
        return _parse_embedded(block, resource)
    is_media = kind in BLOCK_TYPES or isinstance(block.get("mimeType"), str)
    if is_media and isinstance(block.get("data"), str):
        return Media.from_block(block, ("data",))
    return Unknown(block)


def part_fields(part: Part) -> Fields:
    """Return the block of a part, with None in place of base64."""
    return part.block if isinstance(part, Media) else part.fields


def part_block(part: Part) -> Fields:
    """Return the block of a part as it was received."""
    media = media_of(part)
    return part_fields(part) if media is None else media.to_block()


def media_of(part: Part) -> Media | None:
    """Return the media of a part, if it has any."""
    if isinstance(part, Embedded):
        part = part.body if isinstance(part.body, Media) else part
    return part if isinstance(part, Media) else None


def media_in(parts: Iterable[Part]) -> list[Media]:
    """Return the media of the parts, in order."""
    return [media for part in parts if (media := media_of(part)) is not None]


def part_readers(part: Part) -> frozenset[Reader]:
    """Return for whom a part is."""
    return readers_of(part_fields(part).get("annotations"))


def text_of(part: Part) -> str | None:
    """Return the text of a text block or of an embedded text."""
    if isinstance(part, Text):
        return part.text
    return part.body if isinstance(part, Embedded) and isinstance(part.body, str) else None


def convert_part(part: Part, convert: Convert) -> Part:
    """Return a part whose fields are converted. The bytes and the handle of media are unchanged."""
    return with_fields(part, convert_fields(part_fields(part), convert))


def with_fields(part: Part, fields: Fields) -> Part:
    """Return a part with other fields. The bytes and the handle of media are unchanged."""
    media = media_of(part)
    if media is not None:
        media = media.with_block(fields)
        return Embedded(fields, media) if isinstance(part, Embedded) else media
    return parse_part(fields)


def convert_fields(fields: Fields, convert: Convert) -> dict[str, Any]:
    """Return an object of the protocol with converted values. Names that the protocol defines stay."""
    converted: dict[str, Any] = {}
    for key, value in fields.items():
        if key == "type" and value in KNOWN_TYPES:
            converted[key] = value
        elif key == "resource" and isinstance(value, dict):
            converted[key] = convert_fields(value, convert)
        elif key in PROTOCOL_FIELDS:
            converted[key] = convert(value)
        else:
            converted |= convert({key: value})
    return converted


def part_data(part: Part) -> Any:
    """Return a part as code sees it: media as they are, other parts as dicts with their main fields."""
    if isinstance(part, Media):
        return part
    if isinstance(part, Embedded):
        resource = part.fields["resource"]
        key = "data" if isinstance(part.body, Media) else "text"
        fields = {"uri": resource.get("uri"), key: part.body, "mimeType": resource.get("mimeType")}
    else:
        fields = {key: part.fields.get(key) for key in ("mimeType", "uri", "text", "name")}
    kind = part.fields["type"]
    return {"type": kind} | {key: value for key, value in fields.items() if value is not None}


def _parse_embedded(block: Fields, resource: Fields) -> Part:
    if isinstance(resource.get("blob"), str):
        media = Media.from_block(block, ("resource", "blob"))
        return Embedded(media.block, media)
    if isinstance(text := resource.get("text"), str):
        return Embedded(block, text)
    return Unknown(block)
