"""Python signatures and stub files derived from the schemas of tools."""

import keyword
from collections.abc import Iterable, Mapping
from typing import Any

from onetool.domain.text.strings import printable, truncate_middle

from .schema_types import ANY, MAX_DEPTH, name_text, properties_of, required_names, type_text, value_text
from .tool import JsonSchema, ToolSpec

STUB_TYPES = {"list": "list[Any]", "dict": "dict[str, Any]"}
"""Types in stub files, where type checkers require type arguments."""
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
    parameters = [
        f"{name_text(name)}: {type_text(properties[name], schema, max_depth=max_depth)}"
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
    properties = list(properties_of(schema).items())[:MAX_PARAMETERS]
    return [(name_text(name), type_text(field, schema), _description(field)) for name, field in properties]


def pack_stubs(specs: Iterable[ToolSpec]) -> str:
    """Return a stub file with these tools as functions, for type-checking code that calls them.

    Every function returns `Any`, because each call may be awaited. A comment has the signature to show.
    """
    return "from typing import Any\n" + "".join(map(_stub, specs))


def stub_parameters(schema: JsonSchema) -> str:
    """Return the keyword-only parameters of a stub; required ones have no default."""
    properties, required = properties_of(schema), required_names(schema)
    names = [name for name in properties if _is_parameter_name(name)]
    parameters = [f"{name}: {_stub_type(properties[name], schema, name in required)}" for name in names]
    has_extra = schema.get("additionalProperties", True) is not False or len(names) < len(properties)
    return ", ".join([*(["*"] if parameters else []), *parameters, *(["**more: Any"] if has_extra else [])])


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
    return f" = {PLACEHOLDER}" if has_placeholders else _null_default(field, root)


def _null_default(field: Any, root: JsonSchema) -> str:
    return " = None" if _has_null_type(field, root) else " | None = None"


def _stub(spec: ToolSpec) -> str:
    function = spec.qualified_name.partition(".")[2]
    shown = signature(spec).removeprefix(spec.qualified_name)
    return f"def {function}({stub_parameters(spec.input_schema)}) -> Any: ...  # {shown}\n"


def _stub_type(field: Any, root: JsonSchema, is_required: bool) -> str:
    """Return the type of a parameter and, if it is optional, its default."""
    kinds = type_text(field, root, max_depth=1).split(" | ")
    kind = " | ".join(STUB_TYPES.get(kind, kind) for kind in kinds)
    if is_required:
        return kind
    return f"{kind} = ..." if _has_default(field) else f"{kind}{_null_default(field, root)}"


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


def _is_parameter_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)
