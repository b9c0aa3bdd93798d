"""Redaction of secrets in every form in which they are output."""

import base64
import json
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.secrets.redaction import MASK, MIN_LENGTH, Redactor

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
def test_every_encoding_is_redacted(text):
    redactor = Redactor([TRICKY])
    redacted = redactor.redact(f"before {text} after")
    assert MASK in redacted
    assert not redactor.contains_secret(redacted)
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")


def test_values_are_masked_at_every_depth():
    """Keys and numbers are masked too; values without secrets do not change."""
    redactor = Redactor(["hunter2", "12345678"])
    value = {"hunter2": ["xhunter2x", 12345678, 1.5, True, None, {"k": "plain"}]}
    masked = {MASK: [f"x{MASK}x", MASK, 1.5, True, None, {"k": "plain"}]}
    assert redactor.mask(value) == masked


def test_secret_that_contains_another_is_masked_completely():
    assert Redactor(["abcd", "abcdef"]).redact("abcdef") == MASK


def test_redactor_without_secrets_changes_nothing():
    """Values below the minimum length are ignored."""
    for redactor in (Redactor(), Redactor(["x" * (MIN_LENGTH - 1)])):
        assert not redactor
        assert redactor.redact("text xxx") == "text xxx"
        assert not redactor.contains_secret("text xxx")


def test_repr_of_a_redactor_contains_no_secret():
    assert "hunter2" not in repr(Redactor(["hunter2"]))


@given(st.text(min_size=MIN_LENGTH), st.text(), st.text())
def test_masked_json_never_contains_the_secret(secret, before, after):
    redactor = Redactor([secret])
    output = json.dumps(redactor.mask({"v": before + secret + after}))
    if secret not in MASK and secret not in '{"v": ""}':
        assert secret not in json.loads(output)["v"].replace(MASK, "\0")
