"""A registry validates what is registered."""

import pytest

from onetool.domain.errors import DuplicateTool, InvalidTool
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import Tool, ToolSpec

OBJECT = {"type": "object"}


def tool(name="a.b", description="x", input_schema=OBJECT):
    return Tool(ToolSpec(name=name, description=description, input_schema=input_schema))


@pytest.mark.spec("REG-07", "REG-08", "REG-09")
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": ""}, "name must be a non-empty string, not ''"),
        ({"name": " "}, "name must be a non-empty string"),
        ({"description": ""}, "description must be a non-empty string, not ''"),
        ({"description": None}, "description must be a non-empty string, not None"),
        ({"input_schema": None}, "parameters must be a JSON Schema of type 'object'"),
        ({"input_schema": {}}, "parameters must be a JSON Schema of type 'object'"),
        ({"input_schema": {"type": "array"}}, "parameters must be a JSON Schema of type 'object'"),
        ({"input_schema": {**OBJECT, "default": float("nan")}}, "a value that JSON cannot represent"),
        ({"input_schema": {**OBJECT, "properties": {"a": {"type": "nope"}}}}, "not valid JSON Schema"),
        ({"input_schema": {**OBJECT, "required": "a"}}, "not valid JSON Schema"),
    ],
)
def test_invalid_definition_is_not_registered(wrong, message):
    registry = Registry()
    with pytest.raises(InvalidTool, match=message):
        registry.register(tool(**wrong))
    assert (len(registry), registry.packs()) == (0, {})
    registry.add(tool(**{"name": "a.b", **wrong}) if "name" not in wrong else tool())
    assert len(registry) == 1


def test_valid_definition_is_registered_once():
    registry, first = Registry(), tool()
    registry.register(first)
    with pytest.raises(DuplicateTool):
        registry.register(tool())
    assert (registry.list(), registry.get("a.b")) == ([first], first)
