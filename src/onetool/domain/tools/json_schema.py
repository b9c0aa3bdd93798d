"""Compilation of untrusted JSON Schemas without network access, and readable validation errors."""

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from onetool.domain.errors import InvalidTool
from onetool.domain.text.strings import truncate_middle
from onetool.domain.text.suggestions import closest_names

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

MAX_PROBLEMS = 3
MAX_MESSAGE_LENGTH = 200
MAX_NODES = 20_000
BACKTRACK_LIMIT = 100_000
"""Maximum steps of a pattern with look-around or back-references; others run in linear time."""


def compile_schema(schema: Mapping[str, Any]) -> "Validator":
    """Return a validator for a schema.

    Raises:
        InvalidTool: The schema is invalid, too large, or refers to another document.
    """
    import jsonschema_rs

    _check_expanded_size(schema)
    try:
        return jsonschema_rs.validator_for(
            dict(schema),
            offline=True,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACK_LIMIT),
        )
    except ValueError as error:
        raise InvalidTool(truncate_middle(str(error).partition("\n")[0], MAX_MESSAGE_LENGTH)) from None


def _check_expanded_size(schema: Mapping[str, Any]) -> None:
    """Reject a schema that becomes huge when its references are expanded: validation would not end."""
    sizes: dict[int, int] = {}

    def count_nodes(node: Any) -> int:
        if not isinstance(node, Mapping | list):
            return 1
        if id(node) not in sizes:
            sizes[id(node)] = 1  # recursive schemas count once
            children = list(node.values()) if isinstance(node, Mapping) else node
            if isinstance(node, Mapping) and isinstance(node.get("$ref"), str):
                children.append(resolve_ref(schema, node["$ref"]))
            sizes[id(node)] = 1 + sum(map(count_nodes, children))
            if sizes[id(node)] > MAX_NODES:
                raise InvalidTool(f"larger than {MAX_NODES} nodes when its references are expanded")
        return sizes[id(node)]

    try:
        count_nodes(schema)
    except RecursionError:
        raise InvalidTool("nested too deeply") from None


def resolve_ref(root: Mapping[str, Any], reference: str) -> Any:
    """Return the target of a local reference such as `#/$defs/x`; None if there is none."""
    node: Any = root
    for part in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
        node = node.get(part) if isinstance(node, Mapping) else None
    return node


def describe_problems(
    validator: "Validator", schema: Mapping[str, Any], value: Any, *, is_complete: bool = True
) -> str:
    """Return the first few problems of a value in one line; an empty string if it is valid.

    is_complete: whether the value has all its members; otherwise, only problems of its members count.
    """
    try:
        if validator.is_valid(value):
            return ""
        errors = (error for error in validator.iter_errors(value) if is_complete or error.instance_path)
        messages = [_format_error(error, schema, value) for error in islice(errors, MAX_PROBLEMS)]
    except ValueError as error:  # not a JSON value: a non-string key, an object, or too deep
        return truncate_middle(str(error), MAX_MESSAGE_LENGTH)
    return "; ".join(messages)


def _format_error(error: "ValidationError", schema: Mapping[str, Any], value: Any) -> str:
    if error.schema_path == ["additionalProperties"]:
        return _unknown_parameters(schema, value)
    path = ".".join(map(str, error.instance_path))
    message = truncate_middle(error.message, MAX_MESSAGE_LENGTH)
    return f"{path}: {message}" if path else message


def _unknown_parameters(schema: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    valid = list(schema.get("properties", {}))
    unknown = [name for name in value if name not in valid]
    similar = [match for name in unknown for match in closest_names(name, valid, limit=1)]
    hint = f"Did you mean {' or '.join(similar)}?" if similar else f"Valid: {', '.join(valid) or 'none'}."
    return truncate_middle(f"unknown parameter {', '.join(map(repr, unknown))}. {hint}", MAX_MESSAGE_LENGTH)
