"""What browser tests of hosted mode share: members with API keys, and parts of the pages."""

from collections.abc import Sequence
from typing import Any

from playwright.async_api import Locator, Page, expect

from support.hosted_process import HostedProcess, WorkspaceView
from support.web_app import find_violations

SIZES = {"dark": {"width": 360, "height": 800}, "light": {"width": 1280, "height": 800}}
"""Of a phone with a dark theme, and of a desktop with a light one."""
PHONE: Any = {"viewport": SIZES["dark"], "color_scheme": "dark"}
TRANSITIONS = """Promise.allSettled(
    document.getAnimations().filter(each => each instanceof CSSTransition).map(each => each.finished)
).then(() => null)"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
MARKUP = '<img src=x onerror="alert(1)">'


def view_with(workspace: HostedProcess, key: str) -> WorkspaceView:
    """Return the workspace with another API key."""
    view = WorkspaceView(workspace, workspace.workspace)
    view.token = key
    return view


def add_service(
    workspace: HostedProcess, name: str, role: str = "caller", patterns: Sequence[str] = ()
) -> None:
    """Add a service to the members."""
    body = {"role": role, "patterns": list(patterns)}
    assert workspace.client.put(f"/members/service/{name}", json=body).status_code == 200


def create_key(workspace: HostedProcess, name: str, **fields: Any) -> Any:
    """Create an API key."""
    response = workspace.client.post("/keys", json={"name": name, **fields})
    assert response.status_code == 201, response.text
    return response.json()


def view_as(workspace: HostedProcess, name: str, role: str = "caller") -> WorkspaceView:
    """Return the workspace as a new service with a role uses it."""
    add_service(workspace, name, role)
    return view_with(workspace, create_key(workspace, name, service=name)["key"])


def card(page: Page, name: str) -> Locator:
    """Return the item of a list with a name."""
    return page.get_by_role("listitem", name=name, exact=True)


async def select(page: Page, field: Locator, option: str) -> None:
    """Choose an option of a field."""
    await field.click()
    await page.get_by_role("option", name=option, exact=True).click()


async def check_page(page: Page) -> None:
    """Check that a page on a phone has no serious violations and does not scroll, also on a desktop."""
    for scheme in ("dark", "light"):
        await _resize(page, scheme)
        assert await page.evaluate(OVERFLOW) <= 0
        violations = await find_violations(page)
        assert not violations, (scheme, violations)
    await _resize(page, "dark")


async def _resize(page: Page, scheme: Any) -> None:
    await page.emulate_media(color_scheme=scheme)
    await page.set_viewport_size(SIZES[scheme])  # type: ignore[arg-type]
    await expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", scheme)
    await page.evaluate(TRANSITIONS)
