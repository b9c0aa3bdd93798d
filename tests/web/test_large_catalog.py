"""Browser tests of the Tools page with thousands of tools."""

import json
import shutil
from pathlib import Path

from support.rest_process import http_tool, new_id, new_slug
from support.web_app import WebApp, browser_test, open_page

pytestmark = browser_test


def write_tools(web_app: WebApp, folder: Path, number: int) -> None:
    """Write the files of a bundle of many tools, as those of a server that has one of them."""
    bundle = web_app.create_bundle(slug=new_slug("many"), displayName="Many")
    first = web_app.create_tool(
        bundle, slug="tool-0", **http_tool("http://127.0.0.1:1/x", description="Tool number 0.")
    )
    record = json.loads(web_app.tool_file(first).read_text())
    shutil.copytree(web_app.bundles / bundle, folder / bundle)
    for index in range(1, number):
        changes = {"id": new_id(), "slug": f"tool-{index}", "description": f"Tool number {index}."}
        (folder / bundle / f"{changes['id']}.json").write_text(json.dumps(record | changes))


async def test_many_tools_can_be_scrolled_and_searched(size, tmp_path, web_app, browser):
    """The document contains only the visible rows, and a search is one request."""
    number = size(600, 10_000)
    write_tools(web_app, tmp_path / "data" / "bundles", number)
    with WebApp(tmp_path) as large:
        page = await open_page(browser, large)
        await page.goto("/tools")
        await page.get_by_role("link", name=".tool_0").wait_for()
        for _ in range(12):
            await page.mouse.wheel(0, 4_000)
            await page.wait_for_function("() => !document.body.innerText.includes('Loading more tools')")
        rows = await page.locator("[data-index]").count()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        await page.evaluate("scrollTo(0, 0)")
        await page.get_by_label("Search tools").fill(f"tool-{number - 1}")
        await page.get_by_role("link", name=f".tool_{number - 1}").wait_for()
    assert rows < 80
    assert len([url for url in requests if "/search?" in url]) == 1, requests
