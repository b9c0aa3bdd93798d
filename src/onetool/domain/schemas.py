"""JSON Schemas that somebody else wrote: compiled without ever fetching, explained in plain words."""

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from .errors import InvalidTool
from .nearest import nearest
from .texts import cut

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

MAX_PROBLEMS = 3
MAX_WORDS = 200
MAX_NODES = 20_000
BACKTRACKS = 100_000
"""Steps a pattern with look-around may take; patterns without run in linear time."""


def compile_schema(schema: Mapping[str, Any]) -> "Validator":
    """Return a validator of the schema.

    Raises InvalidTool when it is not JSON Schema, or refers to something outside itself.
    """
    import jsonschema_rs

    _check_extent(schema)
    try:
        return jsonschema_rs.validator_for(
            dict(schema),
            offline=True,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS),
        )
    except ValueError as error:
        raise InvalidTool(cut(str(error).partition("\n")[0], MAX_WORDS)) from None


def _check_extent(schema: Mapping[str, Any]) -> None:
    """Refuse a small schema that is huge when its references are followed: checking with it has no end."""
    known: dict[int, int] = {}

    def weigh(node: Any) -> int:
        if not isinstance(node, Mapping | list):
            return 1
        if id(node) not in known:
            known[id(node)] = 1  # what contains itself counts once
            children = list(node.values()) if isinstance(node, Mapping) else node
            if isinstance(node, Mapping) and isinstance(node.get("$ref"), str):
                children.append(look_up(schema, node["$ref"]))
            known[id(node)] = 1 + sum(map(weigh, children))
            if known[id(node)] > MAX_NODES:
                raise InvalidTool(f"larger than {MAX_NODES} nodes when its references are followed")
        return known[id(node)]

    try:
        weigh(schema)
    except RecursionError:
        raise InvalidTool("nested too deeply") from None


def look_up(root: Mapping[str, Any], reference: str) -> Any:
    """Return what a local reference points to; None for any other."""
    found: Any = root
    for part in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def problems(validator: "Validator", schema: Mapping[str, Any], value: Any) -> str:
    """Say what is wrong with a value, the first few problems in one line; empty when it fits."""
    try:
        if validator.is_valid(value):
            return ""
        found = [
            _explain(error, schema, value) for error in islice(validator.iter_errors(value), MAX_PROBLEMS)
        ]
    except ValueError as error:  # no JSON value: a key that is no string, an object, too deep
        return cut(str(error), MAX_WORDS)
    return "; ".join(found)


def _explain(error: "ValidationError", schema: Mapping[str, Any], value: Any) -> str:
    if error.schema_path == ["additionalProperties"]:
        return _unexpected(schema, value)
    where = ".".join(map(str, error.instance_path))
    message = cut(error.message, MAX_WORDS)
    return f"{where}: {message}" if where else message


def _unexpected(schema: Mapping[str, Any], value: Mapping[str, Any]) -> str:
    known = list(schema.get("properties", {}))
    names = [name for name in value if name not in known]
    meant = [near for name in names for near in nearest(name, known, limit=1)]
    right = f"Did you mean {' or '.join(meant)}?" if meant else f"Valid: {', '.join(known) or 'none'}."
    return cut(f"unknown parameter {', '.join(map(repr, names))}. {right}", MAX_WORDS)
