"""Hypothesis strategies for JSON values and for valid and invalid JSON Schemas."""

from typing import Any

from hypothesis import strategies as st


def json_values() -> st.SearchStrategy[Any]:
    """Return a strategy for nested JSON values."""
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )


def json_schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for schemas with realistic mistakes: odd types, bad patterns, broken references."""
    kinds = st.sampled_from(
        ["object", "string", "integer", "number", "boolean", "null", "array", "nonsense", 5]
    )
    keywords = st.fixed_dictionaries(
        {},
        optional={
            "type": kinds | st.lists(kinds, max_size=3),
            "enum": st.lists(json_values(), max_size=3),
            "const": json_values(),
            "pattern": st.sampled_from(["^a+$", "(a+)+$", "(", "(?=x)y", "[", "\\"]),
            "$ref": st.sampled_from(
                ["#", "#/$defs/a", "http://127.0.0.1:9/x", "file:///etc/passwd", "#/nowhere", 7]
            ),
            "$defs": st.just({"a": {"type": "string"}}),
            "required": st.lists(st.text(max_size=3), max_size=3) | st.integers(),
            "minimum": st.integers() | st.text(max_size=2),
            "additionalProperties": st.booleans(),
            "format": st.sampled_from(["date", "email", "uuid", "regex", "nonsense"]),
        },
    )
    return st.recursive(
        keywords,
        lambda inner: st.builds(
            lambda base, properties, extra: {
                **base,
                **({"properties": properties} if properties else {}),
                **extra,
            },
            keywords,
            st.dictionaries(st.text(max_size=3), inner, max_size=3),
            st.one_of(
                st.just({}),
                inner.map(lambda schema: {"items": schema}),
                st.lists(inner, min_size=1, max_size=2).map(lambda schemas: {"anyOf": schemas}),
                inner.map(lambda schema: {"not": schema}),
            ),
        ),
        max_leaves=6,
    )
