"""The whole result of a server's tool, without loss."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.text.strings import truncate_middle

from .audience import Reader
from .media import Media
from .parts import (
    Convert,
    Fields,
    InvalidContent,
    Part,
    Text,
    convert_fields,
    convert_part,
    media_in,
    parse_part,
    part_block,
    part_data,
    part_fields,
    part_readers,
)
from .text_results import to_text

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
"""Field of `_meta` in which the sender of a message names itself."""
COMPLETE = "complete"
MAX_ERROR_LENGTH = 4000


class Content(NamedTuple):
    """What the tool of a server returned: all parts and fields, as received."""

    parts: tuple[Part, ...]
    fields: Fields
    """The result without its parts, and without what belongs to the message: `resultType`, `serverInfo`."""
    output_schema: Fields | None = None
    """The output schema that the server declares for the tool."""

    @property
    def structured(self) -> Any:
        """The structured content, or None."""
        return self.fields.get("structuredContent")

    @property
    def meta(self) -> Fields | None:
        """The field `_meta`."""
        return self.fields.get("_meta")

    @property
    def is_error(self) -> bool:
        """Whether the tool reports a failure."""
        return self.fields.get("isError") is True

    @property
    def text(self) -> str:
        """The text blocks as one text."""
        return "\n\n".join([part.text for part in self.parts if isinstance(part, Text)])

    @property
    def media(self) -> list[Media]:
        """All media, in order."""
        return media_in(self.parts)

    def to_data(self) -> Any:
        """Return what code sees: structured content, the text, or the parts.

        Structured content that only repeats the text becomes the text.
        """
        structured = self.structured
        if isinstance(structured, Mapping):
            return to_text(structured, self.text, self.output_schema)
        if structured is not None:
            return structured
        if all(isinstance(part, Text) for part in self.parts):
            return self.text
        parts = [part_data(part) for part in self.parts]
        return parts[0] if len(parts) == 1 else parts

    def to_json(self) -> dict[str, Any]:
        """Return the result of `tools/call`, as received."""
        return {"content": [part_block(part) for part in self.parts], **self.fields}

    def error_text(self, tool: str) -> str:
        """Return the message of a failure."""
        text = truncate_middle(self.text, MAX_ERROR_LENGTH)
        return text or f"{tool} failed without an error message."

    def for_reader(self, reader: Reader) -> "Content":
        """Return the content without the parts that are for another reader; the same object if all are.

        Structured content has no reader, but it is omitted with such parts if it only repeats the text.
        """
        parts = tuple(part for part in self.parts if reader in part_readers(part))
        if len(parts) == len(self.parts):
            return self
        fields = dict(self.fields)
        if isinstance(self.to_data(), str):
            fields.pop("structuredContent", None)
        return self._replace(parts=parts, fields=fields)

    def without_base64(self) -> list[Any]:
        """Return everything but the bytes of media, as JSON."""
        return [*(part_fields(part) for part in self.parts), self.fields]

    def convert(self, convert: Convert) -> "Content":
        """Return the content with converted fields. Media are the same."""
        parts = tuple(convert_part(part, convert) for part in self.parts)
        return self._replace(parts=parts, fields=convert_fields(self.fields, convert))


class ToolReportedError(ExecutionError):
    """The tool of a server reported a failure, with content."""

    def __init__(self, message: str, content: Content) -> None:
        super().__init__(Reason.UPSTREAM, message)
        self.content = content


def parse_content(result: Any, output_schema: Fields | None = None) -> Content:
    """Return the content of the result of `tools/call`.

    Raises:
        InvalidContent: The result does not follow the protocol.
    """
    if not isinstance(result, dict) or not isinstance(blocks := result.get("content"), list):
        raise InvalidContent("a result is an object whose content is a list")
    fields = {key: value for key, value in without_envelope(result).items() if key != "content"}
    return Content(tuple([parse_part(block) for block in blocks]), fields, output_schema)


def without_envelope(result: Fields) -> dict[str, Any]:
    """Return a result without what belongs to the message: `resultType` and the name of the sender.

    Raises:
        InvalidContent: It is of a type that is not supported.
    """
    if (kind := result.get("resultType", COMPLETE)) != COMPLETE:
        raise InvalidContent(f"a result of the type {str(kind)[:40]!r} is not supported")
    fields = {key: value for key, value in result.items() if key != "resultType"}
    if isinstance(meta := fields.get("_meta"), dict) and SERVER_INFO in meta:
        fields["_meta"] = {key: value for key, value in meta.items() if key != SERVER_INFO}
        if not fields["_meta"]:
            del fields["_meta"]
    return fields
