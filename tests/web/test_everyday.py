"""Browser tests of what people use on every page: the palette, the banner, saved requests, files in chat."""

from playwright.async_api import expect

from support.images import make_png
from support.rest_process import http_tool
from support.web_app import CITY_SCHEMA, browser_test, create_tool_and_bundle, find_violations, open_tool

pytestmark = browser_test
PALETTE = "Search pages, tools and actions"


async def test_palette_opens_pages_tools_and_actions_by_keyboard(web_app, page):
    _, tool = create_tool_and_bundle(web_app)
    await page.goto("/stats")
    await page.get_by_role("heading", name="Statistics").wait_for()
    await page.keyboard.press("/")
    field = page.get_by_role("combobox", name=PALETTE)
    await expect(field).to_be_focused()
    assert await find_violations(page) == []
    await field.fill(tool["slug"])
    await expect(page.get_by_role("option", name=tool["name"])).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_contain_text(tool["name"])
    await expect(page.locator("#content")).to_be_focused()
    await page.keyboard.press("Control+k")
    await page.keyboard.type("add server")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog", name="Add server")).to_be_visible()


async def test_palette_has_the_focus_before_the_next_key(web_app, page):
    """What is typed right after the keys that open it is not lost."""
    await page.goto("/stats")
    await page.get_by_role("heading", name="Statistics").wait_for()
    await page.keyboard.press("/")
    field = page.get_by_role("combobox", name=PALETTE)
    await expect(field).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(field).to_have_count(0)
    # Microtasks run before the next event, timers may not.
    script = """async () => {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }));
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
      return document.activeElement.getAttribute('role');
    }"""
    assert await page.evaluate(script) == "combobox"


async def test_slash_is_text_in_fields(web_app, page):
    await page.goto("/tools")
    search = page.get_by_label("Search tools")
    await search.press("/")
    await expect(search).to_have_value("/")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_banner_while_the_server_is_away_loses_nothing(web_app, page):
    await page.goto("/chat")
    message = page.get_by_label("Message")
    await message.fill("A long question")
    await page.context.set_offline(True)
    await message.press("Enter")
    banner = page.get_by_text("This page continues as soon as the server is back.")
    await expect(banner).to_be_visible()
    await page.context.set_offline(False)
    await expect(banner).to_have_count(0)
    await expect(message).to_have_value("A long question")


async def test_saved_request_and_form_survive_a_reload(web_app, page):
    fields = http_tool("http://127.0.0.1:1/${city}", argSchema=CITY_SCHEMA)
    _, tool = create_tool_and_bundle(web_app, **fields)
    await open_tool(page, tool)
    city = page.get_by_role("textbox", name="city", exact=True)
    await city.fill("Oslo")
    await page.get_by_label("Name of this request").fill("The north")
    await page.get_by_role("button", name="Save", exact=True).click()
    await city.fill("Rome")
    await page.reload()
    await expect(city).to_have_value("Rome")
    await page.get_by_role("button", name="Run again: The north").click()
    await expect(page.get_by_text("Failed", exact=True)).to_be_visible()
    await expect(city).to_have_value("Oslo")
    await page.get_by_role("button", name="Delete saved request The north").click()
    await page.reload()
    await expect(page.get_by_role("button", name="Run again: The north")).to_have_count(0)


async def test_files_are_sent_with_a_message(web_app, page):
    """A text is read by the model. A model that takes no images says so, and nothing is lost."""
    web_app.script_model({"text": "I have read it.", "expect": "the plan"})
    await page.goto("/chat")
    text = {"name": "plan.md", "mimeType": "text/plain", "buffer": b"the plan"}
    await page.locator("input[type=file]").set_input_files([text])
    await page.get_by_label("Message").fill("Read this")
    await page.get_by_label("Message").press("Enter")
    await expect(page.get_by_role("article", name="Model")).to_contain_text("I have read it.")
    await page.reload()
    await expect(page.get_by_role("article", name="You")).to_contain_text("plan.md")
    image = {"name": "dot.png", "mimeType": "image/png", "buffer": make_png(60)}
    await page.locator("input[type=file]").set_input_files([image])
    await expect(page.get_by_role("img", name="dot.png")).to_be_visible()
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_role("alert")).to_contain_text("takes no images")
    await expect(page.get_by_role("button", name="Remove dot.png")).to_be_visible()


async def test_welcome_is_dismissed_for_good(web_app, page):
    await page.goto("/tools")
    welcome = page.get_by_role("region", name="Welcome to OneTool")
    await welcome.get_by_role("button", name="Do not show this again").click()
    await page.reload()
    await page.get_by_role("heading", name="Tools", exact=True).wait_for()
    await expect(welcome).to_have_count(0)
