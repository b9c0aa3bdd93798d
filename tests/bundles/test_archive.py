"""A bundle comes out as a ZIP file and goes in again; nothing else goes in."""

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

from hypothesis_schemas import json_values
from onetool.bundles import archive
from onetool.bundles.archive import read_archive, write_archive
from onetool.domain.bundle import Bundle, InvalidBundle, ToolVersion, rfc3339
from onetool.domain.json_text import is_json

WHEN = rfc3339(1_794_700_000.25)
BUNDLE_ID = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
TOOL_ID = "0198c5a0-7e4d-7c3a-8a51-000000000001"
FILE = f"tools/{TOOL_ID}.json"
REQUEST = {"method": "POST", "urlTemplate": "https://api.test/${city}", "auth": None, "body": {"a": ["${b}"]}}


def tool(number=1, **changes):
    known = {"id": f"{TOOL_ID[:-6]}{number:06x}", "bundle_id": BUNDLE_ID, "slug": "find", "version": "v1"}
    made = {"created_at": WHEN, "modified_at": WHEN, "type": "http", "http_impl": {"request": REQUEST}}
    return ToolVersion(**{**known, **made, "arg_schema": {"type": "object"}, **changes})


BUNDLE = Bundle(id=BUNDLE_ID, slug="weather", display_name="Wetter", created_at=WHEN, modified_at=WHEN)


def record(item, **changes):
    return json.dumps({"schemaVersion": 1, **item.to_json(), **changes}).encode()


def packed(files, *, method=ZIP_DEFLATED, mode=stat.S_IFREG | 0o644):
    """A ZIP of these names and contents, in which any name is allowed, twice too."""
    target = BytesIO()
    with ZipFile(target, "w", method) as written:
        for name, content in files:
            entry = ZipInfo("x" * len(name))
            entry.filename, entry.compress_type, entry.external_attr = name, method, mode << 16
            with (
                pytest.warns(UserWarning, match="Duplicate") if name in written.namelist() else nullcontext()
            ):
                written.writestr(entry, content)
    return target.getvalue()


def with_tool(name=FILE, content=None, **known):
    return packed([("bundle.json", record(BUNDLE)), (name, content or record(tool()))], **known)


@pytest.mark.spec("BND-68")
def test_what_goes_out_comes_in_again():
    """Ids, times and every word are kept; only the bundle's switch is off."""
    tools = [tool(1), tool(2, version="2.0", is_enabled=False, tags=("a", "b"), limits=None)]
    found = read_archive(write_archive(BUNDLE, tools))
    assert found.bundle == replace(BUNDLE, is_enabled=False)
    assert found.tools == tools


def test_an_archive_is_json_that_people_can_read():
    """One file for the bundle and one for each tool, indented and sorted, of a known schema version."""
    content = write_archive(BUNDLE, [tool(2, slug="b"), tool(1)])
    with ZipFile(BytesIO(content)) as found:
        assert found.namelist() == ["bundle.json", FILE, FILE.replace("1.json", "2.json")]
        text = found.read("bundle.json").decode()
    assert json.loads(text) == {"schemaVersion": 1, **BUNDLE.to_json()}
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


def test_the_same_content_gives_the_same_bytes():
    """Neither the time of day nor the order of the tools changes an archive."""
    assert write_archive(BUNDLE, [tool(1), tool(2, slug="b")]) == write_archive(
        BUNDLE, iter([tool(2, slug="b"), tool(1)])
    )


def test_an_archive_switches_nothing_on():
    """A built-in, enabled or deleted bundle comes in as one of the user's own that is off."""
    said = {"isEnabled": True, "isBuiltIn": True, "origin": "builtin", "softDeletedAt": WHEN}
    found = read_archive(
        packed([("bundle.json", record(BUNDLE, **said)), (FILE, record(tool(), isBuiltIn=True))])
    )
    assert found.bundle == replace(BUNDLE, is_enabled=False)
    assert found.tools == [tool()]


def test_an_archive_packed_by_hand_is_read():
    """A folder entry is nothing to worry about, and what a client may leave out may be missing."""
    said = json.loads(record(tool()))
    for key in ("argSchema", "displayName", "tags", "isEnabled", "isBuiltIn"):
        del said[key]
    target = BytesIO(with_tool(content=json.dumps(said).encode()))
    with ZipFile(target, "a") as written:
        written.mkdir("tools")
    assert read_archive(target.getvalue()).tools == [tool(arg_schema={"type": "object", "properties": {}})]


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
def test_only_known_names_are_read(name):
    """Two kinds of file are known, by their exact names: none leads out of the archive."""
    with pytest.raises(InvalidBundle, match=r"Allowed: bundle\.json and tools/<toolID>\.json|no plain file"):
        read_archive(with_tool(name))


def test_a_name_stands_once():
    """Of two files with one name nobody could say which one was checked."""
    with pytest.raises(InvalidBundle, match=r"'bundle\.json' twice"):
        read_archive(packed([("bundle.json", record(BUNDLE)), ("bundle.json", record(BUNDLE))]))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(kind):
    """A plain file is the only kind of file."""
    with pytest.raises(InvalidBundle, match="link or no plain file"):
        read_archive(with_tool(mode=kind | 0o777))


@pytest.mark.parametrize("flag", [0x1, 0x40, 0x2000])
def test_encrypted_entries_are_refused(flag):
    """Nobody can be asked for a password."""
    content = bytearray(with_tool())
    at = content.index(archive.LISTED) + 8
    content[at : at + 2] = struct.pack("<H", flag)
    with pytest.raises(InvalidBundle, match="encrypted"):
        read_archive(bytes(content))


def test_only_bounded_methods_unpack():
    """A method whose unpacking cannot be stopped half-way is not tried."""
    with pytest.raises(InvalidBundle, match="method 12"):
        read_archive(with_tool(method=ZIP_BZIP2))


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"PK\x05\x06" + bytes(18), b"{}", with_tool()[:-30], b"PK\x03\x04" * 100],
    ids=["empty", "short", "no entries", "json", "cut", "headers alone"],
)
def test_what_is_no_archive_is_refused(content):
    """Anything that is no whole ZIP file with a bundle in it."""
    with pytest.raises(InvalidBundle, match=r"no ZIP archive|has no bundle\.json"):
        read_archive(content)


def test_a_changed_byte_is_noticed():
    """The checksum of an entry holds."""
    content = packed([("bundle.json", record(BUNDLE))], method=ZIP_STORED)
    with pytest.raises(InvalidBundle, match="damaged"):
        read_archive(content.replace(b"Wetter", b"Better"))


@given(st.data())
def test_no_damage_gets_further_than_a_refusal(data):
    """Whatever bytes are changed, the answer is an archive or InvalidBundle."""
    content = bytearray(with_tool())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(InvalidBundle):
        assert not read_archive(bytes(content)).bundle.is_enabled


def test_too_many_entries_are_refused_unopened():
    """The list of contents is counted before it is read."""
    with pytest.raises(InvalidBundle, match="10000 entries"):
        read_archive(packed([("bundle.json", record(BUNDLE))]) + archive.LISTED * 10_001)


def test_too_large_an_archive_is_refused_unopened():
    """A file larger than anything it may unpack to is not looked into."""
    with pytest.raises(InvalidBundle, match="larger than 67108864 bytes"):
        read_archive(bytes(archive.MAX_TOTAL + 1))


def noise(size):
    """Bytes that shrink to about a twentieth."""
    chance = Random(1)
    return b"".join(chance.randbytes(500) + b" " * 9500 for _ in range(size // 10_000 + 1))[:size]


def test_too_large_an_entry_is_refused():
    """A file over 4 MiB is not read to its end."""
    with pytest.raises(InvalidBundle, match="more than 4194304 bytes"):
        read_archive(with_tool(content=noise(archive.MAX_ENTRY + 100)))


def test_the_size_in_the_header_is_not_believed():
    """An entry that says it is small is not unpacked further than it says, and refused."""
    content = bytearray(with_tool(content=noise(archive.MAX_ENTRY + 100)))
    at = content.rindex(archive.LISTED) + 24
    content[at : at + 4] = struct.pack("<I", 10)
    with pytest.raises(InvalidBundle, match="damaged"):
        read_archive(bytes(content))


def test_many_large_entries_are_too_much_together():
    """64 MiB is the sum, whatever each entry has."""
    part = noise(archive.MAX_ENTRY - 1000)
    files = [(FILE.replace("1.json", f"{number:x}.json"), part) for number in range(1, 16)]
    more = [(FILE.replace("01.json", f"{number:x}.json"), part) for number in range(16, 19)]
    with pytest.raises(InvalidBundle, match="unpacks to more than 67108864 bytes"):
        read_archive(packed(files + more))


def test_a_bomb_is_refused():
    """A small file that unpacks to more than 200 times its size."""
    with pytest.raises(InvalidBundle, match="200 times its size"):
        read_archive(with_tool(content=b" " * (archive.MAX_ENTRY - 1)))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b'{"a": NaN}', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"schemaVersion": 1, "a": ' + b"[" * 300 + b"]" * 300 + b"}", "more than 200 levels deep"),
        (b"[]", "no JSON object"),
        (b"{}", "schemaVersion None is not known. Valid: 1"),
        (record(tool(), schemaVersion=2), "schemaVersion 2 is not known"),
        (record(tool(), schemaVersion=True), "schemaVersion True is not known"),
        (record(tool(), schemaVersion="1"), "schemaVersion '1' is not known"),
        (record(tool(), extra=1), "extra: unknown field"),
        (record(tool(), type="ftp"), "type: should be 'python' or 'http'"),
        (record(tool(), type="python"), "has pythonImpl, and only that"),
        (record(tool(), isEnabled="yes"), "isEnabled: should be true or false"),
        (record(tool(), argSchema={"type": "object", "minimum": "x"}), "argSchema: not valid JSON Schema"),
        (record(tool(), argSchema={"type": "string"}), "argSchema: must have"),
        (record(tool(), outputSchema={"$ref": "http://x.test"}), "outputSchema: not valid JSON Schema"),
        (record(tool(), httpImpl={"request": {"urlTemplate": "ftp://x"}}), "must start with http"),
        (record(tool(), httpImpl={"request": {"urlTemplate": "http://${x}/"}}), "placeholder in"),
        (record(tool(), argSchema=[]), "argSchema: should be a JSON object"),
        (record(tool(), httpImpl={"request": {"urlTemplate": 5}}), r"httpImpl\.request\.urlTemplate"),
        (record(tool(), id=5), "id 5 is no text"),
        (record(tool(), id="x"), "toolID 'x' is not a UUIDv7"),
        (record(tool(), id="6fa459ea-ee8a-4ca4-894e-db77e160355e"), "is not a UUIDv7"),
        (record(tool(2)), "the file of a tool is named by its id"),
        (record(tool(), bundleID=TOOL_ID), "is not this bundle's"),
        (record(tool(), bundleID=None), "bundleID None is no text"),
        (record(tool(), slug="a_b"), "slug 'a_b' holds '_'"),
        (record(tool(), slug=""), "slug is empty"),
        (record(tool(), slug="x" * 65), "65 characters"),
        (record(tool(), version="a/b"), "version 'a/b' holds '/'"),
        (record(tool(), version=".."), "dots alone"),
        (record(tool(), version=1), "version 1 is no text"),
        (record(tool(), createdAt="yesterday"), "createdAt 'yesterday' is no time"),
        (record(tool(), createdAt="2026-01-31"), "createdAt '2026-01-31' is no time"),
        (record(tool(), createdAt="2026-01-31T12:00:00.000000"), "is no time"),
        (record(tool(), createdAt="2026-01-31T12:00:00.000000+01:00"), "is no time"),
        (record(tool(), modifiedAt="2026-13-31T12:00:00.000000Z"), "modifiedAt .* is no time"),
        (record(tool(), modifiedAt=None), "modifiedAt None is no text"),
    ],
)
def test_a_tool_that_could_not_be_stored_is_refused(content, problem):
    """The file is named, and what is wrong with it."""
    with pytest.raises(InvalidBundle, match=problem):
        read_archive(with_tool(content=content))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"id": "6fa459ea-ee8a-4ca4-894e-db77e160355e"}, "bundleID .* is not a UUIDv7"),
        ({"slug": "a b"}, "slug 'a b' holds ' '"),
        ({"slug": None}, "slug: should be a string"),
        ({"tools": []}, "tools: unknown field"),
        ({"createdAt": ""}, "createdAt '' is no time"),
        ({"schemaVersion": 0}, "schemaVersion 0"),
    ],
)
def test_a_bundle_that_could_not_be_stored_is_refused(changes, problem):
    """The bundle is held to the same rules as one that comes through the API."""
    with pytest.raises(InvalidBundle, match=problem):
        read_archive(packed([("bundle.json", record(BUNDLE, **changes))]))


def test_a_pair_of_slug_and_version_stands_once():
    """Two tools that only differ in how an accent is written are the same tool."""
    first, second = tool(1, slug="été"), tool(2, slug="e\u0301te\u0301")
    with pytest.raises(InvalidBundle, match="are both 'été' in version 'v1'"):
        read_archive(write_archive(BUNDLE, [first, second]))


def test_a_refusal_does_not_repeat_what_the_archive_holds():
    """A token that somebody wrote into a definition is not carried into a message."""
    auth = {"type": "bearer", "token": "hunter2", "more": "hunter2"}
    content = record(tool(), httpImpl={"request": {**REQUEST, "auth": auth}})
    with pytest.raises(InvalidBundle) as refused:
        read_archive(with_tool(content=content))
    assert "hunter2" not in str(refused.value)


def test_what_could_not_be_read_again_is_not_written(monkeypatch):
    """An export that no import takes is no export."""
    with pytest.raises(InvalidBundle, match="4194304 are allowed"):
        write_archive(BUNDLE, [tool(arg_schema={"x": "y" * archive.MAX_ENTRY})])
    monkeypatch.setattr(archive, "MAX_ENTRIES", 2)
    with pytest.raises(InvalidBundle, match="2 tools; an archive holds 1"):
        write_archive(BUNDLE, [tool(1), tool(2)])
    monkeypatch.setattr(archive, "MAX_TOTAL", 1000)
    with pytest.raises(InvalidBundle, match="larger than 1000 bytes"):
        write_archive(BUNDLE, [tool(arg_schema={"x": "y" * 1000})])


def test_what_shrinks_very_well_is_read_again():
    """A tool of a million equal letters is no bomb when we wrote it ourselves."""
    large = tool(arg_schema={"type": "object", "title": "x" * 1_000_000})
    assert read_archive(write_archive(BUNDLE, [large])).tools == [large]


letters = st.characters(categories=["L", "Nd"]).filter(
    lambda char: len(unicodedata.normalize("NFC", char)) == 1  # some come apart into a letter and a mark
)
names = st.text(letters, min_size=1, max_size=20).map(lambda text: unicodedata.normalize("NFC", text))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)
values = json_values().filter(lambda value: is_json(value) and _has_small_numbers(value))
schemas = st.dictionaries(texts, values, max_size=3).map(
    lambda some: {"type": "object", "properties": {name: {"default": some[name]} for name in some}}
)


def _has_small_numbers(value):
    """Whether each integer is one that can be stored."""
    try:
        return bool(orjson.dumps(value))
    except TypeError:
        return False


@st.composite
def tools_of_a_bundle(draw):
    pairs = draw(st.lists(st.tuples(names, names), unique=True, max_size=4))
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
        for number, (slug, version) in enumerate(pairs)
    ]


@given(tools_of_a_bundle(), texts, st.booleans())
def test_any_bundle_survives_the_trip(tools, description, is_enabled):
    """Whatever can be stored is the same after export and import."""
    bundle = replace(BUNDLE, description=description, is_enabled=is_enabled)
    content = write_archive(bundle, tools)
    found = read_archive(content)
    assert found == (replace(bundle, is_enabled=False), tools)
    assert write_archive(replace(found.bundle, is_enabled=is_enabled), found.tools) == content
