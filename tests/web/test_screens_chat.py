"""The chat in a real browser: streamed answers, calls, approvals, and the `+` palette by keyboard alone."""

import pytest
from playwright.async_api import Page, expect
from web_site import flip, on_screens, turn

from rest_server import http_tool, new_slug

pytestmark = on_screens

NOTE = {"calls": [{"name": "notes.add", "args": {"text": "Buy milk"}}]}


async def ask(page: Page, text: str) -> None:
    await expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    await page.get_by_label("Message").fill(text)
    await page.get_by_label("Message").press("Enter")


async def test_an_answer_shows_its_calls_and_is_kept(site, page):
    """A call is a line that opens; the conversation is there again after a reload, and under its name."""
    question = new_slug("What time is it")
    site.say({"text": "I look.", "calls": [{"name": "time.now", "args": {}}]}, {"text": "It is **late**."})
    await page.goto("/chat")
    await ask(page, question)
    await expect(page.get_by_role("article", name="Model").last).to_contain_text("It is late.")
    assert await page.locator("strong", has_text="late").count() == 1
    chip = page.get_by_role("button", name="time.now")
    await expect(chip).to_contain_text("done")
    await chip.click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("iso")
    await page.reload()
    await expect(page.get_by_role("article", name="Model").last).to_contain_text("It is late.")
    await expect(page.get_by_role("button", name="time.now")).to_contain_text("done")
    await page.get_by_role("button", name=f"More for {question}").click()
    await page.get_by_role("menuitem", name="Rename").click()
    await page.get_by_role("textbox", name="Name").fill(f"{question} renamed")
    await page.get_by_role("button", name="Save").click()
    await page.goto("/chat")
    kept = page.get_by_role("link", name=f"{question} renamed")
    await kept.click()
    await expect(page.get_by_role("article", name="Model").last).to_contain_text("It is late.")
    await page.get_by_role("button", name=f"More for {question} renamed").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    await expect(kept).to_have_count(0)


async def test_a_change_runs_when_allowed_and_not_when_discarded(site, page):
    """Run lets it run once, Discard does not, Run always asks no more in this conversation."""
    notes = site.root / "work" / "notes.txt"
    notes.unlink(missing_ok=True)
    site.say(NOTE, {"text": "So be it."})
    await page.goto("/chat")
    for at, (decision, lines) in enumerate((("Discard", 0), ("Run", 1), ("Run always", 2)), 1):
        await ask(page, f"Note it, {decision}.")
        asked = page.get_by_role("group", name="May notes.add run?")
        await asked.get_by_role("button", name=decision, exact=True).click()
        await expect(page.get_by_role("article", name="Model")).to_have_count(at)
        assert len(notes.read_text().splitlines() if notes.exists() else []) == lines
    await ask(page, "Once more.")
    await expect(page.get_by_role("article", name="Model")).to_have_count(4)
    assert len(notes.read_text().splitlines()) == 3


async def test_an_answer_is_stopped(site, page):
    """Leaving in the middle keeps what was said, and the next question can be asked."""
    site.say(
        {"text": "Wait for it.", "calls": [{"name": "time.now", "args": {}}]}, {"text": "x", "delay_s": 60}
    )
    await page.goto("/chat")
    await ask(page, "Slowly.")
    await expect(page.get_by_role("button", name="time.now")).to_contain_text("done")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_text("Stopped. What was said so far is kept.")).to_be_visible()
    site.say({"text": "Here I am."})
    await ask(page, "And now?")
    await expect(page.get_by_role("article", name="Model").last).to_contain_text("Here I am.")


async def test_another_conversation_hears_nothing_of_the_one_that_was_left(site, page):
    """Who begins anew while an answer comes finds an empty page, and can ask at once."""
    await page.goto("/chat")
    site.say({"text": "Slow.", "calls": [{"name": "time.now", "args": {}}]}, {"text": "x", "delay_s": 60})
    await ask(page, "Slowly.")
    await expect(page.get_by_role("button", name="time.now")).to_contain_text("done")
    await page.get_by_role("link", name="New chat").click()
    await expect(page.get_by_role("log")).to_have_count(0)
    site.say({"text": "Here I am."})
    await ask(page, "And now?")
    await expect(page.get_by_role("log")).to_contain_text("Here I am.")
    await expect(page.get_by_text("Stopped.")).to_have_count(0)


async def test_a_server_that_is_gone_is_told_in_the_chat(page):
    """In words, beside the question that was asked, which can be sent again."""
    await page.goto("/chat")
    await expect(page.get_by_role("combobox", name="Model")).to_be_visible()
    await page.route("**/chat", lambda route: route.abort())
    await ask(page, "Hello?")
    await expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    await expect(page.get_by_label("Message")).to_have_value("Hello?")
    await page.get_by_role("link", name="New chat").click()
    await expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.spec("BND-04", "BND-08", "BND-07")
async def test_plus_opens_the_palette_and_the_keyboard_does_the_rest(site, upstream, page):
    """`+`, some letters, Enter, the argument, Enter: the result goes with the message."""
    path = upstream.script()
    slug = new_slug("readfile")
    known = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = site.tool(slug=slug, **http_tool(f"{upstream.url}{path}/${{city}}", argSchema=known))
    assert tool["slug"] == slug
    site.say({"text": "I have read it.", "expect": "fine"})
    await page.goto("/chat")
    await page.get_by_label("Message").press("+")
    palette = page.get_by_role("dialog", name="Call a tool")
    await expect(palette.get_by_role("textbox", name="Search tools")).to_be_focused()
    await page.keyboard.type(slug[:14])
    await expect(palette.get_by_text(f"+{slug}")).to_be_visible()
    await page.keyboard.press("Enter")
    form = page.get_by_role("region", name=f"+{slug}")
    await form.get_by_label("city").focus()
    await page.keyboard.type("Oslo")
    await page.keyboard.press("Enter")
    chip = page.get_by_role("button", name=tool["name"])
    await expect(chip).to_contain_text("done")
    await chip.click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text('"fine": true')
    await expect(page.get_by_label("Message")).to_have_value("")
    await ask(page, "What does it say?")
    await expect(page.get_by_role("article", name="Model")).to_contain_text("I have read it.")
    await expect(page.get_by_role("article", name="You")).to_contain_text(f'{tool["name"]}(city="Oslo")')


@pytest.mark.spec("BND-08")
async def test_the_palette_switches_tools_off_and_on(site, page):
    """A tool that is off is reachable by the toggle, cannot be taken, and comes back."""
    slug = new_slug("quiet")
    tool = site.tool(slug=slug)
    await page.goto("/chat")
    await page.get_by_role("button", name="Call a tool").click()
    await page.get_by_role("textbox", name="Search tools").fill(slug)
    await expect(page.locator("[data-choice]")).to_have_count(1)
    switch = page.get_by_role("switch", name=f"Tool {tool['name']}")
    await turn(page, switch)
    await expect(switch).to_have_count(0)
    assert site.get(tool)["isEnabled"] is False
    await flip(page.get_by_role("switch", name="Show switched off"))
    await expect(page.get_by_text("Switched off. Switch it on to call it.")).to_be_visible()
    await turn(page, switch)
    await expect(switch).to_be_checked()
    assert site.get(tool)["isEnabled"] is True
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_a_plus_can_be_written(page):
    """The second one is none of the palette's."""
    await page.goto("/chat")
    await page.get_by_label("Message").fill("What is 1 ")
    await page.get_by_label("Message").press("+")
    await expect(page.get_by_role("textbox", name="Search tools")).to_be_focused()
    await page.keyboard.press("+")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(page.get_by_label("Message")).to_have_value("What is 1 +")


async def test_arrows_lead_through_the_palette(page):
    """Down leads into the list, up leads back to the words, Tab leads to the switch."""
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


async def test_a_model_that_fails_says_why(site, page):
    """What the provider said is shown as words, not as an empty answer."""
    site.say({"error": {"kind": "rejected", "message": "The key is over."}})
    await page.goto("/chat")
    await ask(page, "Hello?")
    await expect(page.get_by_role("alert")).to_contain_text("The key is over.")
