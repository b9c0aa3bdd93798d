"""Media that a pack returns reach MCP clients as content blocks."""

import base64

from onetool.domain import Caller
from onetool.domain.calls.effect import Effect
from onetool.interfaces.mcp.replies import prepare_call, prepare_run, render_outcome
from onetool.testing import memory_runtime

CALLER = Caller(interface="mcp", default_effect=Effect.ALLOW)


async def reply_to(runtime, prepared):
    return await render_outcome(runtime, prepared.tool, await prepared.work(CALLER))


PACK = '''
from onetool.sdk import Media

pack = "draw"

def chart() -> Media:
    """Draw a chart."""
    return Media(b"png", "image/png")

def report() -> dict[str, object]:
    """Write a report."""
    return {"title": "R", "file": Media(b"pdf", "application/pdf")}
'''
CHART = {"type": "image", "data": base64.b64encode(b"png").decode(), "mimeType": "image/png"}


async def test_media_of_packs_are_blocks_after_the_text(tmp_path):
    file = tmp_path / "draw.py"
    file.write_text(PACK)
    async with memory_runtime(files=[file]) as ot:
        for reply in (
            await reply_to(ot.runtime, prepare_call(ot.runtime, "draw.chart", {})),
            await reply_to(ot.runtime, prepare_run(ot.runtime, "draw.chart()")),
        ):
            text, block = reply.to_json()["content"]
            assert "Media(mime_type='image/png', size=3, handle='" in text["text"]
            assert block == CHART
            handle = text["text"].partition("handle='")[2][:32]
            assert (await ot.runtime.state.results.media(handle, reader="local")).to_bytes() == b"png"
        _, block = (await reply_to(ot.runtime, prepare_call(ot.runtime, "draw.report", {}))).to_json()[
            "content"
        ]
        assert block["resource"]["mimeType"] == "application/pdf"
        assert base64.b64decode(block["resource"]["blob"]) == b"pdf"
