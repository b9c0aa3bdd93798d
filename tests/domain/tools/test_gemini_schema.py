"""Edge cases of the conversion to Gemini schemas."""

import pytest

from onetool.domain.tools.gemini_schema import gemini_schema


def converted(schema):
    return gemini_schema(
        {"type": "object", "properties": {"p": schema}, "$defs": {"d": {"type": "integer"}}}
    )["properties"]["p"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": "null"}, {"type": "string", "nullable": True}),
        ({"type": ["null"]}, {"type": "string", "nullable": True}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string", "nullable": True}),
        (
            {"oneOf": [{"type": "string"}, {"type": "number"}]},
            {"anyOf": [{"type": "string"}, {"type": "number"}]},
        ),
        ({"$ref": "#/$defs/d", "description": "n"}, {"type": "integer", "description": "n"}),
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "description": "One of: 1, 2."}),
        ({"type": "string", "format": "email"}, {"type": "string"}),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"required": ["x"]}, {"type": "object"}),
        ({"items": {"type": "string"}}, {"type": "array", "items": {"type": "string"}}),
        (
            {
                "allOf": [
                    {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"properties": {"b": {"type": "string"}}, "required": ["b"]},
                ]
            },
            {
                "type": "object",
                "properties": {"b": {"type": "string"}, "a": {"type": "string"}},
                "required": ["b", "a"],
            },
        ),
        ({"prefixItems": [{"type": "string"}]}, None),
        (True, None),
        ({"$ref": "#/nowhere"}, None),
        ({"type": "nonsense"}, None),
    ],
)
def test_unsupported_keywords_are_rewritten(schema, expected):
    """References, unions and null are rewritten; a schema that cannot be expressed allows any value."""
    result = converted(schema)
    if expected is None:
        assert "anyOf" in result or result["type"] == "array"
    else:
        assert result == expected


def test_recursive_schema_is_truncated():
    node = {"type": "object", "properties": {"next": {"$ref": "#"}, "all": {"allOf": [{"$ref": "#"}]}}}
    assert (
        gemini_schema({**node, "properties": {"next": {"$ref": "#"}}})["properties"]["next"]["type"]
        == "object"
    )


def test_reference_to_itself_allows_any_value():
    schema = {"type": "object", "properties": {"p": {"$ref": "#/properties/p"}}}
    assert "anyOf" in gemini_schema(schema)["properties"]["p"]


def test_schema_without_parameters_is_an_empty_object():
    assert gemini_schema({"type": "object"}) == {"properties": {}, "type": "object"}
