"""Content of calls and stored results over REST."""

import base64
import json
import sys
from hashlib import sha256

import pytest
from pytest_asyncio import fixture as async_fixture

from onetool.domain import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.content.media import Media
from onetool.interfaces.mcp.replies import prepare_call, render_outcome
from onetool.testing import memory_runtime
from support.mcp_servers import rich_server
from support.paths import MCP_SERVERS
from support.raw_http import RawHttpServer, raw_response
from support.rest_in_process import serve_memory, serve_rest
from support.rest_process import http_tool, new_id
from support.waiting import HANG_S

pytestmark = pytest.mark.asyncio(loop_scope="module")
RICH = {"command": sys.executable, "args": ["-I", str(MCP_SERVERS / "rich_server.py")], "sandbox": False}
SETTINGS = {"servers": {"rich": RICH}}
SOUND = {"type": "audio", "mimeType": "audio/wav", "size": len(rich_server.WAV)}
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


@async_fixture(scope="module", loop_scope="module")
async def rest():
    """A client of a runtime with the server `rich`."""
    async with memory_runtime(settings=SETTINGS) as ot, serve_rest(ot.runtime) as client:
        assert (await ot.runtime.state.servers.probe("rich", HANG_S))["ok"]
        yield client


async def call(client, name, query="", **args):
    response = await client.post(f"/tools/call{query}", json={"name": name, "args": args})
    assert response.status_code == 200, response.text
    return response.json()


async def read(client, part, **headers):
    return await client.get(f"/results/{part['handle']}", headers=headers)


@pytest.mark.spec("MCP-07")
async def test_a_call_returns_its_content_with_handles_in_place_of_media(rest):
    result = await call(rest, "rich.everything")
    first, image, audio, link, text, blob, last = result["content"]
    sent = rich_server.namespaced(rich_server.ALL)
    assert [first, link, text, last] == [sent[index] for index in (0, 3, 4, 6)]
    assert audio.items() >= SOUND.items()
    assert (blob["type"], blob["mimeType"], blob["uri"]) == (
        "resource",
        "application/pdf",
        "ot.rich+memo://b",
    )
    for part, data in ((image, rich_server.PNG), (audio, rich_server.WAV), (blob, rich_server.WAV)):
        assert (part["annotations"], part["_meta"]) == (sent[0]["annotations"], sent[0]["_meta"])
        assert "data" not in part
        response = await read(rest, part)
        assert (response.content, response.headers["content-type"]) == (data, part["mimeType"])
    assert rich_server.encode(rich_server.PNG)[:100] not in json.dumps(result)


@pytest.mark.spec("MCP-07")
async def test_media_beside_structured_content_and_beside_an_error_can_be_read(rest):
    both = await call(rest, "rich.both")
    assert both["value"] == {"n": 1, "later": None}
    failing = await call(rest, "rich.failing")
    assert (failing["ok"], failing["content"][0]["text"]) == (False, "It failed.")
    for part in (both["content"][0], failing["content"][1]):
        assert (await read(rest, part)).content == rich_server.PNG


@pytest.mark.spec("MCP-07")
async def test_inline_media_are_base64_in_a_field_of_their_own(rest):
    result = await call(rest, "rich.screenshot", "?media=inline")
    text, image = result["content"]
    assert text == {"type": "text", "text": "The page:"}
    assert base64.b64decode(image.pop("data")) == rich_server.PNG
    assert rich_server.encode(rich_server.PNG)[:100] not in json.dumps(result)
    run = await rest.post("/run?media=inline", json={"command": "rich.picture()"})
    (part,) = run.json()["content"]
    assert base64.b64decode(part["data"]) == rich_server.PNG
    assert (await read(rest, part)).content == rich_server.PNG
    response = await rest.post("/tools/call?media=other", json={"name": "rich.plain"})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_args")


@pytest.mark.spec("MCP-07")
async def test_a_streamed_call_ends_with_its_content(rest):
    headers = {"Accept": "text/event-stream"}
    response = await rest.post("/tools/call", json={"name": "rich.picture"}, headers=headers)
    result = json.loads(response.text.rpartition("data: ")[2])
    assert (await read(rest, result["content"][0])).content == rich_server.PNG


@pytest.mark.spec("MCP-07", "MCP-13")
async def test_media_of_packs_are_content_and_other_results_have_none(tmp_path):
    (tmp_path / "draw.py").write_text(PACK)
    async with serve_memory(files=[tmp_path / "draw.py"]) as client:
        chart, report = await call(client, "draw.chart"), await call(client, "draw.report")
        assert report["value"]["title"] == "R"
        assert report["value"]["file"].startswith("Media(mime_type='application/pdf', size=3, handle=")
        for result, data in ((chart, b"png"), (report, b"pdf")):
            (part,) = result["content"]
            assert (await read(client, part)).content == data
        assert "content" not in await call(client, "tools.echo", message="a")


async def store(ot, data=b"0123456789", mime_type="image/png", ttl_s=60.0):
    """Store media. Return the path of the result."""
    stored = await ot.runtime.state.results.put_media(Media(data, mime_type), "a.b", ttl_s, owner="local")
    return f"/results/{stored.handle}"


@pytest.mark.spec("MCP-07")
@pytest.mark.parametrize(
    ("header", "status", "content", "content_range"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=8-", 206, b"89", "bytes 8-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("bytes=4-2", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=" + "9" * 18 + "-", 416, None, "bytes */10"),
    ],
)
async def test_one_range_of_bytes(header, status, content, content_range, ot, client):
    path = await store(ot)
    response = await client.get(path, headers={"Range": header})
    assert (response.status_code, response.headers.get("content-range")) == (status, content_range)
    assert content is None or response.content == content


@pytest.mark.spec("MCP-07")
async def test_the_etag_is_the_digest(ot, client):
    path = await store(ot)
    etag = f'"{sha256(b"0123456789").hexdigest()}"'
    assert (await client.get(path)).headers["etag"] == etag
    for tags in (etag, f'"a", W/{etag}', "*"):
        response = await client.get(path, headers={"If-None-Match": tags})
        assert (response.status_code, response.content, response.headers["etag"]) == (304, b"", etag)
    assert (await client.get(path, headers={"If-None-Match": '"a"'})).status_code == 200
    for tag, status in ((etag, 206), ('"other"', 200)):
        response = await client.get(path, headers={"Range": "bytes=0-1", "If-Range": tag})
        assert response.status_code == status
    response = await client.head(path)
    assert (response.status_code, response.content, response.headers["content-length"]) == (
        200,
        b"",
        "10",
    )


@pytest.mark.spec("MCP-07")
@pytest.mark.parametrize(
    ("declared", "sent", "name"),
    [
        ("image/png", "image/png", None),
        ("audio/x-new", "audio/x-new", None),
        ("video/mp4", "video/mp4", None),
        ("application/pdf", "application/pdf", None),
        ("application/json", "application/json", None),
        ("text/plain", "text/plain; charset=utf-8", None),
        ("text/html", "application/octet-stream", "html"),
        ("image/svg+xml", "application/octet-stream", "svg"),
        ("application/xhtml+xml", "application/octet-stream", "bin"),
        ("text/javascript", "application/octet-stream", "bin"),
        ("video/x+xml", "application/octet-stream", "bin"),
    ],
)
async def test_only_harmless_types_are_sent_as_such(declared, sent, name, ot, client):
    path = await store(ot, b"<script>", declared)
    response = await client.get(path, headers={"Accept": "text/html"})
    headers = response.headers
    handle = path.removeprefix("/results/")
    expected = name and f'attachment; filename="{handle}.{name}"'
    assert (headers["content-type"], headers.get("content-disposition")) == (sent, expected)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


@pytest.mark.spec("MCP-07")
async def test_expired_unknown_and_unauthorized_results(ot, client):
    assert (await client.get(await store(ot, ttl_s=0))).status_code == 410
    for handle in ("0" * 32, "..%2Fsecrets", "x" * 3000):
        response = await client.get(f"/results/{handle}")
        assert response.status_code == 404
        assert len(response.text) < 1000
    path = await store(ot)
    assert (await client.get(path, headers={"Authorization": ""})).status_code == 401


async def test_a_stored_text_can_be_read(ot, client):
    stored = await ot.runtime.state.results.put("<b>é\ud800", "a.b", owner="local")
    response = await client.get(f"/results/{stored.handle}")
    assert response.content == "<b>é?".encode()
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["etag"] == f'"{sha256(response.content).hexdigest()}"'


@pytest.mark.spec("MCP-07", "MCP-13", "MCP-14")
async def test_a_stored_http_tool_takes_and_returns_media():
    """Its response is content over REST and a block over MCP, and its argument is base64 in the request."""
    picture = raw_response(b"png", Content_Type="image/png")
    async with (
        RawHttpServer(lambda request: picture) as upstream,
        memory_runtime(settings={"allowedHosts": ["127.0.0.1"]}) as ot,
        serve_rest(ot.runtime) as client,
    ):
        bundle = f"/tools/bundles/{new_id()}"
        fields = {"slug": "pictures", "displayName": "P", "description": "", "isEnabled": True}
        assert (await client.put(bundle, json=fields)).status_code == 201
        schema = {"type": "object", "properties": {"data": {"type": "string", "format": "byte"}}}
        request = {"method": "POST", "body": '{"data": "${data}"}'}
        tool = http_tool(upstream.url, request=request, argSchema=schema)
        response = await client.put(f"{bundle}/tools/convert/version/v1", json=tool)
        assert response.status_code == 201, response.text
        (part,) = (await call(client, "pictures.convert", data="eA=="))["content"]
        assert (part["mimeType"], (await read(client, part)).content) == ("image/png", b"png")
        code = "pictures.convert(data=pictures.convert(data='eA=='))"
        result = (await client.post("/run", json={"command": code})).json()
        assert (await read(client, result["content"][0])).content == b"png"
        sent = [json.loads(request.body)["data"] for request in upstream.requests]
        assert sent == ["eA==", "eA==", base64.b64encode(b"png").decode()]
        prepared = prepare_call(ot.runtime, "pictures.convert", {"data": "eA=="})
        result = await prepared.work(Caller(interface="mcp", default_effect=Effect.ALLOW))
        reply = await render_outcome(ot.runtime, prepared.tool, result)
        assert reply.to_json()["content"][1]["mimeType"] == "image/png"
