"""Browser tests of the Servers screen: add, test, call, edit, disable, remove and log in."""

import json
import re
import sys

import yaml
from playwright.async_api import Page, expect

from support.oauth_server import OAuthMcpServer
from support.paths import MCP_SERVERS
from support.rest_process import new_id
from support.web_app import browser_test, click_switch, replace_text, toggle

pytestmark = browser_test

KEY = "ghp_0123456789abcdef"
OFFICIAL = {"command": sys.executable, "args": [str(MCP_SERVERS / "official.py"), "stdio"]}


def new_name():
    return f"s_{new_id()[-12:]}"


def stored_servers(web_app):
    return yaml.safe_load((web_app.config / "onetool.yaml").read_text())["servers"]


async def add_pasted(page: Page, text: str) -> None:
    await page.goto("/servers")
    await page.get_by_role("button", name="Add server").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Settings, command or URL").fill(text)
    await dialog.get_by_role("button", name="Review").click()
    await dialog.get_by_role("button", name="Add 1 server").click()
    await expect(dialog).to_have_count(0)


async def test_pasted_json_becomes_a_server_whose_tool_is_called(web_app, page):
    """What is written is shown before, and secrets are not in the settings or on the page."""
    name = new_name()
    entry = OFFICIAL | {"env": {"GITHUB_TOKEN": KEY}}
    await page.goto("/servers")
    await page.get_by_role("button", name="Add server").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Settings, command or URL").fill(json.dumps({"mcpServers": {name: entry}}))
    await dialog.get_by_role("button", name="Review").click()
    planned = dialog.get_by_role("article", name=name)
    secret = f"{name}_GITHUB_TOKEN".upper()
    await expect(planned).to_contain_text(f"${{{secret}}}")
    await expect(planned).to_contain_text("may read")
    assert KEY not in await page.content()
    assert name not in stored_servers(web_app)
    await dialog.get_by_role("button", name="Add 1 server").click()
    card = page.get_by_role("region", name=name, exact=True)
    await card.get_by_role("button", name="Test").click()
    await expect(card.get_by_text("Connected: ")).to_be_visible()
    await expect(card).to_contain_text("handshake")
    assert secret in (web_app.config / "secrets.yaml").read_text()
    await card.get_by_role("list", name="Tools").get_by_role("link", name=f"{name}.add").click()
    for label, number in (("A", "20"), ("B", "22")):
        await page.get_by_label(re.compile(rf"^{label}\b")).fill(number)
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("42")


async def test_text_without_a_server_says_what_is_expected(web_app, page):
    await page.goto("/servers")
    await page.get_by_role("button", name="Add server").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Settings, command or URL").fill('{"name": 1}')
    await dialog.get_by_role("button", name="Review").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("The JSON has no servers. Expected:")


async def test_a_server_that_cannot_start_shows_its_last_output(web_app, page):
    name = new_name()
    script = "import sys; print('set ACME_TOKEN', file=sys.stderr); sys.exit(1)"
    await add_pasted(page, json.dumps({name: {"command": sys.executable, "args": ["-c", script]}}))
    card = page.get_by_role("region", name=name, exact=True)
    await card.get_by_role("button", name="Test").click()
    await expect(card.get_by_role("alert").first).to_contain_text("set ACME_TOKEN")
    await expect(card.get_by_role("region", name=f"Log: {name}")).to_contain_text("set ACME_TOKEN")


async def test_settings_are_edited_in_a_form_and_as_json(web_app, page):
    name = new_name()
    await add_pasted(page, json.dumps({name: {"command": "wrong"}}))
    card = page.get_by_role("region", name=name, exact=True)
    await card.get_by_role("button", name=f"Actions for {name}").click()
    await page.get_by_role("menuitem", name="Edit settings").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Command").fill(sys.executable)
    await dialog.get_by_label("Arguments").fill("\n".join(OFFICIAL["args"]))
    await dialog.get_by_role("button", name="Add path").click()
    await dialog.get_by_label("Path 1").fill(str(MCP_SERVERS))
    await click_switch(dialog.get_by_role("switch", name="Allow the network"))
    await dialog.get_by_role("tab", name="JSON").click()
    await expect(dialog.get_by_role("textbox", name="JSON")).to_contain_text('"network": false')
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    assert stored_servers(web_app)[name] == OFFICIAL | {
        "paths": [{"path": str(MCP_SERVERS)}],
        "network": False,
    }
    await card.get_by_role("button", name="Test").click()
    await expect(card.get_by_text("Connected: ")).to_be_visible()


async def test_invalid_settings_are_not_saved(web_app, page):
    name = new_name()
    await add_pasted(page, json.dumps({name: {"command": "x"}}))
    card = page.get_by_role("region", name=name, exact=True)
    await card.get_by_role("button", name=f"Actions for {name}").click()
    await page.get_by_role("menuitem", name="Edit settings").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Command").fill("")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("set either command or url")
    assert stored_servers(web_app)[name] == {"command": "x"}


async def test_a_server_is_disabled_enabled_and_removed(web_app, page):
    name = new_name()
    await add_pasted(page, json.dumps({name: {"command": "x"}}))
    card = page.get_by_role("region", name=name, exact=True)
    for action, state in (("Disable", "disabled"), ("Enable", "configured")):
        await card.get_by_role("button", name=f"Actions for {name}").click()
        await page.get_by_role("menuitem", name=action, exact=True).click()
        await expect(card.get_by_text(state, exact=True)).to_be_visible()
    await card.get_by_role("button", name=f"Actions for {name}").click()
    await page.get_by_role("menuitem", name="Remove").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(card).to_have_count(0)
    assert name not in stored_servers(web_app)


async def test_a_login_opens_the_page_of_the_server(web_app, page):
    name = new_name()
    with OAuthMcpServer() as protected:
        await add_pasted(page, json.dumps({name: {"url": protected.url}}))
        card = page.get_by_role("region", name=name, exact=True)
        await card.get_by_role("button", name="Log in").click()
        link = card.get_by_role("link", name="Open the login page")
        assert (await link.get_attribute("rel")) == "noopener noreferrer"
        async with page.expect_popup() as popup:
            await link.click()
        await (await popup.value).close()
        await expect(page.get_by_text(f"Logged in to {name}.")).to_be_visible()
        await expect(card.get_by_text("connected", exact=True)).to_be_visible()


async def test_a_tool_is_overridden_and_disabled(web_app, page):
    """Models see the new name. The switch disables the tool, and nothing is quarantined."""
    name = new_name()
    await add_pasted(page, json.dumps({name: OFFICIAL}))
    card = page.get_by_role("region", name=name, exact=True)
    await card.get_by_role("button", name="Test").click()
    await expect(card.get_by_text("Connected: ")).to_be_visible()
    await card.get_by_role("button", name="Override add").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("increase")
    await replace_text(dialog.get_by_role("textbox", name="Fixed parameters"), '{"b": 1}')
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    assert stored_servers(web_app)[name]["tools"] == {"add": {"name": "increase", "fixed": {"b": 1}}}
    await expect(card.get_by_role("link", name=f"{name}.increase")).to_be_visible()
    body = {"name": f"{name}.increase", "args": {"a": 41}}
    assert "42" in web_app.client.post("/tools/call", json=body).text
    switch = card.get_by_role("switch", name=f"Enable tool {name}.increase")
    await toggle(page, switch)
    await expect(switch).not_to_be_checked()
    assert web_app.client.post("/tools/call", json=body).json()["ok"] is False
    await expect(card.get_by_text("quarantined")).to_have_count(0)
