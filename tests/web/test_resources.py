"""Browser tests of the Resources screen: list, preview, templates and prompts with completion."""

import json

import pytest
from playwright.async_api import expect

from support.mcp_servers import contents_server
from support.rest_process import new_id
from support.web_app import added_server, browser_test, find_violations

pytestmark = browser_test


@pytest.fixture(scope="module")
def name(shared_web_app):
    """The name of a server with resources and prompts. One of its texts is HTML."""
    name = f"s_{new_id()[-12:]}"
    offer = shared_web_app.config.parent / name
    html = "<img src=x onerror=alert(1)><b>bold</b>"
    resource = {"uri": "memo:html", "name": "html", "mimeType": "text/html"}
    resources = [*contents_server.RESOURCES, resource]
    offer.write_text(json.dumps({"texts": {"memo:html": html}, "resources": resources}))
    with added_server(shared_web_app, name, "contents_server.py", offer):
        yield name


async def open_tab(page, name, tab):
    await page.goto("/resources")
    await page.get_by_role("textbox", name="Search").fill(
        name.replace("_", "-") if tab != "Prompts" else name
    )
    await page.get_by_role("tab", name=tab).click()


@pytest.mark.spec("MCP-28")
async def test_resources_are_listed_and_previewed(name, page):
    """Text is shown as text, also HTML; an image is shown."""
    prefix = f"ot.{name.replace('_', '-')}+"
    await open_tab(page, name, "Resources")
    for uri, text in (("memo:x", f"{name} has memo:x"), ("memo:html", "<b>bold</b>")):
        entry = page.get_by_role("region", name=prefix + uri, exact=True)
        await entry.get_by_role("button", name="Read").click()
        await expect(entry.get_by_role("region", name="Content")).to_contain_text(text)
    assert await page.locator("main b, main img").count() == 0
    logo = page.get_by_role("region", name=f"{prefix}img://logo", exact=True)
    await logo.get_by_role("button", name="Read").click()
    image = logo.get_by_role("img")
    await expect(image).to_be_visible()
    await image.evaluate("image => image.decode()")
    assert await image.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [48, 24]
    assert await find_violations(page) == []


@pytest.mark.spec("MCP-28")
async def test_a_template_is_filled_in_with_completion(name, page):
    await open_tab(page, name, "Templates")
    template = f"ot.{name.replace('_', '-')}+file:///{{+path}}"
    entry = page.get_by_role("region", name=template, exact=True)
    await entry.get_by_label("path").fill("notes")
    await page.get_by_role("option", name="notes!").click()
    await entry.get_by_role("button", name="Read").click()
    await expect(entry.get_by_role("region", name="Content")).to_contain_text(f"{name} has file:///notes!")


@pytest.mark.spec("MCP-28")
async def test_a_prompt_is_filled_in_with_completion(name, page):
    await open_tab(page, name, "Prompts")
    entry = page.get_by_role("region", name=f"{name}.greet", exact=True)
    await entry.get_by_label("who").fill("Ada")
    await page.get_by_role("option", name="Ada!").click()
    await entry.get_by_role("button", name="Show messages").click()
    await expect(entry.get_by_role("region", name="Content")).to_contain_text("Say hello to Ada!.")
    assert await find_violations(page) == []


async def test_the_servers_screen_counts_them_and_shows_instructions(name, page):
    await page.goto("/servers")
    card = page.get_by_role("region", name=name, exact=True)
    await card.get_by_role("button", name="Test").click()
    await expect(card.get_by_text("5 tools, 4 resources, 1 template, 2 prompts")).to_be_visible()
    await expect(card.get_by_role("region", name="Instructions for models")).to_contain_text(
        "Read memo:x first."
    )
