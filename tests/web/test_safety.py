"""Browser tests: untrusted content is shown as text, and the web UI is accessible."""

import pytest
from playwright.async_api import expect

from support.rest_process import RestReply, http_tool, new_slug
from support.web_app import AXE, browser_test, find_violations, open_page

pytestmark = browser_test

EVIL = (
    '<img src=x onerror="alert(1)"><script>alert(2)</script><svg onload=alert(3)>'
    "[click](javascript:alert(4)) {{7*7}} ${alert(5)} \u202e</textarea>"
    "<iframe srcdoc='<script>alert(6)</script>'>"
)
PATHS = ("/tools", "/tools/new", "/tools/import", "/chat", "/playground", "/servers", "/stats", "/settings")


@pytest.fixture
def evil_tool(web_app, upstream):
    """Create a tool with markup in every field and in its result."""
    path = upstream.script(RestReply(body=[{EVIL: EVIL}]))
    bundle = web_app.create_bundle(slug=new_slug("evil"), displayName=EVIL[:190], description=EVIL)
    schema = {
        "type": "object",
        "title": EVIL,
        "properties": {EVIL: {"type": "string", "title": EVIL, "description": EVIL, "default": EVIL}},
    }
    fields = {"displayName": EVIL[:190], "description": EVIL, "tags": [EVIL[:40]], "argSchema": schema}
    return web_app.create_tool(bundle, slug=new_slug("evil"), **http_tool(upstream.url + path, **fields))


async def assert_no_injection(page) -> None:
    """Check that no markup was interpreted and no script ran."""
    assert await page.locator("img[src=x], iframe, svg[onload], [onerror]").count() == 0
    assert await page.locator("a[href^='javascript' i]").count() == 0
    assert not page.errors, page.errors


async def test_untrusted_tools_are_shown_as_text(page, evil_tool):
    """This applies to the list, the tool page, the form, the result and the definition."""
    await page.goto("/tools")
    await page.get_by_label("Search tools").fill(evil_tool["slug"])
    await expect(page.get_by_text("<script>alert(2)</script>").first).to_be_visible()
    await assert_no_injection(page)
    await page.goto(f"/tools/{evil_tool['bundleID']}/{evil_tool['slug']}")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("cell").first).to_contain_text("<script>alert(2)</script>")
    await assert_no_injection(page)
    await page.get_by_role("tab", name="Definition").click()
    await expect(page.get_by_role("textbox", name="Definition")).to_contain_text("onerror")
    await assert_no_injection(page)


async def test_untrusted_chat_content_is_shown_as_text(web_app, page, evil_tool):
    """This applies to messages, tool results, titles and the palette."""
    calls = [{"name": evil_tool["name"], "args": {}}]
    web_app.script_model({"text": EVIL, "calls": calls}, {"text": f"# {EVIL}"})
    await page.goto("/chat")
    await page.get_by_label("Message").fill(EVIL)
    await page.get_by_label("Message").press("Enter")
    await expect(page.get_by_role("article", name="Model")).to_have_count(2)
    await page.get_by_role("button", name=evil_tool["name"]).click()
    await assert_no_injection(page)
    await page.reload()
    await expect(page.get_by_role("article", name="Model")).to_have_count(2)
    await assert_no_injection(page)
    await page.get_by_label("Message").press("+")
    await page.keyboard.type(evil_tool["slug"])
    await expect(page.get_by_text(f"+{evil_tool['slug']}")).to_be_visible()
    await assert_no_injection(page)


@pytest.mark.skipif(not AXE.exists(), reason="requires axe-core: just web")
@pytest.mark.parametrize(("scheme", "width", "part"), [("light", 1280, 0), ("dark", 360, 1)])
async def test_all_pages_are_accessible(web_app, browser, size, scheme, width, part):
    """No page has serious violations or scrolls horizontally, on a desktop and on a phone."""
    tool = web_app.create_tool(slug=new_slug("axe"), **http_tool("http://127.0.0.1:1/${city}", "city"))
    violations: dict[str, list[str]] = {}
    viewport = {"width": width, "height": 800}
    page = await open_page(browser, web_app, viewport=viewport, color_scheme=scheme)
    paths = (*PATHS, f"/tools/{tool['bundleID']}/{tool['slug']}")
    for path in paths[part % size(2, 1) :: size(2, 1)]:  # every second one; all with --stress
        await page.goto(path)
        await page.get_by_role("heading", level=1).wait_for()
        await expect(page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)
        page_width = await page.evaluate("document.documentElement.scrollWidth")
        assert page_width <= width, f"{path} is {page_width} px wide in a viewport of {width} px"
        violations[path] = await find_violations(page)
    assert not page.errors, page.errors
    assert {path: found for path, found in violations.items() if found} == {}


@pytest.mark.skipif(not AXE.exists(), reason="requires axe-core: just web")
async def test_login_page_and_dialogs_are_accessible(web_app, browser):
    page = await open_page(browser, web_app, logged_in=False)
    await page.goto("/")
    await page.get_by_label("Token").wait_for()
    assert await find_violations(page) == []
    page = await open_page(browser, web_app)
    await page.goto("/chat")
    await page.get_by_label("Message").press("+")
    await page.locator("[data-choice]").first.wait_for()
    assert await find_violations(page) == []
