"""An OpenAPI document whose author may be hostile: JSON or YAML, bounded, with references inside it alone."""

import re
from typing import Any
from urllib.parse import unquote

import orjson

from onetool.domain.bundle import InvalidBundle
from onetool.domain.json_text import MAX_DEPTH, encode, is_json
from onetool.domain.texts import cut

from .yaml_reader import read_yaml

MAX_BYTES = 5 * 2**20
MAX_WORK = 64 * 2**20
"""Bytes read and written for one document's tools; references make a small document large."""
MAX_HOPS = 20
EXAMPLE = 'Example: openapi: "3.1.0"'


class Unusable(Exception):
    """A part of the document that cannot become a tool; the text says why."""


class Document:
    """A document, and how much may still be written from it."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self._work = 0

    def spend(self, size: int) -> None:
        """Count what was read or written.

        Raises InvalidBundle when it is too much for one document.
        """
        self._work += size
        if self._work > MAX_WORK:
            raise InvalidBundle(
                f"The document has more than {MAX_WORK} bytes when its references are followed."
            )

    def look_up(self, reference: Any) -> Any:
        """Return what a reference points to.

        Raises Unusable for what lies outside the document, and for what is not there.
        """
        shown = repr(cut(str(reference), 80))
        if not isinstance(reference, str) or not reference.startswith("#/"):
            raise Unusable(f"it refers to {shown}; only references inside the document are followed")
        self.spend(len(reference))
        found: Any = self.root
        for part in reference[2:].split("/"):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdecimal() and int(key[:9]) < len(found):
                found = found[int(key[:9])]
            elif isinstance(found, dict) and key in found:
                found = found[key]
            else:
                raise Unusable(f"it refers to {shown}, which is not in the document")
        return found

    def resolve(self, part: Any) -> dict[str, Any]:
        """Return a part of the document, or what it refers to.

        Raises Unusable.
        """
        for _ in range(MAX_HOPS):
            if not isinstance(part, dict):
                raise Unusable(f"it holds {cut(repr(part), 80)} where an object belongs")
            if "$ref" not in part:
                return part
            part = self.look_up(part["$ref"])
            self.spend(len(encode(part)))
        raise Unusable(f"it has references that lead nowhere after {MAX_HOPS} steps")


def read_document(content: bytes) -> Document:
    """Read an OpenAPI document of version 3.0 or 3.1.

    Raises InvalidBundle.
    """
    if len(content) > MAX_BYTES:
        raise InvalidBundle(f"The document has {len(content)} bytes; {MAX_BYTES} are allowed.")
    content = content.removeprefix(b"\xef\xbb\xbf")
    root = _read_json(content) if content.lstrip()[:1] in (b"{", b"[") else read_yaml(content)
    if not isinstance(root, dict):
        raise InvalidBundle(f"The document holds no object. {EXAMPLE}")
    if "swagger" in root:
        raise InvalidBundle("This is Swagger 2.0; convert it to OpenAPI 3.0 or 3.1 first.")
    version = str(root.get("openapi"))
    if not re.match(r"3\.[01](\.|$)", version):
        raise InvalidBundle(f"openapi {version[:80]!r} is not known. Valid: 3.0 and 3.1. {EXAMPLE}")
    return Document(root)


def mapping(value: Any) -> dict[str, Any]:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def words(value: Any) -> str:
    """The value where it is a text, else an empty one."""
    return value.strip() if isinstance(value, str) else ""


def _read_json(content: bytes) -> Any:
    try:
        root = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidBundle(f"The document is not JSON: {error.msg} (line {error.lineno}).") from None
    if not is_json(root):
        raise InvalidBundle(f"The document is nested more than {MAX_DEPTH} levels deep.")
    return root
