"""URIs that name their server, and the way back."""

import pytest
from pydantic import AnyUrl

from onetool.domain.content.content import Content
from onetool.domain.content.parts import Link
from onetool.domain.servers.uris import (
    convert_uris,
    namespaced_content,
    namespaced_uri,
    own_content,
    own_uri,
    split_uri,
)

SERVERS = ("notes", "my_notes")


@pytest.mark.spec("MCP-24")
@pytest.mark.parametrize(
    ("uri", "namespaced"),
    [
        ("memo:x", "ot.my-notes+memo:x"),
        ("svn+ssh://a", "ot.my-notes+svn+ssh://a"),
        ("file:///a b", "ot.my-notes+file:///a b"),
        ("file:///{+path}", "ot.my-notes+file:///{+path}"),
        ("ui://app/x", "ui://ot.my-notes+app/x"),
        ("ot.notes+memo:x", "ot.my-notes+ot.notes+memo:x"),
        ("", "ot.my-notes+"),
    ],
)
def test_a_uri_gets_a_prefix_and_loses_it_again(uri, namespaced):
    assert namespaced_uri("my_notes", uri) == namespaced
    assert split_uri(namespaced, SERVERS) == ("my_notes", uri)
    assert own_uri("my_notes", namespaced) == uri


@pytest.mark.spec("MCP-24")
def test_programs_that_normalise_uris_do_not_break_them():
    uri = str(AnyUrl("OT.My-Notes+memo:x"))
    assert split_uri(uri, SERVERS) == ("my_notes", "memo:x")


@pytest.mark.spec("MCP-24")
@pytest.mark.parametrize("prefix", ["ot.GitHub+", "ot.github+", "OT.GITHUB+"])
def test_the_case_of_the_prefix_does_not_matter(prefix):
    assert split_uri(f"{prefix}Memo:X", ["GitHub"]) == ("GitHub", "Memo:X")
    assert split_uri(f"ui://{prefix}App", ["GitHub"]) == ("GitHub", "ui://App")


@pytest.mark.spec("MCP-24")
def test_the_scheme_of_apps_stays_in_any_case():
    assert namespaced_uri("notes", "UI://app/x") == "ui://ot.notes+app/x"


@pytest.mark.parametrize("uri", ["memo:x", "ot.others+memo:x", "ot.notes", "ui://app", "ot.+x", ""])
def test_other_uris_name_no_server(uri):
    assert split_uri(uri, SERVERS) is None
    assert own_uri("notes", uri) == uri


@pytest.mark.spec("MCP-24")
def test_content_of_a_server_that_is_presented_alone_has_its_own_uris():
    link = {"type": "resource_link", "uri": "memo:x", "name": "x"}
    content = Content((Link(link),), {})
    namespaced = namespaced_content(content, "notes")
    assert namespaced != content
    assert own_content(namespaced, "notes") == content


def test_only_fields_of_the_protocol_are_converted():
    fields = {
        "uri": "a:1",
        "text": "a:1",
        "resource": {"uri": "a:2"},
        "_meta": {"ui": {"resourceUri": "a:3", "other": "a:1"}, "ui/resourceUri": "a:4", "x": "a:1"},
    }
    assert convert_uris(fields, str.upper) == {
        "uri": "A:1",
        "text": "a:1",
        "resource": {"uri": "A:2"},
        "_meta": {"ui": {"resourceUri": "A:3", "other": "a:1"}, "ui/resourceUri": "A:4", "x": "a:1"},
    }


@pytest.mark.parametrize(
    "fields",
    [{}, {"uri": 1, "resource": 2, "_meta": 3}, {"_meta": {"ui": {"resourceUri": 1}}}, {"_meta": {"ui": 1}}],
)
def test_values_of_other_types_stay(fields):
    assert convert_uris(fields, str.upper) == fields
