"""Browser tests: the page Access shows who may call which tool, why, and how to change it."""

import json
import os
import shlex
import sys
from urllib.parse import quote

import pytest
import yaml
from playwright.async_api import expect

from support.onetool_process import onetool
from support.paths import MCP_SERVERS
from support.rest_process import http_tool, new_slug, write_private
from support.web_app import WebApp, browser_test, build_settings, find_violations, open_page
from web.hosted_pages import OVERFLOW

pytestmark = browser_test
YOU, MODELS, CLIENTS = "You: CLI, REST, Python, web UI", "Models in the chat and onetool ask", "MCP clients"
PART, GUARDED = "MCP clients with profile part", "MCP clients with profile guarded"
PAGE_SIZE = 100
MANY = "\n".join(f'def tool_{index}() -> int:\n    """Count."""\n    return {index}' for index in range(120))
MARKUP = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
SETTINGS = {
    "approval": {"mcp": "ask", "allow": ["notes.keep"], "deny": ["fs.*"]},
    "profiles": {
        "part": {"packs": ["time", MARKUP]},
        "guarded": {"approval": {"mode": "deny", "allow": ["notes.keep"]}},
    },
}


@pytest.fixture(scope="session")
def shared_web_app(tmp_path_factory):
    app = WebApp(tmp_path_factory.mktemp("access_app"))
    write_private(app.config / "tools" / "many.py", f'"""Many tools."""\n\npack = "many"\n\n{MANY}\n')
    with app:
        yield app


@pytest.fixture
def web_app(shared_web_app, tmp_path):
    """Return the server with the settings above, and with a hostile MCP server."""
    listing = tmp_path / "listing.json"
    claims = [
        {"name": name, "description": MARKUP, "inputSchema": {"type": "object", "title": MARKUP}}
        for name in ("echo", MARKUP, "a'; reboot #", "../../jobs", "__proto__")
    ]
    listing.write_text(json.dumps(claims))
    program = [str(MCP_SERVERS / "faulty_server.py"), "from-file", str(listing)]
    settings = build_settings(shared_web_app.root) | SETTINGS
    settings["servers"] = {"evil": {"command": sys.executable, "args": program, "sandbox": False}}
    write_settings(shared_web_app, settings)
    yield shared_web_app
    shared_web_app.delete_bundles()


def write_settings(web_app, settings):
    write_private(web_app.config / "onetool.yaml", yaml.safe_dump(settings))
    reload(web_app)


def reload(web_app):
    assert web_app.client.post("/tools/call", json={"name": "ot.reload"}).json()["ok"]


def run_commands(web_app, text):
    """Run commands as a shell would."""
    paths = {f"ONETOOL_{name.upper()}_DIR": str(web_app.root / name) for name in ("config", "data", "state")}
    for line in text.splitlines():
        program, *words = shlex.split(line)
        done = onetool(*words, env=os.environ | paths, cwd=web_app.root / "work")
        assert (program, done.returncode) == ("onetool", 0), done.stderr


def cell(page, tool, caller, effect=""):
    name = f"{tool}, {caller}: {effect}"
    return page.get_by_role("button", name=name, exact=effect != "")


def explanation(page, tool, caller):
    return page.get_by_role("region", name=f"{tool}, {caller}: ")


def commands(section):
    return section.locator("code").filter(has_text="onetool ").and_(section.locator("div > code"))


async def test_profiles_and_patterns_decide_the_cells(web_app, page):
    await page.goto("/access?q=notes.")
    expected = {
        "notes.add": ["without asking", "after asking", "after asking", "never", "hidden"],
        "notes.keep": [*4 * ["without asking"], "hidden"],
        "notes.many": [*4 * ["without asking"], "hidden"],
    }
    headings = page.get_by_role("columnheader")
    await expect(headings).to_have_text(["Tool", "Kind", YOU, MODELS, CLIENTS, GUARDED, PART])
    for tool, effects in expected.items():
        row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=tool, exact=True))
        await expect(row.get_by_role("button")).to_have_text(effects)
        kind = "read-only" if tool == "notes.many" else "makes changes"
        await expect(row.get_by_role("cell").first).to_have_text(kind)
    assert await find_violations(page) == []
    await page.get_by_label("Filter tools by name").fill("FS.read")
    await expect(cell(page, "fs.read_file", YOU, "never")).to_be_visible()
    await expect(page.get_by_role("rowheader")).to_have_count(1)
    await page.get_by_label("Filter tools by name").fill("no such tool")
    await expect(page.get_by_text("No tools with this name")).to_be_visible()


async def test_a_cell_explains_its_decision_by_keyboard(web_app, page):
    """The deciding rule comes first. Enter opens and closes, and Tab leads to the command."""
    await page.goto("/access?q=notes.add")
    button = cell(page, "notes.add", GUARDED, "never")
    await button.focus()
    await page.keyboard.press("Enter")
    await expect(button).to_have_attribute("aria-expanded", "true")
    section = explanation(page, "notes.add", GUARDED)
    await expect(section.locator("dd")).to_have_text(
        ["profiles.guarded.approval.mode: deny (never)", "approval.mcp: ask (after asking)"]
    )
    await expect(commands(section)).to_have_text(
        "onetool allow notes.add --profile guarded\nonetool allow notes.add"
    )
    assert await find_violations(page) == []
    await page.keyboard.press("Tab")  # the last cell
    await page.keyboard.press("Tab")
    await expect(section.get_by_role("button", name="Copy")).to_be_focused()
    await button.press("Enter")
    await expect(section).to_have_count(0)


@pytest.mark.parametrize(
    ("tool", "caller", "before", "purpose", "after"),
    [
        ("notes.add", GUARDED, "never", "To run it without asking", "without asking"),
        ("notes.add", CLIENTS, "after asking", "To run it without asking", "without asking"),
        (
            "notes.many",
            GUARDED,
            "without asking",
            "To never run it, for clients with profile guarded",
            "never",
        ),
        ("notes.many", YOU, "without asking", "To never run it, for all callers", "never"),
        ("fs.read_file", CLIENTS, "never", "To run it without asking, for all callers", "without asking"),
    ],
)
async def test_the_shown_command_changes_the_decision(web_app, page, tool, caller, before, purpose, after):
    await page.goto(f"/access?q={tool}")
    await cell(page, tool, caller, before).click()
    line = explanation(page, tool, caller).locator("div").filter(has_text=purpose).first
    run_commands(web_app, await line.locator("code").inner_text())
    reload(web_app)
    await page.reload()
    await expect(cell(page, tool, caller, after)).to_be_visible()


async def test_changed_settings_change_the_table(web_app, page):
    """Hidden tools name the setting to edit, and a new profile is a new column."""
    await page.goto("/access?q=time.now")
    await expect(cell(page, "time.now", PART, "without asking")).to_be_visible()
    settings = yaml.safe_load((web_app.config / "onetool.yaml").read_text())
    settings["profiles"] |= {"part": {"exclude": ["time.*"]}, "new": {}}
    write_settings(web_app, settings)
    await page.reload()
    await expect(cell(page, "time.now", "MCP clients with profile new", "without asking")).to_be_visible()
    await cell(page, "time.now", PART, "hidden").click()
    section = explanation(page, "time.now", PART)
    await expect(section).to_contain_text("edit profiles.part.exclude in the settings")
    await expect(commands(section)).to_have_count(0)


async def test_page_of_a_tool_has_its_decisions(web_app, page):
    """For a stored tool, those of the version that is shown."""
    await page.goto(f"/tools/{web_app.pack_bundle('notes')['id']}/add")
    await page.get_by_role("tab", name="Access").click()
    await cell(page, "notes.add", CLIENTS, "after asking").click()
    await expect(explanation(page, "notes.add", CLIENTS)).to_contain_text("approval.mcp: ask")
    assert await find_violations(page) == []
    bundle, slug = web_app.create_bundle(slug=new_slug("b")), new_slug("t")
    old = web_app.create_tool(bundle, slug, "v1", **http_tool("http://127.0.0.1:1/x"))
    web_app.create_tool(bundle, slug, "v2", **http_tool("http://127.0.0.1:1/x"))
    web_app.set_enabled(web_app.tool_url(bundle, slug, "v1"), False)
    await page.goto(f"/tools/{bundle}/{slug}")
    await page.get_by_role("tab", name="Access").click()
    await expect(cell(page, old["name"], YOU, "without asking")).to_be_visible()
    await page.get_by_role("combobox", name="Version").click()
    await page.get_by_role("option", name="v1").click()
    await cell(page, old["name"], YOU, "hidden").click()
    await expect(explanation(page, old["name"], YOU)).to_contain_text("the tool is disabled")


async def test_tools_are_listed_page_by_page(web_app, page):
    await page.goto("/access?q=many.tool")
    await expect(page.get_by_role("rowheader")).to_have_count(PAGE_SIZE)
    await page.get_by_role("button", name="Load more").click()
    await expect(page.get_by_role("rowheader")).to_have_count(120)
    await expect(page.get_by_role("button", name="Load more")).to_have_count(0)


async def test_hostile_tools_and_settings_are_shown_as_text(web_app, page):
    """Also a filter. Definitions with instructions for the model are hidden from all callers."""
    assert web_app.client.post("/servers/evil/probe").json()["ok"]
    await page.goto("/access?q=evil.")
    await cell(page, "evil.echo", YOU, "hidden").click()
    await expect(explanation(page, "evil.echo", YOU)).to_contain_text("onetool servers approve evil")
    names = await page.get_by_role("rowheader").all_inner_texts()
    assert len(names) > 1
    for name in names:
        assert all(part.isidentifier() for part in name.split(".")), name
    await page.goto("/access?q=notes.add")
    await cell(page, "notes.add", PART, "hidden").click()
    await expect(explanation(page, "notes.add", PART)).to_contain_text(MARKUP)
    assert await page.locator("img[src=x], [onerror], main script").count() == 0
    await page.goto(f"/access?q={quote(MARKUP)}")
    await expect(page.get_by_text("No tools with this name")).to_be_visible()
    assert await page.locator("img[src=x], [onerror], main script").count() == 0


async def test_access_fits_a_phone_and_speaks_chinese(web_app, browser):
    page = await open_page(browser, web_app, viewport={"width": 390, "height": 844})
    await page.goto("/access?q=notes.add")
    await cell(page, "notes.add", GUARDED, "never").click()
    await expect(explanation(page, "notes.add", GUARDED)).to_be_visible()
    assert await page.evaluate(OVERFLOW) <= 0
    assert await find_violations(page) == []
    await page.evaluate("localStorage.setItem('onetool-language', 'zh')")
    await page.reload()
    await expect(page.get_by_role("button", name="禁止")).to_have_count(1)
    assert await page.evaluate(OVERFLOW) <= 0
