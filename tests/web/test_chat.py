"""Browser tests of the chat: streaming, tool calls, approvals, sessions and the `+` palette."""

import asyncio
import json
import re

import pytest
from playwright.async_api import Page, Route, expect

from support.adversarial_arguments import ADVERSARIAL_ARGUMENTS, shown_name
from support.rest_process import http_tool, new_slug
from support.web_app import CITY_SCHEMA, browser_test, click_switch, toggle

pytestmark = browser_test

ADD_NOTE = {"calls": [{"name": "notes.add", "args": {"text": "Buy milk"}}]}
SHOWN_IN_BROWSER = {
    "long value first",
    "line feed in a name",
    "line feed in a value",
    "escape sequence in a name",
    "bidirectional override in a name",
    "bidirectional override in a value",
    "look-alike name",
    "forged note in a value",
    "deep value",
    "other scripts",
}
CALL_TIME = [{"name": "time.now", "args": {}}]


async def send(page: Page, text: str) -> None:
    await expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    await page.get_by_label("Message").fill(text)
    await page.get_by_label("Message").press("Enter")


async def test_conversation_with_calls_is_stored_renamed_and_deleted(web_app, page):
    question = new_slug("What time is it")
    web_app.script_model({"text": "One moment.", "calls": CALL_TIME}, {"text": "It is **late**."})
    await page.goto("/chat")
    await send(page, question)
    await expect(page.get_by_role("article", name="Model").last).to_contain_text("It is late.")
    assert await page.locator("strong", has_text="late").count() == 1
    chip = page.get_by_role("button", name="time.now")
    await expect(chip).to_contain_text("done")
    await chip.click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("iso")
    await page.reload()
    await expect(page.get_by_role("article", name="Model").last).to_contain_text("It is late.")
    await expect(page.get_by_role("button", name="time.now")).to_contain_text("done")
    await page.get_by_role("button", name=f"Actions for {question}").click()
    await page.get_by_role("menuitem", name="Rename").click()
    await page.get_by_role("textbox", name="Name").fill(f"{question} renamed")
    await page.get_by_role("button", name="Save").click()
    await page.goto("/chat")
    session = page.get_by_role("link", name=f"{question} renamed")
    await session.click()
    await expect(page.get_by_role("article", name="Model").last).to_contain_text("It is late.")
    await page.get_by_role("button", name=f"Actions for {question} renamed").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    await expect(session).to_have_count(0)


async def test_message_sent_while_the_providers_load_uses_the_default(web_app, page):
    web_app.script_model({"text": "Answered early."})
    answered = asyncio.Event()

    async def hold(route: Route) -> None:
        await answered.wait()
        await route.continue_()

    await page.route("**/providers", hold)
    await page.goto("/chat")
    await send(page, new_slug("Hello"))
    await expect(page.get_by_role("article", name="Model")).to_contain_text("Answered early.")
    answered.set()


async def test_tool_that_is_not_read_only_requires_approval(web_app, page):
    """Run approves one call, Discard denies it, and Always run approves all calls of the conversation."""
    notes = web_app.root / "work" / "notes.txt"
    notes.unlink(missing_ok=True)
    web_app.script_model(ADD_NOTE, {"text": "Understood."})
    await page.goto("/chat")
    for turn, (decision, lines) in enumerate((("Discard", 0), ("Run", 1), ("Always run", 2)), 1):
        await send(page, f"Note it, {decision}.")
        prompt = page.get_by_role("group", name="Run notes.add?")
        await prompt.get_by_role("button", name=decision, exact=True).click()
        await expect(page.get_by_role("article", name="Model")).to_have_count(turn)
        assert len(notes.read_text().splitlines() if notes.exists() else []) == lines
    await send(page, "Once more.")
    await expect(page.get_by_role("article", name="Model")).to_have_count(4)
    assert len(notes.read_text().splitlines()) == 3


async def test_approval_prompt_shows_every_argument(web_app, page):
    """Hidden parts are stated and shown on request. The arguments and the digest are those that run."""
    sets = {name: args for name, args in ADVERSARIAL_ARGUMENTS.items() if name in SHOWN_IN_BROWSER}
    calls = [{"name": "notes.keep", "args": args} for args in sets.values()]
    web_app.script_model({"calls": calls}, {"text": "Kept."})
    await page.goto("/chat")
    await send(page, new_slug("Keep these"))
    prompt = page.get_by_role("group", name="Run notes.keep?")
    for args in sets.values():
        await expect(prompt).to_have_count(1)
        lines = await prompt.get_by_role("listitem").all_inner_texts()
        assert len(lines) == len(args)
        for line, (name, value) in zip(lines, args.items(), strict=True):
            assert line.startswith(shown_name(name))
            if line.startswith(f"{json.dumps(name)}: "):
                assert json.loads("{" + line + "}") == {name: value}
            else:
                assert re.match(r'".*?" \([\d,]+ characters hidden\): ', line)
                await prompt.get_by_role("button", name="Show everything").click()
                await expect(prompt.get_by_text("characters hidden")).to_have_count(0)
        digest = await prompt.locator("code").last.inner_text()
        await prompt.get_by_role("button", name="Run", exact=True).click()
        result = page.get_by_role("button", name="notes.keep").nth(list(sets.values()).index(args))
        await expect(result).to_contain_text("done")
        await result.click()
        await expect(page.get_by_role("region", name="Result").last).to_contain_text(digest)
        await result.click()


async def test_stopped_response_is_stored_and_the_chat_continues(web_app, page):
    web_app.script_model({"text": "Wait for it.", "calls": CALL_TIME}, {"text": "x", "delay_s": 60})
    await page.goto("/chat")
    await send(page, "Slowly.")
    await expect(page.get_by_role("button", name="time.now")).to_contain_text("done")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_text("Stopped. The response so far has been saved.")).to_be_visible()
    web_app.script_model({"text": "Here I am."})
    await send(page, "And now?")
    await expect(page.get_by_role("article", name="Model").last).to_contain_text("Here I am.")


async def test_new_chat_ignores_the_previous_response(web_app, page):
    """A response that is still streaming does not appear in the new chat and does not block it."""
    await page.goto("/chat")
    web_app.script_model({"text": "Slow.", "calls": CALL_TIME}, {"text": "x", "delay_s": 60})
    await send(page, "Slowly.")
    await expect(page.get_by_role("button", name="time.now")).to_contain_text("done")
    await page.get_by_role("link", name="New chat").click()
    await expect(page.get_by_role("log")).to_have_count(0)
    web_app.script_model({"text": "Here I am."})
    await send(page, "And now?")
    await expect(page.get_by_role("log")).to_contain_text("Here I am.")
    await expect(page.get_by_text("Stopped.")).to_have_count(0)


async def test_unsent_message_is_restored_if_the_server_is_down(page):
    await page.goto("/chat")
    await expect(page.get_by_role("combobox", name="Model")).to_be_visible()
    await page.route("**/chat", lambda route: route.abort())
    await send(page, "Hello?")
    await expect(page.get_by_role("alert")).to_contain_text("OneTool is not responding.")
    await expect(page.get_by_label("Message")).to_have_value("Hello?")
    await page.get_by_role("link", name="New chat").click()
    await expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.spec("BND-04", "BND-08", "BND-07")
async def test_palette_calls_a_tool_by_keyboard_and_attaches_the_result(web_app, upstream, page):
    """Type `+`, part of a name and Enter, then the argument and Enter."""
    path = upstream.script()
    slug = new_slug("readfile")
    tool = web_app.create_tool(
        slug=slug, **http_tool(f"{upstream.url}{path}/${{city}}", argSchema=CITY_SCHEMA)
    )
    assert tool["slug"] == slug
    web_app.script_model({"text": "I have read it.", "expect": "fine"})
    await page.goto("/chat")
    await page.get_by_label("Message").press("+")
    palette = page.get_by_role("dialog", name="Call a tool")
    await expect(palette.get_by_role("textbox", name="Search tools")).to_be_focused()
    await page.keyboard.type(slug[:14])
    await expect(palette.get_by_text(tool["name"])).to_be_visible()
    await page.keyboard.press("Enter")
    form = page.get_by_role("region", name=tool["name"])
    await form.get_by_label("city").focus()
    await page.keyboard.type("Oslo")
    await page.keyboard.press("Enter")
    chip = page.get_by_role("button", name=tool["name"])
    await expect(chip).to_contain_text("done")
    await chip.click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text('"fine": true')
    await expect(page.get_by_label("Message")).to_have_value("")
    await send(page, "What does it say?")
    await expect(page.get_by_role("article", name="Model")).to_contain_text("I have read it.")
    await expect(page.get_by_role("article", name="You")).to_contain_text(f'{tool["name"]}(city="Oslo")')


@pytest.mark.spec("BND-08")
async def test_palette_enables_and_disables_tools(web_app, page):
    """A disabled tool is hidden by default and cannot be called."""
    slug = new_slug("quiet")
    tool = web_app.create_tool(slug=slug)
    await page.goto("/chat")
    await page.get_by_role("button", name="Call a tool").click()
    await page.get_by_role("textbox", name="Search tools").fill(slug)
    await expect(page.locator("[data-choice]")).to_have_count(1)
    switch = page.get_by_role("switch", name=f"Enable tool {tool['name']}")
    await toggle(page, switch)
    await expect(switch).to_have_count(0)
    assert web_app.get_tool(tool)["isEnabled"] is False
    await click_switch(page.get_by_role("switch", name="Show disabled"))
    await expect(page.get_by_text("This tool is disabled. Enable it first.")).to_be_visible()
    await toggle(page, switch)
    await expect(switch).to_be_checked()
    assert web_app.get_tool(tool)["isEnabled"] is True
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_second_plus_is_inserted_into_the_message(page):
    await page.goto("/chat")
    await page.get_by_label("Message").fill("What is 1 ")
    await page.get_by_label("Message").press("+")
    await expect(page.get_by_role("textbox", name="Search tools")).to_be_focused()
    await page.keyboard.press("+")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.get_by_label("Message")).to_have_value("What is 1 +")


async def test_arrow_keys_move_through_the_palette(page):
    """Down moves from the search field into the list, Up moves back, and Tab moves to the switch."""
    await page.goto("/chat")
    await page.get_by_label("Message").press("+")
    search = page.get_by_role("textbox", name="Search tools")
    await expect(page.locator("[data-choice]").nth(2)).to_be_visible()
    await expect(search).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await expect(page.locator("[data-choice]").nth(1)).to_be_focused()
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.getAttribute('role')") == "switch"
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("ArrowUp")
    await expect(search).to_be_focused()
