"""Browser tests of hosted mode with people: invitations, and switching between workspaces."""

import pytest
from playwright.async_api import expect

from support.rest_process import SETTINGS
from support.web_app import browser_test, open_page
from web.hosted_pages import PHONE, card, check_page, select
from web.people_pages import add_person, invite, log_in, member_id, open_as

pytestmark = browser_test


@pytest.fixture
def workspace(new_workspace):
    return new_workspace()


@pytest.fixture
def other(new_workspace):
    return new_workspace()


async def test_invited_person_logs_in_and_becomes_a_member(workspace, browser):
    """The link is shown once. Its secret does not stay in the address."""
    owner = await open_page(browser, workspace)
    await owner.goto(f"{workspace.url}/members")
    await owner.get_by_role("button", name="Invite person").click()
    dialog = owner.get_by_role("dialog")
    await dialog.get_by_label("For whom").fill("Bert of sales")
    await select(owner, dialog.get_by_role("combobox", name="Role"), "maker")
    await dialog.get_by_role("button", name="Create link").click()
    link = await dialog.get_by_role("region", name="Link").inner_text()
    await owner.keyboard.press("Escape")  # does not hide it
    await dialog.get_by_role("button", name="Done").click()
    await expect(card(owner, "Bert of sales")).to_contain_text("maker")
    secret = link.partition("#")[2]
    assert secret.startswith("oti_")
    assert secret not in await owner.content()
    page = await open_as(browser, workspace, "Bert")
    sent = []
    page.on("request", lambda request: sent.append(request.url))
    await page.goto(link)
    await expect(page.get_by_role("heading", level=1)).to_have_text(f"Join {workspace.workspace.slug}")
    assert page.url == f"{workspace.url}/join"
    await expect(page.get_by_role("button", name="Accept invitation")).to_have_count(0)
    await log_in(page)
    await expect(page.get_by_text("maker: Calls tools, and changes tools and servers.")).to_be_visible()
    await expect(page.get_by_text("You are logged in as Bert")).to_be_visible()
    await page.get_by_role("button", name="Accept invitation").click()
    await expect(page.get_by_text("with the role maker.")).to_be_visible()
    assert "oti_" not in await page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")
    await page.get_by_role("link", name="Open workspace").click()
    await expect(page.get_by_role("complementary")).to_contain_text(
        "Logged in as Bert maker", use_inner_text=True
    )
    assert not any(secret in url for url in sent)
    await owner.reload()
    await expect(card(owner, "Bert")).to_contain_text("bert@example.com")
    await expect(card(owner, "Bert of sales")).to_have_count(0)


async def test_invitation_that_cannot_be_accepted_says_why(workspace, browser):
    page = await open_as(browser, workspace, "Bert")
    _, link = invite(workspace, role="caller")
    await page.goto(link)
    await log_in(page)
    await page.get_by_role("button", name="Accept invitation").click()
    await page.get_by_role("link", name="Open workspace").wait_for()
    await page.goto("about:blank")
    await page.goto(link)
    alert = page.get_by_role("alert")
    await expect(alert).to_contain_text("The invitation was accepted already. Ask for a new one.")
    id, link = invite(workspace)
    assert workspace.client.delete(f"/invitations/{id}").status_code == 204
    await page.goto("about:blank")
    await page.goto(link)
    await expect(alert).to_contain_text("There is no such invitation: it was revoked or has expired")
    id, link = invite(workspace)
    with workspace.workspace.stored.writing() as cursor:
        cursor.execute("update invitations set expires_at = now() where id = %s", (id,))
    await page.goto("about:blank")
    await page.goto(link)
    await expect(alert).to_contain_text("The invitation has expired. Ask for a new one.")
    _, link = invite(workspace)
    await page.goto("about:blank")
    await page.goto(link)
    await page.get_by_role("button", name="Accept invitation").click()
    await expect(alert).to_contain_text("You are a member of the workspace already.")


async def test_incomplete_link_says_so(workspace, browser):
    page = await open_as(browser, workspace, "Bert")
    await page.goto(f"{workspace.url}/join")
    await expect(page.get_by_text("The link is incomplete.")).to_be_visible()
    await expect(page.get_by_role("link", name="Log in with your account")).to_have_count(0)


async def test_invited_person_may_use_another_account(workspace, browser):
    page = await open_as(browser, workspace, "Bert")
    _, link = invite(workspace)
    await page.goto(link)
    await log_in(page)
    await page.get_by_role("button", name="Use another account").click()
    await expect(page.get_by_role("link", name="Log in with your account")).to_be_visible()
    await log_in(page)
    await expect(page.get_by_role("button", name="Accept invitation")).to_be_visible()


async def test_owner_revokes_an_invitation(workspace, browser):
    invite(workspace, note="Carl")
    page = await open_page(browser, workspace)
    await page.goto(f"{workspace.url}/members")
    await card(page, "Carl").get_by_role("button", name="Revoke").click()
    await expect(card(page, "Carl")).to_have_count(0)
    assert workspace.client.get("/invitations").json()["invitations"] == []
    await page.get_by_role("button", name="Invite person").click()
    dialog = page.get_by_role("dialog")
    await select(page, dialog.get_by_role("combobox", name="Role"), "maker")
    await dialog.get_by_label("Tools").fill(300 * "x")
    await dialog.get_by_role("button", name="Create link").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("at most 200 characters")


async def test_person_switches_between_their_workspaces_and_logs_out(workspace, other, browser):
    """Someone who is no member of a workspace is told so, and where they are one."""
    page = await open_as(browser, workspace, "Bert")
    await page.goto(f"{workspace.url}/tools")
    await log_in(page)
    await expect(page.get_by_text("You are logged in as Bert, but you are not a member")).to_be_visible()
    await expect(page.get_by_text("You are a member of no workspace yet.")).to_be_visible()
    id = await member_id(page)
    add_person(other, id)
    await page.reload()
    await page.get_by_role("link", name=other.workspace.slug).click()
    await page.get_by_role("heading", name="Tools", exact=True).wait_for()
    await expect(page.get_by_role("button", name="Switch workspace")).to_have_count(0)
    add_person(workspace, id, "maker")
    await page.reload()
    await page.get_by_role("button", name=f"Switch workspace: {other.workspace.slug}").click()
    await page.get_by_role("link", name=workspace.workspace.slug).click()
    await expect(page).to_have_url(f"{workspace.url}/tools")
    await expect(page.get_by_role("complementary")).to_contain_text(
        "Logged in as Bert maker", use_inner_text=True
    )
    await page.get_by_role("button", name="Log out").click()
    await expect(page.get_by_role("link", name="Log in with your account")).to_be_visible()
    await page.goto(f"{other.url}/tools")
    await expect(page.get_by_role("link", name="Log in with your account")).to_be_visible()
    await expect(page.get_by_text("You are logged in as")).to_have_count(0)


@pytest.fixture
def keys_only(open_hosted):
    """Return a workspace of a server without a provider."""
    return open_hosted(SETTINGS)


async def test_server_without_a_provider_invites_no_one(keys_only, browser):
    page = await open_page(browser, keys_only)
    await page.goto(f"{keys_only.url}/members")
    await expect(page.get_by_role("button", name="Add service")).to_be_visible()
    await expect(page.get_by_role("button", name="Invite person")).to_have_count(0)
    await page.goto(f"{keys_only.url}/join#oti_x")
    await expect(page.get_by_text("People cannot log in at this server")).to_be_visible()


async def test_pages_for_people_are_accessible(workspace, other, browser):
    """Also in Chinese, on a desktop and on a phone."""
    page = await open_as(browser, workspace, "Bert", **PHONE)
    _, link = invite(workspace, role="owner", note=150 * "n")
    await page.goto(link)
    await page.get_by_role("link", name="Log in with your account").wait_for()
    await check_page(page)
    await log_in(page)
    await page.get_by_role("button", name="Accept invitation").wait_for()
    await check_page(page)
    await page.evaluate("localStorage.setItem('onetool-language', 'zh')")
    await page.reload()
    await page.get_by_role("button", name="接受邀请").wait_for()
    await check_page(page)
    await page.evaluate("localStorage.setItem('onetool-language', 'en')")
    await page.goto(f"{workspace.url}/tools")
    await page.get_by_text("You are a member of no workspace yet.").wait_for()
    await check_page(page)
    id = await member_id(page)
    add_person(other, id)
    add_person(workspace, id, "owner")
    await page.goto(f"{workspace.url}/members")
    await expect(card(page, 150 * "n")).to_be_visible()
    await page.get_by_role("button", name="Switch workspace").click()
    await page.get_by_role("link", name=other.workspace.slug).wait_for()
    await check_page(page)
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Invite person").click()
    await expect(page.get_by_role("dialog").get_by_label("For whom")).to_be_focused()
    await check_page(page)
    await page.get_by_role("dialog").get_by_role("button", name="Create link").click()
    await page.get_by_role("region", name="Link").wait_for()
    await check_page(page)
