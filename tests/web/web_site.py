"""The screens as a person meets them: `onetool serve` with tools, servers and a model, and a real browser."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Error, Locator, Page, async_playwright, expect

import onetool
from rest_server import SECRETS, TOKEN, Server, Upstream, write_private

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
BUILT = Path(onetool.__file__).parent / "doors" / "web" / "static" / "index.html"
AXE = Path(__file__).parent.parent.parent / "web" / "node_modules" / "axe-core" / "axe.min.js"
HERE = Path(__file__).parent
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--force-device-scale-factor=1", "--hide-scrollbars"),
)
DOCUMENTS = re.compile(r"^(?!.*/assets/)")
STRICT = "style-src 'self'; style-src-attr 'unsafe-inline';"
"""The screens need no style element; attributes are set by the editor."""
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

needs_screens = pytest.mark.skipif(
    not Path(CHROMIUM).exists() or not BUILT.exists(),
    reason="needs Chromium and the built screens: just web",
)


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


@pytest.fixture(scope="session", name="site")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server that the tests of one worker share; each keeps to bundles of its own."""
    with Site(tmp_path_factory.mktemp("site")) as site:
        yield site  # type: ignore[misc]


@pytest.fixture(scope="session", name="chromium")
def shared_chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One browser for the tests of one worker; give where it listens."""
    yield from run_chromium(tmp_path_factory.mktemp("chromium"))


def run_chromium(profile: Path) -> Iterator[str]:
    """Run the browser with a fresh profile; nothing of it outlives the generator."""
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"]
    with (profile / "stderr.txt").open("w+") as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr
            for line in process.stderr:
                said.write(line)
                if found := re.search(r"DevTools listening on (ws://\S+)", line):
                    yield found[1]
                    break
            else:
                pytest.fail(f"Chromium did not start: {(profile / 'stderr.txt').read_text()[-2000:]}")
        finally:
            process.kill()
            process.wait()
            process.stderr.close()


@pytest.fixture
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """The shared browser, seen from the event loop of this test."""
    async with async_playwright() as playwright:
        connected = await playwright.chromium.connect_over_cdp(chromium)
        yield connected
        for context in connected.contexts[1:]:
            await context.close()


@pytest.fixture
async def page(site: Site, browser: Browser) -> AsyncIterator[Page]:
    """A page that is logged in; whatever it complains about fails the test."""
    opened = await open_page(browser, site)
    yield opened
    assert not opened.complaints, opened.complaints  # type: ignore[attr-defined]


async def open_page(browser: Browser, site: Server, *, logged_in: bool = True, **options: Any) -> Page:
    """Open a page in a context of its own, under a policy without inline styles."""
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
    await page.route(DOCUMENTS, _strictly)
    if logged_in:
        await context.add_cookies([{"url": site.url, **cookie_of(site)}])
        await page.goto("/tools")
        await page.get_by_role("heading", name="Tools", exact=True).wait_for()
    return page


def cookie_of(site: Server) -> Any:
    """What the server gives to whoever knows the token."""
    with site.new_client(None) as client:
        answer = client.post("/login", json={"token": TOKEN}, headers={"X-OneTool": "1"})
        assert answer.status_code == 204, answer.text
        ((name, value),) = answer.cookies.items()
    return {"name": name, "value": value}


async def _strictly(route: Any) -> None:
    """Let the page be held by a stricter policy than the server's."""
    if route.request.resource_type != "document":
        await route.continue_()
        return
    with suppress(Error):  # the page may be closed meanwhile
        response = await route.fetch()
        headers = dict(response.headers)
        policy = headers.get("content-security-policy", "")
        headers["content-security-policy"] = re.sub(r"style-src [^;]*;", STRICT, policy)
        await route.fulfill(response=response, headers=headers)


async def log_in(page: Page) -> None:
    """Come in with the token."""
    await page.goto("/login")
    await page.get_by_label("Token").fill(TOKEN)
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_role("heading", name="Tools", exact=True).wait_for()


async def flip(switch: Locator) -> None:
    """Click a switch; what is seen of it lies over the input."""
    await switch.click(force=True)


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


__all__ = ["Site", "Upstream", "flip", "needs_screens", "open_page", "serious_violations"]
