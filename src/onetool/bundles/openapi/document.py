"""An untrusted OpenAPI document in JSON or YAML: size limits and local references."""

import re
from typing import Any
from urllib.parse import unquote

import orjson

from onetool.domain.bundles.bundle import InvalidBundle
from onetool.domain.text.json_text import MAX_DEPTH, encode, is_json, jsonable
from onetool.domain.text.strings import truncate_middle

MAX_BYTES = 5 * 2**20
MAX_EXPANDED = 32 * 2**20
MAX_WORK = 64 * 2**20
"""Bytes to read and write for one document. References can make a small document very large."""
MAX_HOPS = 20
EXAMPLE = 'Example: openapi: "3.1.0"'


class UnusableDocument(Exception):
    """A part of the document cannot become a tool. The text says why, as part of a sentence."""


class OpenApiDocument:
    """A parsed document with a budget for the work that its references cause."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self._work = 0

    def charge(self, size: int) -> None:
        """Subtract bytes that were read or written from the budget.

        Raises:
            InvalidBundle: The budget is exhausted.
        """
        self._work += size
        if self._work > MAX_WORK:
            raise InvalidBundle(
                f"The document has more than {MAX_WORK} bytes once its references are resolved."
            )

    def look_up(self, reference: Any) -> Any:
        """Return the target of a reference.

        Raises:
            UnusableDocument: The target is not in this document.
        """
        short_reference = repr(truncate_middle(str(reference), 80))
        if not isinstance(reference, str) or not reference.startswith("#/"):
            raise UnusableDocument(
                f"it refers to {short_reference}; only references within the document are supported"
            )
        self.charge(len(reference))
        target: Any = self.root
        for part in reference[2:].split("/"):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(target, list) and key.isdecimal() and int(key[:9]) < len(target):
                target = target[int(key[:9])]
            elif isinstance(target, dict) and key in target:
                target = target[key]
            else:
                raise UnusableDocument(f"it refers to {short_reference}, which is not in the document")
        return target

    def resolve(self, part: Any) -> dict[str, Any]:
        """Follow the references of a part, if it is one, and return the object.

        Raises:
            UnusableDocument: A target is missing or not an object, or there are too many references in a row.
        """
        for _ in range(MAX_HOPS):
            if not isinstance(part, dict):
                raise UnusableDocument(f"it has {truncate_middle(repr(part), 80)} instead of an object")
            if "$ref" not in part:
                return part
            part = self.look_up(part["$ref"])
            self.charge(len(encode(part)))
        raise UnusableDocument(f"it has a chain of more than {MAX_HOPS} references")


def read_document(content: bytes) -> OpenApiDocument:
    """Parse an OpenAPI 3.0 or 3.1 document.

    Raises:
        InvalidBundle: The document is too large, malformed or of another version.
    """
    if len(content) > MAX_BYTES:
        raise InvalidBundle(f"The document has {len(content)} bytes; the maximum is {MAX_BYTES}.")
    content = content.removeprefix(b"\xef\xbb\xbf")
    root = _read_json(content) if content.lstrip()[:1] in (b"{", b"[") else _read_yaml(content)
    if not isinstance(root, dict):
        raise InvalidBundle(f"The document is not an object. {EXAMPLE}")
    if "swagger" in root:
        raise InvalidBundle("This is Swagger 2.0. Convert it to OpenAPI 3.0 or 3.1 first.")
    version = str(root.get("openapi"))
    if not re.match(r"3\.[01](\.|$)", version):
        raise InvalidBundle(f"Unknown OpenAPI version {version[:80]!r}. Valid: 3.0 and 3.1. {EXAMPLE}")
    return OpenApiDocument(root)


def as_dict(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, otherwise an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return the value without surrounding whitespace if it is a string, otherwise an empty one."""
    return value.strip() if isinstance(value, str) else ""


def _read_json(content: bytes) -> Any:
    try:
        root = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidBundle(f"The document is not JSON: {error.msg} (line {error.lineno}).") from None
    if not is_json(root):
        raise InvalidBundle(f"The document is nested more than {MAX_DEPTH} levels deep.")
    return root


def _read_yaml(content: bytes) -> Any:
    from onetool.files.safe_yaml import InvalidYaml, YamlRules, read_yaml

    rules = YamlRules(max_bytes=MAX_BYTES, max_depth=100, max_expanded=MAX_EXPANDED, json_types=True)
    try:
        return jsonable(read_yaml(content, rules))
    except InvalidYaml as error:
        problem = truncate_middle(error.problem, 200)
        raise InvalidBundle(f"The document is invalid: {problem} (line {error.line}).") from None
