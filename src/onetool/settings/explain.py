"""Say in plain words, with file, line and key, what is wrong with a settings file."""

from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from onetool.domain.nearest import nearest

from .schema import Settings
from .yaml_file import Document, KeyPath

PRIVATE = frozenset({"env", "headers"})
"""Maps whose values may be secrets and are never repeated."""
PLAIN = {"model_type": "should be a map", "dict_type": "should be a map", "list_type": "should be a list"}


def explain(document: Document, error: ValidationError) -> str:
    """One line for each problem: `file:line: key.path: what is wrong, and what would be right`."""
    return "\n".join(_line(document, problem) for problem in error.errors(include_url=False))


def _line(document: Document, problem: ErrorDetails) -> str:
    path = tuple(part for part in problem["loc"] if part != "[key]")
    place, key = document.place(path), ".".join(map(str, path))
    if problem["type"] == "extra_forbidden":
        return f"{place}: unknown key {key!r}. {_meant(path)}"
    value = "" if PRIVATE & set(map(str, path)) else f", not {_short(problem['input'])}"
    message = PLAIN.get(problem["type"], problem["msg"].removeprefix("Value error, "))
    return f"{place}: {key}: {message[:1].lower()}{message[1:]}{value}."


def _meant(path: KeyPath) -> str:
    *parents, name = path
    model: Any = Settings
    for part in parents:
        is_model = isinstance(model, type) and issubclass(model, BaseModel)
        model = model.model_fields[str(part)].annotation if is_model else get_args(model)[-1]
    known = list(model.model_fields)
    found = nearest(str(name), known)
    if not found:
        return f"Valid: {', '.join(known)}."
    return f"Did you mean {' or '.join('.'.join(map(str, [*parents, one])) for one in found)}?"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
