"""Browser tests: media in the results of a conversation."""

import struct
from pathlib import Path

import pytest
from playwright.async_api import expect

from support.images import make_png
from support.rest_process import new_slug, write_private
from support.web_app import browser_test, find_violations

pytestmark = browser_test
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" onload="alert(1)"><rect/></svg>'
HTML = "<script>alert(2)</script><img src=x onerror=alert(3)>"
SAMPLES = bytes([128] * 800)
FORMAT = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8_000, 8_000, 1, 8)
WAVE = b"WAVE" + FORMAT + struct.pack("<4sI", b"data", len(SAMPLES)) + SAMPLES
SOUND = b"RIFF" + struct.pack("<I", len(WAVE)) + WAVE
MEDIA = [
    (make_png(120), "image/png"),
    (SVG.encode(), "image/svg+xml"),
    (HTML.encode(), "text/html"),
    (SOUND, "audio/wav"),
]
PACK = '''"""Pictures and files."""

from onetool.sdk import Media

pack = "pictures"


def show() -> list:
    """Return pictures and files."""
    return [Media(data, mime_type) for data, mime_type in MEDIA]
'''


@pytest.fixture
def web_app(web_app):
    """A server with the pack `pictures`."""
    file = web_app.config / "tools" / "pictures.py"
    if not file.exists():
        write_private(file, f"{PACK}\n\nMEDIA = {MEDIA!r}\n")
    return web_app


async def check_media(page):
    files = page.get_by_role("list", name="Images, sounds and files").get_by_role("listitem")
    await expect(files).to_have_count(len(MEDIA))
    image, svg, html, audio = [files.nth(index) for index in range(len(MEDIA))]
    for item, size in ((image, [120, 120]), (svg, [40, 30])):
        picture = item.get_by_role("img")
        await expect(picture).to_be_visible()
        await picture.evaluate("image => image.decode()")
        assert await picture.evaluate("image => [image.naturalWidth, image.naturalHeight]") == size
    assert await html.locator("img, audio, iframe, object, embed, script").count() == 0
    assert await page.locator("iframe, object, embed, svg[onload], [onerror]").count() == 0
    await expect(audio.locator("audio")).to_be_visible()
    for item, (data, _) in zip(await files.all(), MEDIA, strict=True):
        async with page.expect_download() as download:
            await item.get_by_role("link", name="Download").click()
        assert Path(await (await download.value).path()).read_bytes() == data


@pytest.mark.spec("MCP-11")
async def test_the_chat_shows_media_also_when_the_conversation_is_opened_again(web_app, page):
    """Nothing in them runs: an error on the page fails the test."""
    question = new_slug("Show me the pictures")
    web_app.script_model({"calls": [{"name": "pictures.show", "args": {}}]}, {"text": "Here they are."})
    await page.goto("/chat")
    await page.get_by_label("Message").fill(question)
    await page.get_by_label("Message").press("Enter")
    await expect(page.get_by_role("article", name="Model").last).to_contain_text("Here they are.")
    await check_media(page)
    assert await find_violations(page) == []
    await page.reload()
    await check_media(page)
