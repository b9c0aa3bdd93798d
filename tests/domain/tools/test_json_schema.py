"""Compilation of untrusted schemas and validation messages."""

import pytest

from onetool.domain.errors import InvalidTool
from onetool.domain.tools.json_schema import compile_schema, describe_problems
from support.cpu_time import growth

READ = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "size": {"type": "integer", "minimum": 1}},
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"path": "x"}, ""),
        ({}, '"path" is a required property'),
        ({"path": 5}, 'path: 5 is not of type "string"'),
        ({"path": "x", "sise": 1}, "unknown parameter 'sise'. Did you mean size?"),
        ({"path": "x", "zzz": 1}, "unknown parameter 'zzz'. Valid: path, size."),
        ({"path": "x", "size": 0}, "size: 0 is less than the minimum of 1"),
    ],
)
def test_message_names_the_parameter_the_problem_and_a_suggestion(args, message):
    assert describe_problems(compile_schema(READ), READ, args) == message


def test_message_says_that_a_tool_has_no_parameters():
    schema = {"type": "object", "additionalProperties": False}
    assert (
        describe_problems(compile_schema(schema), schema, {"x": 1}) == "unknown parameter 'x'. Valid: none."
    )


def test_message_names_the_path_of_a_nested_unknown_property():
    schema = {"properties": {"a": {"additionalProperties": False}}}
    assert describe_problems(compile_schema(schema), schema, {"a": {"b": 1}}).startswith("a: ")


def test_long_message_is_shortened_in_the_middle():
    schema = {"properties": {"a": {"type": "integer"}}}
    message = describe_problems(compile_schema(schema), schema, {"a": "x" * 10_000})
    assert len(message) < 300
    assert message.endswith('is not of type "integer"')


@pytest.mark.guards("tool-schema")
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:1/x"},
        {"$ref": "file:///etc/passwd"},
        {"$schema": "http://127.0.0.1:1/meta"},
        {"type": 12},
        {"properties": 5},
        {"pattern": "("},
        {"$ref": "#/nowhere"},
    ],
)
def test_invalid_schema_or_external_reference_is_rejected(schema):
    """External references are never fetched."""
    with pytest.raises(InvalidTool):
        compile_schema(schema)


@pytest.mark.guards("tool-schema")
@pytest.mark.parametrize("pattern", ["(a+)+$", "^(?=a)(a|a)*\\1$", "(a|aa)+$", "(?=x)((a+)+)+$"])
def test_catastrophic_pattern_takes_at_most_linear_time(pattern):
    schema = {"pattern": pattern}
    validator = compile_schema(schema)
    assert growth(lambda size: describe_problems(validator, schema, "a" * size + "!"), 500, 10_000) < 5


def test_value_that_is_not_json_has_a_problem():
    assert "str" in describe_problems(compile_schema({}), {}, {1: 2})
