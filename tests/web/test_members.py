"""Browser tests of hosted mode: the pages Members and API keys, and who is logged in."""

import json

import httpx2
from playwright.async_api import expect
from pytest_asyncio import fixture as async_fixture

from support.waiting import HANG_S
from support.web_app import browser_test, click_switch, open_page
from web.hosted_pages import MARKUP, PHONE, add_service, card, check_page, create_key, select

pytestmark = browser_test
MCP_HEADERS = {"Accept": "application/json, text/event-stream"}


@async_fixture(loop_scope="session")
async def page(owner_page):
    return owner_page


def find_member(workspace, name):
    """Return the role and patterns of a service as the API reports them."""
    members = workspace.client.get("/members").json()["members"]
    return next(((item["role"], item["patterns"]) for item in members if item["id"] == name), None)


def call_tool(workspace, key, name, **args):
    with workspace.new_client(key) as client:
        return client.post("/tools/call", json={"name": name, "args": args})


async def choose(page, member, action):
    """Choose an action from the menu of a member."""
    await page.get_by_role("button", name=f"Actions for {member}").click()
    await page.get_by_role("menuitem", name=action).click()
    return page.get_by_role("dialog")


async def test_owner_adds_a_service_and_changes_it(workspace, page):
    await page.goto(f"{workspace.url}/members")
    await expect(card(page, "anna")).to_contain_text("owner")
    await page.get_by_role("button", name="Add service").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("ci-deploy")
    await dialog.get_by_label("Tools").fill("probes.*\n\n time.now ")
    await dialog.get_by_role("button", name="Add service").click()
    await expect(card(page, "ci-deploy")).to_contain_text("caller")
    await expect(card(page, "ci-deploy").locator("code")).to_have_text(["probes.*", "time.now"])
    assert find_member(workspace, "ci-deploy") == ("caller", ["probes.*", "time.now"])
    dialog = await choose(page, "ci-deploy", "Change role and tools")
    await expect(dialog.get_by_label("Tools")).to_have_value("probes.*\ntime.now")
    await select(page, dialog.get_by_role("combobox", name="Role"), "maker")
    await expect(dialog.get_by_text("Calls tools, and changes tools and servers.")).to_be_visible()
    await dialog.get_by_label("Tools").fill("")
    await dialog.get_by_role("button", name="Save").click()
    await expect(card(page, "ci-deploy")).to_contain_text("maker")
    await expect(card(page, "ci-deploy")).to_contain_text("Tools all", use_inner_text=True)
    assert find_member(workspace, "ci-deploy") == ("maker", [])


async def test_grant_decides_calls_until_it_is_removed(workspace, page):
    add_service(workspace, "ci-deploy")
    key = create_key(workspace, "ci", service="ci-deploy")["key"]
    await page.goto(f"{workspace.url}/members")
    dialog = await choose(page, "ci-deploy", "Add grant")
    await dialog.get_by_label("Tool or pattern").fill("probes.add")
    await select(page, dialog.get_by_role("combobox", name="May be called"), "never")
    await dialog.get_by_role("button", name="Add grant").click()
    await expect(card(page, "ci-deploy")).to_contain_text("probes.add")
    await expect(card(page, "ci-deploy").get_by_text("never", exact=True)).to_be_visible()
    await expect(card(page, "anna").get_by_text("never", exact=True)).to_have_count(0)
    assert not call_tool(workspace, key, "probes.add", a=1, b=2).json()["ok"]
    await page.get_by_role("button", name="Remove the grant for probes.add of ci-deploy").click()
    await expect(card(page, "ci-deploy").get_by_text("probes.add")).to_have_count(0)
    assert call_tool(workspace, key, "probes.add", a=1, b=2).json()["value"] == 3


async def test_removing_a_service_revokes_its_keys(workspace, page):
    """Only after the confirmation, which says so."""
    add_service(workspace, "ci-deploy")
    key = create_key(workspace, "ci", service="ci-deploy")["key"]
    await page.goto(f"{workspace.url}/members")
    dialog = await choose(page, "ci-deploy", "Remove")
    await expect(dialog).to_contain_text("its API keys are revoked")
    await expect(dialog).not_to_contain_text("This is you")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(dialog).to_have_count(0)
    assert call_tool(workspace, key, "probes.one").status_code == 200
    dialog = await choose(page, "ci-deploy", "Remove")
    await dialog.get_by_role("button", name="Remove").click()
    await expect(card(page, "ci-deploy")).to_have_count(0)
    assert find_member(workspace, "ci-deploy") is None
    assert call_tool(workspace, key, "probes.one").status_code == 401


async def test_refusals_are_shown_as_they_are(workspace, page):
    """The last owner stays one, names are checked, and adding a service does not change an existing one."""
    add_service(workspace, "ci-deploy", "maker")
    await page.goto(f"{workspace.url}/members")
    dialog = await choose(page, "anna", "Change role and tools")
    await select(page, dialog.get_by_role("combobox", name="Role"), "caller")
    await dialog.get_by_role("button", name="Save").click()
    refusal = "'anna' is the last owner of the workspace. Make someone else an owner first."
    await expect(dialog.get_by_role("alert")).to_contain_text(refusal)
    await dialog.get_by_role("button", name="Cancel").click()
    dialog = await choose(page, "anna", "Remove")
    await expect(dialog).to_contain_text("This is you: you lose access to the workspace.")
    await dialog.get_by_role("button", name="Remove").click()
    await expect(dialog.get_by_role("alert")).to_contain_text(refusal)
    await dialog.get_by_role("button", name="Cancel").click()
    await page.get_by_role("button", name="Add service").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("not a name")
    await dialog.get_by_role("button", name="Add service").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("'not a name' is not a name for a service.")
    await dialog.get_by_label("Name").fill("ci-deploy")
    await dialog.get_by_label("Name").press("Enter")
    await expect(dialog.get_by_text("There is already a service with this name.")).to_be_visible()
    assert find_member(workspace, "ci-deploy") == ("maker", [])


async def test_created_key_works_until_it_is_revoked(workspace, page):
    """It is shown once, with the settings for an MCP client."""
    add_service(workspace, "ci-deploy")
    await page.goto(f"{workspace.url}/keys")
    await page.get_by_role("button", name="Create API key").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("pipeline")
    await dialog.get_by_label("Valid for days").fill("30")
    await select(page, dialog.get_by_role("combobox", name="Acts for"), "ci-deploy")
    await dialog.get_by_label("Tools").fill("probes.o*")
    await dialog.get_by_role("button", name="Create API key").click()
    key = await dialog.get_by_role("region", name="Key", exact=True).inner_text()
    config = await dialog.get_by_role("region", name="Settings for an MCP client").inner_text()
    assert call_tool(workspace, key, "probes.one").json()["value"] == 1
    assert not call_tool(workspace, key, "probes.two").json()["ok"]
    assert list_mcp_tools(json.loads(config)["mcpServers"]["onetool"])
    stored = workspace.client.get("/keys?everyone=true").json()["keys"][0]
    assert stored["name"] == "pipeline"
    assert (stored["owner"], stored["patterns"]) == ("ci-deploy", ["probes.o*"])
    assert round((stored["expiresAt"] - stored["createdAt"]) / 86_400) == 30
    await page.keyboard.press("Escape")  # does not hide it
    await dialog.get_by_role("button", name="Done").click()
    await expect(dialog).to_have_count(0)
    await click_switch(page.get_by_role("switch", name="Keys of all members"))
    await expect(card(page, "pipeline")).to_contain_text("Acts for ci-deploy", use_inner_text=True)
    assert key not in await page.content()
    await card(page, "pipeline").get_by_role("button", name="Revoke").click()
    await expect(dialog).to_contain_text("are refused at once")
    await dialog.get_by_role("button", name="Revoke").click()
    await expect(card(page, "pipeline").get_by_text("revoked", exact=True)).to_be_visible()
    await expect(card(page, "pipeline").get_by_role("button")).to_have_count(0)
    assert call_tool(workspace, key, "probes.one").status_code == 401


def list_mcp_tools(server):
    """Connect as an MCP client with these settings."""
    assert server["type"] == "http"
    info = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": info}
    headers = server["headers"] | MCP_HEADERS
    with httpx2.Client(trust_env=False, verify=False, timeout=HANG_S) as client:
        response = client.post(server["url"], json=request, headers=headers)
    return response.status_code == 200 and "serverInfo" in response.text


async def test_caller_manages_only_their_own_keys(workspace, carl, browser):
    create_key(workspace, "of anna")
    page = await open_page(browser, carl)
    await page.goto(f"{carl.url}/keys")
    await expect(page.locator("main li h2")).to_have_text(["carl"])
    await expect(page.get_by_role("switch", name="Keys of all members")).to_have_count(0)
    await page.get_by_role("button", name="Create API key").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Acts for")).to_have_count(0)
    await dialog.get_by_label("Name").fill("second")
    await dialog.get_by_role("button", name="Create API key").click()
    key = await dialog.get_by_role("region", name="Key", exact=True).inner_text()
    await dialog.get_by_role("button", name="Done").click()
    await expect(page.locator("main li h2")).to_have_text(["second", "carl"])
    with workspace.new_client(key) as client:
        assert client.get("/me").json()["principal"] == "carl"


async def test_only_owners_see_the_page_of_members(workspace, carl, page, browser):
    """The sidebar says who is logged in."""
    await page.goto(f"{workspace.url}/keys")
    links = page.get_by_role("navigation").get_by_role("link")
    await expect(links.filter(has_text="Members")).to_be_visible()
    await expect(page.get_by_role("complementary")).to_contain_text(
        "Logged in as anna owner", use_inner_text=True
    )
    page = await open_page(browser, carl)
    await page.goto(f"{carl.url}/members")
    await expect(page.get_by_text("Only owners of the workspace can see and change")).to_be_visible()
    links = page.get_by_role("navigation").get_by_role("link")
    await expect(links.filter(has_text="API keys")).to_be_visible()
    await expect(links.filter(has_text="Members")).to_have_count(0)
    await expect(page.get_by_role("button", name="Add service")).to_have_count(0)
    await expect(page.get_by_role("complementary")).to_contain_text(
        "Logged in as carl caller", use_inner_text=True
    )


async def log_in(page, key):
    await page.locator("input[type=password]").fill(key)
    await page.get_by_role("button", name="Log in").click()


async def test_who_logs_in_next_sees_nothing_of_the_one_before(workspace, carl, browser):
    """A key that is revoked while it is used leads to the login page."""
    page = await open_page(browser, workspace, logged_in=False)
    await page.goto(f"{workspace.url}/members")
    await log_in(page, workspace.token)
    await expect(card(page, "anna")).to_be_visible()
    await page.get_by_role("link", name="API keys").click()
    await card(page, "tests").get_by_role("button", name="Revoke").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(page.get_by_role("heading", name="Log in to OneTool")).to_be_visible()
    await page.route("**/me", lambda route: route.abort())  # only what is cached can be shown
    await log_in(page, carl.token)
    await expect(card(page, "carl")).to_be_visible()
    await expect(page.get_by_role("complementary")).not_to_contain_text("anna")
    await expect(page.get_by_role("navigation").get_by_role("link", name="Members")).to_have_count(0)


async def test_key_is_created_and_revoked_by_keyboard(workspace, page):
    await page.goto(f"{workspace.url}/keys")
    await page.get_by_role("button", name="Create API key").focus()
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Name")).to_be_focused()
    await page.keyboard.type("laptop")
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("region", name="Key", exact=True)).to_be_visible()
    await expect(dialog.locator(":focus")).to_have_count(1)  # it does not get lost
    await page.keyboard.press("Tab")
    await expect(dialog.get_by_role("button", name="Copy key")).to_be_focused()
    await dialog.get_by_role("button", name="Done").press("Enter")
    await expect(dialog).to_have_count(0)
    await card(page, "laptop").get_by_role("button", name="Revoke").press("Enter")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(card(page, "laptop").get_by_text("revoked", exact=True)).to_be_visible()


async def test_both_pages_and_their_dialogs_are_accessible(workspace, browser):
    """None has serious violations or scrolls horizontally, also in Chinese. Names and patterns are text."""
    add_service(workspace, "ci-deploy-" + 80 * "x", patterns=["probes.*", 150 * "y", MARKUP])
    for pattern in (150 * "z", MARKUP):
        grant = {"kind": "service", "member": "anna", "effect": "deny", "pattern": pattern}
        assert workspace.client.post("/grants", json=grant).status_code == 201
    create_key(workspace, MARKUP, patterns=[150 * "y", MARKUP])
    page = await open_page(browser, workspace, **PHONE)
    for path, action in (("members", "Add service"), ("keys", "Create API key")):
        await page.goto(f"{workspace.url}/{path}")
        await expect(page.get_by_role("listitem").get_by_text(MARKUP).first).to_be_visible()
        assert await page.locator("img[src=x], [onerror]").count() == 0
        await check_page(page)
        await page.get_by_role("button", name=action).click()
        await expect(page.get_by_role("dialog").get_by_label("Name")).to_be_focused()
        await check_page(page)
    await page.keyboard.type("second")
    await page.keyboard.press("Enter")
    await page.get_by_role("region", name="Key", exact=True).wait_for()
    await check_page(page)
    await page.evaluate("localStorage.setItem('onetool-language', 'zh')")
    for path, title in (("members", "成员"), ("keys", "API 密钥")):
        await page.goto(f"{workspace.url}/{path}")
        await expect(page.get_by_role("heading", level=1)).to_have_text(title)
        await page.locator("main li h2").first.wait_for()
        await check_page(page)


async def test_local_server_has_neither_page(web_app, browser):
    """It has one user, and is not asked who that is."""
    page = await open_page(browser, web_app)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url.removeprefix(web_app.url)))
    for path in ("/members", "/keys"):
        await page.goto(path)
        await expect(page.get_by_text("Page not found")).to_be_visible()
        await expect(page.get_by_role("navigation").get_by_role("link", name="Settings")).to_be_visible()
        await expect(page.get_by_role("navigation").get_by_role("link", name="Members")).to_have_count(0)
        await expect(page.get_by_role("navigation").get_by_role("link", name="API keys")).to_have_count(0)
    assert "/login" in requests
    assert "/me" not in requests
