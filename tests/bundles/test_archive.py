"""Bundles as ZIP archives: export, import, and rejection of damaged or malicious archives."""

import json
import stat
import struct
import unicodedata
from contextlib import nullcontext, suppress
from dataclasses import replace
from io import BytesIO
from random import Random
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.bundles.archive import read_archive, write_archive
from onetool.domain.bundles.bundle import Bundle, InvalidBundle, ToolVersion, rfc3339
from onetool.domain.text.json_text import is_json
from onetool.files import zip_files
from support.hypothesis_schemas import json_values

TIMESTAMP = rfc3339(1_794_700_000.25)
BUNDLE_ID = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
TOOL_ID = "0198c5a0-7e4d-7c3a-8a51-000000000001"
FILE = f"tools/{TOOL_ID}.json"
REQUEST = {"method": "POST", "urlTemplate": "https://api.test/${city}", "auth": None, "body": {"a": ["${b}"]}}


def tool(number=1, **changes):
    identity = {"id": f"{TOOL_ID[:-6]}{number:06x}", "bundle_id": BUNDLE_ID, "slug": "find", "version": "v1"}
    content = {
        "created_at": TIMESTAMP,
        "modified_at": TIMESTAMP,
        "type": "http",
        "http_impl": {"request": REQUEST},
    }
    return ToolVersion(**{**identity, **content, "arg_schema": {"type": "object"}, **changes})


BUNDLE = Bundle(
    id=BUNDLE_ID, slug="weather", display_name="Wetter", created_at=TIMESTAMP, modified_at=TIMESTAMP
)


def record(item, **changes):
    return json.dumps({"schemaVersion": 1, **item.to_json(), **changes}).encode()


def zip_of(files, *, method=ZIP_DEFLATED, mode=stat.S_IFREG | 0o644):
    """Return a ZIP with these names and contents. Any name is allowed, even twice."""
    target = BytesIO()
    with ZipFile(target, "w", method) as zip_file:
        for name, content in files:
            entry = ZipInfo("x" * len(name))
            entry.filename, entry.compress_type, entry.external_attr = name, method, mode << 16
            with (
                pytest.warns(UserWarning, match="Duplicate") if name in zip_file.namelist() else nullcontext()
            ):
                zip_file.writestr(entry, content)
    return target.getvalue()


def with_tool(name=FILE, content=None, **options):
    return zip_of([("bundle.json", record(BUNDLE)), (name, content or record(tool()))], **options)


STEPS = [{"name": "a", "tool": "tools.echo", "args": {"message": {"value": "x\n'\""}}}]
CODE = {"type": "code", "http_impl": None}


def test_programs_and_steps_survive_a_round_trip():
    program = "a = tools.echo(message='x\\n\\'\"')\na\n"
    tools = [
        tool(1, **CODE, code_impl={"program": "'ä'"}),
        tool(2, slug="b", **CODE, code_impl={"steps": STEPS, "program": program}),
    ]
    assert read_archive(write_archive(BUNDLE, tools)).tools == tools


@pytest.mark.parametrize(
    ("impl", "message"),
    [
        ({"program": "1 +"}, "codeImpl.program: line 1: "),
        ({"program": "tools.echo()", "steps": STEPS}, "codeImpl.program: is not the program of the steps"),
        ({"program": 5}, "codeImpl.program: should be a string"),
        ({"steps": [{"name": "a", "tool": "x.y); import os; f("}]}, "codeImpl.steps.0.tool: "),
        ({"steps": [{"name": "a = 1; b", "tool": "x.y"}]}, "codeImpl.steps.0.name: "),
        (
            {"steps": [{"name": "a", "tool": "x.y", "args": {"b": {"from": "args.x); f("}}}]},
            "codeImpl.steps.0.args.b.from: ",
        ),
    ],
)
def test_invalid_program_of_an_archive_is_rejected_with_its_place(impl, message):
    content = with_tool(content=record(tool(**CODE, code_impl=impl)))
    with pytest.raises(InvalidBundle) as caught:
        read_archive(content)
    assert str(caught.value).startswith(f"{FILE}: ")
    assert message in str(caught.value)


def test_archive_contains_readable_json():
    """One file for the bundle and one for each tool, indented and sorted, with a schema version."""
    content = write_archive(BUNDLE, [tool(2, slug="b"), tool(1)])
    with ZipFile(BytesIO(content)) as zip_file:
        assert zip_file.namelist() == ["bundle.json", FILE, FILE.replace("1.json", "2.json")]
        text = zip_file.read("bundle.json").decode()
    assert json.loads(text) == {"schemaVersion": 1, **BUNDLE.to_json()}
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


def test_same_content_gives_the_same_bytes():
    """Neither the time nor the order of the tools changes an archive."""
    assert write_archive(BUNDLE, [tool(1), tool(2, slug="b")]) == write_archive(
        BUNDLE, iter([tool(2, slug="b"), tool(1)])
    )


@pytest.mark.guards("imported-archive")
def test_imported_bundle_is_always_disabled():
    """An enabled, built-in or deleted bundle becomes a disabled bundle of the user."""
    fields = {"isEnabled": True, "isBuiltIn": True, "origin": "builtin", "softDeletedAt": TIMESTAMP}
    imported = read_archive(
        zip_of([("bundle.json", record(BUNDLE, **fields)), (FILE, record(tool(), isBuiltIn=True))])
    )
    assert imported.bundle == replace(BUNDLE, is_enabled=False)
    assert imported.tools == [tool()]


def test_archive_that_was_packed_by_hand():
    """It may have a directory entry, and optional fields may be missing."""
    data = json.loads(record(tool()))
    for key in ("argSchema", "displayName", "tags", "isEnabled", "isBuiltIn"):
        del data[key]
    target = BytesIO(with_tool(content=json.dumps(data).encode()))
    with ZipFile(target, "a") as zip_file:
        zip_file.mkdir("tools")
    assert read_archive(target.getvalue()).tools == [tool(arg_schema={"type": "object", "properties": {}})]


@pytest.mark.guards("imported-archive")
@pytest.mark.parametrize(
    "name",
    [
        "../bundle.json",
        "/bundle.json",
        "tools/../bundle.json",
        f"tools/../{FILE}",
        f"tools//{TOOL_ID}.json",
        f"tools\\{TOOL_ID}.json",
        f"C:{FILE}",
        f"C:\\tools\\{TOOL_ID}.json",
        "Bundle.json",
        "bundle.json ",
        "bundle.json\x00.txt",
        "readme.txt",
        "tools/",
        "tools/read-file.json",
        f"tools/{TOOL_ID}",
        f"tools/{TOOL_ID}.JSON",
        f"tools/{TOOL_ID.upper()}.json",
        "tools/6fa459ea-ee8a-4ca4-894e-db77e160355e.json",
        f"{TOOL_ID}.json",
        f"./{FILE}",
        "",
    ],
)
def test_unexpected_file_names_are_rejected(name):
    """Only two kinds of names are allowed, so no path can lead out of the archive."""
    expected = r"Allowed: only bundle\.json and tools/<toolID>\.json|not a regular file"
    with pytest.raises(InvalidBundle, match=expected):
        read_archive(with_tool(name))


def test_duplicate_file_name_is_rejected():
    with pytest.raises(InvalidBundle, match=r"'bundle\.json' twice"):
        read_archive(zip_of([("bundle.json", record(BUNDLE)), ("bundle.json", record(BUNDLE))]))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_rejected(kind):
    with pytest.raises(InvalidBundle, match="not a regular file"):
        read_archive(with_tool(mode=kind | 0o777))


@pytest.mark.parametrize("flag", [0x1, 0x40, 0x2000])
def test_encrypted_entries_are_rejected(flag):
    content = bytearray(with_tool())
    at = content.index(zip_files.CENTRAL_HEADER) + 8
    content[at : at + 2] = struct.pack("<H", flag)
    with pytest.raises(InvalidBundle, match="encrypted"):
        read_archive(bytes(content))


def test_other_compression_methods_are_rejected():
    """Their output cannot be limited while unpacking."""
    with pytest.raises(InvalidBundle, match="method 12"):
        read_archive(with_tool(method=ZIP_BZIP2))


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"PK\x05\x06" + bytes(18), b"{}", with_tool()[:-30], b"PK\x03\x04" * 100],
    ids=["empty", "short", "no entries", "json", "truncated", "headers only"],
)
def test_content_that_is_not_an_archive_is_rejected(content):
    with pytest.raises(InvalidBundle, match=r"not a ZIP archive|has no bundle\.json"):
        read_archive(content)


def test_changed_content_is_detected_by_its_checksum():
    content = zip_of([("bundle.json", record(BUNDLE))], method=ZIP_STORED)
    with pytest.raises(InvalidBundle, match="damaged"):
        read_archive(content.replace(b"Wetter", b"Better"))


@given(st.data())
def test_damaged_archive_is_read_or_rejected(data):
    """Any changed bytes give a valid archive or InvalidBundle, and no other exception."""
    content = bytearray(with_tool())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(InvalidBundle):
        assert not read_archive(bytes(content)).bundle.is_enabled


def test_too_many_entries_are_rejected_before_opening():
    with pytest.raises(InvalidBundle, match="10000 entries"):
        read_archive(zip_of([("bundle.json", record(BUNDLE))]) + zip_files.CENTRAL_HEADER * 10_001)


def test_archive_with_the_maximum_number_of_entries_is_read(monkeypatch):
    content = write_archive(BUNDLE, [tool(1)])
    monkeypatch.setattr(zip_files, "MAX_ENTRIES", content.count(zip_files.CENTRAL_HEADER))
    assert read_archive(content).tools == [tool(1)]


def test_too_large_archive_is_rejected_before_opening():
    with pytest.raises(InvalidBundle, match="larger than 67108864 bytes"):
        read_archive(bytes(zip_files.MAX_TOTAL + 1))


def noise(size):
    """Return bytes that compress to about a twentieth."""
    random = Random(1)
    return b"".join(random.randbytes(500) + b" " * 9500 for _ in range(size // 10_000 + 1))[:size]


def test_too_large_entry_is_rejected():
    with pytest.raises(InvalidBundle, match="more than 4194304 bytes"):
        read_archive(with_tool(content=noise(zip_files.MAX_ENTRY + 100)))


def test_entry_with_a_wrong_size_in_its_header_is_rejected():
    content = bytearray(with_tool(content=noise(zip_files.MAX_ENTRY + 100)))
    at = content.rindex(zip_files.CENTRAL_HEADER) + 24
    content[at : at + 4] = struct.pack("<I", 10)
    with pytest.raises(InvalidBundle, match="damaged"):
        read_archive(bytes(content))


@pytest.mark.guards("imported-archive")
def test_total_size_is_limited():
    part = noise(zip_files.MAX_ENTRY - 1000)
    files = [(FILE.replace("1.json", f"{number:x}.json"), part) for number in range(1, 16)]
    other_files = [(FILE.replace("01.json", f"{number:x}.json"), part) for number in range(16, 19)]
    with pytest.raises(InvalidBundle, match="unpacks to more than 67108864 bytes"):
        read_archive(zip_of(files + other_files))


@pytest.mark.guards("imported-archive")
def test_zip_bomb_is_rejected():
    with pytest.raises(InvalidBundle, match="200 times its size"):
        read_archive(with_tool(content=b" " * (zip_files.MAX_ENTRY - 1)))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b'{"a": NaN}', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"schemaVersion": 1, "a": ' + b"[" * 300 + b"]" * 300 + b"}", "more than 200 levels deep"),
        (b"[]", "is not a JSON object"),
        (b"{}", "unknown schemaVersion None. Valid: 1"),
        (record(tool(), schemaVersion=2), "unknown schemaVersion 2"),
        (record(tool(), schemaVersion=True), "unknown schemaVersion True"),
        (record(tool(), schemaVersion="1"), "unknown schemaVersion '1'"),
        (record(tool(), extra=1), "extra: unknown field"),
        (record(tool(), type="ftp"), "type: should be 'python', 'http' or 'code'"),
        (record(tool(), type="python"), "requires pythonImpl and not httpImpl"),
        (record(tool(), isEnabled="yes"), "isEnabled: should be true or false"),
        (record(tool(), argSchema={"type": "object", "minimum": "x"}), "argSchema: not valid JSON Schema"),
        (record(tool(), argSchema={"type": "string"}), "argSchema: must have"),
        (record(tool(), outputSchema={"$ref": "http://x.test"}), "outputSchema: not valid JSON Schema"),
        (record(tool(), httpImpl={"request": {"urlTemplate": "ftp://x"}}), "must start with http"),
        (record(tool(), httpImpl={"request": {"urlTemplate": "http://${x}/"}}), "placeholder in"),
        (record(tool(), argSchema=[]), "argSchema: should be a JSON object"),
        (record(tool(), httpImpl={"request": {"urlTemplate": 5}}), r"httpImpl\.request\.urlTemplate"),
        (record(tool(), id=5), "id 5 is not a string"),
        (record(tool(), id="x"), "toolID 'x' is not a UUIDv7"),
        (record(tool(), id="6fa459ea-ee8a-4ca4-894e-db77e160355e"), "is not a UUIDv7"),
        (record(tool(2)), "The file name must be the id of the tool"),
        (record(tool(), bundleID=TOOL_ID), "is not the id of this bundle"),
        (record(tool(), bundleID=None), "bundleID None is not a string"),
        (record(tool(), slug="a_b"), "slug 'a_b' contains '_'"),
        (record(tool(), slug=""), "slug is empty"),
        (record(tool(), slug="x" * 65), "65 characters"),
        (record(tool(), version="a/b"), "version 'a/b' contains '/'"),
        (record(tool(), version=".."), "contains only dots"),
        (record(tool(), version=1), "version 1 is not a string"),
        (record(tool(), createdAt="yesterday"), "createdAt 'yesterday' is not a timestamp"),
        (record(tool(), createdAt="2026-01-31"), "createdAt '2026-01-31' is not a timestamp"),
        (record(tool(), createdAt="2026-01-31T12:00:00.000000"), "is not a timestamp"),
        (record(tool(), createdAt="2026-01-31T12:00:00.000000+01:00"), "is not a timestamp"),
        (record(tool(), modifiedAt="2026-13-31T12:00:00.000000Z"), "modifiedAt .* is not a timestamp"),
        (record(tool(), modifiedAt=None), "modifiedAt None is not a string"),
    ],
)
def test_invalid_tool_is_rejected(content, problem):
    with pytest.raises(InvalidBundle, match=problem):
        read_archive(with_tool(content=content))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"id": "6fa459ea-ee8a-4ca4-894e-db77e160355e"}, "bundleID .* is not a UUIDv7"),
        ({"slug": "a b"}, "slug 'a b' contains ' '"),
        ({"slug": None}, "slug: should be a string"),
        ({"tools": []}, "tools: unknown field"),
        ({"createdAt": ""}, "createdAt '' is not a timestamp"),
        ({"schemaVersion": 0}, "schemaVersion 0"),
    ],
)
def test_invalid_bundle_is_rejected(changes, problem):
    """The rules are those of the API."""
    with pytest.raises(InvalidBundle, match=problem):
        read_archive(zip_of([("bundle.json", record(BUNDLE, **changes))]))


def test_duplicate_slug_and_version_are_rejected():
    """Slugs are normalized, so two ways to write an accent are equal."""
    first, second = tool(1, slug="été"), tool(2, slug="e\u0301te\u0301")
    with pytest.raises(InvalidBundle, match="both contain 'été' in version 'v1'"):
        read_archive(write_archive(BUNDLE, [first, second]))


def test_error_does_not_quote_the_content():
    """A definition may contain a token."""
    auth = {"type": "bearer", "token": "hunter2", "more": "hunter2"}
    content = record(tool(), httpImpl={"request": {**REQUEST, "auth": auth}})
    with pytest.raises(InvalidBundle) as caught:
        read_archive(with_tool(content=content))
    assert "hunter2" not in str(caught.value)


def test_bundle_that_could_not_be_imported_is_not_exported(monkeypatch):
    with pytest.raises(InvalidBundle, match="the maximum is 4194304"):
        write_archive(BUNDLE, [tool(arg_schema={"x": "y" * zip_files.MAX_ENTRY})])
    monkeypatch.setattr(zip_files, "MAX_ENTRIES", 2)
    with pytest.raises(InvalidBundle, match="3 files; the maximum is 2"):
        write_archive(BUNDLE, [tool(1), tool(2)])
    monkeypatch.setattr(zip_files, "MAX_TOTAL", 1000)
    with pytest.raises(InvalidBundle, match="larger than 1000 bytes"):
        write_archive(BUNDLE, [tool(arg_schema={"x": "y" * 1000})])


def test_content_that_compresses_very_well_can_be_imported():
    """An exported tool is never rejected as a ZIP bomb."""
    large = tool(arg_schema={"type": "object", "title": "x" * 1_000_000})
    assert read_archive(write_archive(BUNDLE, [large])).tools == [large]


letters = st.characters(categories=["L", "Nd"]).filter(
    lambda char: len(unicodedata.normalize("NFC", char)) == 1  # some decompose into a letter and a mark
)
names = st.text(letters, min_size=1, max_size=20).map(lambda text: unicodedata.normalize("NFC", text))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
values = json_values().filter(lambda value: is_json(value) and _has_storable_integers(value))
schemas = st.dictionaries(texts, values, max_size=3).map(
    lambda defaults: {
        "type": "object",
        "properties": {name: {"default": value} for name, value in defaults.items()},
    }
)


def _has_storable_integers(value):
    try:
        return bool(orjson.dumps(value))
    except TypeError:
        return False


@st.composite
def tools_of_a_bundle(draw):
    keys = draw(st.lists(st.tuples(names, names), unique=True, max_size=4))
    return [
        tool(
            number,
            slug=slug,
            version=version,
            display_name=draw(texts),
            description=draw(texts),
            tags=tuple(draw(st.lists(texts, max_size=3, unique=True))),
            is_enabled=draw(st.booleans()),
            arg_schema=draw(schemas),
            output_schema=draw(st.none() | schemas),
        )
        for number, (slug, version) in enumerate(keys)
    ]


@pytest.mark.spec("BND-68")
@given(tools_of_a_bundle(), texts, st.booleans())
def test_any_bundle_is_equal_after_export_and_import(tools, description, is_enabled):
    """Ids, timestamps and texts are preserved; only the bundle is disabled."""
    bundle = replace(BUNDLE, description=description, is_enabled=is_enabled)
    content = write_archive(bundle, tools)
    imported = read_archive(content)
    assert imported == (replace(bundle, is_enabled=False), tools)
    assert write_archive(replace(imported.bundle, is_enabled=is_enabled), imported.tools) == content
