"""Descriptions of a module's functions as tools: plain JSON that a child process can print."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from onetool.domain.calls.invocation import Context
from onetool.domain.text.json_text import jsonable
from onetool.domain.tools.requirement import REQUIREMENTS
from onetool.domain.tools.tool import TOOL_OPTIONS, ToolOptions

from .description import PackDescription
from .docstring import parse_docstring

MAX_TYPE_DEPTH = 2
"""Levels of TypedDicts in a return type."""
URL = re.compile(r"https?://[^\s\x00-\x1f]+")
PLAIN = frozenset({str, int, float, bool, dict, list, NoneType, Any, inspect.Parameter.empty})
PLAIN_ORIGINS = frozenset({list, dict, Union, UnionType, Literal})


class InvalidFunction(Exception):
    """A public function cannot be a tool."""


def describe_module(module: ModuleType, default_pack: str) -> PackDescription:
    """Describe every public function that the module itself defines.

    Raises:
        InvalidFunction: The module's `pack` is not a valid name, or its `docs_url` is not a URL.
    """
    pack, docs_url = getattr(module, "pack", default_pack), getattr(module, "docs_url", None)
    if not isinstance(pack, str) or not pack.isidentifier():
        raise InvalidFunction(f"pack = {pack!r} is not a valid name; use a Python identifier")
    if docs_url not in (None, "") and not (isinstance(docs_url, str) and URL.fullmatch(docs_url)):
        raise InvalidFunction(f'docs_url = {docs_url!r} is not a URL; use "" for no documentation')
    tools: list[dict[str, Any]] = []
    invalid: list[str] = []
    for name, function in _public_functions(module):
        try:
            tools.append(describe_function(name, function))
        except InvalidFunction as error:
            invalid.append(f"{pack}.{name}: {error}")
    return PackDescription(pack, tools, invalid, docs_url)


def describe_function(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Describe one function.

    Raises:
        InvalidFunction: The function cannot be called with JSON values as keyword arguments.
    """
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise InvalidFunction("a generator cannot be a tool; return a list")
    signature = _signature(function)
    context, signature = _split_context(signature)
    doc = parse_docstring(function.__doc__)
    options = getattr(function, TOOL_OPTIONS, ToolOptions())
    return {
        "name": name,
        "description": doc.description,
        "input_schema": _input_schema(signature, doc.args),
        "returns": doc.returns,
        "return_type": _return_type(signature.return_annotation),
        "example": doc.example,
        "options": asdict(options),
        "requires": [asdict(requirement) for requirement in getattr(function, REQUIREMENTS, ())],
        "context": context,
        "plain": all(_is_plain(parameter.annotation) for parameter in signature.parameters.values()),
    }


def argument_adapter(function: Callable[..., Any]) -> TypeAdapter[dict[str, Any]]:
    """Return an adapter that converts JSON arguments to the annotated types of the function's parameters."""
    _, signature = _split_context(_signature(function))
    return _adapter(signature)


def _return_type(annotation: Any) -> str:
    if annotation in (inspect.Signature.empty, Any):
        return ""
    try:
        return _type_text(annotation, MAX_TYPE_DEPTH)
    except Exception:  # noqa: BLE001 - evaluating the annotations of a class can raise anything
        return _format(annotation)


def _type_text(annotation: Any, depth: int) -> str:
    """Return the text of an annotation, with the fields of a TypedDict: `list[{path: str, size?: int}]`."""
    if get_origin(annotation) is list:
        return f"list[{_type_text(get_args(annotation)[0], depth)}]"
    if not is_typeddict(annotation) or not depth:
        return _format(annotation)
    required, hints = annotation.__required_keys__, get_type_hints(annotation)
    fields = [
        f"{name}{'' if name in required else '?'}: {_type_text(kind, depth - 1)}"
        for name, kind in hints.items()
    ]
    return f"{{{', '.join(fields)}}}"


def _format(annotation: Any) -> str:
    return inspect.formatannotation(annotation).replace("typing.", "")


def _public_functions(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in vars(module).items():
        if not name.startswith("_") and inspect.isfunction(value) and value.__module__ == module.__name__:
            yield name, value


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        signature = inspect.signature(function, eval_str=True)
    except Exception as error:  # noqa: BLE001 - evaluating an annotation can raise anything
        raise InvalidFunction(f"cannot evaluate annotations: {type(error).__name__}: {error}") from None
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise InvalidFunction(
                f"parameter {parameter.name!r} is positional-only; tools are called by keyword"
            )
    return signature


def _split_context(signature: inspect.Signature) -> tuple[str | None, inspect.Signature]:
    """Return the name of the context parameter and the signature without it and without `*args`."""
    context, remaining = None, []
    for parameter in signature.parameters.values():
        if parameter.name == "ctx" or parameter.annotation is Context:
            context = parameter.name
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            remaining.append(parameter)
    return context, signature.replace(parameters=remaining)


def _adapter(signature: inspect.Signature) -> TypeAdapter[dict[str, Any]]:
    def collect(**converted: Any) -> dict[str, Any]:
        return converted

    parameters = signature.parameters.values()
    collect.__signature__ = signature.replace(return_annotation=inspect.Signature.empty)  # type: ignore[attr-defined]
    collect.__annotations__ = {p.name: p.annotation for p in parameters if p.annotation is not p.empty}
    return TypeAdapter(collect)  # type: ignore[arg-type]


def _input_schema(signature: inspect.Signature, docs: Mapping[str, str]) -> dict[str, Any]:
    try:
        generated = _adapter(signature).json_schema()
    except (PydanticUserError, TypeError, ValueError) as error:
        raise InvalidFunction(
            f"a parameter has a type that JSON Schema cannot express: {str(error).partition(chr(10))[0]}"
        ) from None
    allows_extra = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    properties = _strip_titles_in_map(generated.get("properties", {}))
    for name, text in docs.items():
        if text and name in properties:
            properties[name].setdefault("description", text)
    schema = {"type": "object", "properties": properties, "required": generated.get("required", [])}
    if "$defs" in generated:
        schema["$defs"] = _strip_titles_in_map(generated["$defs"])
    return jsonable({**schema, "additionalProperties": allows_extra})  # type: ignore[no-any-return]


def _strip_titles_in_map(schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _strip_titles(schema) for name, schema in schemas.items()}


def _strip_titles(schema: Any) -> Any:
    """Remove the titles that pydantic derives from names: they cost tokens and add nothing."""
    if isinstance(schema, list):
        return [_strip_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    untitled = {key: value for key, value in schema.items() if key != "title"}
    maps = {key: _strip_titles_in_map(untitled[key]) for key in ("properties", "$defs") if key in untitled}
    verbatim = (*maps, "default", "enum", "const")
    rest = {key: _strip_titles(value) for key, value in untitled.items() if key not in verbatim}
    return {key: {**untitled, **rest, **maps}[key] for key in untitled}


def _is_plain(annotation: Any) -> bool:
    """Return whether a JSON value needs no conversion to the annotated type."""
    try:
        if annotation in PLAIN:
            return True
    except TypeError:  # unhashable
        return False
    origin = get_origin(annotation)
    return origin is Literal or (origin in PLAIN_ORIGINS and all(map(_is_plain, get_args(annotation))))
