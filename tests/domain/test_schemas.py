"""Schemas that somebody else wrote."""

import time

import pytest

from onetool.domain.errors import InvalidTool
from onetool.domain.schemas import compile_schema, problems

READ = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "size": {"type": "integer", "minimum": 1}},
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"path": "x"}, ""),
        ({}, '"path" is a required property'),
        ({"path": 5}, 'path: 5 is not of type "string"'),
        ({"path": "x", "sise": 1}, "unknown parameter 'sise'. Did you mean size?"),
        ({"path": "x", "zzz": 1}, "unknown parameter 'zzz'. Valid: path, size."),
        ({"path": "x", "size": 0}, "size: 0 is less than the minimum of 1"),
    ],
)
def test_problems_are_said_in_plain_words(args, said):
    """Where, what, and what would be right."""
    assert problems(compile_schema(READ), READ, args) == said


def test_a_schema_without_parameters_says_so():
    """Whoever passes something to a tool that takes nothing is told that it takes nothing."""
    schema = {"type": "object", "additionalProperties": False}
    assert problems(compile_schema(schema), schema, {"x": 1}) == "unknown parameter 'x'. Valid: none."


def test_a_nested_unknown_property_names_its_place():
    """Below the top the property's path is said."""
    schema = {"properties": {"a": {"additionalProperties": False}}}
    assert problems(compile_schema(schema), schema, {"a": {"b": 1}}).startswith("a: ")


def test_a_long_value_does_not_bury_the_problem():
    """Both ends of a long message stay."""
    schema = {"properties": {"a": {"type": "integer"}}}
    said = problems(compile_schema(schema), schema, {"a": "x" * 10_000})
    assert len(said) < 300
    assert said.endswith('is not of type "integer"')


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
def test_what_is_no_schema_or_points_outside_is_refused(schema):
    """Nothing is fetched: a reference to elsewhere makes the schema invalid."""
    with pytest.raises(InvalidTool):
        compile_schema(schema)


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(?=a)(a|a)*\\1$", "(a|aa)+$", "(?=x)((a+)+)+$"])
def test_a_pattern_cannot_hold_the_process(pattern):
    """Catastrophic patterns end in milliseconds."""
    schema = {"pattern": pattern}
    validator = compile_schema(schema)
    started = time.perf_counter()
    problems(validator, schema, "a" * 5_000 + "!")
    assert time.perf_counter() - started < 1


def test_what_is_not_json_has_a_problem_too():
    """A value that no schema can speak about is refused in words."""
    assert "str" in problems(compile_schema({}), {}, {1: 2})
