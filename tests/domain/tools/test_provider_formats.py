"""Provider formats beyond those in the specification."""

from onetool.domain import ToolSpec
from onetool.domain.tools.provider_formats import to_provider

SPEC = ToolSpec(name="fs.read_file", description="Read.", input_schema={"type": "object", "properties": {}})


def test_anthropic_and_mcp_formats_differ_in_the_schema_key():
    schema = {"type": "object", "properties": {}}
    head = {"name": "fs__read_file", "description": "Read."}
    assert to_provider("anthropic", [SPEC]) == [head | {"input_schema": schema}]
    assert to_provider("mcp", [SPEC]) == [head | {"inputSchema": schema}]


def test_allow_list_matches_the_qualified_name():
    plain = ToolSpec(name="hello", description="x", input_schema={"type": "object"})
    assert len(to_provider("mcp", [plain, SPEC], allowed=["config.hello"])) == 1
