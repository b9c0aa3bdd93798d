"""Tools in the settings: validation messages and reload."""

from pathlib import Path

import pytest

from onetool.domain.errors import InvalidTool, SettingsError
from onetool.settings.configuration import ConfiguredTool
from onetool.sources.config_tools import ConfigToolReader, make_tool
from onetool.threads import Threads

HANDLERS = {"builtin": {"time.now"}, "internal": {"ot.health"}}


def definition(**changes):
    fields = {
        "name": "hello",
        "description": "Say hello.",
        "type": "function",
        "handler": "time.now",
        "parameters": {"type": "object"},
        "implementation": {"type": "builtin", "handler": "time.now"},
    }
    return {key: value for key, value in {**fields, **changes}.items() if value is not ...}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"name": "a@1"}, "without @"),
        ({"name": "a\nb"}, "printable"),
        ({"name": "x" * 200}, "at most 128"),
        ({"color": 1}, "unknown key 'color'."),
        ({"paramters": 1}, "Did you mean parameters?"),
        (
            {"implementation": {"type": "go"}},
            "unknown implementation type 'go'. Valid: mock, builtin, internal.",
        ),
        ({"implementation": {"type": "builtin", "handler": "time.noww"}}, "Did you mean time.now?"),
        ({"parameters": {"type": "object", "default": float("nan")}}, "JSON cannot represent"),
    ],
)
def test_invalid_definition_is_explained(changes, expected):
    with pytest.raises(InvalidTool) as caught:
        make_tool(definition(**changes), HANDLERS)
    assert expected in str(caught.value)


def test_implementation_handler_overrides_handler_with_a_warning(caplog):
    tool = make_tool(definition(handler="other"), HANDLERS)
    assert tool.spec.handler == "time.now"
    assert "implementation.handler 'time.now' overrides handler 'other'" in caplog.text


async def test_invalid_settings_keep_the_previous_tools(caplog):
    """The error is logged."""
    results: list = [[ConfiguredTool("f:1", definition())], SettingsError("f:3: broken")]

    def reload():
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    reader = ConfigToolReader([], files=[Path("f")], read=reload, handlers=HANDLERS, threads=Threads())
    assert len(await reader.read()) == 0
    assert len(await reader.read()) == 1
    assert len(await reader.read()) == 1
    assert "f:3: broken" in caplog.text


def test_http_tool_is_skipped_with_a_hint(caplog):
    """The specified message is logged unchanged, and a second line suggests a bundle."""
    from onetool.sources.config_tools import register

    registry = register(
        [ConfiguredTool("f:1", definition(implementation={"type": "http"})), ConfiguredTool("f:2", 5)],
        HANDLERS,
    )
    assert registry.skipped_tools[0].endswith("and run: onetool import FILE")
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "f:1: skipped tool 'hello': HTTP tools not yet supported (coming in v2)"
    assert lines[1] == (
        "f:1: 'hello': Put it into a bundle, or describe its API with OpenAPI, and run: onetool import FILE"
    )
    assert lines[2].startswith("f:2: skipped tool None: a tool must be a mapping with")
