"""Parameters of MCP servers that Python code cannot write, such as `from`, with a real server process."""

import pytest

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import Reason
from support.listed_server import ListedServer

pytestmark = pytest.mark.spec("MCP-18")

CALLER = Caller(interface="python", default_effect=Effect.ALLOW)


def tool(name, *names, required=(), **schema):
    properties = {name: {"type": "string"} for name in names}
    schema = {"type": "object", "properties": properties, "required": list(required), **schema}
    return {"name": name, "description": "Sends.", "inputSchema": schema}


@pytest.fixture
async def runtime(home):
    server = ListedServer(home)
    server.list(
        tool("send", "from", "x-y", "2d", "to", required=["from"]),
        tool("closed", "class", additionalProperties=False),
        tool("both", "from", "from_"),
        tool("alike", "a-b", "a.b"),
        tool("plain", "to"),
    )
    server.configure(tools={"plain": {}})
    async with server.open() as runtime:
        await runtime.state.servers.probe("s")
        yield runtime


async def run(runtime, code):
    result = await runtime.run(f"{code}['args']", CALLER)
    assert result.ok, result.error
    return result.data


async def signature(runtime, name):
    found = await runtime.call_tool("ot.help", {"query": f"s.{name}"}, CALLER, "python")
    return str(found.data)


async def test_signature_can_be_called_as_printed(runtime):
    shown = await signature(runtime, "send")
    assert "s.send(from_: str, x_y: str" in shown
    assert "_2d: str" in shown
    sent = await run(runtime, "s.send(from_='a', x_y='b', _2d='c', to='d')")
    assert sent == {"from": "a", "x-y": "b", "2d": "c", "to": "d"}
    assert await run(runtime, "s.closed(class_='a')") == {"class": "a"}


async def test_the_name_of_the_schema_works_too(runtime):
    assert await run(runtime, "s.send(**{'from': 'a', 'x-y': 'b'})") == {"from": "a", "x-y": "b"}
    assert await run(runtime, "s.send(**{'from': 'a'}, to='b')") == {"from": "a", "to": "b"}


async def test_a_name_of_the_schema_is_not_another_parameter(runtime):
    assert "s.both('from': str | None = None, from_: str | None = None)" in await signature(runtime, "both")
    assert await run(runtime, "s.both(from_='a')") == {"from_": "a"}
    assert await run(runtime, "s.both(**{'from': 'a', 'from_': 'b'})") == {"from": "a", "from_": "b"}
    assert "a_b: str" not in await signature(runtime, "alike")
    assert await run(runtime, "s.alike(**{'a-b': 'a', 'a.b': 'b'})") == {"a-b": "a", "a.b": "b"}


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("plain", {"from_": "a"}, "there is no parameter 'from_', and none 'from'"),
        ("send", {"from_": "a", "from": "b"}, "'from' is also passed as 'from_'. Pass it once."),
    ],
)
async def test_unknown_and_doubled_parameters_are_errors(runtime, name, args, message):
    result = await runtime.call_tool(f"s.{name}", args, CALLER, "python")
    assert result.meta.reason == Reason.BAD_ARGS
    assert message in result.error.message
