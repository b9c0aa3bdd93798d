"""How arguments are shown in an approval question."""

import pytest

from onetool.domain.calls.approval_request import approval_request


def shown(value: object) -> str:
    (argument,) = approval_request("demo.change", {"a": value}, lambda value: value).arguments
    return argument.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p\u0430yp\u0430l.com", '"p\\u0430yp\\u0430l.com"'),
        ("\uff45vil", '"\\uff45vil"'),
        ("\U0001d41avil", '"\\ud835\\udc1avil"'),
        ("a\u202eb", '"a\\u202eb"'),
        ("a\u200bb", '"a\\u200bb"'),
        ("a\ufe01b", '"a\\ufe01b"'),
        ("a\u3164b", '"a\\u3164b"'),
        ("a\u2028b", '"a\\u2028b"'),
        ("a\x9bb", '"a\\u009bb"'),
    ],
)
def test_characters_that_deceive_are_escaped(text, expected):
    """Words that mix look-alike letters, and characters that are invisible or reorder text."""
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text", ["größe", "Привет", "Καλημέρα", "田中さんのファイル", "naïve café", "日本語text"]
)
def test_ordinary_words_of_every_script_are_shown_as_they_are(text):
    assert shown(text) == f'"{text}"'
