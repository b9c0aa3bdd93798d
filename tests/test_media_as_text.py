"""Media for callers that see text: one line with type, size and handle, which can be read."""

import base64
import random

import pytest

from onetool.domain import Caller, Registry, Tool, ToolSpec
from onetool.domain.calls.effect import Effect
from onetool.domain.chat.transcript import to_line
from onetool.domain.content.content import parse_content
from onetool.domain.text.json_text import encode
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import memory_runtime

CALLER = Caller(interface="test", default_effect=Effect.ALLOW)
DATA = random.Random(1).randbytes(150_000)
ENCODED = base64.b64encode(DATA).decode()


async def run(args, invocation):
    return parse_content({"content": [{"type": "image", "data": ENCODED, "mimeType": "image/png"}]})


def source():
    registry = Registry()
    registry.add(Tool(ToolSpec(name="s.tool", description="", input_schema={}), run))
    return SnapshotSource(StaticReader("s", registry))


@pytest.mark.spec("MCP-05")
@pytest.mark.parametrize("max_inline_size", [1_000, 1_000_000])
@pytest.mark.parametrize("interface", ["rest", "cli", "ask", "run"])
async def test_media_are_one_line_and_can_be_read(interface, max_inline_size):
    settings = {"output": {"max_inline_size": max_inline_size}}
    async with memory_runtime(sources=[source()], settings=settings) as ot:
        result = await ot.runtime.call_tool("s.tool", {}, CALLER, interface)
        (media,) = result.media
        line = f"Media(mime_type='image/png', size=150000, handle='{media.handle}')"
        state = ot.runtime.state
        shown = (await state.model_output.render_value(result.data, "s.tool")).text
        record = to_line({"type": "message", "key": "k", "data": result.data}).decode()
        assert (shown, encode(result.data).decode()) == (line, f'"{line}"')
        assert line in record
        assert ENCODED[:100] not in repr(result) + record
        assert (await state.results.media(media.handle, reader="local")).to_bytes() == DATA


@pytest.mark.parametrize("interface", ["mcp", "python", "sdk"])
async def test_media_that_are_passed_on_as_such_are_not_stored(interface):
    async with memory_runtime(sources=[source()]) as ot:
        result = await ot.runtime.call_tool("s.tool", {}, CALLER, interface)
        assert result.data.to_bytes() == DATA
        assert await ot.runtime.state.results.media(result.data.handle, reader="local") is None
