"""Browser tests: media in the results of calls, in the tester and in the chat."""

import struct
from pathlib import Path

import pytest
from playwright.async_api import expect

from support.images import make_png
from support.rest_process import new_slug, write_private
from support.web_app import browser_test, find_violations

pytestmark = browser_test
SIZE = 120
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" onload="alert(1)">'
    "<script>alert(2)</script>"
    '<image href="https://evil.test/x.png"/><rect width="40" height="30" fill="teal"/></svg>'
)
HTML = "<script>alert(3)</script><img src=x onerror=alert(4)>"
PACK = '''"""Media of several types."""

from onetool.sdk import Media

pack = "media"


def show() -> dict[str, object]:
    """Return media of several types."""
    return {
        "title": "A report",
        "files": [Media(data, mime_type) for data, mime_type in MEDIA],
    }
'''


def sound():
    """Return one second of silence as WAV."""
    samples = bytes(8_000)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8_000, 8_000, 1, 8)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


MEDIA = [
    (make_png(SIZE), "image/png"),
    (sound(), "audio/wav"),
    (SVG.encode(), "image/svg+xml"),
    (HTML.encode(), "text/html"),
    (b"not a picture", "image/jpeg"),
]


@pytest.fixture
def web_app(web_app):
    """A server with the pack `media`."""
    file = web_app.config / "tools" / "media.py"
    if not file.exists():
        write_private(file, f"{PACK}\n\nMEDIA = {MEDIA!r}\n")
    return web_app


async def loaded_size(image):
    """Return width and height of an image once it is loaded."""
    await expect(image).to_be_visible()
    await image.evaluate("image => image.decode()")
    return await image.evaluate("image => [image.naturalWidth, image.naturalHeight]")


async def check_media(page):
    """Check that images and sounds are shown, and that the rest is only offered."""
    files = page.get_by_role("list", name="Images, sounds and files").get_by_role("listitem")
    await expect(files).to_have_count(len(MEDIA))
    image, audio, svg, html, broken = [files.nth(index) for index in range(len(MEDIA))]
    assert await loaded_size(image.get_by_role("img")) == [SIZE, SIZE]
    assert await loaded_size(svg.get_by_role("img")) == [40, 30]
    player = audio.locator("audio")
    await player.evaluate("audio => audio.readyState || new Promise(done => audio.onloadedmetadata = done)")
    assert await player.evaluate("audio => audio.duration") == 1
    await expect(broken).to_contain_text("It cannot be shown.")
    await expect(html).to_contain_text(f"text/html, {len(HTML)} bytes")
    assert await html.locator("img, audio, iframe, object, embed, script").count() == 0
    assert await page.locator("iframe, object, embed, svg[onload], [onerror]").count() == 0
    for item, (data, _) in zip(await files.all(), MEDIA, strict=True):
        async with page.expect_download() as download:
            await item.get_by_role("link", name="Download").click()
        assert Path(await (await download.value).path()).read_bytes() == data


@pytest.mark.spec("MCP-11")
async def test_the_tester_shows_images_and_sounds_and_offers_the_rest(web_app, page):
    bundle = web_app.pack_bundle("media")
    await page.goto(f"/tools/{bundle['id']}/show")
    await page.get_by_role("button", name="Run", exact=True).click()
    await check_media(page)
    assert await find_violations(page) == []


@pytest.mark.spec("MCP-11")
async def test_the_chat_shows_media_also_when_the_conversation_is_opened_again(web_app, page):
    """Nothing in them runs: an error on the page fails the test."""
    web_app.script_model({"calls": [{"name": "media.show", "args": {}}]}, {"text": "Here they are."})
    await page.goto("/chat")
    await page.get_by_label("Message").fill(new_slug("Show me the pictures"))
    await page.get_by_label("Message").press("Enter")
    await expect(page.get_by_role("article", name="Model").last).to_contain_text("Here they are.")
    await check_media(page)
    assert await find_violations(page) == []
    await page.reload()
    await check_media(page)


@pytest.mark.spec("MCP-11")
@pytest.mark.parametrize(("content", "mime_type"), [(SVG, "image/svg+xml"), (HTML, "text/html")])
async def test_a_page_with_scripts_is_downloaded_instead_of_opened(web_app, page, content, mime_type):
    parts = web_app.client.post("/tools/call", json={"name": "media.show"}).json()["content"]
    (handle,) = [part["handle"] for part in parts if part["mimeType"] == mime_type]
    await page.goto("/tools")
    async with page.expect_download() as download:
        await page.evaluate("url => { location.href = url; }", f"/results/{handle}")
    assert Path(await (await download.value).path()).read_text() == content
