"""Texts that stand for arguments become what the schema of the tool says."""

import pytest

from onetool.domain.tools.text_args import call_usage, convert_text
from onetool.domain.tools.tool import ToolSpec

SCHEMA = {
    "type": "object",
    "$defs": {"count": {"type": "integer"}},
    "properties": {
        "text": {"type": "string"},
        "short": {"type": "string", "maxLength": 2},
        "whole": {"type": "integer", "maximum": 10},
        "number": {"type": "number"},
        "flag": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "integer"}},
        "object": {"type": "object"},
        "optional": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["integer", "string"]},
        "choice": {"enum": [1, 2]},
        "referred": {"$ref": "#/$defs/count"},
        "any": {},
    },
    "required": ["text"],
    "additionalProperties": {"type": "integer"},
}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("text", "5", "5"),
        ("text", "", ""),
        ("text", "null", "null"),
        ("text", '{"a": 1}', '{"a": 1}'),
        ("short", "500", "500"),
        ("whole", "5", 5),
        ("whole", "-5", -5),
        ("whole", "500", 500),
        ("whole", "five", "five"),
        ("whole", "NaN", "NaN"),
        ("whole", "9" * 5000, "9" * 5000),
        ("number", "1e3", 1000.0),
        ("flag", "true", True),
        ("flag", "False", False),
        ("flag", "yes", "yes"),
        ("list", "[1, 2]", [1, 2]),
        ("list", "1,2", "1,2"),
        ("list", "[" * 100_000, "[" * 100_000),
        ("object", '{"a": 1}', {"a": 1}),
        ("optional", "5", 5),
        ("optional", "null", None),
        ("either", "5", "5"),
        ("choice", "2", 2),
        ("referred", "5", 5),
        ("any", "5", "5"),
        ("not declared", "5", 5),
    ],
)
def test_text_is_converted_as_the_schema_says(name, text, value):
    """A text that the schema accepts stays a text; what is invalid is left to the validation of the call."""
    converted = convert_text(SCHEMA, name, text)
    assert (converted, type(converted)) == (value, type(value))


@pytest.mark.parametrize(
    "schema", [{}, {"properties": 5}, {"type": "nonsense"}, {"$ref": "https://x.example/"}]
)
def test_text_stays_a_text_if_the_schema_says_nothing_or_is_invalid(schema):
    assert convert_text(schema, "x", "5") == "5"


def test_usage_names_the_parameters_and_their_types():
    schema = {
        **SCHEMA,
        "properties": {name: SCHEMA["properties"][name] for name in ("whole", "text", "list")},
    }
    spec = ToolSpec(name="a.b", description="", input_schema=schema)
    assert call_usage(spec) == "a.b text=str [whole=int] [list=list]"


def test_usage_escapes_and_limits_what_a_server_wrote():
    names = {"\x1b[31m": {}, **{f"p{number}": {} for number in range(1000)}}
    usage = call_usage(ToolSpec(name="a.b", description="", input_schema={"properties": names}))
    assert "\x1b" not in usage
    assert usage.endswith("[p28=Any] ...")
