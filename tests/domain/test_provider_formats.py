"""Formats beyond the three that the spec names."""

from onetool.domain import ToolSpec
from onetool.domain.provider_formats import to_provider

SPEC = ToolSpec(name="fs.read_file", description="Read.", input_schema={"type": "object", "properties": {}})


def test_anthropic_and_mcp():
    """Each with its own name for the schema, and the same wire name."""
    schema = {"type": "object", "properties": {}}
    head = {"name": "fs__read_file", "description": "Read."}
    assert to_provider("anthropic", [SPEC]) == [head | {"input_schema": schema}]
    assert to_provider("mcp", [SPEC]) == [head | {"inputSchema": schema}]


def test_an_allow_list_takes_the_qualified_name_too():
    """A configured tool is chosen by either of its names."""
    plain = ToolSpec(name="hello", description="x", input_schema={"type": "object"})
    assert len(to_provider("mcp", [plain, SPEC], allowed=["config.hello"])) == 1
