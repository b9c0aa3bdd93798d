"""Browser tests of hosted mode: the page Connections, and the whole way to a call with one's own login."""

import pytest
import yaml
from playwright.async_api import expect

from support.asking_client import AskingClient, HttpTransport, text_of
from support.oauth_server import OAuthMcpServer
from support.raw_mcp import MODERN
from support.web_app import browser_test, open_page
from web.hosted_pages import PHONE, card, check_page, view_as
from web.people_pages import log_in, open_as

pytestmark = browser_test


@pytest.fixture
def protected():
    with OAuthMcpServer() as server:
        yield server


@pytest.fixture
def workspace(new_workspace, protected):
    """Return a workspace with a server for each kind of credentials. Its owner is anna."""
    url = protected.url
    servers = {
        "mail": {"url": url, "credentials": "person"},
        "wiki": {"url": url, "credentials": "either"},
        "build": {"url": url},
        "maps": {"url": url, "credentials": "person", "headers": {"Authorization": "Bearer ${MAPS_TOKEN}"}},
    }
    settings = {
        "servers": servers,
        "allowedHosts": ["127.0.0.1"],
        "expose": "all",
        "approval": {"mcp": "allow"},
    }
    return new_workspace(yaml.safe_dump(settings))


@pytest.fixture
def carl(workspace):
    with view_as(workspace, "carl") as view:
        yield view


async def test_invited_person_calls_a_tool_with_their_own_login(workspace, protected, browser):
    """Invitation, login at the provider, login to a server, an API key, and a call by an MCP client."""
    owner = await open_page(browser, workspace, others=[protected.issuer])
    await owner.goto(f"{workspace.url}/members")
    await owner.get_by_role("button", name="Invite person").click()
    dialog = owner.get_by_role("dialog")
    await dialog.get_by_label("For whom").fill("Bert")
    await dialog.get_by_role("button", name="Create link").click()
    link = await dialog.get_by_role("region", name="Link").inner_text()
    page = await open_as(browser, workspace, "Bert", others=[protected.issuer])
    await page.goto(link)
    await log_in(page)
    await page.get_by_role("button", name="Accept invitation").click()
    await page.get_by_role("link", name="Open workspace").click()
    await page.goto(f"{workspace.url}/connections?server=mail")
    first = page.get_by_role("list", name="Connections").get_by_role("listitem").first
    await expect(first).to_have_attribute("aria-label", "mail")
    await expect(first).to_contain_text("Its tools are not known yet. A maker must list them.")
    protected.account = "bert@mail"
    await first.get_by_role("button", name="Log in to mail").click()
    await expect(page.get_by_text("You are logged in to mail.")).to_be_visible()
    assert page.url == f"{workspace.url}/connections?connected=mail"
    await expect(card(page, "mail")).to_contain_text("Your login connected", use_inner_text=True)
    await owner.goto(f"{workspace.url}/connections")
    protected.account = "anna@mail"
    await card(owner, "mail").get_by_role("button", name="Log in to mail").click()
    await card(owner, "mail").get_by_role("button", name="List its tools with my login").click()
    await expect(owner.get_by_text("Listed the tools of mail.")).to_be_visible()
    await page.goto(f"{workspace.url}/keys")
    await page.get_by_role("button", name="Create API key").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("Editor of Bert")
    await dialog.get_by_role("button", name="Create API key").click()
    key = await dialog.get_by_role("region", name="Key", exact=True).inner_text()
    with AskingClient(HttpTransport(f"{workspace.url}/mcp", MODERN, key), MODERN, {}) as client:
        assert text_of(client.call("mail__echo", {"text": "hello"})) == "hello"
    assert protected.called_by == ["bert@mail"]


async def test_login_that_the_provider_denies_says_why(workspace, protected, browser):
    protected.callback_overrides = {"code": None, "error": "access_denied"}
    page = await open_page(browser, workspace, others=[protected.issuer])
    await page.goto(f"{workspace.url}/connections")
    await card(page, "mail").get_by_role("button", name="Log in to mail").click()
    await expect(page.get_by_role("alert")).to_contain_text("access_denied")
    assert page.url == f"{workspace.url}/connections/callback"
    await page.get_by_role("main").get_by_role("link", name="Connections").click()
    await expect(card(page, "mail")).to_contain_text("not connected")


async def test_member_logs_out(workspace, protected, browser):
    page = await open_page(browser, workspace, others=[protected.issuer])
    await page.goto(f"{workspace.url}/connections")
    await card(page, "wiki").get_by_role("button", name="Log in to wiki").click()
    await expect(page.get_by_text("You are logged in to wiki.")).to_be_visible()
    await card(page, "wiki").get_by_role("button", name="Log out: wiki").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Your calls of its tools fail until you log in again")
    await dialog.get_by_role("button", name="Log out").click()
    await expect(card(page, "wiki").get_by_role("button", name="Log out: wiki")).to_have_count(0)
    assert not [item for item in workspace.client.get("/connections").json()["connections"] if item["mine"]]


async def test_callers_change_only_their_own_logins(carl, browser):
    page = await open_page(browser, carl)
    await page.goto(f"{carl.url}/connections")
    await expect(card(page, "wiki").get_by_role("button")).to_have_count(1)
    await expect(card(page, "build").get_by_role("button")).to_have_count(0)
    await expect(card(page, "maps")).to_contain_text("Add these secrets of your own: MAPS_TOKEN")
    await card(page, "maps").get_by_role("link", name="Open secrets").click()
    await expect(page).to_have_url(f"{carl.url}/secrets")


async def test_connections_are_accessible(workspace, browser):
    """Also in Chinese, on a desktop and on a phone."""
    page = await open_page(browser, workspace, **PHONE)
    await page.goto(f"{workspace.url}/connections")
    await card(page, "mail").wait_for()
    await check_page(page)
    await page.evaluate("localStorage.setItem('onetool-language', 'zh')")
    await page.reload()
    await page.get_by_role("heading", name="连接", exact=True).wait_for()
    await check_page(page)
