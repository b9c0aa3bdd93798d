"""Browser tests: find, review, install and update servers of the MCP registry."""

import stat

import pytest
from playwright.async_api import expect
from pytest_asyncio import fixture as async_fixture

from support.registry_server import RegistryServer, new_server_name
from support.registry_stub import (
    INTEGRITY,
    NOTES,
    RegistryStub,
    entry,
    filesystem_entry,
    notes_entry,
    npm_package,
)
from support.web_app import browser_test, find_violations, open_page

pytestmark = browser_test

KEY = "key-1234567890-of-the-user"
EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script> \u202etxt.exe {{7*7}}"


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory):
    with RegistryStub() as stub, RegistryServer(tmp_path_factory.mktemp("registry"), stub) as server:
        yield server


@pytest.fixture
def server(shared_server):
    """The shared server, with the entries that every test begins with."""
    shared_server.stub.entries = [filesystem_entry(), notes_entry()]
    shared_server.stub.integrity = INTEGRITY
    return shared_server


@async_fixture(loop_scope="session")
async def page(server, browser):
    """Open the servers page."""
    page = await open_page(browser, server)
    await page.goto("/servers")
    return page


async def search(page, words):
    """Open the registry and search it. Return the dialog."""
    await page.locator("header").get_by_role("button", name="Add server").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("tab", name="From the registry").click()
    await dialog.get_by_label("Search the registry").fill(words)
    await dialog.get_by_role("button", name="Search", exact=True).click()
    return dialog


async def review_notes(page, name):
    """Open the review of a server that needs a secret."""
    dialog = await search(page, "notes")
    await dialog.get_by_role("button", name=f"Review {NOTES}").click()
    await dialog.get_by_label("Name", exact=True).fill(name)
    return dialog


@pytest.mark.guards("registry-secrets")
async def test_server_is_installed_after_its_missing_secret_was_entered(server, page):
    """The secret is in its file alone, which only the user can read."""
    name = new_server_name()
    dialog = await review_notes(page, name)
    token = dialog.get_by_label("NOTES_TOKEN")
    install = dialog.get_by_role("button", name="Install")
    await expect(token).to_have_attribute("type", "password")
    await expect(token).to_have_accessible_description("Required. Token · Secret, stored in secrets.yaml")
    await expect(install).to_be_disabled()
    for text in ("io.github.owner", "npm notes-server 1.0.0", INTEGRITY):
        await expect(dialog.get_by_text(text, exact=True)).to_be_visible()
    assert await find_violations(page) == []
    await token.fill(KEY)
    await expect(dialog.get_by_text("npx -y notes-server@1.0.0")).to_be_visible()
    await expect(dialog.get_by_text(f"NOTES_TOKEN=${{{name.upper()}_NOTES_TOKEN}}")).to_be_visible()
    assert name not in server.settings
    await install.click()
    await expect(page.get_by_role("heading", name=name)).to_be_visible()
    await expect(dialog).to_be_hidden()
    assert server.settings[name]["env"] == {"NOTES_TOKEN": f"${{{name.upper()}_NOTES_TOKEN}}"}
    assert server.secrets[f"{name.upper()}_NOTES_TOKEN"] == KEY
    assert stat.S_IMODE((server.config / "secrets.yaml").stat().st_mode) == 0o600
    stored = await page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    assert KEY not in await page.content() + stored + server.log
    assert not server.has_started_a_server


async def test_paths_are_entered_one_per_line_and_their_grants_are_shown(server, page, tmp_path):
    (tmp_path / "a").mkdir()
    dialog = await search(page, "filesystem")
    await dialog.get_by_role("button", name="Review").click()
    await dialog.get_by_label("Name", exact=True).fill("not valid")
    await expect(dialog.get_by_text("'not valid' is not a Python identifier.")).to_be_visible()
    await dialog.get_by_label("Name", exact=True).fill(new_server_name())
    directories = dialog.get_by_label("directory")
    await directories.fill("relative")
    await expect(directories).to_have_accessible_description(
        "'directory' must be an absolute path, not 'relative'. Directory to access · "
        "Several values, one per line"
    )
    await expect(dialog.get_by_role("button", name="Install")).to_be_disabled()
    await directories.fill(f"{tmp_path / 'a'}\n/srv")
    await expect(dialog.get_by_text(f"may read and change {tmp_path / 'a'}")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Install")).to_be_enabled()


@pytest.mark.guards("registry-install")
async def test_plan_that_changed_since_it_was_shown_is_not_installed(server, page):
    """The new plan is shown instead, to be reviewed."""
    name = new_server_name()
    dialog = await review_notes(page, name)
    await dialog.get_by_label("NOTES_TOKEN").fill(KEY)
    install = dialog.get_by_role("button", name="Install")
    await expect(install).to_be_enabled()
    server.stub.integrity = INTEGRITY.replace("A", "B")
    await install.click()
    await expect(dialog.get_by_role("alert")).to_contain_text("not what was reviewed")
    assert name not in server.settings
    await expect(dialog.get_by_text(server.stub.integrity)).to_be_visible()
    await install.click()
    await expect(dialog).to_be_hidden()
    assert name in server.settings


@pytest.mark.guards("registry-texts")
async def test_untrusted_entries_are_shown_as_text(server, page):
    variables = [{"name": "LEVEL", "description": EVIL, "choices": [EVIL.replace("\u202e", ""), "low"]}]
    package = npm_package("p", "1.0.0", environmentVariables=variables)
    server.stub.entries = [
        entry(
            "a.b/evil",
            description=EVIL,
            status=EVIL,
            packages=[package],
            repository={"url": "javascript:alert(3)//https://evil.test"},
        )
    ]
    dialog = await search(page, "evil")
    await expect(dialog.get_by_text("<script>alert(2)</script> \\u202etxt.exe").first).to_be_visible()
    await dialog.get_by_role("button", name="Review").click()
    await expect(dialog.get_by_text("javascript:alert(3)//https://evil.test")).to_be_visible()
    await dialog.get_by_role("combobox", name="LEVEL").click()
    await expect(page.get_by_role("option", name="<script>alert(2)</script>")).to_be_visible()
    assert await dialog.locator("a").count() == 0
    assert await page.locator("img[src=x], script:not([src]), [onerror]").count() == 0
    assert "\u202e" not in await page.content()


@pytest.mark.guards("registry-texts")
async def test_repository_is_a_link_that_tells_it_nothing(page):
    dialog = await search(page, "filesystem")
    await dialog.get_by_role("button", name="Review").click()
    link = dialog.get_by_role("link")
    await expect(link).to_have_attribute("href", "https://github.com/modelcontextprotocol/servers")
    await expect(link).to_have_attribute("rel", "noopener noreferrer")


async def test_server_is_updated_after_the_review_of_its_new_command(server, page):
    name, _ = server.install(NOTES, values={"NOTES_TOKEN": KEY})
    await page.reload()
    card = page.get_by_role("region", name=name)
    await card.get_by_role("button", name="Details").click()
    check = card.get_by_role("button", name="Check for an update")
    await check.click()
    await expect(card.get_by_text("1.0.0 is up to date.")).to_be_visible()
    server.stub.entries.append(notes_entry("1.1.0", variables=[{"name": "MODE", "isRequired": True}]))
    await check.click()
    update = card.get_by_role("button", name="Update", exact=True)
    await expect(update).to_be_disabled()
    await expect(card.get_by_label("NOTES_TOKEN")).to_be_hidden()
    await card.get_by_label("MODE").fill("fast")
    await expect(card.get_by_text("- npx -y notes-server@1.0.0")).to_be_visible()
    await expect(card.get_by_text("+ npx -y notes-server@1.1.0")).to_be_visible()
    assert await find_violations(page) == []
    await update.click()
    await expect(page.get_by_text(f"Updated {name} to 1.1.0.")).to_be_visible()
    assert server.settings[name]["args"] == ["-y", "notes-server@1.1.0"]
    assert server.settings[name]["env"]["MODE"] == "fast"
    assert not server.has_started_a_server
