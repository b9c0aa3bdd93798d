"""The screens as a person meets them: `onetool serve` with tools, servers and a model, and a real browser."""

import json
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, async_playwright, expect

import onetool
from rest_server import SECRETS, TOKEN, Server, new_slug, write_private

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
BUILT = Path(onetool.__file__).parent / "doors" / "web" / "static" / "index.html"
AXE = Path(__file__).parent.parent.parent / "web" / "node_modules" / "axe-core" / "axe.min.js"
HERE = Path(__file__).parent
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage")
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
PATIENCE = 30_000
expect.set_options(timeout=PATIENCE)
NOTES = '''"""Notes for later."""

from pathlib import Path

from onetool.sdk import tool

pack = "notes"


@tool(changes=True)
def add(text: str) -> str:
    """Write a note."""
    with Path("notes.txt").open("a") as file:
        file.write(text + "\\n")
    return "noted"


def many(number: int = 3) -> list:
    """List notes, one row each."""
    return [{"line": line, "text": f"note {line}"} for line in range(number)]
'''
"""A pack of which one tool changes something."""

on_screens = [
    pytest.mark.skipif(
        not Path(CHROMIUM).exists() or not BUILT.exists(),
        reason="needs Chromium and the built screens: just web",
    ),
    pytest.mark.asyncio(loop_scope="session"),
]
"""The tests of one worker share an event loop, as they share the browser that speaks on it."""


def settings_of(root: Path) -> dict[str, Any]:
    """Settings with two MCP servers, one of which may change, and the model that follows a script."""
    python, described = sys.executable, root / "described.txt"
    return {
        "allowedHosts": ["127.0.0.1"],
        "providers": {"scripted": {"model": str(root / "script.json")}},
        "servers": {
            "official": {
                "command": python,
                "args": [str(HERE.parent / "mcp_servers" / "official.py"), "stdio"],
            },
            "changing": {"command": python, "args": [str(HERE / "changing_server.py"), str(described)]},
        },
    }


class Site(Server):
    """A server for the screens: its model says what a test writes."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, settings=json.dumps(settings_of(root)))
        write_private(self.config / "secrets.yaml", SECRETS)
        write_private(self.config / "tools" / "notes.py", NOTES)
        self.describe("Greet somebody.")
        self.say({"text": "Hello."})

    def say(self, *turns: dict[str, Any]) -> None:
        """What the model says to the next question."""
        (self.root / "script.json").write_text(json.dumps(turns), encoding="utf-8")

    def describe(self, text: str) -> None:
        """How the tool of the changing server is described at its next start."""
        (self.root / "described.txt").write_text(text, encoding="utf-8")

    def clear(self) -> None:
        """Delete every stored bundle, with its tools."""
        every = self.every("/tools/bundles", includeDisabled="true")
        for bundle in [it["id"] for it in every if it["origin"] == "bundle"]:
            assert self.client.delete(f"/tools/bundles/{bundle}").status_code == 204


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Run the browser that is installed here."""
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        await launched.close()


async def open_page(browser: Browser, site: Server, *, logged_in: bool = True, **options: Any) -> Page:
    """Open a page in a context of its own."""
    viewport = options.pop("viewport", {"width": 1280, "height": 900})
    context = await browser.new_context(base_url=site.url, viewport=viewport, locale="en-GB", **options)
    context.set_default_timeout(PATIENCE)
    page = await context.new_page()
    complaints: list[str] = []
    page.complaints = complaints  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda told: complaints.append(told.text) if "Content Security Policy" in told.text else None,
    )
    page.on("dialog", lambda dialog: complaints.append(f"a script has run: {dialog.message}"))
    if logged_in:
        await context.add_cookies([{"url": site.url, **cookie_of(site)}])
    return page


@cache
def cookie_of(site: Server) -> Any:
    """What the server gives to whoever knows the token."""
    with site.new_client(None) as client:
        answer = client.post("/login", json={"token": TOKEN}, headers={"X-OneTool": "1"})
        assert answer.status_code == 204, answer.text
        ((name, value),) = answer.cookies.items()
    return {"name": name, "value": value}


async def log_in(page: Page) -> None:
    """Come in with the token."""
    await page.goto("/login")
    await page.get_by_label("Token").fill(TOKEN)
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_role("heading", name="Tools", exact=True).wait_for()


def own(site: Server, **fields: Any) -> tuple[str, Any]:
    """A bundle with one tool that no other test uses."""
    slug = new_slug("b")
    return slug, site.tool(site.bundle(slug=slug, displayName=slug), slug=new_slug("t"), **fields)


async def open_tool(page: Page, tool: dict[str, Any]) -> None:
    """Open the page of a tool."""
    await page.goto(f"/tools/{tool['bundleID']}/{tool['slug']}")
    await page.get_by_role("heading", level=1).wait_for()


async def write(editor: Locator, text: str) -> None:
    """Put one line into an editor in place of what it holds, as somebody does who pastes it."""
    await editor.press("Control+a")
    await editor.page.keyboard.insert_text(text)
    await expect(editor).to_have_text(text)


async def flip(switch: Locator) -> None:
    """Click a switch as it is seen: its track, when it has come to rest."""
    await switch.locator("xpath=following-sibling::span[1]").click()


async def turn(page: Page, switch: Locator) -> None:
    """Turn a switch of a tool or bundle; return when the server has done it."""
    async with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        await flip(switch)


async def serious_violations(page: Page) -> list[str]:
    """What axe-core finds, as far as it keeps somebody from using the screen."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.read_text(encoding="utf-8"))
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
    found = await page.evaluate("rules => axe.run(document, rules)", rules)
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:200]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
