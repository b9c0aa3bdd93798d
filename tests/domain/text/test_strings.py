"""Texts of others on a terminal."""

import pytest

from onetool.domain.text.strings import escape_invisible, shorten


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, ünïcode 中文 🙂", "plain, ünïcode 中文 🙂"),
        ("a\x1b[2K\rb\n\tc\x9b", r"a\x1b[2K\rb\n\tc\x9b"),
        ("\u202ereversed\u200b", r"\u202ereversed\u200b"),
        ("blank\u3164\u2800\u00a0", r"blank\u3164\u2800\xa0"),
        ("tag\U000e0041 selector\U000e0100", r"tag\U000e0041 selector\U000e0100"),
        ("lone \ud800", r"lone \ud800"),
    ],
)
def test_what_a_terminal_does_not_show_is_escaped(text, expected):
    assert escape_invisible(text) == expected


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 2_000])
def test_a_shortened_text_states_how_much_is_hidden(length):
    """The head, the tail and the hidden characters are the whole text."""
    text = "".join(chr(0x4E00 + index) for index in range(length))
    shown = shorten(text, 8)
    if length <= 8:
        assert shown == text
        return
    head, _, rest = shown.partition("[... ")
    count, _, tail = rest.partition(" characters hidden ...]")
    assert (text.startswith(head), text.endswith(tail), len(head) + len(tail)) == (True, True, 8)
    assert int(count.replace(",", "")) == length - 8
