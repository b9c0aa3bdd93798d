"""Limits of the code that `run` accepts."""

import pytest

from onetool.domain.code.program import MAX_F_STRINGS, MAX_NODES, InvalidProgram, parse_program


def test_number_of_values_is_limited():
    """The nodes of `[1,1]` are the module, the statement, the list, its context and its items."""
    items = MAX_NODES - 4
    assert parse_program(f"[{'1,' * items}]", ()).names == set()
    with pytest.raises(InvalidProgram, match="more than 50,000 values, names and operators"):
        parse_program(f"[{'1,' * (items + 1)}]", ())


def test_number_of_f_strings_is_limited():
    """Converting their values takes time."""
    assert parse_program("f'{x}';" * MAX_F_STRINGS, ()).names == {"x", "onetool_str"}
    with pytest.raises(InvalidProgram, match="more than 500 f-strings"):
        parse_program("f'{x}';" * (MAX_F_STRINGS + 1), ())


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("-" * 90_000 + "1", "the code is not valid Python"),
        ("x" + ".y" * 3_000, "the code is nested too deeply"),
    ],
)
def test_deeply_nested_code_is_rejected(code, message):
    """Python's parser gives up in two ways."""
    with pytest.raises(InvalidProgram, match=message):
        parse_program(code, ())
