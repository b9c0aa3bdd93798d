"""A bundle as one ZIP file: written the same way every time, read as if its author were hostile."""

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

from onetool.domain.bundle import SCHEMA_VERSION, Bundle, InvalidBundle, ToolVersion
from onetool.domain.bundle_ids import check_id, check_pair
from onetool.domain.json_text import MAX_DEPTH, is_json
from onetool.domain.texts import cut

MAX_ENTRIES = 10_000
MAX_TOTAL = 64 * 2**20
MAX_ENTRY = 4 * 2**20
MAX_RATIO = 200
BUNDLE, TOOLS = "bundle.json", "tools/"
LISTED = b"PK\x01\x02"
"""Opens every line of a ZIP's list of contents."""
ENCRYPTED = 0x1 | 0x40 | 0x2000
UNREADABLE = (BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, ValueError)
MADE_HERE = {"id", "schemaVersion", "isBuiltIn", "createdAt", "modifiedAt"}
MADE_FOR_BUNDLES = MADE_HERE | {"origin", "softDeletedAt"}
MADE_FOR_TOOLS = MADE_HERE | {"bundleID", "slug", "version"}


ANY_HOST = ("*",)
"""Where a tool leads is asked against the settings whenever it is called."""


class Archive(NamedTuple):
    """What an archive holds."""

    bundle: Bundle
    tools: list[ToolVersion]


def write_archive(bundle: Bundle, tools: Iterable[ToolVersion]) -> bytes:
    """Pack a bundle and its tools; the same content gives the same bytes.

    Raises InvalidBundle for what is too large to be read again.
    """
    files = {BUNDLE: _json(replace(bundle, imported_at=None))}
    files |= {f"{TOOLS}{tool.id}.json": _json(tool) for tool in sorted(tools, key=lambda tool: tool.id)}
    if len(files) > MAX_ENTRIES:
        raise InvalidBundle(f"The bundle has {len(files) - 1} tools; an archive holds {MAX_ENTRIES - 1}.")
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, content in files.items():
            if len(content) > MAX_ENTRY:
                raise InvalidBundle(f"{name} has {len(content)} bytes; {MAX_ENTRY} are allowed.")
            archive.writestr(_entry(name, content), content)
    if max(packed.tell(), sum(map(len, files.values()))) > MAX_TOTAL:
        raise InvalidBundle(f"The bundle is larger than {MAX_TOTAL} bytes, which is all an archive holds.")
    return packed.getvalue()


def read_archive(content: bytes) -> Archive:
    """Unpack an archive: ids and times are kept, and the bundle is switched off whatever it says.

    Raises InvalidBundle.
    """
    files = _unpack(content)
    if BUNDLE not in files:
        raise InvalidBundle(f"The archive has no {BUNDLE}.")
    bundle = _read_bundle(_record(BUNDLE, files.pop(BUNDLE)))
    tools = [_read_tool(name, _record(name, file), bundle) for name, file in files.items()]
    pairs: dict[tuple[str, str], str] = {}
    for name, tool in zip(files, tools, strict=True):
        first = pairs.setdefault((tool.slug, tool.version), name)
        if first != name:
            raise InvalidBundle(f"{first} and {name} are both {tool.slug!r} in version {tool.version!r}.")
    return Archive(bundle, tools)


def _json(item: Bundle | ToolVersion) -> bytes:
    said = {"schemaVersion": SCHEMA_VERSION, **item.to_json()}
    return orjson.dumps(said, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def _entry(name: str, content: bytes) -> ZipInfo:
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    entry.create_system = 3  # the same bytes whichever system writes them
    # What shrinks like a bomb stays as it is, or it could not be read again.
    is_bomb = len(content) > MAX_RATIO * len(zlib.compress(content))
    entry.compress_type = ZIP_STORED if is_bomb else ZIP_DEFLATED
    return entry


def _unpack(content: bytes) -> dict[str, bytes]:
    # Counted before it is opened: opening makes an object of each line, however many there are.
    if len(content) > MAX_TOTAL or content.count(LISTED) > MAX_ENTRIES:
        raise InvalidBundle(f"The archive is larger than {MAX_TOTAL} bytes or {MAX_ENTRIES} entries.")
    try:
        archive = ZipFile(BytesIO(content))
    except UNREADABLE:
        raise InvalidBundle("This is no ZIP archive, or a damaged one.") from None
    files: dict[str, bytes] = {}
    total = 0
    with archive:
        for entry in archive.infolist():
            name = entry.orig_filename
            _check_entry(entry)
            if name in files:
                raise InvalidBundle(f"The archive holds {name!r} twice.")
            files[name] = _content(archive, entry)
            total += len(files[name])
            if total > MAX_TOTAL or total > MAX_RATIO * len(content):
                raise InvalidBundle(
                    f"The archive unpacks to more than {MAX_TOTAL} bytes, or {MAX_RATIO} times its size."
                )
    files.pop(TOOLS, None)
    return files


def _check_entry(entry: ZipInfo) -> None:
    name = entry.orig_filename
    shown = repr(cut(name, 80))
    is_folder = name == TOOLS
    if not is_folder and name != BUNDLE and not _is_tool(name):
        raise InvalidBundle(
            f"The archive holds {shown}. Allowed: {BUNDLE} and {TOOLS}<toolID>.json, nothing else."
        )
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
        raise InvalidBundle(f"{shown} is a link or no plain file.")
    if entry.flag_bits & ENCRYPTED:
        raise InvalidBundle(f"{shown} is encrypted; an archive is not.")
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # the others unpack without a bound
        raise InvalidBundle(
            f"{shown} is compressed by method {entry.compress_type}. Allowed: stored (0), deflated (8)."
        )


def _is_tool(name: str) -> bool:
    text = name.removeprefix(TOOLS).removesuffix(".json")
    try:
        return name == f"{TOOLS}{check_id(text, 'toolID')}.json"
    except InvalidBundle:
        return False


def _content(archive: ZipFile, entry: ZipInfo) -> bytes:
    try:
        with archive.open(entry) as file:
            content = file.read(MAX_ENTRY + 1)
    except UNREADABLE:
        raise InvalidBundle(f"{entry.orig_filename!r} is damaged.") from None
    if len(content) > MAX_ENTRY:
        raise InvalidBundle(f"{entry.orig_filename!r} unpacks to more than {MAX_ENTRY} bytes.")
    return content


def _record(name: str, content: bytes) -> dict[str, Any]:
    try:
        said = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidBundle(f"{name} is not JSON: {error.msg} (line {error.lineno}).") from None
    if not is_json(said):
        raise InvalidBundle(f"{name} is nested more than {MAX_DEPTH} levels deep.")
    if not isinstance(said, dict):
        raise InvalidBundle(f"{name} holds no JSON object.")
    version = said.get("schemaVersion")
    if type(version) is not int or version != SCHEMA_VERSION:
        raise InvalidBundle(f"{name}: schemaVersion {version!r} is not known. Valid: {SCHEMA_VERSION}.")
    return said


def _read_bundle(said: Mapping[str, Any]) -> Bundle:
    from onetool.domain.bundle_bodies import BundleBody  # pydantic is slow to import

    from .drafts import check_shape, draft_bundle

    with _named(BUNDLE):
        body = check_shape(BundleBody, _written(said, MADE_FOR_BUNDLES))
        return replace(draft_bundle(_text(said, "id"), body), is_enabled=False, **_times(said))


def _read_tool(name: str, said: Mapping[str, Any], bundle: Bundle) -> ToolVersion:
    from onetool.domain.bundle_bodies import ToolBody  # pydantic is slow to import

    from .drafts import check_shape, draft_tool

    with _named(name):
        id = check_id(_text(said, "id"), "toolID")
        pair = check_pair((_text(said, "bundleID"), _text(said, "slug"), _text(said, "version")))
        if name != f"{TOOLS}{id}.json":
            raise InvalidBundle(f"holds the tool {id!r}; the file of a tool is named by its id.")
        if pair[0] != bundle.id:
            raise InvalidBundle(f"bundleID {pair[0]!r} is not this bundle's {bundle.id!r}.")
        body = check_shape(ToolBody, _written(said, MADE_FOR_TOOLS))
        return replace(draft_tool(id, pair, body, ANY_HOST), **_times(said))


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Say in which file of the archive a mistake stands."""
    try:
        yield
    except InvalidBundle as error:
        raise InvalidBundle(f"{name}: {error}") from None


def _written(said: Mapping[str, Any], made: set[str]) -> dict[str, Any]:
    """The part that a client may write."""
    return {key: value for key, value in said.items() if key not in made}


def _times(said: Mapping[str, Any]) -> dict[str, Any]:
    return {"created_at": _time(said, "createdAt"), "modified_at": _time(said, "modifiedAt")}


def _time(said: Mapping[str, Any], key: str) -> str:
    text = _text(said, key)
    try:
        moment = datetime.fromisoformat(text).isoformat(timespec="microseconds")
    except ValueError:
        moment = ""
    if moment.replace("+00:00", "Z") != text or not text.endswith("Z"):
        raise InvalidBundle(f"{key} {text[:80]!r} is no time such as 2026-01-31T12:00:00.000000Z.")
    return text


def _text(said: Mapping[str, Any], key: str) -> str:
    value = said.get(key)
    if not isinstance(value, str):
        raise InvalidBundle(f"{key} {cut(repr(value), 80)} is no text.")
    return value
