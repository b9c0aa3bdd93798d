"""Structured results that only repeat their text."""

from typing import Any

import pytest

from onetool.domain.content.text_results import is_text_schema, text_output_schema, to_text
from onetool.domain.tools.json_schema import compile_schema


def make_schema(*names: str, kind: str = "string", required: Any = None) -> dict[str, Any]:
    properties = {name: {"type": kind} for name in names}
    return {
        "type": "object",
        "properties": properties,
        "required": list(names) if required is None else required,
    }


TEXT_SCHEMA, OPEN_SCHEMA = make_schema("content"), make_schema("content", "note", required=["content"])


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (make_schema("content"), True),
        (make_schema("result") | {"additionalProperties": False, "title": "readOutput"}, True),
        (make_schema("text"), False),
        (make_schema("content", kind="integer"), False),
        (make_schema("content", "note"), False),
        (make_schema("content", required=[]), False),
        ({"type": "object", "properties": {"content": True}, "required": ["content"]}, False),
        ({"type": "object", "properties": []}, False),
        ({}, False),
        (None, False),
    ],
)
def test_schema_that_declares_only_a_text(schema, expected):
    assert is_text_schema(schema) is expected


@pytest.mark.parametrize(
    ("structured", "text", "schema", "expected"),
    [
        ({"content": "x"}, "x", None, "x"),
        ({"result": "x"}, "x", None, "x"),
        ({"content": "x"}, "y", None, {"content": "x"}),
        ({"other": "x"}, "x", None, {"other": "x"}),
        ({"content": "x", "result": "x"}, "x", None, {"content": "x", "result": "x"}),
        ({"content": 5}, "5", None, {"content": 5}),
        ({}, "", None, {}),
        ({"content": "x"}, '{"content": "x"}', TEXT_SCHEMA, "x"),
        ({"content": "x", "extra": 1}, "x", TEXT_SCHEMA, {"content": "x", "extra": 1}),
        ({"content": "x"}, "x", OPEN_SCHEMA, {"content": "x"}),
        ({"content": "x"}, "x", {"type": "object"}, {"content": "x"}),
    ],
)
def test_result_that_is_only_the_text_again_is_that_text(structured, text, schema, expected):
    """With a schema, the type of all results is the declared one, whatever a single result contains."""
    assert to_text(structured, text, schema) == expected


@pytest.mark.parametrize(
    ("data", "is_valid"),
    [("x", True), ({"content": "x", "extra": 1}, True), ({"content": 5}, False), (5, False)],
)
def test_output_schema_accepts_the_text_and_undeclared_fields(data, is_valid):
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **TEXT_SCHEMA}
    assert compile_schema(text_output_schema(schema)).is_valid(data) is is_valid
