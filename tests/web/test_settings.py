"""Browser tests of the settings: every section, errors at the field, and changes made elsewhere."""

import pytest
import yaml
from playwright.async_api import expect

from support.rest_process import write_private
from support.web_app import browser_test, open_page
from web.hosted_pages import PHONE, check_page, select

pytestmark = browser_test
KEY = "s3cret-value-that-no-page-shows-1"
SECTIONS = ["overview", "models", "secrets", "rules", "profiles", "network", "data", "appearance", "advanced"]


@pytest.fixture(name="settings_app")
def app_with_own_files(web_app):
    """Return the server, and restore its files afterwards."""
    files = [web_app.config / name for name in ("onetool.yaml", "secrets.yaml")]
    before = [file.read_text() for file in files]
    yield web_app
    for file, text in zip(files, before, strict=True):
        write_private(file, text)


def stored(web_app):
    return yaml.safe_load((web_app.config / "onetool.yaml").read_text())


def item(page, name):
    return page.get_by_role("listitem", name=name, exact=True)


async def test_value_is_saved_checked_and_reset(settings_app, page):
    """An error is shown at the field, and the text that was typed stays."""
    await page.goto("/settings?section=data")
    field = item(page, "activity.retention_days")
    box = field.get_by_role("textbox")
    await box.fill("0")
    await field.get_by_role("button", name="Save").click()
    await expect(field).to_contain_text("should be at least 1, not 0")
    await expect(box).to_have_attribute("aria-invalid", "true")
    await box.fill("x")
    await box.press("Enter")
    await expect(field).to_contain_text("Not a number.")
    await box.fill("90")
    await box.press("Enter")
    await expect(field).to_contain_text("changed")
    assert stored(settings_app)["activity"] == {"retention_days": 90}
    await field.get_by_role("button", name="Reset").click()
    await expect(box).to_have_value("35")
    assert "activity" not in stored(settings_app)
    await item(page, "activity.bodies").get_by_role("switch").click(force=True)
    await expect(item(page, "activity.bodies")).to_contain_text("changed")
    assert stored(settings_app)["activity"] == {"bodies": False}


async def test_change_made_elsewhere_is_not_overwritten(settings_app, page):
    await page.goto("/settings?section=network")
    field = item(page, "allowedHosts")
    await field.get_by_role("textbox").fill("mine.example")
    elsewhere = settings_app.client.put("/settings/allowedHosts", json={"value": ["other.example"]})
    assert elsewhere.status_code == 200
    await field.get_by_role("button", name="Save").click()
    await expect(field.get_by_role("alert")).to_contain_text("This setting was changed elsewhere.")
    assert stored(settings_app)["allowedHosts"] == ["other.example"]
    await field.get_by_role("button", name="Load the current value").click()
    await expect(field.get_by_role("textbox")).to_have_value("other.example")


async def test_rule_is_added_explained_and_removed(settings_app, page):
    await page.goto("/settings?section=rules")
    await page.get_by_role("textbox", name="Tools").fill("notes.*")
    await page.get_by_role("button", name="Add rule").click()
    rule = item(page, "notes.*")
    await expect(rule).to_contain_text("never run")
    assert stored(settings_app)["approval"] == {"deny": ["notes.*"]}
    await page.get_by_role("textbox", name="Tool", exact=True).fill("notes.add")
    await page.get_by_role("button", name="Show").click()
    await expect(page.get_by_role("list", name="Access").get_by_text("never").first).to_be_visible()
    await rule.get_by_role("button", name="Remove rule for notes.*").click()
    await expect(rule).to_have_count(0)
    assert "approval" not in stored(settings_app)


async def test_profile_is_added_edited_and_deleted(settings_app, page):
    await page.goto("/settings?section=profiles")
    await page.get_by_role("button", name="Add profile").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("research")
    await dialog.get_by_label("Packs").fill("time\nweb")
    await dialog.get_by_role("button", name="Save").click()
    profile = item(page, "research")
    await expect(profile).to_contain_text("time, web")
    await profile.get_by_role("button", name="Edit profile research").click()
    await select(page, dialog.get_by_role("combobox", name="Tools that are not read-only"), "never run")
    await dialog.get_by_role("button", name="Save").click()
    await expect(profile).to_contain_text("never run")
    assert stored(settings_app)["profiles"] == {
        "research": {"packs": ["time", "web"], "approval": {"mode": "deny"}}
    }
    await profile.get_by_role("button", name="Delete profile research").click()
    await dialog.get_by_role("button", name="Delete").click()
    await expect(profile).to_have_count(0)
    assert "profiles" not in stored(settings_app)


async def test_keys_and_secrets_are_write_only(settings_app, page):
    """They may be sent to any host, unless hosts are named."""
    await page.goto("/settings?section=models")
    openai = item(page, "openai")
    await openai.get_by_role("button", name="Set key of openai").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("API key of openai").first.fill(KEY)
    await dialog.get_by_role("button", name="Save").click()
    await expect(openai).to_contain_text("API key in secrets.yaml")
    await page.get_by_role("tab", name="Secrets").click()
    await page.get_by_role("button", name="Add secret").click()
    await dialog.get_by_label("Name").fill("MY_TOKEN")
    await dialog.get_by_label("Value").first.fill(KEY)
    await dialog.get_by_role("button", name="Add secret").click()
    await expect(item(page, "MY_TOKEN")).to_contain_text("any host")
    assert KEY not in await page.content()
    secrets = yaml.safe_load((settings_app.config / "secrets.yaml").read_text())
    assert (secrets["MY_TOKEN"], secrets["OPENAI_API_KEY"]) == (KEY, KEY)
    await item(page, "MY_TOKEN").get_by_role("button", name="Delete MY_TOKEN").click()
    await dialog.get_by_role("button", name="Delete").click()
    await expect(item(page, "MY_TOKEN")).to_have_count(0)


async def test_advanced_settings_can_be_searched(settings_app, page):
    """By key and description. A setting that needs a restart says so."""
    await page.goto("/settings?section=advanced")
    await page.get_by_role("textbox", name="Search settings").fill("one tool that runs code")
    settings = page.get_by_role("list", name="Advanced").get_by_role("listitem")
    await expect(settings).to_have_count(1)
    await expect(settings).to_contain_text("needs a restart")
    await select(page, item(page, "expose").get_by_role("combobox"), "search")
    await expect(page.get_by_text("It applies after a restart.")).to_be_visible()
    assert stored(settings_app)["expose"] == "search"
    await page.get_by_role("textbox", name="Search settings").fill("no such setting")
    await expect(page.get_by_text("No setting matches.")).to_be_visible()


async def test_every_section_is_accessible_and_fits(settings_app, browser):
    page = await open_page(browser, settings_app, **PHONE)
    for section in SECTIONS:
        await page.goto(f"/settings?section={section}")
        await expect(page.get_by_role("tab", selected=True)).to_be_visible()
        await expect(page.get_by_role("tabpanel")).to_be_visible()
        await page.wait_for_load_state("networkidle")
        await check_page(page)
