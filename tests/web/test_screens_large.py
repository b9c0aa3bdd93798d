"""The Tools screen with very many tools: it shows what can be seen, and asks for the rest as one scrolls."""

import json
import time

from web_site import Site, on_screens, open_page

from rest_server import http_tool, new_id, new_slug

pytestmark = on_screens

LONG_TASKS = """() => {
    window.longest = 0;
    const note = it => { window.longest = Math.max(window.longest, it.duration); };
    new PerformanceObserver(list => list.getEntries().forEach(note)).observe({type: 'longtask'});
}"""


def fill(site: Site, number: int) -> str:
    """Write a bundle of many tools as its files, as an import would leave them."""
    bundle = site.bundle(slug=new_slug("many"), displayName="Many")
    first = site.tool(
        bundle, slug="tool-0", **http_tool("http://127.0.0.1:1/x", description="Tool number 0.")
    )
    kept = json.loads(site.file(first).read_text())
    for at in range(1, number):
        own = {"id": new_id(), "slug": f"tool-{at}", "description": f"Tool number {at}."}
        (site.bundles / bundle / f"{own['id']}.json").write_text(json.dumps(kept | own))
    return bundle


async def test_many_tools_scroll_and_are_searched_without_a_pause(size, tmp_path, browser):
    """Few rows are in the page however far one scrolls, and a search answers while one types."""
    number = size(600, 10_000)
    root = tmp_path / "site"
    with Site(root) as before:
        fill(before, number)
    (root / "data" / "bundles" / "index.sqlite3").unlink(missing_ok=True)
    with Site(root) as site:
        page = await open_page(browser, site)
        await page.goto("/tools")
        await page.evaluate(LONG_TASKS)
        await page.get_by_role("link", name="tool-0").wait_for()
        for _ in range(12):
            await page.mouse.wheel(0, 4_000)
            await page.wait_for_function(
                "() => !document.body.innerText.includes('More tools are being loaded')"
            )
        rows = await page.locator("[data-index]").count()
        begun = time.perf_counter()
        await page.evaluate("scrollTo(0, 0)")
        await page.get_by_label("Search tools").fill(f"tool-{number - 1}")
        await page.get_by_role("link", name=f"tool-{number - 1}").wait_for()
        took, longest = time.perf_counter() - begun, await page.evaluate("window.longest")
    print(f"{number} tools: {rows} rows in the page, search {took:.2f} s, longest task {longest:.0f} ms")
    assert rows < 80
    assert took < 10
