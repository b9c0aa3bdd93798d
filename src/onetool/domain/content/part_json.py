"""The parts of a result for REST and the CLI: texts as they are, media by type, size and handle."""

import base64
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from .parts import Embedded, Part, media_of, part_fields


class MediaOptions(NamedTuple):
    """What is written of media besides their type and size."""

    handles: Collection[str] = ()
    """The handles that can be read. Others are omitted."""
    inline: bool = False
    """Whether to add the bytes, as base64 in the field `data`."""


def parts_to_json(parts: Iterable[Part], options: MediaOptions) -> list[dict[str, Any]]:
    """Return the parts as JSON. With `inline`, takes time for large media."""
    return [_part_to_json(part, options) for part in parts]


def _part_to_json(part: Part, options: MediaOptions) -> dict[str, Any]:
    fields, media = part_fields(part), media_of(part)
    if media is None:  # only media have handles, whatever the server sent
        return {key: value for key, value in fields.items() if key != "handle"}
    written: dict[str, Any] = {"type": fields["type"], "mimeType": media.mime_type, "size": media.size}
    if media.handle in options.handles:
        written["handle"] = media.handle
    if isinstance(part, Embedded):
        written["uri"] = part.uri
    if options.inline:
        written["data"] = base64.b64encode(media.to_bytes()).decode()
    return written | {key: fields[key] for key in ("annotations", "_meta") if key in fields}
