"""Browser tests of the Tools page and the tester."""

import asyncio
import json
import os
import threading
from asyncio.subprocess import PIPE

import pytest
from playwright.async_api import Page, expect

from support.rest_process import API_KEY, TOKEN, RecordedRequest, RestReply, http_tool, new_slug
from support.waiting import HANG_S, until
from support.web_app import (
    CITY_SCHEMA,
    browser_test,
    click_switch,
    create_tool_and_bundle,
    open_tool,
    replace_text,
    toggle,
)

pytestmark = browser_test


async def search(page: Page, text: str) -> None:
    await page.goto("/tools")
    await page.get_by_label("Search tools").fill(text)


@pytest.mark.spec("BND-07", "BND-09")
async def test_tool_and_bundle_are_disabled(web_app, page):
    slug, tool = create_tool_and_bundle(web_app)
    await search(page, tool["slug"])
    tool_switch = page.get_by_role("switch", name=f"Enable tool {tool['name']}")
    await toggle(page, tool_switch)
    await expect(tool_switch).not_to_be_checked()
    assert web_app.get_tool(tool)["isEnabled"] is False
    await page.goto("/tools")
    bundle_switch = page.get_by_role("switch", name=f"Enable bundle {slug}")
    await toggle(page, bundle_switch)
    await expect(bundle_switch).not_to_be_checked()
    assert web_app.find_bundle(tool["bundleID"])["isEnabled"] is False


async def test_response_from_before_a_change_is_ignored(web_app, page):
    """A search that started before a tool was disabled shows the tool as disabled."""
    _, tool = create_tool_and_bundle(web_app)
    search_done, is_disabled = asyncio.Event(), asyncio.Event()

    async def delay_toggle(route):
        await (search_done.wait() if route.request.method == "PATCH" else asyncio.sleep(0))
        await route.continue_()

    async def delay_search(route):
        response = await route.fetch()
        search_done.set()
        await is_disabled.wait()
        await route.fulfill(response=response)

    await page.goto("/tools")
    await page.route("**/version/v1", delay_toggle)
    await page.route("**/tools/tools/search?*", delay_search, times=1)
    switch = page.get_by_role("switch", name=f"Enable tool {tool['name']}")
    async with page.expect_response(lambda response: response.request.method == "PATCH"):
        await click_switch(switch)
        await page.get_by_label("Search tools").fill(tool["slug"])
    is_disabled.set()
    await expect(page.get_by_role("link", name=tool["name"])).to_be_visible()
    await expect(switch).not_to_be_checked()


@pytest.mark.spec("BND-09")
async def test_search_updates_while_typing_and_survives_navigation(web_app, page):
    _, tool = create_tool_and_bundle(web_app)
    await search(page, tool["slug"][:10])
    await expect(page.get_by_role("link", name=tool["name"])).to_be_visible()
    await page.get_by_role("link", name=tool["name"]).click()
    await page.get_by_role("heading", level=1, name="Probe").wait_for()
    await page.go_back()
    await expect(page.get_by_label("Search tools")).to_have_value(tool["slug"][:10])
    await page.get_by_label("Search tools").fill("qqqqxxxxzzzz")
    await expect(page.get_by_text("No tools found")).to_be_visible()


async def test_tag_filters_the_list(web_app, page):
    _, tagged = create_tool_and_bundle(web_app, tags=["rainy"])
    other = web_app.create_tool(tagged["bundleID"], slug=new_slug("other"))
    await page.goto("/tools")
    await page.get_by_role("button", name="Filter by tag rainy").click()
    await expect(page.get_by_role("link", name=other["name"])).to_have_count(0)
    await expect(page.get_by_role("link", name=tagged["name"])).to_be_visible()
    await page.get_by_role("button", name="Clear the filter for tag rainy").click()
    await expect(page.get_by_role("link", name=other["name"])).to_be_visible()


async def test_call_is_copied_as_command_and_code(web_app, page):
    """The copied curl command works and contains no token."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    _, tool = create_tool_and_bundle(web_app, func="probes.add", argSchema=schema)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await open_tool(page, tool)
    await page.get_by_text("JSON", exact=True).first.click()
    await replace_text(page.get_by_role("textbox", name="JSON", exact=True), '{"a": 2, "b": 3}')
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
    output, _ = await curl.communicate()
    assert json.loads(output)["value"] == 5


@pytest.mark.spec("BND-07", "BND-09")
async def test_tester_calls_with_a_form_and_shows_a_table(web_app, upstream, page):
    """The form is generated from the schema and shows a missing argument at its field."""
    path = upstream.script(RestReply(body=[{"day": 1, "mm": 3}, {"day": 2, "mm": 0}]))
    _, tool = create_tool_and_bundle(
        web_app, **http_tool(f"{upstream.url}{path}/${{city}}", argSchema=CITY_SCHEMA)
    )
    await open_tool(page, tool)
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("is required")).to_be_visible()
    assert upstream.requests_to(path) == []
    await page.get_by_label("city").fill("São Paulo")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("Done", exact=True)).to_be_visible()
    await expect(page.get_by_role("cell", name="3", exact=True)).to_be_visible()
    assert upstream.requests_to(path)[0].path.endswith("/S%C3%A3o%20Paulo")
    await page.get_by_text("JSON", exact=True).last.click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text('"mm": 3')
    await expect(page.get_by_role("button", name="São Paulo")).to_be_visible()
    await expect(page.get_by_text("1 call, last called")).to_be_visible()


async def test_tester_sends_exactly_the_arguments_shown_once(web_app, upstream, page):
    """Numbers are sent as typed, recent arguments are restored, and only one call runs at a time."""
    released = threading.Event()

    def reply_when_released(request: RecordedRequest) -> RestReply:
        released.wait(HANG_S)
        return RestReply(body="fine")

    path = upstream.script(reply_when_released)
    schema = {"type": "object", "properties": {"n": {"type": "number"}}, "additionalProperties": False}
    _, tool = create_tool_and_bundle(web_app, **http_tool(f"{upstream.url}{path}/${{n}}", argSchema=schema))

    def sent_values() -> list[str]:
        return [request.path.rpartition("/")[2] for request in upstream.requests_to(path)]

    await open_tool(page, tool)
    await page.get_by_label("n", exact=True).press_sequentially("-0.5")
    for _ in range(3):
        await page.get_by_label("n", exact=True).press("Enter")
    await until(sent_values)
    released.set()
    await expect(page.get_by_role("button", name='{"n":-0.5}')).to_be_visible()
    assert sent_values() == ["-0.5"]
    await page.get_by_text("JSON", exact=True).first.click()
    editor = page.get_by_role("textbox", name="JSON", exact=True)
    await replace_text(editor, "null")
    await expect(page.get_by_text("Enter a valid JSON object.")).to_be_visible()
    await replace_text(editor, '{"n": 7}')
    await page.get_by_role("button", name='{"n":-0.5}').click()
    await expect(page.get_by_label("n", exact=True)).to_have_value("-0.5")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("button", name='{"n":-0.5}')).to_have_count(2)
    assert sent_values() == ["-0.5", "-0.5"]


async def test_error_without_a_field_is_shown_below_the_form(web_app, page):
    nested = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {"o": nested, "user.name": {"type": "integer"}},
        "required": ["o"],
    }
    _, tool = create_tool_and_bundle(web_app, argSchema=schema)
    await open_tool(page, tool)
    await page.get_by_label("user.name").fill("many")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("alert").filter(has_text="o is required")).to_be_visible()
    await expect(page.get_by_role("textbox", name="user.name")).to_have_attribute("aria-invalid", "true")


async def test_tester_shows_progress_and_stops(web_app, page, tmp_path):
    gate = tmp_path / "gate"
    schema = {"type": "object", "properties": {"gate": {"type": "string"}}}
    _, tool = create_tool_and_bundle(web_app, func="probes.stepwise", argSchema=schema)
    await open_tool(page, tool)
    await page.get_by_label("gate").fill(str(gate))
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("half")).to_be_visible()
    await page.get_by_role("button", name="Stop").click()
    await expect(page.get_by_text("Stopped.")).to_be_visible()
    gate.touch()
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_text("opened")).to_be_visible()


async def test_failed_call_shows_the_request_with_masked_secrets(web_app, upstream, page):
    path = upstream.script(RestReply(500, "broken"))
    request = {"headers": {"X-Key": "${API_KEY}"}}
    _, tool = create_tool_and_bundle(web_app, **http_tool(upstream.url + path, request=request))
    await open_tool(page, tool)
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Sent request").first).to_contain_text("X-Key: [secret]")
    await expect(page.get_by_text("The tool failed")).to_be_visible()
    assert upstream.requests_to(path)[0].headers["x-key"] == API_KEY
    assert API_KEY not in await page.content()


async def test_built_in_tools_are_read_only(web_app, page):
    tool = next(tool for tool in web_app.list_all("/tools/tools") if tool["name"] == "time.now")
    await open_tool(page, tool)
    await expect(page.get_by_role("link", name="New version")).to_have_count(0)
    await expect(page.get_by_role("button", name="Delete this version")).to_have_count(0)
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("iso")


async def test_bundle_is_created_and_deleted_after_confirmation(web_app, page):
    """The list scrolls to the new bundle."""
    for _ in range(30):
        web_app.create_bundle(slug=new_slug("a"))
    slug = new_slug("created")
    await page.goto("/tools")
    await page.get_by_role("button", name="New bundle").click()
    await page.get_by_role("textbox", name="Short name", exact=True).fill(slug)
    await page.get_by_role("button", name="Create bundle").click()
    await expect(page.get_by_role("switch", name=f"Enable bundle {slug}")).to_be_in_viewport()
    for button, remaining in (("Cancel", 1), ("Delete", 0)):
        await page.get_by_role("button", name=f"Actions for {slug}").click()
        await page.get_by_role("menuitem", name="Delete bundle").click()
        await page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(page.get_by_role("switch", name=f"Enable bundle {slug}")).to_have_count(remaining)
