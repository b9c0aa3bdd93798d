"""What models read of tools that were found: enough to call them, and no more."""

import pytest

from onetool.domain.help_text import FOUND_BYTES, LONGEST_REQUIRED, found_text
from onetool.domain.texts import first_words
from onetool.domain.tool import ToolSpec

LONG = "Performs a search of the whole web, ideal for news and articles. " * 5


def tool(name: str = "pack.tool", description: str = LONG, required: int = 2, optional: int = 8) -> ToolSpec:
    needed = [f"needed_{n}" for n in range(required)]
    properties = {name: {"type": "string"} for name in needed}
    properties |= {f"option_{n}": {"type": "integer", "default": n} for n in range(optional)}
    schema = {"type": "object", "properties": properties, "required": needed}
    return ToolSpec(name=name, description=description, input_schema=schema)


@pytest.mark.parametrize(
    "description", [LONG, "查询特定列车车次在指定区间内的途径车站" * 9, "x" * 999, "", "Do."]
)
@pytest.mark.parametrize("optional", [0, 4, 8, 200])
def test_five_tools_always_fit(description, optional):
    """Five are found, so five are told, with all that a call needs, whatever their authors wrote."""
    text = found_text([tool(f"pack.tool_{n}", description, optional=optional) for n in range(5)])
    lines = text.splitlines()
    assert len(text.encode()) <= FOUND_BYTES
    assert len(lines) == 5
    assert all(f"pack.tool_{n}(needed_0: str, needed_1: str" in line for n, line in enumerate(lines))


def test_what_fits_is_not_shortened():
    """One tool has room for its options and for much of its description; words stay whole."""
    (line,) = found_text([tool(optional=2)]).splitlines()
    assert line == (
        "pack.tool(needed_0: str, needed_1: str, option_0: int = 0, option_1: int = 1): "
        "Performs a search of the whole web, ideal for news and articles. "
        "Performs a search of the whole web, ideal for news and articles. Performs a search of the ..."
    )


def test_options_go_last():
    """Where room is short a description is cut; where that does not do, `...` stands for what is optional."""
    lines = found_text([tool(optional=4), tool(optional=6), *[tool()] * 3]).splitlines()
    assert lines[0] == (
        "pack.tool(needed_0: str, needed_1: str, option_0: int = 0, option_1: int = 1, option_2: int = 2, "
        "option_3: int = 3): Performs a search of the whole web, ideal for news and articles. "
        "Performs a search of the whole web ..."
    )
    assert lines[1].startswith("pack.tool(needed_0: str, needed_1: str, ...): Performs a search")


def test_one_tool_cannot_fill_the_answer():
    """A server that asks for very many things is told in part; ot.help tells all."""
    (line,) = found_text([tool(required=500)]).splitlines()
    assert line.startswith("pack.tool(needed_0: str, ")
    assert len(line) < LONGEST_REQUIRED + 170


def test_a_tool_without_a_description_is_its_signature():
    """No colon announces nothing."""
    assert found_text([tool(description="", required=1, optional=0)]) == "pack.tool(needed_0: str)"
    assert found_text([]) == ""


@pytest.mark.parametrize(
    ("text", "longest", "shown"),
    [
        ("two words", 9, "two words"),
        ("three long words", 15, "three long ..."),
        ("Done. And so on", 12, "Done ..."),
        ("Pneumonoultramicroscopic", 12, "Pneumono ..."),
        ("AI 查询特定列车车次", 20, "AI 查询特定 ..."),
    ],
)
def test_words_stay_whole(text, longest, shown):
    """A text is cut behind a word; one without spaces where its bytes end, never inside a character."""
    assert first_words(text, longest) == shown
