"""`onetool serve` with tools, MCP servers and a scripted model, and a Chromium browser to test the web UI."""

import json
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.async_api import Browser, ConsoleMessage, Locator, Page, Request, async_playwright, expect

import onetool
from support.paths import MCP_SERVERS, PROJECT
from support.rest_process import SECRETS, TOKEN, RestProcess, new_slug, write_private
from support.waiting import HANG_S

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium") or "/usr/bin/chromium"
"""The headless shell draws the same pages and needs a quarter less processor time."""
CHROMIUM_ARGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage")
INDEX_HTML = Path(onetool.__file__).parent / "interfaces" / "web" / "static" / "index.html"
AXE = PROJECT / "web" / "node_modules" / "axe-core" / "axe.min.js"
CITY_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TIMEOUT_MS = 1000 * HANG_S
expect.set_options(timeout=TIMEOUT_MS)
NOTES_PACK = '''"""Notes for later."""

import hashlib
import json
from pathlib import Path

from onetool.sdk import tool

pack = "notes"


@tool(read_only=False)
def add(text: str) -> str:
    """Write a note."""
    with Path("notes.txt").open("a") as file:
        file.write(text + "\\n")
    return "noted"


@tool(read_only=False)
def keep(**fields: object) -> str:
    """Return the digest of the call."""
    call = json.dumps({"args": fields, "tool": "notes.keep"}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(call.encode()).hexdigest()


def many(number: int = 3) -> list:
    """List notes, one row each."""
    return [{"line": line, "text": f"note {line}"} for line in range(number)]
'''
"""A pack with tools that are not read-only."""

browser_test = [
    pytest.mark.skipif(
        not Path(CHROMIUM).exists() or not INDEX_HTML.exists(),
        reason="requires Chromium and the built web UI: just web",
    ),
    pytest.mark.asyncio(loop_scope="session"),
]
"""The marks of browser tests. The tests of a worker share one event loop, because they share one browser."""


def build_settings(root: Path) -> dict[str, Any]:
    """Return settings with a scripted model and two MCP servers, one of which can change its tools."""
    return {
        "allowedHosts": ["127.0.0.1"],
        "providers": {"scripted": {"model": str(root / "script.json")}},
        "servers": {
            "official": {
                "command": sys.executable,
                "sandbox": False,
                "args": [str(MCP_SERVERS / "official.py"), "stdio"],
            },
            "changing": {
                "command": sys.executable,
                "sandbox": False,
                "args": [str(MCP_SERVERS / "changing_server.py"), str(root / "description.txt")],
            },
        },
    }


class WebApp(RestProcess):
    """A server process for browser tests."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, settings=yaml.safe_dump(build_settings(root)))
        write_private(self.config / "secrets.yaml", SECRETS)
        write_private(self.config / "tools" / "notes.py", NOTES_PACK)
        self.set_server_description("Greet a person.")
        self.script_model({"text": "Hello."})

    def script_model(self, *turns: dict[str, Any]) -> None:
        """Set the turns of the model for the next message."""
        (self.root / "script.json").write_text(json.dumps(turns), encoding="utf-8")

    def set_server_description(self, text: str) -> None:
        """Set the description that the tool of the changing server has after its next start."""
        (self.root / "description.txt").write_text(text, encoding="utf-8")

    def delete_bundles(self) -> None:
        """Delete all stored bundles with their tools."""
        for bundle in self.list_all("/tools/bundles", includeDisabled="true"):
            if bundle["origin"] == "bundle":
                assert self.client.delete(f"/tools/bundles/{bundle['id']}").status_code == 204


@asynccontextmanager
async def chromium(*args: str) -> AsyncIterator[Browser]:
    """Run the installed Chromium, with more arguments if needed."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*CHROMIUM_ARGS, *args])
        browser.errors = []  # type: ignore[attr-defined]
        yield browser
        await browser.close()


async def open_page(
    browser: Browser, web_app: RestProcess, *, logged_in: bool = True, others: Any = (), **options: Any
) -> Page:
    """Open a page in a new browser context.

    `page.errors` collects script errors, policy violations, dialogs and requests to other servers, of all
    pages of a test. `others` are the origins of servers that belong to the test.
    """
    viewport = options.pop("viewport", {"width": 1280, "height": 900})
    context = await browser.new_context(base_url=web_app.url, viewport=viewport, locale="en-GB", **options)
    context.set_default_timeout(TIMEOUT_MS)
    page = await context.new_page()
    page.errors = errors = browser.errors  # type: ignore[attr-defined]
    origins = tuple(f"{origin}/" for origin in (web_app.origin, *others))

    def record_policy_violation(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            errors.append(message.text)

    def record_foreign_request(request: Request) -> None:
        if not request.url.startswith((*origins, "data:", "blob:")):
            errors.append(f"a request to another server: {request.url}")

    page.on("request", record_foreign_request)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", record_policy_violation)
    page.on("dialog", lambda dialog: errors.append(f"a script opened a dialog: {dialog.message}"))
    if logged_in:
        await context.add_cookies([{"url": web_app.url, **session_cookie(web_app)}])
    return page


@cache
def session_cookie(web_app: RestProcess) -> Any:
    """Log in and return the session cookie."""
    with web_app.new_client(None) as client:
        response = client.post("/login", json={"token": web_app.token}, headers={"X-OneTool": "1"})
        assert response.status_code == 204, response.text
        ((name, value),) = response.cookies.items()
    return {"name": name, "value": value}


async def log_in(page: Page) -> None:
    """Log in through the login page."""
    await page.goto("/login")
    await page.get_by_label("Token").fill(TOKEN)
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_role("heading", name="Tools", exact=True).wait_for()


def create_tool_and_bundle(web_app: RestProcess, **fields: Any) -> tuple[str, Any]:
    """Create a tool in a new bundle. Return the slug of the bundle and the tool."""
    slug = new_slug("b")
    bundle = web_app.create_bundle(slug=slug, displayName=slug)
    return slug, web_app.create_tool(bundle, slug=new_slug("t"), **fields)


@contextmanager
def added_server(web_app: RestProcess, name: str, script: str, *args: object) -> Iterator[None]:
    """Add a server to the settings for the block."""
    arguments = ["-I", str(MCP_SERVERS / script), *map(str, args)]
    settings = web_app.config / "onetool.yaml"
    before = settings.read_text()
    changed = yaml.safe_load(before)
    changed["servers"][name] = {"command": sys.executable, "args": arguments, "sandbox": False}
    try:
        _change_settings(web_app, settings, yaml.safe_dump(changed))
        yield
    finally:
        _change_settings(web_app, settings, before)


def _change_settings(web_app: RestProcess, file: Path, text: str) -> None:
    write_private(file, text)
    assert web_app.client.post("/tools/call", json={"name": "ot.reload"}).json()["ok"]


async def open_tool(page: Page, tool: dict[str, Any]) -> None:
    """Open the page of a tool."""
    await page.goto(f"/tools/{tool['bundleID']}/{tool['slug']}")
    await page.get_by_role("heading", level=1).wait_for()


async def replace_text(editor: Locator, text: str) -> None:
    """Replace the content of a code editor with one line."""
    await editor.press("Control+a")
    await editor.page.keyboard.insert_text(text)
    await expect(editor).to_have_text(text)


async def click_switch(switch: Locator) -> None:
    """Click the visible track of a switch. Playwright waits until it is stable."""
    await switch.locator("xpath=following-sibling::span[1]").click()


async def toggle(page: Page, switch: Locator) -> None:
    """Click the switch of a tool or bundle and wait for the server's response."""
    async with page.expect_response(lambda response: response.request.method == "PATCH"):
        await click_switch(switch)


async def find_violations(page: Page) -> list[str]:
    """Return the serious accessibility violations that axe-core finds."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.read_text(encoding="utf-8"))
    rules = {
        "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
        "resultTypes": ["violations"],  # what passes is not described, which takes longer than to check it
    }
    script = "rules => axe.run(document, rules).then(report => report.violations)"
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary'][:200]}"
        for violation in await page.evaluate(script, rules)
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
