"""Python signatures derived from the schemas of tools."""

import keyword
from collections.abc import Mapping
from functools import partial
from typing import Any

from onetool.domain.code.sandbox import ToolFunction
from onetool.domain.text.identifiers import is_parameter_name
from onetool.domain.text.strings import printable, truncate_middle

from .parameter_names import python_parameters
from .schema_types import ANY, MAX_DEPTH, name_text, properties_of, required_names, type_text, value_text
from .tool import JsonSchema, ToolSpec

PLACEHOLDER = "'...'"
MAX_PARAMETERS = 100
MAX_DESCRIPTION_LENGTH = 1_000


def signature(
    spec: ToolSpec, *, required_only: bool = False, is_brief: bool = False, has_placeholders: bool = False
) -> str:
    """Return a signature such as `pack.func(required: str, optional: int = 5) -> {content: str}`.

    Required parameters come first, otherwise in the order of the schema.

    Args:
        spec: The tool.
        required_only: Replace the optional parameters by `...`.
        is_brief: Omit the fields of lists and objects.
        has_placeholders: Show `'...'` as the default of an optional parameter without one, not `None`.
    """
    schema, max_depth = spec.input_schema, 1 if is_brief else MAX_DEPTH
    properties, required = properties_of(schema), required_names(schema)
    names = [name for name in properties if name in required] if required_only else list(properties)
    labels = _labels(schema)
    parameters = [
        f"{labels[name]}: {type_text(properties[name], schema, max_depth=max_depth)}"
        f"{'' if name in required else _default(properties[name], schema, has_placeholders)}"
        for name in names[:MAX_PARAMETERS]
    ]
    parameters += ["..."] if len(parameters) < len(properties) else []
    returns = result_type(spec, max_depth)
    return f"{spec.qualified_name}({', '.join(parameters)}){f' -> {returns}' if returns else ''}"


def result_type(spec: ToolSpec, max_depth: int = MAX_DEPTH) -> str:
    """Return the type of a tool's results, or an empty text if it is unknown."""
    if spec.return_type or spec.output_schema is None:
        return spec.return_type
    kind = type_text(spec.output_schema, spec.output_schema, max_depth=max_depth, is_result=True)
    return "" if kind == ANY else kind


def arguments(schema: JsonSchema) -> list[tuple[str, str, str]]:
    """Return name, type and description of each parameter, in the order of the signature."""
    properties, labels = list(properties_of(schema).items())[:MAX_PARAMETERS], _labels(schema)
    return [(labels[name], type_text(field, schema), _description(field)) for name, field in properties]


def tool_function(spec: ToolSpec) -> ToolFunction:
    """Return a tool as code calls it: parameters whose names Python cannot write have another one."""
    schema = spec.input_schema
    properties, required = properties_of(schema), required_names(schema)
    names = {name: name for name in properties if is_parameter_name(name)}
    accepts_more = schema.get("additionalProperties", True) is not False or len(names) < len(properties)
    names |= python_parameters(schema)
    return ToolFunction(
        required=[shown for name, shown in names.items() if name in required],
        optional=[shown for name, shown in names.items() if name not in required],
        accepts_more=accepts_more,
        signature=partial(signature, spec),
    )


def omit_nulls(schema: JsonSchema, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without those that are None although only their absence is valid.

    Signatures show optional parameters without a default as `x: int | None = None`, so passing None is the
    same as omitting the parameter.
    """
    properties, required = properties_of(schema), required_names(schema)
    return {
        name: value
        for name, value in args.items()
        if value is not None
        or name not in properties
        or name in required
        or _has_default(properties[name])
        or _accepts_null(properties[name], schema)
    }


def _default(field: Any, root: JsonSchema, has_placeholders: bool) -> str:
    if _has_default(field):
        return f" = {value_text(field['default'])}"
    if has_placeholders:
        return f" = {PLACEHOLDER}"
    return " = None" if _has_null_type(field, root) else " | None = None"


def _accepts_null(field: Any, root: JsonSchema) -> bool:
    if isinstance(field, Mapping) and isinstance(values := field.get("enum"), list):
        return None in values
    return _has_null_type(field, root)


def _has_null_type(field: Any, root: JsonSchema) -> bool:
    kinds = type_text(field, root, max_depth=1).split(" | ")
    return ANY in kinds or "None" in kinds


def _has_default(field: Any) -> bool:
    return isinstance(field, Mapping) and "default" in field


def _description(field: Any) -> str:
    text = field.get("description", "") if isinstance(field, Mapping) else ""
    words = " ".join(text.split()) if isinstance(text, str) else ""
    return printable(truncate_middle(words, MAX_DESCRIPTION_LENGTH))


def _labels(schema: JsonSchema) -> dict[str, str]:
    """Return how each parameter is shown: as code can pass it, or quoted."""
    names = python_parameters(schema)
    return {name: names.get(name) or _quoted(name) for name in properties_of(schema)}


def _quoted(name: str) -> str:
    return repr(name) if keyword.iskeyword(name) else name_text(name)
