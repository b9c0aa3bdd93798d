"""Arguments and results in records."""

import base64
import json
from types import SimpleNamespace

import pytest

from onetool.domain.activity.body import NOT_SHOWN, to_body
from onetool.domain.content.media import Media
from onetool.domain.secrets.redaction import Redactor

SECRET = "canary/4711-hidden"
NONE = Redactor()
LIMIT = 1_000


class Foreign:
    """An object of a pack that must not be asked for its text."""

    def __str__(self):
        raise AssertionError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, "é", None]}, '{"a":[1,"é",null]}'),
        ("a text\n", "a text\n"),
        ("", ""),
        (None, "null"),
        (2**70, str(2**70)),
        ("\ud800", "?"),
        (SimpleNamespace(), "namespace()"),
    ],
)
def test_values_are_json_and_texts_are_themselves(value, expected):
    assert to_body(value, LIMIT, NONE) in (expected, json.dumps(expected))


@pytest.mark.parametrize(
    "value",
    [
        "x" * 1_000_000,
        ["x" * 900] * 1_000,
        {str(number): number for number in range(100_000)},
        [[["x" * 10]] * 1_000] * 1_000,
        {"\ud800" * 2_000_000: 1},
        ["x"] * 100_000,
        (*range(100_000),),
    ],
)
def test_large_values_are_cut_and_say_so(value):
    body = to_body(value, LIMIT, NONE)
    assert body.endswith(" ... (cut)")
    assert LIMIT / 2 < len(body) <= LIMIT + 20
    assert body.encode()


def test_value_that_just_fits_is_not_cut():
    assert to_body("x" * LIMIT, LIMIT, NONE) == "x" * LIMIT
    assert to_body("x" * (LIMIT + 1), LIMIT, NONE) == "x" * LIMIT + " ... (cut)"
    assert to_body("x", 0, NONE) == " ... (cut)"


def test_circular_and_deep_values_end():
    circle = []
    circle.append(circle)
    deep = []
    for _ in range(100_000):
        deep = [deep, "x"]
    for value in (circle, deep, [circle, *range(10_000)]):
        assert len(to_body(value, LIMIT, NONE)) <= LIMIT + 20


def test_objects_are_not_asked_for_their_text_where_nothing_has_checked_them():
    assert to_body(Foreign(), LIMIT, NONE, is_native=True) == NOT_SHOWN
    assert to_body([Foreign()], LIMIT, NONE) == NOT_SHOWN  # it raises
    assert to_body(b"x" * 1_000_000, LIMIT, NONE) == '"(bytes)"'
    large = to_body([Foreign(), *range(5_000)], LIMIT, NONE)
    assert large.startswith('["(Foreign)",0,1,')


@pytest.mark.guards("record-calls")
def test_media_are_one_line_and_never_base64():
    image = Media(b"\x89PNG" * 1_000, "image/png")
    encoded = base64.b64encode(b"\x89PNG" * 1_000).decode()
    uri = f"data:image/png;base64,{encoded}"
    for value in ([image], [image, *range(5_000)], {"image": uri}, uri, {"a": [uri, "after"]}):
        body = to_body(value, LIMIT, NONE)
        assert encoded[:20] not in body
        assert "image/png" in body
    assert to_body({"a": [uri, "after"]}, 100_000, NONE) == '{"a":["data:image/png (base64)","after"]}'


def forms():
    yield SECRET
    yield base64.b64encode(SECRET.encode()).decode()
    yield SECRET.replace("/", "%2F")


@pytest.mark.guards("record-calls")
@pytest.mark.parametrize("form", list(forms()))
@pytest.mark.parametrize("make", [str, lambda text: {"a": [text]}, lambda text: [text, *range(5_000)]])
def test_secrets_are_masked_wherever_they_are(form, make):
    """Also at the cut, where no part of one remains."""
    redactor = Redactor([SECRET])
    parts = {form[start : start + 6] for start in range(len(form) - 5)}
    for before in range(LIMIT - len(form) - 40, LIMIT + 5):
        body = to_body(make("." * before + form + "." * LIMIT), LIMIT, redactor)
        assert not any(part in body for part in parts), before
        assert len(body) < LIMIT + len(form) + 30


def test_secrets_of_several_redactors_are_masked_at_the_cut():
    long = "p" * 400 + "q"
    redactor = Redactor([long]).joined(Redactor([SECRET]))
    text = f"{long}" + "." * (LIMIT - len(long) - 5) + SECRET + "." * LIMIT
    body = to_body(text, LIMIT, redactor)
    assert body.startswith("[secret]")
    assert "canary" not in body
    assert (Redactor([long]).max_length, NONE.max_length) >= (len(long), 0)
