"""A secret does not leave, in whatever form it is written."""

import base64
import json
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.redaction import MASK, SHORTEST, Redactor

TRICKY = 'pa"s s\\wo\nrd/ü&=<'


@pytest.mark.parametrize(
    "text",
    [
        TRICKY,
        json.dumps(TRICKY),
        json.dumps(TRICKY, ensure_ascii=False),
        repr(TRICKY),
        quote(TRICKY, safe=""),
        quote_plus(TRICKY),
        escape(TRICKY),
        base64.b64encode(TRICKY.encode()).decode(),
    ],
)
def test_every_form_is_masked(text):
    """Plain, as JSON, as repr, percent-encoded, in a form, in markup, base64."""
    redactor = Redactor([TRICKY])
    masked = redactor.redact(f"before {text} after")
    assert MASK in masked
    assert not redactor.finds(masked)
    assert masked.startswith("before ")
    assert masked.endswith(" after")


def test_values_are_cleaned_at_every_depth():
    """Keys, nested values and numbers too; what holds no secret stays."""
    redactor = Redactor(["hunter2", "12345678"])
    value = {"hunter2": ["xhunter2x", 12345678, 1.5, True, None, {"k": "plain"}]}
    cleaned = {MASK: [f"x{MASK}x", MASK, 1.5, True, None, {"k": "plain"}]}
    assert redactor.clean(value) == cleaned


def test_the_longer_secret_is_masked_whole():
    """A secret that contains another leaves no rest behind."""
    assert Redactor(["abcd", "abcdef"]).redact("abcdef") == MASK


def test_without_secrets_nothing_changes():
    """An empty redactor is false, and finds nothing; short values would mask ordinary words."""
    for redactor in (Redactor(), Redactor(["x" * (SHORTEST - 1)])):
        assert not redactor
        assert redactor.redact("text xxx") == "text xxx"
        assert not redactor.finds("text xxx")


def test_a_redactor_does_not_tell():
    """Its repr holds no secret."""
    assert "hunter2" not in repr(Redactor(["hunter2"]))


@given(st.text(min_size=SHORTEST), st.text(), st.text())
def test_no_secret_survives_in_json(secret, before, after):
    """Whatever the secret and the text around it, the JSON that leaves does not hold it."""
    redactor = Redactor([secret])
    leaving = json.dumps(redactor.clean({"v": before + secret + after}))
    if secret not in MASK and secret not in '{"v": ""}':
        assert secret not in json.loads(leaving)["v"].replace(MASK, "\0")
