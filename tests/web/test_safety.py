"""Browser tests: untrusted content is shown as text, and the web UI is accessible."""

import json
import sys

import pytest
from playwright.async_api import expect

from support.paths import MCP_SERVERS
from support.rest_process import RestProcess, RestReply, http_tool, new_slug
from support.waiting import until
from support.web_app import AXE, browser_test, find_violations, open_page

pytestmark = browser_test

EVIL = (
    '<img src=x onerror="alert(1)"><script>alert(2)</script><svg onload=alert(3)>'
    "[click](javascript:alert(4)) {{7*7}} ${alert(5)} \u202e</textarea>"
    "<iframe srcdoc='<script>alert(6)</script>'></iframe>"
    "![x](https://evil.test/x.png) <link rel=stylesheet href=https://evil.test/x.css>"
    '<a href="javascript:alert(7)" style="background:url(https://evil.test/y.png)">x</a>'
    "<base href=https://evil.test/><math><mtext></style><img src=x onerror=alert(8)>"
)
INTERPRETED = (
    "<img src={url}/x.png><img src=x onerror=alert(1)><base href={url}/>"
    "<link rel=stylesheet href={url}/x.css><a id=bad href=javascript:alert(2)>x</a>"
)
INSERT_SCRIPT = """() => {
    const script = document.createElement('script');
    script.textContent = 'window.ran = 1';
    document.body.append(script);
}"""
PATHS = (
    "/tools",
    "/tools/new",
    "/tools/import",
    "/tools/save",
    "/chat",
    "/playground",
    "/servers",
    "/access",
    "/activity",
    "/stats",
    "/settings",
)


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
    assert await page.locator("img[src=x], iframe, svg[onload], [onerror], base, math").count() == 0
    assert (
        await page.locator("[src*='evil.test'], [style*='evil.test'], link[href*='evil.test']").count() == 0
    )
    assert await page.locator("a[href^='javascript' i]").count() == 0
    assert not page.errors, page.errors


@pytest.mark.guards("browser-texts")
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


@pytest.mark.guards("browser-texts")
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
    palette = page.get_by_role("dialog", name="Call a tool")
    await expect(palette.get_by_text(evil_tool["name"])).to_be_visible()
    await assert_no_injection(page)


@pytest.mark.guards("browser-texts")
async def test_untrusted_questions_titles_and_errors_are_shown_as_text(web_app, page):
    """This applies to the question for approval, the title of the session, and an error of the model."""
    call = {"name": "notes.keep", "args": {EVIL: EVIL, "text": EVIL}}
    web_app.script_model({"calls": [call]}, {"text": EVIL})
    await page.goto("/chat")
    await page.get_by_label("Message").fill(EVIL)
    await page.get_by_label("Message").press("Enter")
    question = page.get_by_role("group", name="Run notes.keep?")
    await expect(question).to_contain_text("<script>alert(2)</script>")
    await assert_no_injection(page)
    await question.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("article", name="Model")).to_have_count(1)
    session = page.url.rpartition("/")[2]
    title = f"<img src=x onerror=alert(9)>{new_slug()}"
    titled = web_app.client.patch(f"/sessions/{session}", json={"title": title})
    assert titled.status_code == 200, titled.text
    web_app.script_model({"error": {"kind": "rejected", "message": EVIL}})
    await page.reload()
    await expect(page.get_by_role("link").filter(has_text=title)).to_have_count(1)
    await page.get_by_label("Message").fill("Again.")
    await page.get_by_label("Message").press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("<script>alert(2)</script>")
    await assert_no_injection(page)


@pytest.mark.guards("browser-texts")
async def test_untrusted_results_and_errors_of_code_are_shown_as_text(web_app, page):
    """This applies to values, printed text, tool calls, errors, and afterwards to the statistics."""
    await page.goto("/playground")
    for code, shown in (
        (f"print({EVIL!r})\n[{{{EVIL!r}: {EVIL!r}}}]", page.get_by_role("cell").first),
        (f"probes.fail(why={EVIL!r})", page.get_by_role("alert")),
    ):
        editor = page.get_by_role("textbox", name="Code")
        await editor.press("Control+a")
        await page.keyboard.insert_text(code)
        await page.keyboard.press("Control+Enter")
        await expect(shown).to_contain_text("<script>alert(2)</script>")
        await assert_no_injection(page)
    web_app.client.post("/tools/call", json={"name": EVIL, "args": {EVIL: EVIL}})
    await page.goto("/stats")
    await page.get_by_role("rowheader", name="probes.fail").wait_for()
    await assert_no_injection(page)


@pytest.mark.guards("browser-texts")
async def test_untrusted_api_description_is_shown_as_text(web_app, page):
    """This applies to the review of what was imported, and of what was skipped, and to an invalid archive."""
    operation = {
        "operationId": "evil",
        "summary": EVIL,
        "description": EVIL,
        "tags": [EVIL],
        "parameters": [{"name": EVIL, "in": "query", "description": EVIL, "schema": {"type": "string"}}],
        "responses": {"200": {"description": EVIL}},
    }
    document = {
        "openapi": "3.0.0",
        "info": {"title": EVIL[:150], "version": EVIL, "description": EVIL},
        "servers": [{"url": "https://evil.test"}],
        "paths": {"/x": {"get": operation}, f"/{EVIL}": {"get": operation | {"operationId": EVIL}}},
    }
    for content, shown in (
        (json.dumps(document), "Review before enabling"),
        (json.dumps({"openapi": EVIL}), "Request failed."),
    ):
        await page.goto("/tools/import")
        file = {"name": f"{EVIL[:40]}.json", "mimeType": "application/json", "buffer": content.encode()}
        await page.get_by_label("Choose file").set_input_files(file)
        await expect(page.get_by_text(shown)).to_be_visible()
        await assert_no_injection(page)


@pytest.mark.guards("browser-texts")
async def test_untrusted_server_is_shown_as_text(browser, tmp_path):
    """This applies to its definitions, its log and the reason why it fails."""
    listing = tmp_path / "listing.json"
    claim = {"name": "echo", "description": EVIL, "inputSchema": {"type": "object", "title": EVIL}}
    listing.write_text(json.dumps([claim | {"annotations": {"readOnlyHint": True, "title": EVIL}}]))
    program = [str(MCP_SERVERS / "faulty_server.py"), "from-file", str(listing)]
    servers = {
        "evil": {"command": sys.executable, "args": program, "sandbox": False},
        "failing": {"command": sys.executable, "args": ["-c", f"raise SystemExit({EVIL!r})"]},
    }
    with RestProcess(tmp_path / "home", settings=json.dumps({"servers": servers})) as server:
        page = await open_page(browser, server)
        await page.goto("/servers")
        for name in servers:
            card = page.get_by_role("region", name=name, exact=True)
            await card.get_by_role("button", name="Test").click()
            await expect(card).to_contain_text("<script>alert(2)</script>")
            for summary in await card.locator("summary").all():
                await summary.click()
            await assert_no_injection(page)


@pytest.mark.guards("browser-texts")
async def test_policy_stops_markup_that_got_into_a_page(page, upstream):
    """The last defence: nothing of it runs, and nothing reaches another server."""
    await page.goto("/tools")
    await page.get_by_role("heading", level=1).wait_for()
    path = upstream.script()
    markup = INTERPRETED.format(url=upstream.url + path)
    await page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", markup)
    await page.evaluate(INSERT_SCRIPT)
    await page.locator("#bad").dispatch_event("click")
    for directive in ("script-src", "img-src", "style-src", "base-uri"):
        await until(lambda directive=directive: any(directive in error for error in page.errors))
    ran = [error for error in page.errors if "dialog" in error]
    page.errors.clear()
    assert (ran, await page.evaluate("window.ran")) == ([], None)
    assert upstream.requests_to(path) == []


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
