"""Snippets: values never become code."""

import ast
from datetime import date

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from onetool.catalog.snippets import _Expansion, describe_snippet, expand_snippet
from onetool.domain.code.program import InvalidProgram
from onetool.settings.schema import Snippet, SnippetParam
from onetool.testing import memory_runtime
from support.hypothesis_schemas import json_values

PARAMS = {
    "topic": SnippetParam(),
    "n": SnippetParam(default=3),
    "word": SnippetParam(type="str", required=False),
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
    """Return the syntax tree without its constants. Python represents a negative one as an operation."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = 0
    return ast.dump(tree).replace("UnaryOp(op=USub(), operand=Constant(value=0))", "Constant(value=0)")


EXPECTED = shape("found = []\nfor i in range(1):\n    found.append(brave.search(query='', note=''))\nfound")


def test_values_and_defaults():
    """Numbers are parsed, quoted values may contain spaces, missing values get their default."""
    code = expand_snippet('$search topic="it\'s new" word=5', SNIPPETS)
    assert "range(3)" in code
    assert '''query="it's new"''' in code
    assert '''note="about it's new: 5"''' in code
    assert "range(7)" in expand_snippet("$search topic=x n=7", SNIPPETS)
    assert "query=True" in expand_snippet("$search topic=true", SNIPPETS)
    assert "query=False" in expand_snippet("$search topic=False", SNIPPETS)
    assert "query=None" in expand_snippet("$search topic=null", SNIPPETS)
    assert "query=1.5" in expand_snippet("$search topic=1.5", SNIPPETS)
    assert expand_snippet("1 + 1", SNIPPETS) == "1 + 1"


@pytest.mark.parametrize(
    ("param", "is_required"),
    [
        (SnippetParam(), True),
        (SnippetParam(default="x"), False),
        (SnippetParam(required=False), False),
        (SnippetParam(default="x", required=True), True),
    ],
)
def test_parameter_without_a_default_is_required_unless_it_says_otherwise(param, is_required):
    """An optional one without a default is None, and empty inside a text; never the text `None`."""
    snippets = {"s": Snippet(body="[{{ p }}, 'about {{ p }}']", params={"p": param})}
    if is_required:
        with pytest.raises(InvalidProgram, match=r"\$s requires p"):
            expand_snippet("$s", snippets)
    else:
        value = param.default
        assert ast.literal_eval(expand_snippet("$s", snippets)) == [value, f"about {value or ''}"]
    assert ast.literal_eval(expand_snippet("$s p=y", snippets)) == ["y", "about y"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("$serch topic=x", "unknown snippet $serch. Did you mean search?"),
        ("$search", "$search requires topic"),
        ("$search topic=x m=1", "has no parameter 'm'. Valid: topic, n, word."),
        ("$search topc=x", "Did you mean topic?"),
        ("$search x", "as key=value, not 'x'"),
        ('$search topic="x', "cannot parse the values"),
    ],
)
def test_usage_errors(command, message):
    with pytest.raises(InvalidProgram) as caught:
        expand_snippet(command, SNIPPETS)
    assert message in str(caught.value)


@pytest.mark.guards("model-snippets")
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
def test_value_in_the_place_of_a_name_is_rejected(body):
    with pytest.raises(InvalidProgram, match="where only code is allowed"):
        expand_snippet("$s topic=x", {"s": Snippet(body=body, params=PARAMS)})


@pytest.mark.parametrize(
    ("body", "message"),
    [("1 +", "valid Python"), ("{{ nothing }}", "cannot render"), ("{% for %}", "cannot render")],
)
def test_invalid_template(body, message):
    with pytest.raises(InvalidProgram, match=message):
        expand_snippet("$s", {"s": Snippet(body=body)})


HOSTILE_TEXT = st.text() | st.sampled_from(
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


@pytest.mark.guards("model-snippets")
@given(topic=HOSTILE_TEXT | json_values(), n=HOSTILE_TEXT | json_values(), word=HOSTILE_TEXT)
def test_program_structure_does_not_depend_on_the_values(topic, n, word):
    code = _Expansion("search", SEARCH).expand({"topic": topic, "n": n, "word": word})
    are_scalars = all(not isinstance(value, list | dict) for value in (topic, n))
    numbers = [
        value for value in (topic, n) if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if are_scalars and all(value >= 0 and value < float("inf") for value in numbers):
        assert shape(code) == EXPECTED
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    assert len(calls) == 3


async def test_snippet_can_be_run():
    settings = {"snippets": {"twice": {"body": "tools.echo(message={{ x }}) * 2", "params": {"x": {}}}}}
    async with memory_runtime(settings=settings) as ot:
        assert (await ot.run("$twice x=4")).data == 8
        assert (await ot.run("$twice x='a b'")).data == "a ba b"
        assert "Did you mean twice?" in (await ot.run("$twic x=4")).error.message


def test_values_become_literals():
    """Values without a JSON form become text."""
    body = Snippet(body="f({{ a }}, {{ b }}, {{ c }}, {{ d }})")
    code = _Expansion("s", body).expand(
        {"a": [1, None], "b": {"k": True}, "c": date(2024, 1, 2), "d": float("inf")}
    )
    assert code == "f([1, None], {'k': True}, '2024-01-02', 'inf')"


def test_constants_of_the_template_are_unchanged():
    assert expand_snippet("$s", {"s": Snippet(body="x = 5\n'five'")}) == "x = 5\n'five'"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = 1\n\nb = 2\n", "body: |\n  a = 1\n\n  b = 2\n\n#"),
        ("  indented", "body: |2\n    indented\n\n#"),
        ("a\tb", 'body: "a\\tb"\n\n#'),
        ("{{ missing }}", "# Expands to:\n# line 1: cannot render $s: 'missing' is undefined"),
    ],
)
def test_description_of_a_snippet(body, expected):
    """The first part is YAML. For an invalid template the error is shown instead of the expansion."""
    text = describe_snippet("s", Snippet(body=body))
    assert expected in text
    definition = yaml.safe_load(text.partition("\n\n# Example")[0])
    assert (
        definition == {"name": "s", "description": "", "params": {}, "body": body.strip("\n")}
        or "\n\n" in body
    )
