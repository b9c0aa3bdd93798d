"""Replacement of `str` and f-strings in code by a function of the sandbox."""

import ast

import pytest

from onetool.domain.code.program import parse_program


def replaced(code: str) -> str:
    return parse_program(code, set()).source


@pytest.mark.parametrize(
    ("code", "source"),
    [
        ("str(x)", "onetool_str(x)"),
        ("y = str(str(x))", "y = onetool_str(onetool_str(x))"),
        ("f'{x}'", "(f'{onetool_str(x)}')"),
        ("f'{x!s}'", "(f'{onetool_str(x)}')"),
        ("f'a {str(x)!r} {y}'", "(f'a {onetool_str(x)!r} {onetool_str(y)}')"),
        ("'é', f'{x}', str(x)", "'é', (f'{onetool_str(x)}'), onetool_str(x)"),
        ("f'{len(x)}'", "(f'{onetool_str(len(x))}')"),
        ("f'{x:>{w}}'", "(f'{x:>{onetool_str(w)}}')"),
        ("'a' f'{x}'", "(f'a{onetool_str(x)}')"),
        ("f'''{x}\n'''\ny", "(f'{onetool_str(x)}\\n'\n)\ny"),
    ],
)
def test_str_and_f_strings_call_the_function_of_the_sandbox(code, source):
    assert replaced(code) == source


@pytest.mark.parametrize(
    "code",
    [
        "str",
        "str()",
        "str(*x)",
        "str(b'x', 'utf-8')",
        "str(object=x)",
        "isinstance(x, str)",
        "text.str(x)",
        "str = repr\nstr(x)",
        "def str(x): ...\nstr(x)",
        "lambda str: str(x)",
        "import y as str\nstr(x)",
        "(f'{x!r} {y:>3} {z!a}')",
        "f(str=1)",
    ],
)
def test_other_code_is_unchanged(code):
    """In particular code that gives `str` another meaning."""
    assert replaced(code) == code


def test_keyword_argument_named_str_does_not_change_the_meaning_of_str():
    assert replaced("f(str=1)\nstr(x)") == "f(str=1)\nonetool_str(x)"


def test_f_string_that_cannot_be_written_otherwise_keeps_its_meaning():
    """Python 3.11 allows no backslash in the braces, so a control character there cannot be escaped."""
    source = replaced("f\"{d['\x01']}\"\nstr(x)")
    (value,) = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Subscript)]
    assert ast.literal_eval(value.slice) == "\x01"
    assert source.endswith("\nonetool_str(x)")


def test_lines_keep_their_numbers():
    code = 'a = f"""{x}\n\n{y}"""; b = f"{a}"\nc = str(\n  a)\nd'
    tree = ast.parse(replaced(code))
    assert [node.lineno for node in tree.body] == [1, 3, 4, 6]
