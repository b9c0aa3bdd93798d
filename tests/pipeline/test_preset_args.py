"""Arguments that the settings add: the same complete arguments in every step."""

import pytest

from onetool.domain.tools.preset_args import PresetArgs, unknown_names
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import Tool, ToolSpec
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import memory_runtime

pytestmark = pytest.mark.spec("MCP-67")


async def test_fixed_values_also_apply_to_a_tool_that_delegates():
    """A stored tool whose handler has fixed values cannot avoid them, whatever its own schema allows."""

    async def run(args, invocation):
        return dict(args)

    schema = {"type": "object", "properties": {"a": {}, "key": {}}, "additionalProperties": False}
    own = {"type": "object", "properties": {"a": {}, "key": {}}, "required": ["a"]}
    preset = PresetArgs(schema=schema, fixed={"key": "k"})
    registry = Registry()
    spec = ToolSpec(name="demo.change", description="x", input_schema=preset.shown_schema())
    registry.register(Tool(spec, run, preset))
    registry.register(
        Tool(ToolSpec(name="demo.alias", description="x", input_schema=own, handler="demo.change"))
    )
    async with memory_runtime(sources=[SnapshotSource(StaticReader("tools", registry))]) as ot:
        assert (await ot.call("demo.alias", a=1)).data == {"a": 1, "key": "k"}
        refused = await ot.call("demo.alias", a=1, key="mine")
        assert (refused.error.code, "the settings fix 'key'" in refused.error.message) == (
            "invalid_args",
            True,
        )
        assert (await ot.call("demo.alias")).error.code == "invalid_args"


@pytest.mark.parametrize(
    ("schema", "unknown"),
    [
        ({"type": "object"}, []),
        ({"properties": {}}, ["x"]),
        ({"additionalProperties": False}, ["x"]),
        ({"properties": {"a": {}}}, ["x"]),
        ({"properties": {"a": {}}, "additionalProperties": True}, []),
        ({"properties": {"a": {}}, "additionalProperties": {}}, []),
        ({"properties": {"a": {}}, "patternProperties": {"^x": {}}}, []),
        ({"properties": {}, "allOf": [{"properties": {"x": {}}}]}, []),
        ({"$ref": "#/$defs/a", "properties": {}}, []),
        ({"properties": {}, "anyOf": [True]}, ["x"]),
    ],
)
def test_only_a_parameter_that_cannot_exist_is_unknown(schema, unknown):
    assert unknown_names(schema, ["x"]) == unknown


def test_default_fills_only_what_is_omitted():
    preset = PresetArgs(schema={}, fixed={"a": 1}, defaults={"b": 2})
    assert preset.complete("t", {"c": 3}) == {"c": 3, "b": 2, "a": 1}
    assert preset.complete("t", {"b": None}) == {"b": None, "a": 1}
