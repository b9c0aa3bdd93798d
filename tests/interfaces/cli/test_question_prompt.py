"""Questions of servers on the terminal: every kind of field, and the difference of decline and cancel."""

from contextlib import nullcontext

import pytest

from onetool.domain.jobs.job import OpenQuestion
from onetool.interfaces.cli.form_fields import InvalidInput, form_fields
from onetool.interfaces.cli.question_prompt import QuestionPrompt
from onetool.threads import Threads

TITLED = [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]
FIELDS = {
    "name": {"type": "string", "title": "Your name", "description": "As in your passport", "minLength": 2},
    "mail": {"type": "string", "format": "email"},
    "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
    "ratio": {"type": "number"},
    "gift": {"type": "boolean", "default": False},
    "color": {"type": "string", "enum": ["red", "green"], "enumNames": ["Red", "Green"]},
    "size": {"type": "string", "oneOf": TITLED, "default": "s"},
    "extras": {"type": "array", "items": {"type": "string", "enum": ["milk", "sugar"]}, "default": []},
    "sizes": {"type": "array", "items": {"anyOf": TITLED}, "minItems": 1, "default": ["s", "l"]},
    "odd": True,
}
SCHEMA = {"type": "object", "properties": FIELDS, "required": ["name", "color"]}


class Keyboard:
    """A stdin from which each question reads a line."""

    def __init__(self, *lines):
        self._lines = iter(lines)

    def isatty(self):
        return False

    def readline(self):
        return next(self._lines, "")


def field(name):
    return next(item for item in form_fields(SCHEMA) if item.name == name)


@pytest.mark.spec("MCP-44")
@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("name", " Ada ", "Ada"),
        ("count", "3", 3),
        ("count", "", 1),
        ("ratio", "0.5", 0.5),
        ("ratio", "", None),
        ("gift", "Y", True),
        ("gift", "no", False),
        ("gift", "", False),
        ("color", "2", "green"),
        ("size", "2", "l"),
        ("size", "", "s"),
        ("extras", "1, 2", ["milk", "sugar"]),
        ("extras", "", []),
        ("sizes", "1", ["s"]),
        ("odd", "text", "text"),
    ],
)
def test_what_the_user_types_becomes_a_value_of_the_field(name, typed, value):
    assert field(name).parse(typed) == value


@pytest.mark.spec("MCP-44", "MCP-46")
@pytest.mark.parametrize(
    ("name", "typed", "problem"),
    [
        ("name", "", "A value is required."),
        ("name", "A", "shorter than 2"),
        ("count", "77", "maximum of 9"),
        ("count", "x", "'x' is not a whole number."),
        ("ratio", "x", "'x' is not a number."),
        ("gift", "maybe", "Type y or n."),
        ("color", "3", "Type a number from 1 to 2."),
        ("color", "red", "Type a number from 1 to 2."),
        ("extras", "1,9", "Type a number from 1 to 2."),
    ],
)
def test_what_does_not_fit_is_explained(name, typed, problem):
    with pytest.raises(InvalidInput) as error:
        field(name).parse(typed)
    assert problem in str(error.value)


def test_an_invalid_schema_is_the_servers_fault():
    [broken] = form_fields({"properties": {"x": {"type": "string", "pattern": "("}}})
    with pytest.raises(InvalidInput, match="form is invalid"):
        broken.parse("a")


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("name", ["Your name: As in your passport", "  [text]"]),
        ("mail", ["mail", "  [email, Enter to leave it out]"]),
        ("gift", ["gift", "  [y/n, Enter for n]"]),
        ("color", ["color", "  1. Red", "  2. Green", "  [a number]"]),
        ("size", ["size", "  1. Small", "  2. Large", "  [a number, Enter for Small]"]),
        ("extras", ["extras", "  1. milk", "  2. sugar", "  [numbers, separated by commas, Enter for none]"]),
        (
            "sizes",
            ["sizes", "  1. Small", "  2. Large", "  [numbers, separated by commas, Enter for Small, Large]"],
        ),
    ],
)
def test_the_prompt_says_what_can_be_typed(name, lines):
    assert field(name).prompt() == "\n".join(lines)


def question(**fields):
    return OpenQuestion("q", fields.pop("kind", "form"), "Who are you?", "shop", **fields)


async def answer(monkeypatch, asked, *lines):
    monkeypatch.setattr("sys.stdin", Keyboard(*lines))
    return await QuestionPrompt(Threads(), nullcontext).present(None, asked)


@pytest.mark.guards("server-questions")
@pytest.mark.spec("MCP-44")
async def test_a_form_names_its_server_and_asks_again_for_what_does_not_fit(monkeypatch, capsys):
    schema = {"properties": {"name": FIELDS["name"], "ratio": FIELDS["ratio"]}, "required": ["name"]}
    given = await answer(monkeypatch, question(schema=schema), "y\n", "A\n", "Ada\n", "\n")
    assert (given.action, given.content) == ("accept", {"name": "Ada"})
    shown = capsys.readouterr().err
    assert shown.startswith("Server 'shop' asks: Who are you?\n")
    assert shown.count("Your name") == 2


@pytest.mark.spec("MCP-44")
@pytest.mark.parametrize(
    ("typed", "action"), [("n\n", "decline"), ("c\n", "cancel"), ("\n", "cancel"), ("what\n", "cancel")]
)
async def test_decline_and_cancel_differ(monkeypatch, typed, action):
    for asked in (question(schema=SCHEMA), question(kind="url", url="https://pages.example/a")):
        assert await answer(monkeypatch, asked, typed) == (action, None)


@pytest.mark.guards("server-questions")
@pytest.mark.spec("MCP-39", "MCP-44")
async def test_a_page_is_shown_with_its_host_and_not_opened(monkeypatch, capsys):
    asked = question(kind="url", url="https://pages.example/a?b=c")
    assert (await answer(monkeypatch, asked, "y\n")).action == "accept"
    shown = capsys.readouterr().err
    assert "open a page of pages.example" in shown
    assert "https://pages.example/a?b=c" in shown


async def test_the_end_of_stdin_cancels_a_form(monkeypatch):
    assert (await answer(monkeypatch, question(schema=SCHEMA))).action == "cancel"
