"""Media as arguments: base64 or a data URI where the schema of the parameter allows it."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onetool.domain.content.media import Media, MediaText

from .json_schema import resolve_ref

BRANCHES = ("anyOf", "oneOf", "allOf")
MAX_SCHEMAS = 200
"""Schemas that are considered for one value. Untrusted schemas may have many branches."""
HINT = "Media are accepted where the schema has `contentEncoding: base64`, `format: byte` or `format: uri`."

Schema = Mapping[str, Any]


class MediaNotAccepted(ValueError):
    """The schema of a parameter does not allow media. The message names the parameter and the fix."""


def encode_media(root: Schema, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with texts in place of media.

    root: the schema of the arguments.

    Raises:
        MediaNotAccepted: The schema allows no media in a place where there are some.
    """
    return _MediaEncoder(root).encode(args, [root], "")  # type: ignore[no-any-return]


class _MediaEncoder:
    def __init__(self, root: Schema) -> None:
        self._root = root

    def encode(self, value: Any, schemas: Sequence[Any], path: str) -> Any:
        """Return a value with texts in place of media. `schemas` apply to the value."""
        if isinstance(value, Media):
            return _to_text(value, list(self._expand(schemas)), path)
        if isinstance(value, Mapping):
            known = list(self._expand(schemas))
            return {
                key: self.encode(item, _member_schemas(known, key), _join(path, key))
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            known = list(self._expand(schemas))
            items = [schema["items"] for schema in known if "items" in schema]
            return [self.encode(item, items, _join(path, index)) for index, item in enumerate(value)]
        return value

    def _expand(self, schemas: Sequence[Any]) -> Iterator[Schema]:
        """Yield schemas, the targets of their references, and their branches, each once."""
        pending, seen = list(schemas), set[int]()
        while pending and len(seen) < MAX_SCHEMAS:
            schema = pending.pop()
            if not isinstance(schema, Mapping) or id(schema) in seen:
                continue
            seen.add(id(schema))
            yield schema
            if isinstance(reference := schema.get("$ref"), str):
                pending.append(resolve_ref(self._root, reference))
            for keyword in BRANCHES:
                if isinstance(branches := schema.get(keyword), list):
                    pending += branches


def _member_schemas(schemas: Sequence[Schema], key: Any) -> list[Any]:
    """Return the schemas of a member of an object."""
    members = list[Any]()
    for schema in schemas:
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            members.append(properties[key])
        else:
            members.append(schema.get("additionalProperties"))
    return members


def _to_text(media: Media, schemas: Sequence[Schema], path: str) -> str:
    formats = {schema.get("format") for schema in schemas if isinstance(schema.get("format"), str)}
    is_base64 = "byte" in formats or any(schema.get("contentEncoding") == "base64" for schema in schemas)
    if not is_base64 and "uri" not in formats:
        raise MediaNotAccepted(f"{path} does not accept {media}. {HINT}")
    encoded = base64.b64encode(media.to_bytes()).decode()
    return MediaText.of(media, encoded if is_base64 else f"data:{media.mime_type};base64,{encoded}")


def _join(path: str, key: Any) -> str:
    return f"{path}.{key}" if path else str(key)
