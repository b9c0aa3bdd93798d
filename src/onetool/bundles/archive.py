"""Bundles as ZIP archives: deterministic when written, untrusted when read."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from onetool.domain.bundles.bundle import SCHEMA_VERSION, Bundle, InvalidBundle, ToolVersion
from onetool.domain.bundles.identifiers import check_id, check_key
from onetool.domain.text.json_text import MAX_DEPTH, is_json
from onetool.domain.text.strings import truncate_middle
from onetool.files.zip_files import InvalidArchive, read_zip, write_zip

BUNDLE_FILE, TOOLS_DIR = "bundle.json", "tools/"
GENERATED_FIELDS = {"id", "schemaVersion", "isBuiltIn", "createdAt", "modifiedAt"}
"""Fields that a client cannot set in a request body."""
GENERATED_BUNDLE_FIELDS = GENERATED_FIELDS | {"origin", "softDeletedAt"}
GENERATED_TOOL_FIELDS = GENERATED_FIELDS | {"bundleID", "slug", "version"}
ANY_HOST = ("*",)
"""Hosts are not checked here: every call checks them against the settings."""


class BundleArchive(NamedTuple):
    """The content of an archive."""

    bundle: Bundle
    tools: list[ToolVersion]


def write_archive(bundle: Bundle, tools: Iterable[ToolVersion]) -> bytes:
    """Write a bundle and its tools. The same content gives the same bytes.

    Raises:
        InvalidBundle: The archive would exceed a limit of `read_archive`.
    """
    files = {BUNDLE_FILE: _to_json(replace(bundle, imported_at=None))}
    files |= {
        f"{TOOLS_DIR}{tool.id}.json": _to_json(tool) for tool in sorted(tools, key=lambda tool: tool.id)
    }
    try:
        return write_zip(files)
    except InvalidArchive as error:
        raise InvalidBundle(str(error)) from None


def read_archive(content: bytes) -> BundleArchive:
    """Read an archive. Ids and timestamps are preserved; the bundle is always disabled.

    Raises:
        InvalidBundle: The archive is damaged, malicious or not a bundle.
    """
    try:
        files = read_zip(content, _check_name)
    except InvalidArchive as error:
        raise InvalidBundle(str(error)) from None
    if BUNDLE_FILE not in files:
        raise InvalidBundle(f"The archive has no {BUNDLE_FILE}.")
    bundle = _read_bundle(_parse_record(BUNDLE_FILE, files.pop(BUNDLE_FILE)))
    tools = [_read_tool(name, _parse_record(name, file), bundle) for name, file in files.items()]
    names: dict[tuple[str, str], str] = {}
    for name, tool in zip(files, tools, strict=True):
        first = names.setdefault((tool.slug, tool.version), name)
        if first != name:
            raise InvalidBundle(f"{first} and {name} both contain {tool.slug!r} in version {tool.version!r}.")
    return BundleArchive(bundle, tools)


def _to_json(item: Bundle | ToolVersion) -> bytes:
    data = {"schemaVersion": SCHEMA_VERSION, **item.to_json()}
    return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def _check_name(name: str) -> None:
    if name not in (TOOLS_DIR, BUNDLE_FILE) and not _is_tool_file(name):
        short_name = repr(truncate_middle(name, 80))
        raise InvalidBundle(
            f"The archive contains {short_name}. Allowed: only {BUNDLE_FILE} and {TOOLS_DIR}<toolID>.json."
        )


def _is_tool_file(name: str) -> bool:
    id = name.removeprefix(TOOLS_DIR).removesuffix(".json")
    try:
        return name == f"{TOOLS_DIR}{check_id(id, 'toolID')}.json"
    except InvalidBundle:
        return False


def _parse_record(name: str, content: bytes) -> dict[str, Any]:
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidBundle(f"{name} is not JSON: {error.msg} (line {error.lineno}).") from None
    if not is_json(data):
        raise InvalidBundle(f"{name} is nested more than {MAX_DEPTH} levels deep.")
    if not isinstance(data, dict):
        raise InvalidBundle(f"{name} is not a JSON object.")
    version = data.get("schemaVersion")
    if type(version) is not int or version != SCHEMA_VERSION:
        raise InvalidBundle(f"{name}: unknown schemaVersion {version!r}. Valid: {SCHEMA_VERSION}.")
    return data


def _read_bundle(data: Mapping[str, Any]) -> Bundle:
    from onetool.domain.bundles.schemas import BundleBody  # pydantic is slow to import

    from .validation import draft_bundle, validate_body

    with _prefix_errors(BUNDLE_FILE):
        body = validate_body(BundleBody, _without(data, GENERATED_BUNDLE_FIELDS))
        return replace(draft_bundle(_text(data, "id"), body), is_enabled=False, **_timestamps(data))


def _read_tool(name: str, data: Mapping[str, Any], bundle: Bundle) -> ToolVersion:
    from onetool.domain.bundles.schemas import ToolBody  # pydantic is slow to import

    from .validation import draft_tool, validate_body

    with _prefix_errors(name):
        id = check_id(_text(data, "id"), "toolID")
        key = check_key((_text(data, "bundleID"), _text(data, "slug"), _text(data, "version")))
        if name != f"{TOOLS_DIR}{id}.json":
            raise InvalidBundle(f"contains the tool {id!r}. The file name must be the id of the tool.")
        if key[0] != bundle.id:
            raise InvalidBundle(f"bundleID {key[0]!r} is not the id of this bundle, {bundle.id!r}.")
        body = validate_body(ToolBody, _without(data, GENERATED_TOOL_FIELDS))
        return replace(draft_tool(id, key, body, ANY_HOST), **_timestamps(data))


@contextmanager
def _prefix_errors(name: str) -> Iterator[None]:
    """Prefix the message of an InvalidBundle with the name of the file in the archive."""
    try:
        yield
    except InvalidBundle as error:
        raise InvalidBundle(f"{name}: {error}") from None


def _without(data: Mapping[str, Any], fields: set[str]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in fields}


def _timestamps(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"created_at": _timestamp(data, "createdAt"), "modified_at": _timestamp(data, "modifiedAt")}


def _timestamp(data: Mapping[str, Any], key: str) -> str:
    text = _text(data, key)
    try:
        normalized = datetime.fromisoformat(text).isoformat(timespec="microseconds")
    except ValueError:
        normalized = ""
    if normalized.replace("+00:00", "Z") != text or not text.endswith("Z"):
        raise InvalidBundle(f"{key} {text[:80]!r} is not a timestamp such as 2026-01-31T12:00:00.000000Z.")
    return text


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise InvalidBundle(f"{key} {truncate_middle(repr(value), 80)} is not a string.")
    return value
