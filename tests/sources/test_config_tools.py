"""Config tools beyond the rows: reading again, and what is said."""

from pathlib import Path

import pytest

from onetool.domain.errors import InvalidTool, SettingsError
from onetool.settings.configuration import Definition
from onetool.sources.config_tools import ConfigTools, make_tool
from onetool.threads import Threads

HANDLERS = {"builtin": {"time.now"}, "internal": {"ot.health"}}


def definition(**more):
    whole = {
        "name": "hello",
        "description": "Say hello.",
        "type": "function",
        "handler": "time.now",
        "parameters": {"type": "object"},
        "implementation": {"type": "builtin", "handler": "time.now"},
    }
    return {key: value for key, value in {**whole, **more}.items() if value is not ...}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "a@1"}, "without @"),
        ({"name": "a\nb"}, "printable"),
        ({"name": "x" * 200}, "at most 128"),
        ({"colour": 1}, "unknown key 'colour'."),
        ({"paramters": 1}, "Did you mean parameters?"),
        (
            {"implementation": {"type": "go"}},
            "unknown implementation type 'go'. Valid: mock, builtin, internal.",
        ),
        ({"implementation": {"type": "builtin", "handler": "time.noww"}}, "Did you mean time.now?"),
        ({"parameters": {"type": "object", "default": float("nan")}}, "JSON lacks"),
    ],
)
def test_mistakes_are_named(wrong, said):
    """What is wrong, and what would be right."""
    with pytest.raises(InvalidTool) as caught:
        make_tool(definition(**wrong), HANDLERS)
    assert said in str(caught.value)


def test_a_differing_handler_is_warned_about(caplog):
    """implementation.handler counts."""
    tool = make_tool(definition(handler="other"), HANDLERS)
    assert tool.spec.handler == "time.now"
    assert "implementation.handler 'time.now' is used" in caplog.text


async def test_a_file_that_breaks_leaves_the_tools_standing(caplog):
    """After a broken edit the last good tools still answer, and the log says why."""
    answers: list = [[Definition("f:1", definition())], SettingsError("f:3: broken")]

    def read_again():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    source = ConfigTools([], files=[Path("f")], read=read_again, handlers=HANDLERS, threads=Threads())
    assert len(await source.read()) == 0
    assert len(await source.read()) == 1
    assert len(await source.read()) == 1
    assert "f:3: broken" in caplog.text


def test_a_refused_http_tool_is_pointed_elsewhere(caplog):
    """The exact refusal comes alone, a second line says where HTTP tools belong."""
    from onetool.sources.config_tools import register

    register([Definition("f:1", definition(implementation={"type": "http"})), Definition("f:2", 5)], HANDLERS)
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "f:1: tool 'hello' is left out: HTTP tools not yet supported (coming in v2)"
    assert "bundle" in lines[1]
    assert lines[2].startswith("f:2: tool None is left out: a tool is a map with")
