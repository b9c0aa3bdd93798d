"""Spellings that replace letters by digits and signs."""

import pytest

from onetool.domain.injection.normalization import decode_leet

WORDS = {"do", "not", "is", "all", "tell", "file", "ignore"}


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("D0 n0t te11 @11", "do not tell all"),
        ("!gn0re f1le5!", "ignore files"),
        ("15 of 1 f|1e", "15 of 1 file"),
        ("base64 and utf8", "base64 and utf8"),
    ],
)
def test_words_are_decoded_and_numbers_and_names_stay(text, decoded):
    assert decode_leet(text, WORDS) == decoded


def test_words_with_many_ambiguous_signs_stay():
    assert decode_leet("te1111", WORDS | {"tellll", "telllll"}) == "tellll"
    assert decode_leet("te11111", WORDS | {"tellll", "telllll"}) == "te11111"
