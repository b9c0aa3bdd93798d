"""Take pictures of every screen: `python docs/web_pictures.py [FOLDER]`; needs Chromium and `just web`.

The best four are kept in docs/pictures; without a folder only these are taken.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "web")]

from playwright.async_api import Browser, Page  # noqa: E402
from web_site import Site, chromium, open_page  # noqa: E402

from onetool.testing import HttpStub, Reply  # noqa: E402
from rest_server import http_tool  # noqa: E402

KEPT = {"tools-light-wide", "tester-light-wide", "chat-dark-wide", "tools-dark-phone"}
SIZES = {"wide": {"width": 1280, "height": 820}, "phone": {"width": 390, "height": 800}}
RAIN = [
    {"day": "Monday", "mm": 3.2, "chance": "80 %"},
    {"day": "Tuesday", "mm": 0.0, "chance": "10 %"},
    {"day": "Wednesday", "mm": 11.4, "chance": "95 %"},
]
CITY = {"city": {"type": "string", "description": "Which city?"}}
TOOLS: dict[str, list[tuple[str, str, list[str]]]] = {
    "weather": [
        ("rain", "Tell how much it will rain in a city, day by day.", ["forecast"]),
        ("wind", "Tell how strong the wind is, and where it comes from.", ["forecast"]),
        ("warnings", "List the warnings that are in force for a region.", ["alerts"]),
    ],
    "issues": [
        ("search", "Search the issues of a project by words and labels.", ["work"]),
        ("create", "Open an issue with a title and a description.", ["work"]),
    ],
}
ANSWER = """It stays dry on **Tuesday**. Monday and Wednesday are wet:

- Monday 3 mm
- Wednesday 11 mm

Take the umbrella twice."""


def furnish(site: Site, url: str) -> dict[str, Any]:
    """Fill a server with what a person might have."""
    made: dict[str, Any] = {}
    for bundle, tools in TOOLS.items():
        known = site.bundle(slug=bundle, displayName=bundle.title(), description=f"Everything about {bundle}")
        for slug, description, tags in tools:
            schema = {
                "type": "object",
                "properties": CITY,
                "required": ["city"],
                "additionalProperties": False,
            }
            fields = {
                "description": description,
                "tags": tags,
                "displayName": slug.title(),
                "argSchema": schema,
            }
            made[slug] = site.tool(known, slug, **http_tool(f"{url}/{slug}/${{city}}", **fields))
    site.tool(
        made["rain"]["bundleID"],
        "rain",
        "v2",
        **{
            **http_tool(f"{url}/rain/${{city}}", **fields),
            "displayName": "Rain",
            "description": TOOLS["weather"][0][1],
            "tags": ["forecast"],
        },
    )
    for at in range(40):
        site.invoke(made["rain" if at % 3 else "wind"], city="Oslo")
        site.client.post("/tools/call", json={"name": "time.now", "args": {}})
    site.say(
        {
            "text": "I look at the forecast.",
            "calls": [
                {"name": "weather.rain", "args": {"city": "Oslo"}},
                {"name": "notes.add", "args": {"text": "Take the umbrella"}},
            ],
        },
        {"text": ANSWER},
    )
    return made


async def chat(page: Page) -> None:
    """Ask, and let the note be written."""
    await page.get_by_label("Message").fill("Will it rain in Oslo this week? Note it if I need an umbrella.")
    await page.get_by_label("Message").press("Enter")
    await page.get_by_role("button", name="Run", exact=True).click()
    await page.get_by_text("Take the umbrella twice.").wait_for()


async def tester(page: Page) -> None:
    """Fill in the form and run it."""
    await page.get_by_label("city").fill("Oslo")
    await page.get_by_role("button", name="Run", exact=True).click()
    await page.get_by_role("cell", name="Wednesday").wait_for()


async def palette(page: Page) -> None:
    """Open it with a plus."""
    await page.get_by_label("Message").press("+")
    await page.locator("[data-choice]").first.wait_for()


async def code(page: Page) -> None:
    """Run three lines."""
    await page.get_by_role("textbox", name="Code").click()
    await page.keyboard.type(
        'days = weather.rain(city="Oslo")\nprint(len(days), "days")\n[day for day in days if day["mm"] > 1]'
    )
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+Enter")
    await page.get_by_role("cell", name="Wednesday").wait_for()


async def take(
    browser: Browser, site: Site, made: dict[str, Any], folder: Path, wanted: set[str] | None
) -> None:
    """Visit every screen in every look."""
    screens = {
        "tools": ("/tools", None),
        "tester": (f"/tools/{made['rain']['bundleID']}/rain", tester),
        "recipe": (f"/tools/{made['wind']['bundleID']}/wind/new", None),
        "chat": ("/chat", chat),
        "palette": ("/chat", palette),
        "playground": ("/playground", code),
        "servers": ("/servers", None),
        "stats": ("/stats", None),
        "settings": ("/settings", None),
    }
    for scheme in ("light", "dark"):
        for size, viewport in SIZES.items():
            page = await open_page(browser, site, viewport=viewport, color_scheme=scheme)
            for name, (path, act) in screens.items():
                full = f"{name}-{scheme}-{size}"
                if wanted is not None and full not in wanted:
                    continue
                await page.goto(path)
                await page.get_by_role("heading", level=1).wait_for()
                if act:
                    await act(page)
                await page.wait_for_timeout(700)
                await page.screenshot(path=folder / f"web-{full}.png")
            await page.context.close()


async def take_all(site: Site, made: dict[str, Any], folder: Path, wanted: set[str] | None) -> None:
    """Take them with a browser of their own."""
    async with chromium() as browser:
        await take(browser, site, made, folder, wanted)


def main(folder: Path, wanted: set[str] | None) -> None:
    """Start everything, take the pictures, end everything."""
    root = Path(tempfile.mkdtemp(prefix="onetool-pictures-"))
    folder.mkdir(parents=True, exist_ok=True)
    answers = {f"/{slug}/Oslo": Reply(RAIN) for tools in TOOLS.values() for slug, _, _ in tools}
    with HttpStub(answers) as stub, Site(root) as site:
        (site.config / "tools" / "probes.py").unlink()
        site.client.post("/tools/call", json={"name": "ot.reload", "args": {}})
        made = furnish(site, stub.url)  # type: ignore[arg-type]
        asyncio.run(take_all(site, made, folder, wanted))  # type: ignore[arg-type]


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0]) if given else HERE / "pictures", None if given else KEPT)
