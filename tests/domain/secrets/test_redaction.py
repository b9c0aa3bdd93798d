"""Redaction of secrets in every form in which they are output."""

import base64
import json
import re
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.secrets.redaction import MASK, MIN_LENGTH, Redactor

TRICKY = 'pa"s s\\wo\nrd/ü&=<'


@pytest.mark.guards("record-redaction")
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
        base64.urlsafe_b64encode(TRICKY.encode()).decode(),
        quote(TRICKY),
        re.sub("%..", lambda escape: escape[0].lower(), quote(TRICKY)),
        TRICKY.replace("/", "\\/"),
        TRICKY.encode().hex(),
        TRICKY.encode().hex().upper(),
    ],
)
def test_every_encoding_is_redacted(text):
    redactor = Redactor([TRICKY])
    redacted = redactor.redact(f"before {text} after")
    assert MASK in redacted
    assert not redactor.contains_secret(redacted)
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")


@pytest.mark.guards("record-redaction")
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("after", ["", "!", "!!", " and more"])
def test_secret_is_redacted_inside_a_longer_base64_text(encode, before, after):
    """`Basic` headers contain a password after a user name. The characters at both ends may remain."""
    secret = "p4ss?~>-word-\xff"
    redacted = Redactor([secret]).redact(encode((before + secret + after).encode()).decode())
    assert MASK in redacted
    start, end = redacted.split(MASK)
    assert len(start) <= -(-len(before) * 8 // 6)
    assert len(end) <= 4 + -(-len(after) * 8 // 6)


def test_short_secret_is_not_redacted_inside_a_longer_base64_text():
    text = base64.b64encode(b"user:abcd").decode()
    assert Redactor(["abcd"]).redact(text) == text


def test_joined_redactor_masks_the_secrets_of_both():
    """Secrets that overlap become one mask, whichever redactor they belong to."""
    first, second = Redactor(["abcdef", "1234"]), Redactor(["cdefgh", "5678"])
    joined = first.joined(second)
    assert joined.redact("-abcdefgh-1234-5678-12345678-") == f"-{MASK}-{MASK}-{MASK}-{MASK}{MASK}-"
    assert joined.mask({"abcdef": ["5678"]}) == {MASK: [MASK]}
    assert joined.contains_secret("5678")
    assert not joined.contains_secret("none")
    assert first.joined(Redactor()) is first
    assert Redactor().joined(second) is second


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
