"""Whatever stands in names, descriptions, results and answers is text; and everybody can use the screens."""

import pytest
from playwright.async_api import expect
from web_site import AXE, on_screens, open_page, serious_violations

from rest_server import Answer, http_tool, new_slug

pytestmark = on_screens

EVIL = (
    '<img src=x onerror="alert(1)"><script>alert(2)</script><svg onload=alert(3)>'
    "[click](javascript:alert(4)) {{7*7}} ${alert(5)} \u202e</textarea>"
    "<iframe srcdoc='<script>alert(6)</script>'>"
)
SCREENS = ("/tools", "/tools/new", "/tools/import", "/chat", "/playground", "/servers", "/stats", "/settings")


@pytest.fixture
def evil(site, upstream):
    """A tool that is hostile wherever it may write."""
    path = upstream.script(Answer(body=[{EVIL: EVIL}]))
    bundle = site.bundle(slug=new_slug("evil"), displayName=EVIL[:190], description=EVIL)
    known = {
        "type": "object",
        "title": EVIL,
        "properties": {EVIL: {"type": "string", "title": EVIL, "description": EVIL, "default": EVIL}},
    }
    fields = {"displayName": EVIL[:190], "description": EVIL, "tags": [EVIL[:40]], "argSchema": known}
    return site.tool(bundle, slug=new_slug("evil"), **http_tool(upstream.url + path, **fields))


async def nothing_ran(page) -> None:
    """No script of theirs, no element of theirs, no way out."""
    assert await page.locator("img[src=x], iframe, svg[onload], [onerror]").count() == 0
    assert await page.locator("a[href^='javascript' i]").count() == 0
    assert not page.complaints, page.complaints


async def test_hostile_tools_are_shown_as_text(page, evil):
    """In the list, on its page, in the tester's form and in its results."""
    await page.goto("/tools")
    await page.get_by_label("Search tools").fill(evil["slug"])
    await expect(page.get_by_text("<script>alert(2)</script>").first).to_be_visible()
    await nothing_ran(page)
    await page.goto(f"/tools/{evil['bundleID']}/{evil['slug']}")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("cell").first).to_contain_text("<script>alert(2)</script>")
    await nothing_ran(page)
    await page.get_by_role("tab", name="Definition").click()
    await expect(page.get_by_role("textbox", name="Definition")).to_contain_text("onerror")
    await nothing_ran(page)


async def test_hostile_answers_are_shown_as_text(site, page, evil):
    """What a model says, what a tool returns, and what a conversation is called."""
    site.say({"text": EVIL, "calls": [{"name": evil["name"], "args": {}}]}, {"text": f"# {EVIL}"})
    await page.goto("/chat")
    await page.get_by_label("Message").fill(EVIL)
    await page.get_by_label("Message").press("Enter")
    await expect(page.get_by_role("article", name="Model")).to_have_count(2)
    await page.get_by_role("button", name=evil["name"]).click()
    await nothing_ran(page)
    await page.reload()
    await expect(page.get_by_role("article", name="Model")).to_have_count(2)
    await nothing_ran(page)
    await page.get_by_label("Message").press("+")
    await page.keyboard.type(evil["slug"])
    await expect(page.get_by_text(f"+{evil['slug']}")).to_be_visible()
    await nothing_ran(page)


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: just web")
@pytest.mark.parametrize(("scheme", "width", "part"), [("light", 1280, 0), ("dark", 360, 1)])
async def test_no_screen_keeps_anybody_out(site, browser, size, scheme, width, part):
    """axe-core finds nothing serious on any screen, at the desk and on a phone."""
    tool = site.tool(slug=new_slug("axe"), **http_tool("http://127.0.0.1:1/${city}", "city"))
    found: dict[str, list[str]] = {}
    viewport = {"width": width, "height": 800}
    page = await open_page(browser, site, viewport=viewport, color_scheme=scheme)
    screens = (*SCREENS, f"/tools/{tool['bundleID']}/{tool['slug']}")
    for path in screens[part % size(2, 1) :: size(2, 1)]:  # every second one; all with --torture
        await page.goto(path)
        await page.get_by_role("heading", level=1).wait_for()
        await expect(page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{path} is {wide} wide on a screen of {width}"
        found[path] = await serious_violations(page)
    assert not page.complaints, page.complaints
    assert {path: told for path, told in found.items() if told} == {}


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: just web")
async def test_the_login_and_open_dialogs_keep_nobody_out(site, browser):
    """The same for what is only there for a moment."""
    page = await open_page(browser, site, logged_in=False)
    await page.goto("/")
    await page.get_by_label("Token").wait_for()
    assert await serious_violations(page) == []
    page = await open_page(browser, site)
    await page.goto("/chat")
    await page.get_by_label("Message").press("+")
    await page.locator("[data-choice]").first.wait_for()
    assert await serious_violations(page) == []
