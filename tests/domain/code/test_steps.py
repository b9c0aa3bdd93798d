"""Steps become programs that do exactly what the steps say, whatever their names and values are."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.code.steps import Fixed, InvalidStep, Reference, RunCondition, Step, write_program
from onetool.domain.text.json_text import is_json
from support.hypothesis_schemas import json_values


class Recorder:
    """A pack whose function returns its next result and records its arguments."""

    def __init__(self, *results):
        self.results, self.calls = list(results), []

    def call(self, **args):
        self.calls.append(args)
        return self.results.pop(0)


def run(program, recorder, **args):
    """Run a program as plain Python. Return the value of its last line."""
    *lines, last = program.rstrip("\n").split("\n")
    variables = {"p": recorder, **args}
    exec("\n".join(lines), variables)
    return eval(last, variables)


def test_program_is_plain_python():
    steps = [
        Step("weather", "web.fetch", {"url": Reference("args.city"), "limit": Fixed(3)}),
        Step(
            "sent",
            "mail.send",
            {"text": Reference("weather.items[0].name"), "x-id": Fixed("a'b")},
            RunCondition(Reference("weather.alert"), "present"),
        ),
    ]
    assert write_program(steps, ["city"], Reference("sent.id")) == (
        "weather = web.fetch(url=city, limit=3)\n"
        "sent = None\n"
        "try:\n"
        "    sent_when = weather['alert']\n"
        "except (KeyError, IndexError, TypeError):\n"
        "    sent_when = None\n"
        "if sent_when not in (None, '', [], {}):\n"
        "    sent = mail.send(text=weather['items'][0]['name'], **{'x-id': \"a'b\"})\n"
        "sent['id']\n"
    )


@given(json_values().filter(is_json))
def test_values_are_passed_unchanged(value):
    recorder = Recorder(None)
    run(write_program([Step("a", "p.call", {"x": Fixed(value), "y z": Fixed(value)})], []), recorder)
    assert recorder.calls == [{"x": value, "y z": value}]


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_no_text_becomes_code(name, tool, argument, path):
    """A text is refused, or the program has the same form as with any other text."""
    step = Step(name, tool, {argument: Reference(path)})
    try:
        tree = ast.parse(write_program([step], ["city"]))
    except InvalidStep:
        return
    assign, result = tree.body
    assert isinstance(assign, ast.Assign)
    assert isinstance(assign.value, ast.Call)
    assert isinstance(result, ast.Expr)
    assert isinstance(result.value, ast.Name)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert names <= {name, tool.partition(".")[0], "city"}


@pytest.mark.parametrize("value", [None, "", [], {}, 0, False, "x", [1], {"a": 1}])
def test_conditions_run_or_skip_a_step(value):
    """0 and false are values. A missing field is empty, and a skipped step is None."""
    is_empty = value in (None, "", [], {}) and value is not False and value != 0
    for result in ({"field": value}, {} if value is None else {"field": value}):
        for check, runs in (("present", not is_empty), ("empty", is_empty)):
            when = RunCondition(Reference("a.field"), check)
            recorder = Recorder(result, "ran")
            program = write_program([Step("a", "p.call", {}), Step("b", "p.call", {}, when)], [])
            assert run(program, recorder) == ("ran" if runs else None)
    for check, runs in (("equals", True), ("not_equals", False)):
        program = write_program(
            [Step("b", "p.call", {}, RunCondition(Reference("args.x"), check, value))], ["x"]
        )
        assert run(program, Recorder("ran"), x=value) == ("ran" if runs else None)


def test_condition_on_a_skipped_step_does_not_fail():
    steps = [
        Step("a", "p.call", {}, RunCondition(Reference("args.x"), "present")),
        Step("b", "p.call", {}, RunCondition(Reference("a.field.more"), "present")),
    ]
    assert run(write_program(steps, ["x"]), Recorder(), x=None) is None


@pytest.mark.parametrize(
    ("path", "result"),
    [
        ("args.f.name", {}),
        ("a.data.x", {"data": None}),
        ("a.data.x", {"data": "text"}),
        ("a.data.x", None),
        ("a.items[0]", {"items": []}),
        ("a.missing[0].x", {}),
        ("a[0]", {}),
    ],
)
def test_path_that_leads_nowhere_is_empty(path, result):
    for check, runs in (("present", False), ("empty", True), ("not_equals", True), ("equals", False)):
        steps = [Step("a", "p.call", {}), Step("b", "p.call", {}, RunCondition(Reference(path), check, "x"))]
        assert run(write_program(steps, ["f"]), Recorder(result, "ran"), f=None) == ("ran" if runs else None)


@pytest.mark.parametrize(("value", "other"), [(True, 1), (False, 0), (1, True), (0, False), (1.0, True)])
def test_true_is_not_one(value, other):
    for check, runs in (("equals", False), ("not_equals", True)):
        step = Step("b", "p.call", {}, RunCondition(Reference("args.x"), check, value))
        assert run(write_program([step], ["x"]), Recorder("ran"), x=other) == ("ran" if runs else None)


def test_tested_value_has_a_name_of_its_own():
    steps = [
        Step("a", "p.call", {}),
        Step("b", "p.call", {}, RunCondition(Reference("a.x"), "present")),
        Step("b_when", "p.call", {"x": Reference("args.b_when_2")}),
    ]
    program = write_program(steps, ["b_when_2"])
    assert "b_when_3 = a['x']" in program


FIRST = Step("first", "p.call", {})


@pytest.mark.parametrize(
    ("steps", "path", "message"),
    [
        ([], "", "there are no steps"),
        ([FIRST, FIRST], "1.name", "'first' is the name of an earlier step too"),
        ([Step("city", "p.call", {})], "0.name", "'city' is the name of an argument too"),
        ([Step("p", "p.call", {})], "0.name", "'p' is the name of a pack that the steps use"),
        ([Step("args", "p.call", {})], "0.name", "'args' is the name of the arguments"),
        ([Step("KeyError", "p.call", {})], "0.name", "the name of an error of Python"),
        ([Step("a b", "p.call", {})], "0.name", "not a Python name"),
        ([Step("for", "p.call", {})], "0.name", "a word of the Python language"),
        ([Step("a", "call", {})], "0.tool", "'call' is not the name of a tool"),
        ([Step("a", "p.call@1", {})], "0.tool", "'p.call@1' is not the name of a tool"),
        ([Step("a", "city.call", {})], "0.tool", "'city' is an argument, so city.call cannot be called"),
        ([Step("a", "p.call", {"x": Reference("args.ctiy")})], "0.args.x.from", "Did you mean city?"),
        ([Step("a", "p.call", {"x": Reference("args")})], "0.args.x.from", "an argument is missing"),
        ([Step("a", "p.call", {"x": Reference("a")})], "0.args.x.from", "step 'a' does not come before"),
        ([Step("a", "p.call", {"x": Reference("b.c")})], "0.args.x.from", "there is no step 'b'"),
        ([FIRST, Step("a", "p.call", {"x": Reference("first[x]")})], "1.args.x.from", "not a path"),
        (
            [Step("a", "p.call", {}, RunCondition(Reference("args.x()"), "empty"))],
            "0.when.from",
            "'args.x()' is not a path",
        ),
    ],
)
def test_wrong_step_is_refused_with_its_field(steps, path, message):
    with pytest.raises(InvalidStep) as caught:
        write_program(steps, ["city"])
    assert (caught.value.path, message in str(caught.value)) == (path, True), str(caught.value)


def test_wrong_result_is_refused():
    with pytest.raises(InvalidStep) as caught:
        write_program([FIRST], [], Reference("frist"))
    assert caught.value.path == "result.from"
