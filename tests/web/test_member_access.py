"""Browser tests of hosted mode: what a member may call, and why."""

import pytest
import yaml
from playwright.async_api import expect

from support.rest_process import SETTINGS, http_tool
from support.web_app import browser_test, open_page
from web.hosted_pages import MARKUP, PHONE, add_service, card, check_page

pytestmark = browser_test
PAGE_SIZE = 100


def add_grant(workspace, member, effect, pattern):
    body = {"kind": "service", "member": member, "effect": effect, "pattern": pattern}
    assert workspace.client.post("/grants", json=body).status_code == 201


async def test_owner_sees_why_a_member_may_or_may_not_call_a_tool(workspace, owner_page):
    page = owner_page
    add_service(workspace, "ci-deploy", patterns=["probes.*"])
    add_grant(workspace, "ci-deploy", "deny", "probes.one")
    await page.goto(f"{workspace.url}/members")
    await page.get_by_role("button", name="Actions for ci-deploy").click()
    await page.get_by_role("menuitem", name="What may they call?").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("What ci-deploy may call")
    await expect(card(page, "probes.one")).to_contain_text("never")
    await expect(card(page, "probes.one")).to_contain_text(
        "Decided by: grant to the member: deny probes.one (never)"
    )
    await expect(card(page, "probes.two")).to_contain_text("without asking")
    await page.get_by_label("Filter tools by name").fill("time.now")
    await expect(card(page, "time.now")).to_contain_text("hidden")
    await expect(card(page, "time.now")).to_contain_text("probes.*")
    await expect(page.get_by_role("list", name="What ci-deploy may call").locator("> li")).to_have_count(1)
    await page.get_by_role("link", name="Members").last.click()
    await expect(card(page, "ci-deploy")).to_be_visible()


@pytest.fixture
def guarded(open_hosted):
    """Return a workspace in which MCP clients may not call tools that make changes."""
    return open_hosted(yaml.safe_dump(yaml.safe_load(SETTINGS) | {"approval": {"mcp": "deny"}}))


async def test_decisions_are_about_the_chosen_kind_of_calls(guarded, browser):
    add_service(guarded, "ci-deploy")
    page = await open_page(browser, guarded)
    bundle = guarded.create_bundle(displayName="Changes")
    tool = guarded.create_tool(bundle, **http_tool("http://127.0.0.1:1/x", request={"method": "POST"}))[
        "name"
    ]
    await page.goto(f"{guarded.url}/members/service/ci-deploy/access?q={tool}")
    await expect(card(page, tool)).to_contain_text("Decided by: approval.mcp: deny (never)")
    await page.get_by_label("Calls through").select_option("REST, Python and web UI")
    await expect(card(page, tool)).to_contain_text("without asking")
    await expect(card(page, tool)).not_to_contain_text("never")


async def test_only_owners_see_what_others_may_call(mia, carl, browser):
    page = await open_page(browser, mia)
    await page.goto(f"{mia.url}/members/service/carl/access")
    await expect(page.get_by_role("alert")).to_contain_text(
        "Only owners of a workspace see what other members may call."
    )


async def test_many_tools_are_listed_page_by_page(workspace, owner_page):
    page = owner_page
    bundle = workspace.create_bundle(displayName="Many")
    for index in range(120):
        workspace.create_tool(bundle, slug=f"tool-{index}")
    await page.goto(f"{workspace.url}/members/service/anna/access?q=tool_")
    items = page.get_by_role("list", name="What anna may call").locator("> li")
    await expect(items).to_have_count(PAGE_SIZE)
    await page.get_by_role("button", name="Load more").click()
    await expect(items).to_have_count(120)
    await page.get_by_label("Filter tools by name").fill("tool_119")
    await expect(items).to_have_count(1)


async def test_page_is_accessible(workspace, browser):
    """Also in Chinese. Patterns are shown as text."""
    add_service(workspace, "ci-deploy", patterns=[MARKUP, 150 * "y"])
    page = await open_page(browser, workspace, **PHONE)
    await page.goto(f"{workspace.url}/members/service/ci-deploy/access")
    await expect(card(page, "probes.one")).to_contain_text(MARKUP)
    assert await page.locator("img[src=x]").count() == 0
    await check_page(page)
    await page.evaluate("localStorage.setItem('onetool-language', 'zh')")
    await page.reload()
    await expect(page.get_by_role("heading", level=1)).to_have_text("ci-deploy 可以调用什么")
    await check_page(page)
