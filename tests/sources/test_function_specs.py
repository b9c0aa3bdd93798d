"""Descriptions of functions."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from pydantic import Field

from onetool.sources.python_packs.function_specs import InvalidFunction, describe_function


def described(function) -> dict[str, Any]:
    return describe_function("f", function)


def properties(function) -> dict[str, Any]:
    return described(function)["input_schema"]["properties"]


def test_only_rich_types_need_conversion():

    def plain(a: str, b: int | None, c: list[dict[str, Any]], d: Literal["x"], e=None): ...

    def rich(a: Annotated[int, Field(ge=1)]): ...

    assert described(plain)["plain"]
    assert not described(rich)["plain"]
    assert properties(rich)["a"] == {"minimum": 1, "type": "integer"}


def test_parameter_named_title_stays():
    """Only the titles that pydantic generates are removed."""

    def f(title: str, nested: dict[str, int]): ...

    assert properties(f)["title"] == {"type": "string"}
    assert properties(f)["nested"] == {"additionalProperties": {"type": "integer"}, "type": "object"}


def test_default_that_is_not_json_is_accepted():

    def f(a: Any = b"x"): ...

    assert "a" in properties(f)


class Entry(TypedDict):
    path: str
    size: NotRequired[int]
    children: NotRequired["list[Entry]"]


class Unresolvable(TypedDict):
    path: "NoSuchType"  # noqa: F821 # type: ignore[name-defined]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (
            list[Entry],
            "list[{path: str, size?: int, "
            "children?: list[{path: str, size?: int, children?: list[test_function_specs.Entry]}]}]",
        ),
        (Unresolvable, "test_function_specs.Unresolvable"),
        (list[int], "list[int]"),
        (list, "list"),
        (dict[str, Any], "dict[str, Any]"),
        (Any, ""),
    ],
)
def test_return_type_shows_the_fields_of_a_typed_dict(annotation, expected):
    def f(): ...

    f.__annotations__ = {"return": annotation}
    text = described(f)["return_type"].replace(f"{__name__}.", "test_function_specs.")
    assert text == expected


class WithoutSchema:
    pass


def test_unsupported_annotations_are_rejected():
    """A class without a schema, and an annotation that does not exist."""

    def unsupported(a: WithoutSchema): ...

    def missing(a: "NoSuchName"): ...  # noqa: F821

    with pytest.raises(InvalidFunction, match="JSON Schema cannot express"):
        described(unsupported)
    with pytest.raises(InvalidFunction, match="cannot evaluate annotations"):
        described(missing)


def test_unhashable_annotations_are_accepted():
    def f(a: Annotated[str, {"note": []}]): ...

    assert described(f)["input_schema"]["properties"]["a"] == {"type": "string"}
