"""Browser tests: tools of MCP servers that have an app."""

import json

import pytest
from playwright.async_api import expect

from support.rest_process import new_id
from support.web_app import added_server, browser_test, find_violations, open_tool

pytestmark = browser_test
NOTICE = "This tool has an app that shows its results."
SCHEMA = {"type": "object", "properties": {}}
TOOLS = [
    {"name": "chart", "inputSchema": SCHEMA, "_meta": {"ui": {"resourceUri": "ui://chart"}}},
    {"name": "plain", "inputSchema": SCHEMA, "_meta": {"ui": {"visibility": ["model"]}}},
]


@pytest.fixture
def name(web_app):
    """The name of a new server with a tool that has an app."""
    name = f"s_{new_id()[-12:]}"
    listing = web_app.config.parent / name
    listing.write_text(json.dumps({"tools": TOOLS, "handshake": {}}))
    with added_server(web_app, name, "listing_server.py", listing):
        yield name


async def open_page_of(page, web_app, name):
    found = web_app.client.get("/tools/search", params={"q": name}).json()["toolListItems"]
    await open_tool(page, next(tool for tool in found if tool["name"] == name))


@pytest.mark.spec("MCP-60")
async def test_only_a_tool_with_an_app_has_a_notice_and_its_result_is_text(web_app, name, page):
    await open_page_of(page, web_app, f"{name}.chart")
    await expect(page.get_by_text(NOTICE)).to_be_visible()
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("chart")
    assert await page.locator("iframe, object, embed").count() == 0
    assert await find_violations(page) == []
    await open_page_of(page, web_app, f"{name}.plain")
    await expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()
    assert await page.get_by_text(NOTICE).count() == 0
