"""A text contains a secret also if it is encoded, escaped or in two pieces."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest

from onetool.domain.secrets.occurrence import SearchedText

SECRET = "p/ss wörd+\\u0041&amp;%41-_'\"x"
PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\nabc\n-----END KEY-----"


def in_base64(before, after):
    return base64.b64encode(before + SECRET.encode() + after).decode()


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"before{SECRET}after",
        SECRET.upper(),
        SECRET.encode().hex(),
        quote(SECRET, ""),
        quote_plus(SECRET),
        quote(quote(SECRET, ""), ""),
        json.dumps([SECRET]),
        json.dumps(json.dumps(SECRET)),
        json.dumps(SECRET, ensure_ascii=False),
        html.escape(SECRET),
        quote(json.dumps({"a": SECRET})),
        in_base64(b"", b""),
        in_base64(b"a", b"bc"),
        in_base64(b"ab", b"c"),
        in_base64(b"abc", b"").replace("+", "-").replace("/", "_").rstrip("="),
        quote(in_base64(b"x", b""), ""),
        f"a={quote(SECRET[:5])}&b={quote(SECRET[5:])}",
        f"b={SECRET[-1]} a={SECRET[:-1]}",
        f"a={SECRET[:3]} b={SECRET[3:]}",
    ],
)
def test_secret_is_found(text):
    assert SearchedText(text).contains(SECRET)


@pytest.mark.parametrize(
    "text",
    ["", "p/ss wörd", SECRET[:12], SECRET[1:-1], f"a={SECRET[:7]} b={SECRET[8:]}", SECRET[::-1]],
)
def test_parts_of_a_secret_are_not_the_secret(text):
    assert not SearchedText(text).contains(SECRET)


def test_short_secret_is_found_in_one_piece_only():
    """Its halves occur in ordinary words, and the shortest ones in each of them."""
    assert SearchedText("a pass12word b").contains("pass12word")
    assert not SearchedText("pass12 and word").contains("pass12word")
    assert not SearchedText("abc").contains("abc")


def test_line_of_a_key_is_found_but_not_what_begins_every_key():
    assert SearchedText("x hkiG9w0BAQEFAASC x").contains(PEM)
    assert SearchedText(json.dumps(PEM)).contains(PEM)
    assert not SearchedText("-----BEGIN KEY-----\nother\n-----END KEY-----").contains(PEM)


def test_characters_outside_of_the_first_plane_are_decoded():
    assert SearchedText(json.dumps("key-\U0001f511-key")).contains("key-\U0001f511-key")
