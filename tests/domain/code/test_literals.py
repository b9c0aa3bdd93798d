"""Literals that become parameters: which ones are offered, and that programs keep their meaning."""

import ast

import pytest

from onetool.domain.code.literal_parameters import InvalidParameter, NewParameter, make_parameters
from onetool.domain.code.literals import find_literals
from onetool.domain.code.program import InvalidProgram
from sandbox.breakout_programs import CORPUS

PROGRAM = '''"""A docstring."""
city = "Paris"
days = -3
page = web.fetch(url="https://é.example/" + city, headers={"Accept": "json", "n": [1, 2]}, fast=True)
label = f"{page['title']} {5}"
first = page["items"][0].get("name", "unnamed")
", ".join(["Paris", "Rome"])
def near(place: "str" = "Oslo") -> "bool":
    "Another docstring."
    return place if place=="Paris"else None
match city:
    case "Berlin":
        pass
near()'''


class Restored(ast.NodeTransformer):
    """Replaces a name by a value."""

    def __init__(self, name, node):
        self.name, self.node = name, node

    def visit_Name(self, node):
        return self.node if node.id == self.name else node


def test_values_are_offered_but_not_texts_that_must_stay():
    """Not docstrings, parts of f-strings, keys, annotations, patterns, or texts with a method."""
    assert [(item.line, item.text, item.type, item.suggested_name) for item in find_literals(PROGRAM)] == [
        (2, '"Paris"', "string", "city"),
        (3, "-3", "integer", "days"),
        (4, '"https://é.example/"', "string", "text"),
        (4, '{"Accept": "json", "n": [1, 2]}', "object", "headers"),
        (4, '"json"', "string", "Accept"),
        (4, "[1, 2]", "array", "n"),
        (4, "1", "integer", "number"),
        (4, "2", "integer", "number_2"),
        (4, "True", "boolean", "fast"),
        (6, '"unnamed"', "string", "text_2"),
        (7, '["Paris", "Rome"]', "array", "items"),
        (7, '"Paris"', "string", "text_3"),
        (7, '"Rome"', "string", "text_4"),
        (8, '"Oslo"', "string", "text_5"),
        (10, '"Paris"', "string", "text_3"),
    ]


def programs():
    yield pytest.param(PROGRAM, id="program")
    for kind in ("files", "processes", "imports"):
        yield from (pytest.param(code, id=name) for name, code in CORPUS[kind].items())


@pytest.mark.parametrize("code", list(programs()))
def test_program_with_a_parameter_differs_only_in_that_place(code):
    try:
        literals = find_literals(code)
    except InvalidProgram:
        return
    for literal in literals:
        program, schema = make_parameters(code, [NewParameter(literal.index, "new_name")])
        restored = Restored("new_name", literal.node).visit(ast.parse(program))
        assert ast.dump(restored) == ast.dump(ast.parse(code))
        assert schema["properties"]["new_name"]["default"] == literal.value


def test_assignment_of_a_parameter_is_removed():
    program, schema = make_parameters('city = "Paris"\nnear(city)', [NewParameter(0, "city", "Where.")])
    assert program == "near(city)"
    assert schema == {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "Where.", "default": "Paris"}},
        "additionalProperties": False,
    }
    assert (
        make_parameters('a = 1; city = "x"\ncity', [NewParameter(1, "city")])[0] == "a = 1; city = city\ncity"
    )
    assert make_parameters('city = "x"', [NewParameter(0, "city")])[0] == "city = city"
    for code in ('city = (\n"x"\n)\ncity', 'city = \\\n"x"\ncity', 'a = 1; \\\ncity = "x"\nif a:\n    city'):
        index = 1 if code.startswith("a") else 0
        changed = make_parameters(code, [NewParameter(index, "city")])[0]
        assert changed == code.replace('"x"', "city")


def test_equal_values_share_a_parameter_and_others_do_not():
    same = [NewParameter(0, "x"), NewParameter(1, "x")]
    assert make_parameters("[f(1), f(1)]", same)[0] == "[f(x), f(x)]"
    for code in ("[f(1), f(2)]", "[f(1), f(True)]", "[f(1), f(1.0)]"):
        with pytest.raises(InvalidParameter, match="is the name of another value"):
            make_parameters(code, same)


def test_parts_of_each_other_cannot_both_be_parameters():
    with pytest.raises(InvalidParameter, match="are parts of each other"):
        make_parameters("f([1, 2])", [NewParameter(0, "a"), NewParameter(1, "b")])


def test_values_that_json_does_not_have_are_not_offered():
    code = "f(None, b'x', 1j, ..., 99999999999999999999, 1e999, {3: 'a'}, (2,))"
    assert [item.value for item in find_literals(code)] == ["a", 2]


def test_items_of_a_long_list_are_not_offered_one_by_one():
    numbers = list(range(30))
    assert [item.value for item in find_literals(f"f({numbers}, 'x')")] == [numbers, "x"]
