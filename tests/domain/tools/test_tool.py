"""Properties of tools that are derived from their definitions."""

import pytest

from onetool.domain.tools.tool import ToolSpec


@pytest.mark.parametrize(
    ("description", "tags", "expected"),
    [
        ("Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.", (), True),
        ("Deprecated. Use other.", (), True),
        ("[Deprecated] Read a file.", (), True),
        ("**Deprecated**: read a file.", (), True),
        ("Reads.\n\nDeprecated since 2.0.", (), True),
        ("Deprecated in favor of other.", (), True),
        ("This tool is deprecated and will be removed.", (), True),
        ("Read a file.", ("deprecated",), True),
        ("List the packages that are deprecated.", (), False),
        ("Finds deprecated: code and comments.", (), False),
        ("Deprecated packages are listed.", (), False),
        ("", (), False),
    ],
)
def test_deprecated_tools_are_recognized(description, tags, expected):
    """By a notice in the description or by a tag, but not by being about deprecated things."""
    spec = ToolSpec(name="p.f", description=description, input_schema={}, tags=tags)
    assert spec.is_deprecated is expected
