"""Bundles as ZIP archives: deterministic when written, untrusted when read."""

import stat
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import orjson

from onetool.domain.bundles.bundle import SCHEMA_VERSION, Bundle, InvalidBundle, ToolVersion
from onetool.domain.bundles.identifiers import check_id, check_key
from onetool.domain.text.json_text import MAX_DEPTH, is_json
from onetool.domain.text.strings import truncate_middle

MAX_ENTRIES = 10_000
MAX_TOTAL = 64 * 2**20
MAX_ENTRY = 4 * 2**20
MAX_RATIO = 200
BUNDLE_FILE, TOOLS_DIR = "bundle.json", "tools/"
CENTRAL_HEADER = b"PK\x01\x02"
"""Signature of each entry in the central directory of a ZIP file."""
ENCRYPTED = 0x1 | 0x40 | 0x2000
UNREADABLE = (BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, ValueError)
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
    if len(files) > MAX_ENTRIES:
        raise InvalidBundle(f"The bundle has {len(files) - 1} tools; the maximum is {MAX_ENTRIES - 1}.")
    output = BytesIO()
    with ZipFile(output, "w") as archive:
        for name, content in files.items():
            if len(content) > MAX_ENTRY:
                raise InvalidBundle(f"{name} has {len(content)} bytes; the maximum is {MAX_ENTRY}.")
            archive.writestr(_entry(name, content), content)
    if max(output.tell(), sum(map(len, files.values()))) > MAX_TOTAL:
        raise InvalidBundle(f"The bundle is larger than {MAX_TOTAL} bytes, the maximum for an archive.")
    return output.getvalue()


def read_archive(content: bytes) -> BundleArchive:
    """Read an archive. Ids and timestamps are preserved; the bundle is always disabled.

    Raises:
        InvalidBundle: The archive is damaged, malicious or not a bundle.
    """
    files = _unpack(content)
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


def _entry(name: str, content: bytes) -> ZipInfo:
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    entry.create_system = 3  # Unix, so that every system writes the same bytes
    # Content that compresses too well is stored, because reading rejects it as a ZIP bomb.
    exceeds_ratio = len(content) > MAX_RATIO * len(zlib.compress(content))
    entry.compress_type = ZIP_STORED if exceeds_ratio else ZIP_DEFLATED
    return entry


def _unpack(content: bytes) -> dict[str, bytes]:
    # Entries are counted before opening, because ZipFile creates an object for each of them.
    if len(content) > MAX_TOTAL or content.count(CENTRAL_HEADER) > MAX_ENTRIES:
        raise InvalidBundle(f"The archive is larger than {MAX_TOTAL} bytes or {MAX_ENTRIES} entries.")
    try:
        archive = ZipFile(BytesIO(content))
    except UNREADABLE:
        raise InvalidBundle("This is not a ZIP archive, or it is damaged.") from None
    files: dict[str, bytes] = {}
    total = 0
    with archive:
        for entry in archive.infolist():
            name = entry.orig_filename
            _check_entry(entry)
            if name in files:
                raise InvalidBundle(f"The archive contains {name!r} twice.")
            files[name] = _read_entry(archive, entry)
            total += len(files[name])
            if total > MAX_TOTAL or total > MAX_RATIO * len(content):
                raise InvalidBundle(
                    f"The archive unpacks to more than {MAX_TOTAL} bytes, or {MAX_RATIO} times its size."
                )
    files.pop(TOOLS_DIR, None)
    return files


def _check_entry(entry: ZipInfo) -> None:
    name = entry.orig_filename
    short_name = repr(truncate_middle(name, 80))
    is_directory = name == TOOLS_DIR
    if not is_directory and name != BUNDLE_FILE and not _is_tool_file(name):
        raise InvalidBundle(
            f"The archive contains {short_name}. Allowed: only {BUNDLE_FILE} and {TOOLS_DIR}<toolID>.json."
        )
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFDIR if is_directory else stat.S_IFREG):
        raise InvalidBundle(f"{short_name} is not a regular file.")
    if entry.flag_bits & ENCRYPTED:
        raise InvalidBundle(f"{short_name} is encrypted. Encryption is not supported.")
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # the other methods unpack without a limit
        raise InvalidBundle(
            f"{short_name} uses compression method {entry.compress_type}. Valid: stored (0), deflated (8)."
        )


def _is_tool_file(name: str) -> bool:
    id = name.removeprefix(TOOLS_DIR).removesuffix(".json")
    try:
        return name == f"{TOOLS_DIR}{check_id(id, 'toolID')}.json"
    except InvalidBundle:
        return False


def _read_entry(archive: ZipFile, entry: ZipInfo) -> bytes:
    try:
        with archive.open(entry) as file:
            content = file.read(MAX_ENTRY + 1)
    except UNREADABLE:
        raise InvalidBundle(f"{entry.orig_filename!r} is damaged.") from None
    if len(content) > MAX_ENTRY:
        raise InvalidBundle(f"{entry.orig_filename!r} unpacks to more than {MAX_ENTRY} bytes.")
    return content


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
