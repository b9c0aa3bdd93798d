"""Snippets: a value stays a value, whatever it holds."""

import ast
from datetime import date

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hypothesis_schemas import json_values
from onetool.catalog.snippets import _Rendering, expand_snippet, show_snippet
from onetool.domain.program import InvalidProgram
from onetool.settings.schema import Snippet, SnippetParam
from onetool.testing import memory_runtime

PARAMS = {
    "topic": SnippetParam(required=True),
    "n": SnippetParam(default=3),
    "word": SnippetParam(type="str"),
}
SEARCH = Snippet(
    body=(
        "found = []\n"
        "for i in range({{ n }}):\n"
        "    found.append(brave.search(query={{ topic }}, note='about {{ topic }}: {{ word }}'))\n"
        "found"
    ),
    params=PARAMS,
)
SNIPPETS = {"search": SEARCH}


def shape(code: str) -> str:
    """The program without its constants; Python writes a negative one as an operation."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = 0
    return ast.dump(tree).replace("UnaryOp(op=USub(), operand=Constant(value=0))", "Constant(value=0)")


EXPECTED = shape("found = []\nfor i in range(1):\n    found.append(brave.search(query='', note=''))\nfound")


def test_values_and_defaults():
    """Numbers are numbers, quoted values may hold blanks, what is not given has its default."""
    code = expand_snippet('$search topic="it\'s new" word=5', SNIPPETS)
    assert "range(3)" in code
    assert '''query="it's new"''' in code
    assert '''note="about it's new: 5"''' in code
    assert "range(7)" in expand_snippet("$search topic=x n=7", SNIPPETS)
    assert "query=True" in expand_snippet("$search topic=true", SNIPPETS)
    assert "query=1.5" in expand_snippet("$search topic=1.5", SNIPPETS)
    assert expand_snippet("1 + 1", SNIPPETS) == "1 + 1"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("$serch topic=x", "unknown snippet $serch. Did you mean search?"),
        ("$search", "$search needs topic"),
        ("$search topic=x m=1", "has no parameter 'm'. Valid: topic, n, word."),
        ("$search topc=x", "Did you mean topic?"),
        ("$search x", "written key=value, not 'x'"),
        ('$search topic="x', "cannot be read"),
    ],
)
def test_mistakes_are_named(command, said):
    """What is wrong, and what would be right."""
    with pytest.raises(InvalidProgram) as caught:
        expand_snippet(command, SNIPPETS)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        "brave.{{ topic }}()",
        "{{ topic }} = 1",
        "brave.search({{ topic }}=1)",
        "def {{ topic }}(): ...",
        "import {{ topic }}",
    ],
)
def test_a_value_never_names_anything(body):
    """Where only code may stand a value is refused."""
    with pytest.raises(InvalidProgram, match="where only code may stand"):
        expand_snippet("$s topic=x", {"s": Snippet(body=body, params=PARAMS)})


@pytest.mark.parametrize(
    ("body", "said"),
    [("1 +", "valid Python"), ("{{ nothing }}", "cannot be filled in"), ("{% for %}", "cannot be filled in")],
)
def test_a_broken_snippet_says_so(body, said):
    """The author of the snippet learns what is wrong."""
    with pytest.raises(InvalidProgram, match=said):
        expand_snippet("$s", {"s": Snippet(body=body)})


NASTY = st.text() | st.sampled_from(
    [
        "'",
        '"',
        "\\",
        "\n",
        "'''",
        '"""',
        "{{ 1 }}",
        "{% raw %}",
        "') or exec('x",
        "#",
        "\\x27",
        "){",
        "f'{x}'",
        "\0",
    ]
)


@given(topic=NASTY | json_values(), n=NASTY | json_values(), word=NASTY)
def test_the_program_always_has_the_same_shape(topic, n, word):
    """Quotes, newlines, braces, backslashes, code: whatever the values, the program is the same."""
    code = _Rendering("search", SEARCH).code({"topic": topic, "n": n, "word": word})
    simple = all(not isinstance(value, list | dict) for value in (topic, n))
    numbers = [
        value for value in (topic, n) if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if simple and all(value >= 0 and value < float("inf") for value in numbers):
        assert shape(code) == EXPECTED
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    assert len(calls) == 3


async def test_a_snippet_runs_like_code():
    """`$name key=value` through `run`."""
    settings = {"snippets": {"twice": {"body": "tools.echo(message={{ x }}) * 2", "params": {"x": {}}}}}
    async with memory_runtime(settings=settings) as ot:
        assert (await ot.run("$twice x=4")).data == 8
        assert (await ot.run("$twice x='a b'")).data == "a ba b"
        assert "Did you mean twice?" in (await ot.run("$twic x=4")).error.message


def test_values_of_every_kind_become_what_they_are():
    """Lists and maps as such, what JSON lacks as text."""
    body = Snippet(body="f({{ a }}, {{ b }}, {{ c }}, {{ d }})")
    code = _Rendering("s", body).code(
        {"a": [1, None], "b": {"k": True}, "c": date(2024, 1, 2), "d": float("inf")}
    )
    assert code == "f([1, None], {'k': True}, '2024-01-02', 'inf')"


def test_numbers_in_the_snippet_itself_stay():
    """Only texts are searched for values."""
    assert expand_snippet("$s", {"s": Snippet(body="x = 5\n'five'")}) == "x = 5\n'five'"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("a = 1\n\nb = 2\n", "body: |\n  a = 1\n\n  b = 2\n\n#"),
        ("  indented", "body: |2\n    indented\n\n#"),
        ("a\tb", 'body: "a\\tb"\n\n#'),
        ("{{ missing }}", "# Expands to:\n# line 1: $s cannot be filled in: 'missing' is undefined"),
    ],
)
def test_a_snippet_can_be_read_whatever_its_body(body, shown):
    """The head is YAML; a template that cannot be filled in says why."""
    text = show_snippet("s", Snippet(body=body))
    assert shown in text
    head = yaml.safe_load(text.partition("\n\n# Example")[0])
    assert head == {"name": "s", "description": "", "params": {}, "body": body.strip("\n")} or "\n\n" in body
