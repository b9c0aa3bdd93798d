"""Browser tests of the code editor: what the user types and what the page sets."""

import asyncio
import random
import string

import pytest
from playwright.async_api import Page, expect

from support.rest_process import new_slug
from support.web_app import browser_test, replace_text

pytestmark = browser_test

SLOWDOWN = 4
"""How many times slower than this machine the browser runs the page."""
SECONDS_PER_KEY = 0.03
DELAY_EFFECTS = """
const post = MessagePort.prototype.postMessage;
MessagePort.prototype.postMessage = function (...args) { setTimeout(() => post.apply(this, args), 20); };
"""
"""Delays what React schedules, so that keys arrive between a render and its effects."""


def with_corrections(text: str) -> list[str]:
    """Return the keys that type a text, with a wrong key and Backspace after every second character."""
    return [key for i, char in enumerate(text) for key in ([char, "x", "Backspace"] if i % 2 else [char])]


async def press_without_waiting(page: Page, keys: list[str]) -> None:
    """Press keys at a typist's pace, even if the page has not handled the previous ones."""
    presses = []
    for key in keys:
        presses.append(asyncio.ensure_future(page.keyboard.press(key)))
        await asyncio.sleep(SECONDS_PER_KEY)
    await asyncio.gather(*presses)


@pytest.mark.stress
async def test_every_key_typed_on_a_slow_machine_arrives(page, size):
    """The editor and the page have all characters: no late render restores an older text."""
    text = "".join(random.choices(string.ascii_lowercase + string.digits, k=size(100, 200)))
    await page.add_init_script(DELAY_EFFECTS)
    await page.goto("/playground")
    editor = page.get_by_role("textbox", name="Code")
    await editor.click()
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    await press_without_waiting(page, with_corrections(text))
    await devtools.send("Emulation.setCPUThrottlingRate", {"rate": 1})
    await expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    await expect(editor).to_have_text(text)
    assert await page.evaluate("sessionStorage.getItem('onetool-playground')") == text


async def test_page_inserts_a_call_after_what_was_typed(page):
    """A value that does not come from the editor replaces its text."""
    await page.goto("/playground")
    editor = page.get_by_role("textbox", name="Code")
    await editor.click()
    await page.keyboard.type("x = 1")
    await page.get_by_role("button", name="notes").click()
    insert = page.get_by_role("button", name="Insert notes.many")
    await insert.click()
    await expect(editor).to_have_text("x = 1notes.many()")
    await insert.click()
    await expect(editor).to_have_text("x = 1notes.many()notes.many()")


async def test_errors_from_the_server_leave_the_editor_focused(web_app, page):
    """The user can type while the page shows the errors of the previous attempt."""
    await page.goto(f"/tools/new?bundle={web_app.create_bundle()}")
    await page.get_by_role("tab", name="JSON").click()
    await page.get_by_role("textbox", name="Short name", exact=True).fill(new_slug())
    editor = page.get_by_role("textbox", name="JSON", exact=True)
    await replace_text(editor, '{"type": "http", "tags": 5}')
    await page.evaluate("document.querySelector('form').requestSubmit()")
    await expect(page.get_by_role("alert").filter(has_text="tags").first).to_be_visible()
    await page.keyboard.press("Control+End")
    await page.keyboard.type(" ")
    await page.keyboard.press("Backspace")
    await expect(editor).to_be_focused()
    await expect(editor.locator(".cm-lintRange-error").first).to_be_visible()
