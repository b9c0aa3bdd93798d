"""Browser tests: questions of servers in the chat and the tester, and the page of jobs."""

import pytest
from playwright.async_api import Page, expect

from support.rest_process import new_slug, write_private
from support.web_app import browser_test, find_violations, open_page
from web.hosted_pages import OVERFLOW, select

pytestmark = browser_test
PACK = '''"""Ask people."""

import asyncio
import json

from onetool.domain.calls.question import Question
from onetool.runtime.active_call import current_call
from onetool.sdk import Media

pack = "people"


async def ask(schema: dict) -> str:
    """Ask for a form, and return the answer as JSON."""
    question = Question(kind="form", server="people", message="Please\\nfill in.", schema=schema)
    answer = await current_call().invocation.caller.ask(question)
    return json.dumps([answer.action, answer.content], sort_keys=True)


async def sign_in(url: str) -> str:
    """Ask the user to open a page."""
    question = Question(kind="url", server="people", message="Sign in.", url=url)
    return (await current_call().invocation.caller.ask(question)).action


async def draw(schema: dict) -> Media:
    """Ask, and return an image."""
    await ask(schema)
    return Media(b"\\x89PNG", "image/png")


async def wait() -> str:
    """Report progress, and wait forever."""
    current_call().invocation.caller.on_progress(1, 4, "one of four")
    await ask({"type": "object", "properties": {}})
    await asyncio.Event().wait()
    return "never"
'''
PAGE = "https://pages.example/sign-in?next=%2F"
NAME = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}, "required": ["name"]}
SIZES = [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]
EVERY_FIELD = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2},
        "email": {"type": "string", "title": "Email", "format": "email"},
        "site": {"type": "string", "title": "Site", "format": "uri"},
        "day": {"type": "string", "title": "Day", "format": "date"},
        "at": {"type": "string", "title": "Time", "format": "date-time"},
        "age": {"type": "integer", "title": "Age", "minimum": 0},
        "score": {"type": "number", "title": "Score", "default": 95.5},
        "verified": {"type": "boolean", "title": "Verified", "default": True},
        "color": {"type": "string", "title": "Color", "enum": ["red", "green"]},
        "size": {"type": "string", "title": "Size", "oneOf": SIZES, "default": "s"},
        "legacy": {"type": "string", "title": "Legacy", "enum": ["a", "b"], "enumNames": ["One", "Two"]},
        "extras": {"type": "array", "title": "Extras", "items": {"type": "string", "enum": ["milk", "tea"]}},
        "titled": {"type": "array", "title": "Titled", "items": {"anyOf": SIZES}, "default": ["l"]},
    },
    "required": ["name", "age"],
}


@pytest.fixture
def web_app(web_app):
    """A server with the pack `people`."""
    file = web_app.config / "tools" / "people.py"
    if not file.exists():
        write_private(file, PACK)
    return web_app


def call_turn(name, **args):
    return {"calls": [{"name": name, "args": args}]}


async def send(page: Page) -> None:
    await page.get_by_label("Message").fill(new_slug("Go"))
    await page.get_by_label("Message").press("Enter")


def start(web_app, name, **args):
    """Start a call that asks, and return the id of its job."""
    body = {"name": name, "args": args, "interactive": True}
    response = web_app.client.post("/tools/call", json=body)
    assert response.status_code == 202, response.text
    return response.json()["job"]


@pytest.mark.spec("MCP-44")
async def test_chat_shows_a_form_for_every_schema(web_app, page):
    """Defaults are filled in and sent, and choices are shown with their titles."""
    web_app.script_model(call_turn("people.ask", schema=EVERY_FIELD), {"text": "Thanks."})
    await page.goto("/chat")
    await send(page)
    form = page.get_by_role("group", name="people asks")
    await expect(form).to_contain_text("Please\nfill in.", use_inner_text=True)
    await form.get_by_role("textbox", name="Name").fill("Ada")
    await form.get_by_role("textbox", name="Email").fill("ada@example.com")
    await form.get_by_role("textbox", name="Site").fill("https://example.com/")
    await form.get_by_label("Day").fill("2026-12-31")
    await form.get_by_role("textbox", name="Time").fill("2026-12-31T12:00:00Z")
    await form.get_by_role("textbox", name="Age").fill("36")
    await expect(form.get_by_role("textbox", name="Score")).to_have_value("95.5")
    await expect(form.get_by_role("checkbox", name="Verified")).to_be_checked()
    await select(page, form.get_by_role("combobox", name="Color"), "green")
    await expect(form.get_by_role("combobox", name="Size")).to_have_value("Small")
    await select(page, form.get_by_role("combobox", name="Size"), "Large")
    await select(page, form.get_by_role("combobox", name="Legacy"), "Two")
    await select(page, form.get_by_role("combobox", name="Extras"), "tea")
    await page.keyboard.press("Escape")
    await expect(form).to_contain_text("Large")
    assert await find_violations(page) == []
    await form.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("You answered people.")).to_be_visible()
    await expect(page.get_by_role("article", name="Model")).to_contain_text("Thanks.")
    await page.get_by_role("button", name="people.ask").click()
    result = page.get_by_role("region", name="Result")
    for part in (
        '"age": 36',
        '"at": "2026-12-31T12:00:00Z"',
        '"color": "green"',
        '"day": "2026-12-31"',
        '"extras": ["tea"]',
        '"legacy": "b"',
        '"score": 95.5',
        '"size": "l"',
        '"titled": ["l"]',
        '"verified": true',
    ):
        await expect(result).to_contain_text(part)


@pytest.mark.spec("MCP-44")
@pytest.mark.parametrize(
    ("button", "action", "line"),
    [
        ("Decline", "decline", "You declined the question of people."),
        ("Cancel", "cancel", "The question of people was not answered."),
    ],
)
async def test_chat_distinguishes_decline_from_cancel(web_app, page, button, action, line):
    web_app.script_model(call_turn("people.ask", schema=NAME), {"text": "I see."})
    await page.goto("/chat")
    await send(page)
    await page.get_by_role("group", name="people asks").get_by_role("button", name=button).click()
    await expect(page.get_by_text(line)).to_be_visible()
    await page.get_by_role("button", name="people.ask").click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text(action)


async def test_a_form_that_is_not_complete_is_not_sent(web_app, page):
    web_app.script_model(call_turn("people.ask", schema=NAME), {"text": "Thanks."})
    await page.goto("/chat")
    await send(page)
    form = page.get_by_role("group", name="people asks")
    await form.get_by_role("button", name="Send").click()
    await expect(form).to_contain_text("is required")
    await form.get_by_role("textbox", name="Name").fill("Ada")
    await form.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("You answered people.")).to_be_visible()


async def test_a_page_opens_only_by_its_link(web_app, page):
    """The host and the whole address are shown. An address that is not that of a web page is no link."""
    web_app.script_model(call_turn("people.sign_in", url=PAGE), {"text": "Welcome."})
    await page.goto("/chat")
    await send(page)
    prompt = page.get_by_role("group", name="people asks")
    link = prompt.get_by_role("link", name=PAGE)
    await expect(link).to_have_attribute("href", PAGE)
    await expect(link).to_have_attribute("rel", "noopener noreferrer")
    await expect(prompt.get_by_text("pages.example", exact=True)).to_be_visible()
    assert len(page.context.pages) == 1
    await prompt.get_by_role("button", name="I have opened it").click()
    await expect(page.get_by_role("article", name="Model")).to_contain_text("Welcome.")
    web_app.script_model(call_turn("people.sign_in", url="javascript:alert(1)"), {"text": "Welcome."})
    await send(page)
    await expect(prompt).to_contain_text("javascript:alert(1)")
    assert await prompt.get_by_role("link").count() == 0
    assert await prompt.get_by_role("button", name="I have opened it").count() == 0
    await prompt.get_by_role("button", name="Decline").click()


@pytest.mark.spec("MCP-56")
async def test_jobs_are_listed_answered_and_show_their_result(web_app, page):
    job = start(web_app, "people.draw", schema=NAME)
    await page.goto("/jobs")
    assert await find_violations(page) == []
    row = page.locator(f'a[href="/jobs/{job}"]')
    await expect(row).to_contain_text("waits for you")
    await expect(row).to_contain_text("people.draw")
    await row.click()
    form = page.get_by_role("group", name="people asks")
    await form.get_by_role("textbox", name="Name").fill("Ada")
    await form.get_by_role("button", name="Send").click()
    await expect(
        page.get_by_role("list", name="Images, sounds and files").get_by_role("listitem")
    ).to_have_count(1)
    await expect(page.get_by_role("status").first).to_contain_text("done")
    assert await find_violations(page) == []
    await page.reload()
    await expect(page.get_by_role("status").first).to_contain_text("done")


@pytest.mark.spec("MCP-56")
async def test_a_job_shows_its_progress_and_can_be_cancelled(web_app, page):
    job = start(web_app, "people.wait")
    await page.goto(f"/jobs/{job}")
    form = page.get_by_role("group", name="people asks")
    await form.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("one of four")).to_be_visible()
    await page.get_by_role("button", name="Cancel job").click()
    await expect(page.get_by_role("status").first).to_contain_text("cancelled")
    await expect(page.get_by_role("alert")).to_contain_text("The job was cancelled.")


async def test_tester_shows_questions(web_app, page):
    bundle = web_app.pack_bundle("people")
    await page.goto(f"/tools/{bundle['id']}/sign-in")
    await page.get_by_role("textbox", name="url").fill(PAGE)
    await page.get_by_role("button", name="Run", exact=True).click()
    await page.get_by_role("group", name="people asks").get_by_role("button", name="Decline").click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("decline")


async def test_jobs_fit_a_phone_and_speak_chinese(web_app, browser):
    job = start(web_app, "people.ask", schema=EVERY_FIELD)
    page = await open_page(browser, web_app, viewport={"width": 390, "height": 844})
    await page.goto("/jobs")
    await page.evaluate("localStorage.setItem('onetool-language', 'zh')")
    for path in ("/jobs", f"/jobs/{job}"):
        await page.goto(path)
        await page.get_by_text("等待您回答").first.wait_for()
        assert await page.evaluate(OVERFLOW) <= 0
