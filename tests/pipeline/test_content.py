"""Content of servers in the pipeline: the data, the content without loss, secrets and limits."""

import pytest

from onetool.domain import Caller, Registry, Tool, ToolSpec
from onetool.domain.calls.effect import Effect
from onetool.domain.content.content import ToolReportedError, parse_content
from onetool.domain.content.media import Media
from onetool.domain.errors import Reason
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.testing import memory_runtime

CALLER = Caller(interface="test", default_effect=Effect.ALLOW)
PICTURE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
SECRET = "hunter22-secret"


async def call(result, source="mcp", settings=None, secrets=None, **spec):
    """Call a tool that returns this result, or raises it as a reported error."""

    async def run(args, invocation):
        if isinstance(result, dict):
            content = parse_content(result)
            if content.is_error:
                raise ToolReportedError(content.text, content)
            return content
        return result

    registry = Registry()
    registry.add(Tool(ToolSpec(name="s.tool", description="", input_schema={}, **spec), run))
    sources = [SnapshotSource(StaticReader("s", registry))]
    async with memory_runtime(sources=sources, settings=settings or {}, secrets=secrets or {}) as ot:
        return await ot.runtime.call_tool("s.tool", {}, CALLER, source)


@pytest.mark.parametrize("source", ["mcp", "sdk", "rest"])
async def test_data_and_content_are_both_there(source):
    result = await call({"content": [PICTURE], "structuredContent": {"n": 1}}, source)
    assert (result.ok, result.data) == (True, {"n": 1})
    assert result.content.to_json() == {"content": [PICTURE], "structuredContent": {"n": 1}}


@pytest.mark.spec("MCP-02")
async def test_structured_content_is_validated():
    schema = {"type": "object", "required": ["m"]}
    result = await call({"content": [], "structuredContent": {"n": 1}}, output_schema=schema)
    assert (result.meta.reason, result.content) == (Reason.BAD_OUTPUT, None)


@pytest.mark.spec("MCP-02")
async def test_a_reported_error_has_its_content():
    """It is not validated: the schema describes successful results."""
    reported = {"content": [{"type": "text", "text": "No."}, PICTURE], "isError": True}
    result = await call(reported, output_schema={"type": "object", "required": ["m"]})
    assert (result.ok, result.error.message, result.meta.reason) == (False, "No.", Reason.UPSTREAM)
    assert result.content.to_json() == reported


@pytest.mark.parametrize("is_error", [False, True])
async def test_secrets_are_masked_in_data_and_content(is_error):
    text = {"type": "text", "text": f"a {SECRET}", "_meta": {"k": SECRET}}
    result = await call({"content": [text, PICTURE], "isError": is_error}, secrets={"TOKEN": SECRET})
    assert SECRET not in repr(result)
    assert SECRET not in str(result.content.to_json())
    assert result.content.to_json()["content"][1] == PICTURE
    if not is_error:
        assert result.data[1].to_bytes() == bytes(3)


async def test_media_of_packs_survive_masking():
    media = Media(b"abc", "image/png")
    result = await call([f"a {SECRET}", media], secrets={"TOKEN": SECRET})
    assert result.data == ["a [secret]", media]
    assert result.data[1] is media


@pytest.mark.parametrize(
    "data", [{"content": [{**PICTURE, "data": "AAAA" * 100}]}, Media(bytes(300), "image/png")]
)
async def test_media_count_for_the_size_limit(data):
    assert (await call(data)).ok
    result = await call(data, settings={"output": {"max_bytes": 250}})
    assert result.meta.reason is Reason.TOO_LARGE_OUT


async def test_a_reported_error_that_is_too_large_keeps_its_message():
    reported = {
        "content": [{"type": "text", "text": "No."}, {**PICTURE, "data": "AAAA" * 100}],
        "isError": True,
    }
    result = await call(reported, settings={"output": {"max_bytes": 250}})
    assert (result.error.message, result.content) == ("No.", None)


async def test_secrets_are_masked_in_large_content():
    """It is masked on a thread, because that takes a while."""
    blocks = [{"type": "text", "text": f"{number} {SECRET}"} for number in range(900)]
    result = await call({"content": blocks}, secrets={"KEY": SECRET})
    texts = [block["text"] for block in result.content.to_json()["content"]]
    assert texts == [f"{number} [secret]" for number in range(900)]
