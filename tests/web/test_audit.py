"""Browser tests of hosted mode: the audit log."""

import json
from datetime import datetime, timedelta

from playwright.async_api import expect

from support.web_app import browser_test, open_page
from web.hosted_pages import MARKUP, PHONE, add_service, check_page, create_key

pytestmark = browser_test
PAGE_SIZE = 50


def entries(page):
    return page.get_by_role("list", name="Audit log").locator("> li")


def stored(view, **filter):
    return view.client.get("/audit", params={"limit": 200, **filter}).json()["entries"]


async def test_changes_are_listed_with_their_details(workspace, owner_page):
    page = owner_page
    add_service(workspace, "ci-deploy", patterns=["probes.*", "time.now"])
    await page.goto(f"{workspace.url}/audit")
    first = entries(page).first
    await expect(first).to_contain_text("Added or changed member")
    await expect(first).to_contain_text("by anna via rest", use_inner_text=True)
    await expect(first.locator("dd")).to_contain_text(["caller", "probes.*, time.now"])
    await expect(first.get_by_role("time")).to_be_visible()


async def test_filters_limit_the_list_and_the_export(workspace, carl, owner_page):
    """They are in the address, so a filtered list can be bookmarked."""
    page = owner_page
    with carl.new_client(carl.token) as client:
        assert client.post("/keys", json={"name": "of carl"}).status_code == 201
    await page.goto(f"{workspace.url}/audit")
    await entries(page).first.wait_for()
    await page.get_by_label("Who").fill("carl")
    await expect(entries(page)).to_have_count(1)
    await expect(entries(page)).to_contain_text("Created API key")
    await page.get_by_label("Who").fill("")
    await page.get_by_label("Action").select_option("Members: all")
    members = [entry["id"] for entry in stored(workspace, action="member")]
    await expect(entries(page)).to_have_count(len(members))
    async with page.expect_download() as begun:
        await page.get_by_role("link", name="Export as JSON lines").click()
    download = await begun.value
    assert download.suggested_filename == "audit.jsonl"
    lines = (await download.path()).read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == members
    await page.reload()
    await expect(entries(page)).to_have_count(len(members))
    await expect(page.get_by_label("Action")).to_have_value("member")


async def test_times_limit_the_list(workspace, owner_page):
    page = owner_page
    await page.goto(f"{workspace.url}/audit")
    await entries(page).first.wait_for()
    count = await entries(page).count()
    tomorrow, yesterday = (datetime.now() + timedelta(days=days) for days in (1, -1))
    await page.get_by_label("From").fill(tomorrow.strftime("%Y-%m-%dT%H:%M"))
    await expect(page.get_by_text("No entries")).to_be_visible()
    await page.get_by_label("From").fill(yesterday.strftime("%Y-%m-%dT%H:%M"))
    await expect(entries(page)).to_have_count(count)
    await page.get_by_label("Before").fill(yesterday.strftime("%Y-%m-%dT%H:%M"))
    await expect(page.get_by_text("No entries")).to_be_visible()


async def test_actor_and_target_of_an_entry_become_the_filter(workspace, mia, owner_page):
    page = owner_page
    with mia.new_client(mia.token) as client:
        assert client.put("/secrets/A", json={"value": "x", "of": "workspace"}).status_code == 200
    assert workspace.client.put("/secrets/A", json={"value": "y", "of": "workspace"}).status_code == 200
    await page.goto(f"{workspace.url}/audit")
    await page.get_by_role("button", name="Only entries about A", exact=True).first.click()
    await expect(entries(page)).to_have_count(2)
    await page.get_by_role("button", name="Only entries by mia").click()
    await expect(entries(page)).to_have_count(1)
    await expect(page.get_by_label("Who")).to_have_value("mia")


async def test_older_entries_are_loaded_on_demand(workspace, owner_page):
    page = owner_page
    for index in range(PAGE_SIZE):
        add_service(workspace, f"service-{index}")
    total = len(stored(workspace))
    await page.goto(f"{workspace.url}/audit")
    await expect(entries(page)).to_have_count(PAGE_SIZE)
    await page.get_by_role("button", name="Show older entries").click()
    await expect(entries(page)).to_have_count(total)
    await expect(page.get_by_role("button", name="Show older entries")).to_have_count(0)


async def test_auditor_sees_the_audit_log_and_all_calls_only(aude, browser):
    page = await open_page(browser, aude)
    await page.goto(f"{aude.url}/")
    links = page.get_by_role("navigation").get_by_role("link")
    await expect(links).to_have_text(["Activity", "Audit log"])
    await expect(page.get_by_role("heading", name="Activity", level=1)).to_be_visible()
    await links.filter(has_text="Audit log").click()
    member = entries(page).filter(has_text="Added or changed member")
    await expect(member.first).to_contain_text("by anna via rest", use_inner_text=True)


async def test_caller_is_told_why_they_see_no_audit_log(carl, browser):
    page = await open_page(browser, carl)
    await page.goto(f"{carl.url}/audit")
    await expect(page.get_by_role("alert")).to_contain_text("GET /audit needs the role owner or auditor.")
    await expect(page.get_by_role("navigation").get_by_role("link", name="Audit log")).to_have_count(0)


async def test_audit_log_is_accessible(workspace, browser):
    """Also in Chinese. What members have written is shown as text."""
    add_service(workspace, "ci-" + 90 * "x", patterns=[MARKUP, 150 * "y"])
    create_key(workspace, MARKUP)
    page = await open_page(browser, workspace, **PHONE)
    await page.goto(f"{workspace.url}/audit")
    await expect(entries(page).nth(1)).to_contain_text(MARKUP)
    assert await page.locator("img[src=x]").count() == 0
    await check_page(page)
    await page.evaluate("localStorage.setItem('onetool-language', 'zh')")
    await page.reload()
    await expect(page.locator("main strong", has_text="添加或更改了成员").first).to_be_visible()
    await check_page(page)
