"""Media as arguments: base64 or a data URI where the schema allows it, and the value itself for packs."""

import base64
import hashlib
import json
import sys
from contextlib import asynccontextmanager

import pytest

from onetool.bootstrap import open_runtime
from onetool.domain import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.content.media import Media
from onetool.domain.errors import Reason
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths
from onetool.testing import memory_runtime
from support.mcp_servers import rich_server
from support.paths import MCP_SERVERS
from support.waiting import HANG_S

RICH = {"command": sys.executable, "args": ["-I", str(MCP_SERVERS / "rich_server.py")], "sandbox": False}
SETTINGS = {"servers": {"rich": RICH}}
CALLER = Caller(interface="test", default_effect=Effect.ALLOW)
ENCODED = rich_server.encode(rich_server.PNG)
PACK = '''
from onetool.sdk import Media

pack = "draw"
seen = []

def chart() -> Media:
    """Draw a chart."""
    seen.append(Media(b"png", "image/png"))
    return seen[-1]

def measure(picture: Media, more: list[Media] | None = None) -> dict[str, object]:
    """Measure pictures."""
    is_same = any(picture is media for media in seen)
    return {"same": is_same, "type": picture.mime_type, "data": picture.to_bytes().decode(), "more": more}
'''


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


@asynccontextmanager
async def rich_runtime(settings=SETTINGS):
    """Start a runtime with the server `rich`, and wait until it has started."""
    async with memory_runtime(settings=settings) as ot:
        assert (await ot.runtime.state.servers.probe("rich", HANG_S))["ok"]
        yield ot


async def run(ot, code):
    result = await ot.runtime.run(code, CALLER)
    assert result.ok, result.error
    return result.data


@pytest.mark.spec("MCP-14")
@pytest.mark.parametrize(
    ("parameter", "text"),
    [("image", ENCODED), ("byte", ENCODED), ("uri", f"data:image/png;base64,{ENCODED}")],
)
async def test_a_server_receives_media_as_its_schema_says(parameter, text):
    async with rich_runtime() as ot:
        received = await run(ot, f"rich.upload({parameter}=rich.picture())")
        assert json.loads(received) == {parameter: digest(text)}


@pytest.mark.spec("MCP-14")
@pytest.mark.parametrize("parameter", ["plain", "any", "unknown"])
async def test_other_parameters_do_not_accept_media(parameter):
    async with rich_runtime() as ot:
        result = await ot.runtime.call_tool(
            "rich.upload", {parameter: Media(b"a", "image/png")}, CALLER, "python"
        )
        assert (result.error.code, result.meta.reason) == ("invalid_args", Reason.BAD_ARGS)
        assert f"{parameter} does not accept Media(mime_type='image/png', size=1" in result.error.message
        assert "`contentEncoding: base64`, `format: byte` or `format: uri`" in result.error.message


@pytest.mark.spec("MCP-14")
async def test_code_cannot_forge_media():
    """An attribute that the code changed means nothing."""
    async with rich_runtime() as ot:
        code = "m = rich.picture()\nm.handle = 'x'\nm.mime_type = 'text/html'\nrich.upload(uri=m)"
        assert json.loads(await run(ot, code)) == {"uri": digest(f"data:image/png;base64,{ENCODED}")}


@pytest.mark.spec("MCP-13", "MCP-14")
async def test_a_function_of_a_pack_gets_the_value_itself(tmp_path):
    (tmp_path / "draw.py").write_text(PACK)
    async with memory_runtime(files=[tmp_path / "draw.py"]) as ot:
        result = await run(ot, "draw.measure(picture=draw.chart(), more=[draw.chart()])")
        assert (result["same"], result["type"], result["data"]) == (True, "image/png", "png")
        assert result["more"][0].to_bytes() == b"png"
        uri = "data:image/gif;base64," + base64.b64encode(b"gif").decode()
        called = await ot.runtime.call_tool("draw.measure", {"picture": uri}, CALLER, "rest")
        assert called.data == {"same": False, "type": "image/gif", "data": "gif", "more": None}
        for wrong in ("https://a.example/x.png", "data:image/gif;base64,a", "data:,x"):
            called = await ot.runtime.call_tool("draw.measure", {"picture": wrong}, CALLER, "rest")
            assert (called.ok, "data URI" in called.error.message) == (False, True)


@pytest.mark.spec("MCP-05", "MCP-14")
async def test_approval_shows_a_line_and_the_bytes_arrive():
    shown = []

    async def approve(request):
        shown.append(request.complete_text())
        return True

    media = Media(rich_server.PNG, "image/png")
    async with rich_runtime() as ot:
        caller = Caller(interface="test", approve=approve)
        result = await ot.runtime.call_tool("rich.upload", {"image": media}, caller, "python")
        assert json.loads(result.data) == {"image": digest(ENCODED)}
    assert str(media) in shown[0]
    assert ENCODED[:100] not in shown[0]


@pytest.mark.spec("MCP-05")
async def test_the_log_of_a_call_has_the_line_of_its_media(home):
    home.write("onetool.yaml", json.dumps(SETTINGS))
    media = Media(rich_server.PNG, "image/png")
    paths = find_paths(home.env, home.cwd)
    async with open_runtime(lambda: load_configuration(paths, home.env), waits_for_servers=True) as runtime:
        await runtime.call_tool("rich.upload", {"image": media}, CALLER, "python")
    assert {"image": str(media)} in [record.get("inputs") for record in home.log()]


async def test_media_count_for_the_size_limit_of_arguments():
    settings = SETTINGS | {"execution": {"max_args_bytes": 1_000}}
    async with rich_runtime(settings) as ot:
        args = {"image": Media(bytes(900), "image/png")}
        result = await ot.runtime.call_tool("rich.upload", args, CALLER, "python")
        assert result.meta.reason is Reason.TOO_LARGE_IN


async def test_arguments_with_media_that_contain_themselves_are_refused():
    cycle = [Media(b"a", "image/png")]
    cycle.append(cycle)
    async with rich_runtime() as ot:
        result = await ot.runtime.call_tool("rich.upload", {"image": cycle}, CALLER, "python")
        assert result.meta.reason is Reason.BAD_ARGS
