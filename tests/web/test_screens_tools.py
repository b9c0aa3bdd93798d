"""The Tools screen in a real browser: list, switch, search, try out, delete."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE

import pytest
from playwright.async_api import Page, expect
from web_site import CITY, flip, on_screens, open_tool, own, turn, write

from rest_server import KEY, TOKEN, Answer, http_tool, new_slug

pytestmark = on_screens


async def search(page: Page, text: str) -> None:
    await page.goto("/tools")
    await page.get_by_label("Search tools").fill(text)


@pytest.mark.spec("BND-07", "BND-09")
async def test_a_tool_and_its_bundle_are_switched(site, page):
    """What the screen switches is what the server knows."""
    slug, tool = own(site)
    await search(page, tool["slug"])
    await turn(page, page.get_by_role("switch", name=f"Tool {tool['name']}"))
    await expect(page.get_by_role("switch", name=f"Tool {tool['name']}")).not_to_be_checked()
    assert site.get(tool)["isEnabled"] is False
    await page.goto("/tools")
    switch = page.get_by_role("switch", name=f"Bundle {slug}")
    await turn(page, switch)
    await expect(switch).not_to_be_checked()
    assert site.find_bundle(tool["bundleID"])["isEnabled"] is False


async def test_an_answer_from_before_a_change_is_not_taken_for_the_news(site, page):
    """A search that was under way while a tool was switched off shows it as it is now."""
    _, tool = own(site)
    looked, is_off = asyncio.Event(), asyncio.Event()

    async def hold_switch(route):
        await (looked.wait() if route.request.method == "PATCH" else asyncio.sleep(0))
        await route.continue_()

    async def hold_search(route):
        answer = await route.fetch()
        looked.set()
        await is_off.wait()
        await route.fulfill(response=answer)

    await page.goto("/tools")
    await page.route("**/version/v1", hold_switch)
    await page.route("**/tools/tools/search?*", hold_search, times=1)
    switch = page.get_by_role("switch", name=f"Tool {tool['name']}")
    async with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        await flip(switch)
        await page.get_by_label("Search tools").fill(tool["slug"])
    is_off.set()
    await expect(page.get_by_role("link", name=tool["slug"])).to_contain_text(tool["bundleSlug"])
    await expect(switch).not_to_be_checked()


@pytest.mark.spec("BND-09")
async def test_search_finds_as_one_types_and_says_when_nothing_fits(site, page):
    """The same ranking as everywhere, without a key press beyond the words."""
    _, tool = own(site)
    await search(page, tool["slug"][:10])
    await expect(page.get_by_role("link", name=tool["slug"])).to_be_visible()
    await page.get_by_role("link", name=tool["slug"]).click()
    await page.get_by_role("heading", level=1, name="Probe").wait_for()
    await page.go_back()
    await expect(page.get_by_label("Search tools")).to_have_value(tool["slug"][:10])
    await page.get_by_label("Search tools").fill("qqqqxxxxzzzz")
    await expect(page.get_by_text("Nothing fits")).to_be_visible()


async def test_a_tag_leaves_only_its_tools(site, page):
    """A click on a tag leaves what has it; another click brings the rest back."""
    _, tagged = own(site, tags=["rainy"])
    other = site.tool(tagged["bundleID"], slug=new_slug("other"))
    await page.goto("/tools")
    await page.get_by_role("button", name="Only tools with the tag rainy").click()
    await expect(page.get_by_role("link", name=other["slug"])).to_have_count(0)
    await expect(page.get_by_role("link", name=tagged["slug"])).to_be_visible()
    await page.get_by_role("button", name="Show tools without the tag rainy too").click()
    await expect(page.get_by_role("link", name=other["slug"])).to_be_visible()


async def test_a_call_is_copied_as_others_would_make_it(site, page):
    """What is copied for a shell calls the tool as it stands; so does the code for `run`."""
    both = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    _, tool = own(site, func="probes.add", argSchema=both)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await open_tool(page, tool)
    await page.get_by_text("JSON", exact=True).first.click()
    await write(page.get_by_role("textbox", name="JSON", exact=True), '{"a": 2, "b": 3}')
    copied = {}
    for name in ("curl", "onetool run", "Python"):
        await page.get_by_role("button", name=name, exact=True).click()
        await expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied[name] = await page.evaluate("navigator.clipboard.readText()")
        await expect(page.get_by_role("button", name=name, exact=True)).to_be_visible()
    assert copied["onetool run"] == f"onetool run '{tool['name']}(a=2, b=3)'"
    assert f'ot.call("{tool["name"]}@v1", a=2, b=3)' in copied["Python"]
    assert TOKEN not in str(copied)
    curl = await asyncio.create_subprocess_shell(
        copied["curl"], env={**os.environ, "ONETOOL_TOKEN": TOKEN}, stdout=PIPE, stderr=PIPE
    )
    answer, _ = await curl.communicate()
    assert json.loads(answer)["value"] == 5


@pytest.mark.spec("BND-07", "BND-09")
async def test_the_tester_calls_with_a_form_and_shows_a_table(site, upstream, page):
    """The form is made from the schema; an argument that is missing is told beside its field."""
    path = upstream.script(Answer(body=[{"day": 1, "mm": 3}, {"day": 2, "mm": 0}]))
    _, tool = own(site, **http_tool(f"{upstream.url}{path}/${{city}}", argSchema=CITY))
    await open_tool(page, tool)
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("is needed")).to_be_visible()
    assert upstream.seen(path) == []
    await page.get_by_label("city").fill("São Paulo")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("Done", exact=True)).to_be_visible()
    await expect(page.get_by_role("cell", name="3", exact=True)).to_be_visible()
    assert upstream.seen(path)[0].path.endswith("/S%C3%A3o%20Paulo")
    await page.get_by_text("JSON", exact=True).last.click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text('"mm": 3')
    await expect(page.get_by_role("button", name="São Paulo")).to_be_visible()
    await expect(page.get_by_text("1 call, last called")).to_be_visible()


async def test_what_is_shown_is_what_is_sent_once(site, upstream, page):
    """Numbers as they are typed, calls of before as they were, and no second call while one runs."""
    path = upstream.script(Answer(body="fine", wait=0.5))
    known = {"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": False}
    _, tool = own(site, **http_tool(f"{upstream.url}{path}/${{n}}", argSchema=known))

    def sent() -> list[str]:
        return [it.path.rpartition("/")[2] for it in upstream.seen(path)]

    await open_tool(page, tool)
    await page.get_by_label("n", exact=True).press_sequentially("-0.5")
    for _ in range(3):
        await page.get_by_label("n", exact=True).press("Enter")
    await expect(page.get_by_role("button", name='{"n":-0.5}')).to_be_visible()
    assert sent() == ["-0.5"]
    await page.get_by_text("JSON", exact=True).first.click()
    editor = page.get_by_role("textbox", name="JSON", exact=True)
    await write(editor, "null")
    await expect(page.get_by_text("This is not JSON yet.")).to_be_visible()
    await write(editor, '{"n": 7}')
    await page.get_by_role("button", name='{"n":-0.5}').click()
    await expect(page.get_by_label("n", exact=True)).to_have_value("-0.5")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("button", name='{"n":-0.5}')).to_have_count(2)
    assert sent() == ["-0.5", "-0.5"]


async def test_a_mistake_without_a_field_is_told_all_the_same(site, page):
    """Run never does nothing without a word."""
    inner = {"type": "object", "properties": {"a": {"type": "string"}}}
    known = {"type": "object", "properties": {"o": inner, "user.name": {"type": "integer"}}}
    _, tool = own(site, argSchema=known | {"required": ["o"]})
    await open_tool(page, tool)
    await page.get_by_label("user.name").fill("many")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("alert").filter(has_text="o is needed")).to_be_visible()
    await expect(page.get_by_role("textbox", name="user.name")).to_have_attribute("aria-invalid", "true")


async def test_the_tester_shows_progress_and_stops(site, page, tmp_path):
    """Progress is shown while the tool runs; stopping it leaves a word, not an error."""
    gate = tmp_path / "gate"
    steps = {"type": "object", "properties": {"gate": {"type": "string"}}}
    _, tool = own(site, func="probes.stepwise", argSchema=steps)
    await open_tool(page, tool)
    await page.get_by_label("gate").fill(str(gate))
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("half")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_text("Stopped.")).to_be_visible()
    gate.touch()
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("opened")).to_be_visible()


async def test_a_failure_is_told_in_words_and_secrets_never_appear(site, upstream, page):
    """The request that was sent is shown, with a mask where a secret stood."""
    path = upstream.script(Answer(500, "broken"))
    sent = {"headers": {"X-Key": "${API_KEY}"}}
    _, tool = own(site, **http_tool(upstream.url + path, request=sent))
    await open_tool(page, tool)
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Request that was sent").first).to_contain_text(
        "X-Key: [secret]"
    )
    await expect(page.get_by_text("The tool failed")).to_be_visible()
    assert upstream.seen(path)[0].headers["x-key"] == KEY
    assert KEY not in await page.content()


async def test_built_in_tools_are_read_only(site, page):
    """They can be tried and switched, and nothing else."""
    now = next(it for it in site.every("/tools/tools") if it["name"] == "time.now")
    await open_tool(page, now)
    await expect(page.get_by_role("link", name="New version")).to_have_count(0)
    await expect(page.get_by_role("button", name="Delete this version")).to_have_count(0)
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("iso")


async def test_a_bundle_is_created_and_deleted_with_a_question(site, page):
    """A new one is brought into sight, however long the list is; deleting asks, and declining is heeded."""
    for _ in range(30):
        site.bundle(slug=new_slug("a"))
    slug = new_slug("made")
    await page.goto("/tools")
    await page.get_by_role("button", name="New bundle").click()
    await page.get_by_label("Short name").fill(slug)
    await page.get_by_role("button", name="Create bundle").click()
    await expect(page.get_by_role("switch", name=f"Bundle {slug}")).to_be_in_viewport()
    for answer, left in (("Cancel", 1), ("Delete", 0)):
        await page.get_by_role("button", name=f"More for {slug}").click()
        await page.get_by_role("menuitem", name="Delete bundle").click()
        await page.get_by_role("dialog").get_by_role("button", name=answer, exact=True).click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(page.get_by_role("switch", name=f"Bundle {slug}")).to_have_count(left)
