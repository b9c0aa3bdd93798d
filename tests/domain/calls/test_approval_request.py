"""How arguments are shown in an approval question."""

import pytest

from onetool.domain.calls.approval_request import GAP, MAX_ARGUMENTS, MAX_VALUE_LENGTH, approval_request


def shown(value: object) -> str:
    (argument,) = approval_request("demo.change", {"a": value}, lambda value: value).arguments
    return argument.value


@pytest.mark.guards("model-approval")
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
        ("http://good.com\u2215evil", '"http://good.com\\u2215evil"'),
        ("http:\u2044\u29f8evil", '"http:\\u2044\\u29f8evil"'),
        ("evil\u3002com", '"evil\\u3002com"'),
        ("\u0430\u0440\u0440\u04cf\u0435.com", '"\\u0430\\u0440\\u0440\\u04cf\\u0435.com"'),
        ("https://\u0430\u0440\u0435", '"https://\\u0430\\u0440\\u0435"'),
        ("\u03bf\u03bd@mail", '"\\u03bf\\u03bd@mail"'),
    ],
)
def test_characters_that_deceive_are_escaped(text, expected):
    """Words that mix look-alike letters or look like an address, and characters that reorder text."""
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "größe",
        "Привет",
        "Καλημέρα",
        "田中さんのファイル",
        "naïve café",
        "日本語text",
        "Это роса. Она",
        "файл.txt",
        "价格：五",
        "一。二",
    ],
)
def test_ordinary_words_of_every_script_are_shown_as_they_are(text):
    assert shown(text) == f'"{text}"'


@pytest.mark.parametrize("char", ["v", "\u202e", "\U000e0041", "é"], ids=["plain", "6", "12", "name"])
@pytest.mark.parametrize("count", [1, 101, MAX_ARGUMENTS])
def test_question_shows_all_names_states_what_is_hidden_and_is_limited(count, char):
    """Also if its characters are written as escapes of 6 or 12 characters."""
    args = {f"{number}-{char * 1_000}": char * 1_000 for number in range(count)}
    request = approval_request("demo.change", args, lambda value: value)
    shown_names = [argument.name.partition("-")[0] for argument in request.arguments]
    assert shown_names == [f'"{number}' for number in range(count)]
    assert all(f"({argument.hidden:,} characters hidden)" in str(argument) for argument in request.arguments)
    assert len(request.text()) < 1_000 + count * 150


def test_hidden_characters_are_those_of_the_value():
    (argument,) = approval_request("demo.change", {"a": "\u202e" * 1_000}, lambda value: value).arguments
    assert len(argument.value) <= MAX_VALUE_LENGTH + len(GAP)
    assert argument.value.count("\\u202e") + argument.hidden == 1_000
