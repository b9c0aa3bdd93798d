"""Entries of the MCP registry: every field is untrusted."""

import pytest

from onetool.domain.servers.registry_entry import check_version, is_older, parse_entry
from onetool.domain.servers.registry_inputs import MAX_SHOWN, UnsupportedEntry
from support.registry_stub import entry, filesystem_entry, npm_package

PACKAGE = npm_package("pkg", "1.0.0")


def test_entry_has_publisher_kinds_and_pack_name():
    parsed = parse_entry(
        entry("io.github.owner/my-server", packages=[PACKAGE, {"registryType": 5}], remotes=[{"type": "sse"}])
    )
    assert (parsed.publisher, parsed.pack, parsed.version) == ("io.github.owner", "my_server", "1.0.0")
    assert parsed.kinds == ("npm", "?", "remote")
    assert parse_entry(filesystem_entry()).repository == "https://github.com/modelcontextprotocol/servers"


@pytest.mark.parametrize(
    ("name", "pack"), [("a.b/class", "_class"), ("a.b/9lives", "_9lives"), ("a.b/x__y.z", "x__y_z")]
)
def test_pack_name_is_a_python_identifier(name, pack):
    assert parse_entry(entry(name)).pack == pack


@pytest.mark.parametrize(
    "name",
    [
        "no-slash",
        "a/b/c",
        "../../etc",
        "a/..",
        "a/b\n",
        "a/b\x1b[2J",
        "a/b;rm",
        "-a/b",
        "a/--config=x",
        "a/" + "b" * 200,
        "a/${TOKEN}",
        "",
        7,
        None,
    ],
)
def test_entry_with_an_invalid_name_is_rejected(name):
    with pytest.raises(UnsupportedEntry):
        parse_entry(entry(name))


@pytest.mark.parametrize("version", ["", "-rf", "1.0\n", "../1", "1 0", "1" * 256])
def test_invalid_version_is_rejected(version):
    with pytest.raises(UnsupportedEntry, match="is not a version"):
        check_version(version)


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {"server": []},
        entry("a/b", packages={}),
        entry("a/b", packages=["x"]),
        entry("a/b", packages=[PACKAGE] * 101),
        entry("a/b", repository="x"),
        {**entry("a/b"), "_meta": "x"},
    ],
)
def test_entry_of_another_shape_is_rejected(raw):
    with pytest.raises(UnsupportedEntry):
        parse_entry(raw)


def test_shown_texts_have_one_line_no_control_characters_and_a_limit():
    raw = entry("a/b", description="\x1b[2Jfirst\nsecond\u202e" + "x" * 10_000, repository={"url": ["x"]})
    parsed = parse_entry(raw)
    assert parsed.description.startswith("\\x1b[2Jfirst second\\u202e")
    assert len(parsed.description) == MAX_SHOWN
    assert parsed.repository == ""


def test_status_of_the_registry_is_read():
    raw = entry("a/b", status="deprecated")
    raw["_meta"]["io.modelcontextprotocol.registry/official"]["statusMessage"] = "Use a/c"
    parsed = parse_entry(raw)
    assert (parsed.status, parsed.status_message) == ("deprecated", "Use a/c")
    assert parse_entry({"server": entry("a/b")["server"]}).status == "active"


@pytest.mark.parametrize(
    ("version", "other", "expected"),
    [
        ("1.9.0", "1.10.0", True),
        ("1.10", "1.9", False),
        ("v1", "2", True),
        ("beta", "1", False),
        ("1", "x", False),
    ],
)
def test_versions_are_compared_by_their_numbers(version, other, expected):
    assert is_older(version, other) is expected
