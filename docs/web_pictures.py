"""Take screenshots of every page of the web UI: `python docs/web_pictures.py [FOLDER]`.

Requires Chromium and the built web UI (`just web`). Without a folder, only the screenshots that the
documentation shows are taken, into docs/pictures.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from playwright.async_api import Browser, Page  # noqa: E402

from onetool.testing import HttpStub, StubResponse  # noqa: E402
from support.rest_process import http_tool  # noqa: E402
from support.web_app import WebApp, chromium, open_page  # noqa: E402

DOCUMENTED = {"tools-light-wide", "tester-light-wide", "chat-dark-wide", "tools-dark-phone"}
VIEWPORTS = {"wide": {"width": 1280, "height": 820}, "phone": {"width": 390, "height": 800}}
FORECAST = [
    {"day": "Monday", "mm": 3.2, "chance": "80 %"},
    {"day": "Tuesday", "mm": 0.0, "chance": "10 %"},
    {"day": "Wednesday", "mm": 11.4, "chance": "95 %"},
]
ARG_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Name of the city"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS: dict[str, list[tuple[str, str, list[str]]]] = {
    "weather": [
        ("rain", "Return the rainfall in a city for each day.", ["forecast"]),
        ("wind", "Return the speed and direction of the wind.", ["forecast"]),
        ("warnings", "List the active warnings for a region.", ["alerts"]),
    ],
    "issues": [
        ("search", "Search the issues of a project by keywords and labels.", ["work"]),
        ("create", "Create an issue with a title and a description.", ["work"]),
    ],
}
UMBRELLA: dict[str, Any] = {
    "type": "code",
    "description": "Write a note if it rains in a city.",
    "argSchema": ARG_SCHEMA,
    "codeImpl": {
        "steps": [
            {"name": "days", "tool": "weather.rain", "args": {"city": {"from": "args.city"}}},
            {
                "name": "note",
                "tool": "notes.add",
                "args": {"text": {"value": "Take an umbrella"}},
                "when": {"from": "days[0].mm", "is": "not_equals", "value": 0},
            },
        ]
    },
}
RESPONSE = """It stays dry on **Tuesday**. It rains on two days:

- Monday: 3 mm
- Wednesday: 11 mm

Take an umbrella on both days."""


def add_sample_data(web_app: WebApp, url: str) -> dict[str, Any]:
    """Create sample tools, calls and a chat script. Return the tools by slug."""
    tools: dict[str, Any] = {}
    for bundle_slug, definitions in TOOLS.items():
        bundle = web_app.create_bundle(
            slug=bundle_slug, displayName=bundle_slug.title(), description=f"Tools for {bundle_slug}"
        )
        for slug, description, tags in definitions:
            body = http_tool(
                f"{url}/{slug}/${{city}}",
                description=description,
                tags=tags,
                displayName=slug.title(),
                argSchema=ARG_SCHEMA,
            )
            tools[slug] = web_app.create_tool(bundle, slug, **body)
            if slug == "rain":
                web_app.create_tool(bundle, slug, "v2", **body)
    tools["umbrella"] = web_app.create_tool(tools["rain"]["bundleID"], "umbrella", **UMBRELLA)
    for index in range(40):
        web_app.invoke(tools["rain" if index % 3 else "wind"], city="Oslo")
        web_app.client.post("/tools/call", json={"name": "time.now", "args": {}})
    calls = [
        {"name": "weather.rain", "args": {"city": "Oslo"}},
        {"name": "notes.add", "args": {"text": "Take an umbrella"}},
    ]
    web_app.script_model({"text": "Let me check the forecast.", "calls": calls}, {"text": RESPONSE})
    return tools


async def show_chat(page: Page) -> None:
    """Send a message and approve the tool call."""
    message = page.get_by_label("Message")
    await message.fill("Will it rain in Oslo this week? Add a note if I need an umbrella.")
    await message.press("Enter")
    await page.get_by_role("button", name="Run", exact=True).click()
    await page.get_by_text("Take an umbrella on both days.").wait_for()


async def show_tester(page: Page) -> None:
    """Run the tool with an argument."""
    await page.get_by_label("city").fill("Oslo")
    await page.get_by_role("button", name="Run", exact=True).click()
    await page.get_by_role("cell", name="Wednesday").wait_for()


async def show_palette(page: Page) -> None:
    """Open the tool palette."""
    await page.get_by_label("Message").press("+")
    await page.locator("[data-choice]").first.wait_for()


async def show_playground(page: Page) -> None:
    """Run some code."""
    await page.get_by_role("textbox", name="Code").click()
    await page.keyboard.type(
        'days = weather.rain(city="Oslo")\nprint(len(days), "days")\n[day for day in days if day["mm"] > 1]'
    )
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+Enter")
    await page.get_by_role("cell", name="Wednesday").wait_for()


async def take_screenshots(
    browser: Browser, web_app: WebApp, tools: dict[str, Any], folder: Path, selection: set[str] | None
) -> None:
    """Take a screenshot of every page in every color scheme and viewport, or only of a selection."""
    pages = {
        "tools": ("/tools", None),
        "tester": (f"/tools/{tools['rain']['bundleID']}/rain", show_tester),
        "recipe": (f"/tools/{tools['wind']['bundleID']}/wind/new", None),
        "steps": (f"/tools/{tools['umbrella']['bundleID']}/umbrella/new", None),
        "import": ("/tools/import", None),
        "chat": ("/chat", show_chat),
        "palette": ("/chat", show_palette),
        "playground": ("/playground", show_playground),
        "servers": ("/servers", None),
        "access": ("/access", None),
        "activity": ("/activity", None),
        "stats": ("/stats", None),
        "settings": ("/settings", None),
    }
    for scheme in ("light", "dark"):
        for size, viewport in VIEWPORTS.items():
            page = await open_page(browser, web_app, viewport=viewport, color_scheme=scheme)
            for name, (path, prepare) in pages.items():
                screenshot = f"{name}-{scheme}-{size}"
                if selection is not None and screenshot not in selection:
                    continue
                await page.goto(path)
                await page.get_by_role("heading", level=1).wait_for()
                if prepare:
                    await prepare(page)
                await page.wait_for_timeout(700)
                await page.screenshot(path=folder / f"web-{screenshot}.png")
            await page.context.close()


async def run_browser(
    web_app: WebApp, tools: dict[str, Any], folder: Path, selection: set[str] | None
) -> None:
    """Start Chromium and take the screenshots."""
    async with chromium() as browser:
        await take_screenshots(browser, web_app, tools, folder, selection)


def main(folder: Path, selection: set[str] | None) -> None:
    """Start a server with sample data and take the screenshots."""
    root = Path(tempfile.mkdtemp(prefix="onetool-pictures-"))
    folder.mkdir(parents=True, exist_ok=True)
    slugs = [slug for definitions in TOOLS.values() for slug, _, _ in definitions]
    with (
        HttpStub({f"/{slug}/Oslo": StubResponse(FORECAST) for slug in slugs}) as stub,
        WebApp(root) as web_app,
    ):
        (web_app.config / "tools" / "probes.py").unlink()
        web_app.client.post("/tools/call", json={"name": "ot.reload", "args": {}})
        tools = add_sample_data(web_app, stub.url)  # type: ignore[arg-type]
        asyncio.run(run_browser(web_app, tools, folder, selection))  # type: ignore[arg-type]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), None)
    else:
        main(HERE / "pictures", DOCUMENTED)
