"""Functions become descriptions."""

import sys
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from onetool.sources.python_packs.describe import Refused, describe_function, describe_module


def described(function) -> dict[str, Any]:
    return describe_function("f", function)


def properties(function) -> dict[str, Any]:
    return described(function)["input_schema"]["properties"]


def test_plain_types_need_no_conversion():
    """JSON's own values arrive as they are; anything else is converted."""

    def plain(a: str, b: int | None, c: list[dict[str, Any]], d: Literal["x"], e=None): ...

    def rich(a: Annotated[int, Field(ge=1)]): ...

    assert described(plain)["plain"]
    assert not described(rich)["plain"]
    assert properties(rich)["a"] == {"minimum": 1, "type": "integer"}


def test_a_property_called_title_stays():
    """Only the titles that are made of names are dropped."""

    def f(title: str, nested: dict[str, int]): ...

    assert properties(f)["title"] == {"type": "string"}
    assert properties(f)["nested"] == {"additionalProperties": {"type": "integer"}, "type": "object"}


def test_a_default_that_is_not_json_is_written_as_text():
    """Sets and dates in defaults do not break the schema."""

    def f(a: Any = b"x"): ...

    assert "a" in properties(f)


class Strange:
    pass


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (eval("lambda a, /: a"), "positional-only"),
        (eval("lambda: (yield)"), "a generator cannot be a tool"),
    ],
)
def test_what_cannot_be_called_by_keyword_is_refused(function, said):
    """Each refusal says why."""
    with pytest.raises(Refused, match=said):
        described(function)


def test_types_that_json_cannot_express_are_refused():
    """A class without a schema, and an annotation that does not exist."""

    def strange(a: Strange): ...

    def missing(a: "NoSuchName"): ...  # noqa: F821

    with pytest.raises(Refused, match="JSON cannot express"):
        described(strange)
    with pytest.raises(Refused, match="annotations cannot be read"):
        described(missing)


def test_a_module_is_described_without_what_it_imported():
    """Only functions that the file itself defines count; refused ones are named."""
    module = ModuleType("mine")
    sys.modules["mine"] = module
    exec(
        "from json import dumps\ndef f(a, /): ...\ndef g(*args, n: int = 1): ...\nasync def h(): ...",
        vars(module),
    )
    found = describe_module(module, "file_name")
    del sys.modules["mine"]
    assert (found.pack, [tool["name"] for tool in found.tools]) == ("file_name", ["g", "h"])
    assert found.refused == ["file_name.f: parameter 'a' is positional-only; tools are called by keyword"]
    module.pack = "two words"
    with pytest.raises(Refused, match="is not a name"):
        describe_module(module, "x")


def test_unhashable_annotations_are_fine():
    """An annotation may be anything."""

    def f(a: Annotated[str, {"note": []}]): ...

    assert described(f)["input_schema"]["properties"]["a"] == {"type": "string"}
