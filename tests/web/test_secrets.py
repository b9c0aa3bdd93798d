"""Browser tests of hosted mode: the page Secrets."""

from playwright.async_api import expect

from support.web_app import browser_test, open_page
from web.hosted_pages import MARKUP, PHONE, card, check_page, select

pytestmark = browser_test
VALUE = "ghp_a_value_that_no_page_shows"


def stored(view, name, of="me"):
    """Return the hosts of a secret as the API reports them; None if it does not exist."""
    found = view.client.get("/secrets").json()["secrets"]
    return next((item["hosts"] for item in found if (item["name"], item["of"]) == (name, of)), None)


def put(view, name, of="me", hosts=("api.example.com",), value=VALUE):
    body = {"value": value, "of": of, "hosts": None if hosts is None else list(hosts)}
    assert view.client.put(f"/secrets/{name}", json=body).status_code == 200


def section(page, title):
    return page.get_by_role("list", name=title, exact=True)


async def test_own_secret_is_added_replaced_and_deleted(workspace, owner_page):
    """It names its hosts, and its value is on no page and in no response."""
    page = owner_page
    await page.goto(f"{workspace.url}/secrets")
    await expect(page.get_by_text("You have no secrets of your own.")).to_be_visible()
    await page.get_by_role("button", name="Add secret").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("MY_TOKEN")
    await dialog.get_by_label("Value").first.fill(VALUE)
    await dialog.get_by_role("button", name="Add secret").click()
    assert await dialog.get_by_label("Hosts").evaluate("field => field.validity.valueMissing")
    await dialog.get_by_label("Hosts").fill("api.github.com\n\n uploads.github.com ")
    await dialog.get_by_role("button", name="Add secret").click()
    item = card(page, "MY_TOKEN")
    await expect(item.locator("code")).to_have_text(["api.github.com", "uploads.github.com"])
    assert stored(workspace, "MY_TOKEN") == ["api.github.com", "uploads.github.com"]
    await page.reload()
    await item.get_by_role("button", name="Replace value of MY_TOKEN").click()
    await expect(dialog.get_by_label("Value").first).to_be_focused()
    await expect(dialog.get_by_label("Value").first).to_have_value("")
    await dialog.get_by_label("Value").first.fill(VALUE)
    await dialog.get_by_label("Hosts").fill("api.github.com")
    await dialog.get_by_role("button", name="Replace value").click()
    await expect(item.locator("code")).to_have_text(["api.github.com"])
    assert VALUE not in await page.content()
    assert VALUE not in workspace.client.get("/secrets").text
    await item.get_by_role("button", name="Delete MY_TOKEN").click()
    await dialog.get_by_role("button", name="Delete").click()
    await expect(item).to_have_count(0)
    assert stored(workspace, "MY_TOKEN") is None


async def test_maker_changes_secrets_of_the_workspace(mia, browser):
    page = await open_page(browser, mia)
    await page.goto(f"{mia.url}/secrets")
    await page.get_by_role("button", name="Add secret").click()
    dialog = page.get_by_role("dialog")
    await select(page, dialog.get_by_role("combobox", name="Belongs to"), "Workspace")
    await dialog.get_by_label("Name").fill("SHARED_TOKEN")
    await dialog.get_by_label("Value").first.fill(VALUE)
    await dialog.get_by_role("button", name="Add secret").click()
    item = section(page, "Secrets of the workspace").get_by_role("listitem", name="SHARED_TOKEN")
    await expect(item).to_contain_text("any host")
    await item.get_by_role("button", name="Delete SHARED_TOKEN").click()
    await expect(dialog).to_contain_text("Tools that need it fail for members without")
    await dialog.get_by_role("button", name="Delete").click()
    await expect(item).to_have_count(0)


async def test_caller_replaces_a_secret_of_the_workspace_by_their_own(workspace, carl, browser):
    """They see its name, but cannot change it."""
    put(workspace, "SHARED_TOKEN", "workspace")
    page = await open_page(browser, carl)
    await page.goto(f"{carl.url}/secrets")
    shared = section(page, "Secrets of the workspace").get_by_role("listitem", name="SHARED_TOKEN")
    await expect(shared.get_by_role("button")).to_have_text(["Use my own"])
    await shared.get_by_role("button").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_label("Name")).to_have_value("SHARED_TOKEN")
    await expect(dialog.get_by_label("Name")).not_to_be_editable()
    await expect(dialog.get_by_label("Belongs to")).to_have_count(0)
    await expect(dialog.get_by_label("Hosts")).to_have_value("api.example.com")
    await dialog.get_by_label("Value").first.fill("mine")
    await dialog.get_by_role("button", name="Add secret").click()
    await expect(shared).to_contain_text("replaced by yours")
    await expect(section(page, "My secrets").get_by_role("listitem")).to_have_count(1)
    assert stored(carl, "SHARED_TOKEN") == ["api.example.com"]
    assert stored(workspace, "SHARED_TOKEN") is None, "it belongs to carl alone"


async def test_adding_a_secret_does_not_replace_one(workspace, owner_page):
    """And refusals are shown in the words of the server."""
    page = owner_page
    put(workspace, "MY_TOKEN")
    await page.goto(f"{workspace.url}/secrets")
    await page.get_by_role("button", name="Add secret").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("MY_TOKEN")
    await dialog.get_by_label("Value").first.fill("x")
    await dialog.get_by_label("Hosts").fill("other.example.com")
    await dialog.get_by_role("button", name="Add secret").click()
    await expect(dialog.get_by_text("There is already a secret with this name.")).to_be_visible()
    assert stored(workspace, "MY_TOKEN") == ["api.example.com"]
    await dialog.get_by_label("Name").fill("OTHER")
    await dialog.get_by_label("Hosts").fill(" ")
    await dialog.get_by_role("button", name="Add secret").click()
    await expect(dialog.get_by_role("alert")).to_contain_text(
        "Name the hosts to which your secret may be sent: others could make tools that ask for it."
    )
    await dialog.get_by_label("Hosts").fill("\n".join(f"h{index}.example.com" for index in range(101)))
    await dialog.get_by_role("button", name="Add secret").click()
    await expect(dialog.get_by_text("at most 100 items").first).to_be_visible()


async def test_page_of_secrets_is_accessible(workspace, browser):
    """Also in Chinese. Hosts are shown as text."""
    put(workspace, "MY_TOKEN", hosts=[MARKUP, 200 * "y"])
    put(workspace, "SHARED_" + 80 * "X", "workspace", hosts=None)
    put(workspace, "MY_TOKEN", "workspace")
    page = await open_page(browser, workspace, **PHONE)
    await page.goto(f"{workspace.url}/secrets")
    await expect(card(page, "MY_TOKEN").first).to_contain_text(MARKUP)
    assert await page.locator("img[src=x]").count() == 0
    await expect(page.get_by_role("navigation").get_by_role("link", name="Secrets")).to_be_in_viewport(
        ratio=0.98  # borders end between pixels
    )
    await check_page(page)
    await page.get_by_role("button", name="Add secret").click()
    await expect(page.get_by_role("dialog").get_by_label("Name")).to_be_focused()
    await check_page(page)
    await page.evaluate("localStorage.setItem('onetool-language', 'zh')")
    await page.reload()
    await expect(page.get_by_role("heading", name="我的机密")).to_be_visible()
    await check_page(page)
