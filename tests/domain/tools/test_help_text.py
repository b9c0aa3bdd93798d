"""Signatures of tools in search results."""

import pytest

from onetool.domain.text.strings import truncate_words
from onetool.domain.tools.help_text import MAX_REQUIRED_LENGTH, MAX_SIGNATURES_BYTES, signatures_text
from onetool.domain.tools.tool import ToolSpec

LONG = "Performs a search of the whole web, ideal for news and articles. " * 5


def tool(name: str = "pack.tool", description: str = LONG, required: int = 2, optional: int = 8) -> ToolSpec:
    required_names = [f"needed_{n}" for n in range(required)]
    properties = {name: {"type": "string"} for name in required_names}
    properties |= {f"option_{n}": {"type": "integer", "default": n} for n in range(optional)}
    schema = {"type": "object", "properties": properties, "required": required_names}
    return ToolSpec(name=name, description=description, input_schema=schema)


@pytest.mark.parametrize(
    "description", [LONG, "查询特定列车车次在指定区间内的途径车站" * 9, "x" * 999, "", "Do."]
)
@pytest.mark.parametrize("optional", [0, 4, 8, 200])
def test_five_tools_always_fit_with_their_required_parameters(description, optional):
    text = signatures_text([tool(f"pack.tool_{n}", description, optional=optional) for n in range(5)])
    lines = text.splitlines()
    assert len(text.encode()) <= MAX_SIGNATURES_BYTES
    assert len(lines) == 5
    assert all(f"pack.tool_{n}(needed_0: str, needed_1: str" in line for n, line in enumerate(lines))


def test_single_tool_has_all_parameters_and_a_long_description():
    (line,) = signatures_text([tool(optional=2)]).splitlines()
    assert line == (
        "pack.tool(needed_0: str, needed_1: str, option_0: int = 0, option_1: int = 1): [read-only] "
        "Performs a search of the whole web, ideal for news and articles. "
        "Performs a search of the whole web, ideal for news and articles. Performs a ..."
    )


def test_description_is_shortened_before_optional_parameters_are_omitted():
    lines = signatures_text([tool(optional=4), tool(optional=6), *[tool()] * 3]).splitlines()
    assert lines[0] == (
        "pack.tool(needed_0: str, needed_1: str, option_0: int = 0, option_1: int = 1, option_2: int = 2, "
        "option_3: int = 3): [read-only] Performs a search of the whole web, ideal for news and articles. "
        "Performs a search of the ..."
    )
    assert lines[1].startswith("pack.tool(needed_0: str, needed_1: str, ...): [read-only] Performs a search")


def test_tool_with_very_many_required_parameters_is_truncated():
    (line,) = signatures_text([tool(required=500)]).splitlines()
    assert line.startswith("pack.tool(needed_0: str, ")
    assert len(line) < MAX_REQUIRED_LENGTH + 170


def test_tool_without_a_description_has_only_labels():
    text = signatures_text([tool(description="", required=1, optional=0)])
    assert text == "pack.tool(needed_0: str): [read-only]"
    assert signatures_text([]) == ""


@pytest.mark.parametrize(
    ("text", "max_bytes", "expected"),
    [
        ("two words", 9, "two words"),
        ("three long words", 15, "three long ..."),
        ("Done. And so on", 12, "Done ..."),
        ("Pneumonoultramicroscopic", 12, "Pneumono ..."),
        ("AI 查询特定列车车次", 20, "AI 查询特定 ..."),
    ],
)
def test_text_is_truncated_after_a_word(text, max_bytes, expected):
    """A text without spaces is truncated after a character."""
    assert truncate_words(text, max_bytes) == expected
