"""Hypothesis strategies for JSON values, and for JSON Schemas good and bad."""

from typing import Any

from hypothesis import strategies as st


def json_values() -> st.SearchStrategy[Any]:
    scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=12,
    )


def json_schemas() -> st.SearchStrategy[dict[str, Any]]:
    """Schemas as people write them, with mistakes, odd types, patterns and references among them."""
    kinds = st.sampled_from(
        ["object", "string", "integer", "number", "boolean", "null", "array", "nonsense", 5]
    )
    words = st.fixed_dictionaries(
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
        words,
        lambda inner: st.builds(
            lambda base, properties, extra: {
                **base,
                **({"properties": properties} if properties else {}),
                **extra,
            },
            words,
            st.dictionaries(st.text(max_size=3), inner, max_size=3),
            st.one_of(
                st.just({}),
                inner.map(lambda one: {"items": one}),
                st.lists(inner, min_size=1, max_size=2).map(lambda some: {"anyOf": some}),
                inner.map(lambda one: {"not": one}),
            ),
        ),
        max_leaves=6,
    )
