"""Turn the functions of a module into descriptions of tools: plain JSON that a child process can print."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from onetool.domain.invocation import Context
from onetool.domain.json_text import jsonable
from onetool.domain.requirement import REQUIREMENTS
from onetool.domain.tool import DECLARATION, Declaration

from .description import Description
from .docstring import parse_docstring

PLAIN = frozenset({str, int, float, bool, dict, list, NoneType, Any, inspect.Parameter.empty})
PLAIN_ORIGINS = frozenset({list, dict, Union, UnionType, Literal})


class Refused(Exception):
    """A public function that cannot be a tool, and why."""


def describe_module(module: ModuleType, default_pack: str) -> Description:
    """Describe every public function that the module itself defines."""
    pack = getattr(module, "pack", default_pack)
    if not isinstance(pack, str) or not pack.isidentifier():
        raise Refused(f"pack = {pack!r} is not a name; a pack is called like a Python variable")
    tools: list[dict[str, Any]] = []
    refused: list[str] = []
    for name, function in _public_functions(module):
        try:
            tools.append(describe_function(name, function))
        except Refused as error:
            refused.append(f"{pack}.{name}: {error}")
    return Description(pack, tools, refused)


def describe_function(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Describe one function.

    Raises Refused when it cannot be called by keyword with JSON values.
    """
    if inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function):
        raise Refused("a generator cannot be a tool; return a list")
    signature = _signature(function)
    context, signature = _without_context(signature)
    doc = parse_docstring(function.__doc__)
    declaration = getattr(function, DECLARATION, Declaration())
    return {
        "name": name,
        "description": doc.description,
        "input_schema": _input_schema(signature, doc.args),
        "returns": doc.returns,
        "return_type": _return_type(signature.return_annotation),
        "example": doc.example,
        "declaration": asdict(declaration),
        "requires": [asdict(one) for one in getattr(function, REQUIREMENTS, ())],
        "context": context,
        "plain": all(_is_plain(parameter.annotation) for parameter in signature.parameters.values()),
    }


def argument_adapter(function: Callable[..., Any]) -> TypeAdapter[dict[str, Any]]:
    """Return what turns JSON arguments into the types that the function's parameters are annotated with."""
    _, signature = _without_context(_signature(function))
    return _adapter(signature)


def _return_type(annotation: Any) -> str:
    if annotation in (inspect.Signature.empty, Any):
        return ""
    return inspect.formatannotation(annotation).replace("typing.", "")


def _public_functions(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, value in vars(module).items():
        if not name.startswith("_") and inspect.isfunction(value) and value.__module__ == module.__name__:
            yield name, value


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        signature = inspect.signature(function, eval_str=True)
    except Exception as error:  # noqa: BLE001 - an annotation is code that may raise anything
        raise Refused(f"its annotations cannot be read: {type(error).__name__}: {error}") from None
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise Refused(f"parameter {parameter.name!r} is positional-only; tools are called by keyword")
    return signature


def _without_context(signature: inspect.Signature) -> tuple[str | None, inspect.Signature]:
    context, kept = None, []
    for parameter in signature.parameters.values():
        if parameter.name == "ctx" or parameter.annotation is Context:
            context = parameter.name
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            kept.append(parameter)
    return context, signature.replace(parameters=kept)


def _adapter(signature: inspect.Signature) -> TypeAdapter[dict[str, Any]]:
    def take(**converted: Any) -> dict[str, Any]:
        return converted

    parameters = signature.parameters.values()
    take.__signature__ = signature.replace(return_annotation=inspect.Signature.empty)  # type: ignore[attr-defined]
    take.__annotations__ = {p.name: p.annotation for p in parameters if p.annotation is not p.empty}
    return TypeAdapter(take)  # type: ignore[arg-type]


def _input_schema(signature: inspect.Signature, docs: Mapping[str, str]) -> dict[str, Any]:
    try:
        generated = _adapter(signature).json_schema()
    except (PydanticUserError, TypeError, ValueError) as error:
        raise Refused(
            f"a parameter has a type that JSON cannot express: {str(error).partition(chr(10))[0]}"
        ) from None
    open_ended = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    properties = _untitled_map(generated.get("properties", {}))
    for name, text in docs.items():
        if text and name in properties:
            properties[name].setdefault("description", text)
    schema = {"type": "object", "properties": properties, "required": generated.get("required", [])}
    if "$defs" in generated:
        schema["$defs"] = _untitled_map(generated["$defs"])
    return jsonable({**schema, "additionalProperties": open_ended})  # type: ignore[no-any-return]


def _untitled_map(schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _untitled(schema) for name, schema in schemas.items()}


def _untitled(schema: Any) -> Any:
    """Drop the titles that pydantic makes of names: a model reads every word of a schema."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key != "title"}
    maps = {key: _untitled_map(kept[key]) for key in ("properties", "$defs") if key in kept}
    rest = {
        key: _untitled(value) for key, value in kept.items() if key not in (*maps, "default", "enum", "const")
    }
    return {key: {**kept, **rest, **maps}[key] for key in kept}


def _is_plain(annotation: Any) -> bool:
    """Whether JSON's own value is already what the annotation asks for."""
    try:
        if annotation in PLAIN:
            return True
    except TypeError:  # unhashable
        return False
    origin = get_origin(annotation)
    return origin is Literal or (origin in PLAIN_ORIGINS and all(map(_is_plain, get_args(annotation))))
