"""What browser tests with people share: a provider recognizes them, and they are invited."""

import json
from typing import Any
from uuid import uuid4

from playwright.async_api import Browser, Page

from support.hosted_process import HostedProcess
from support.web_app import open_page


async def open_as(browser: Browser, workspace: HostedProcess, name: str, **options: Any) -> Page:
    """Open a page for a new person, whom the provider recognizes."""
    others = (workspace.issuer, *options.pop("others", ()))  # type: ignore[attr-defined]
    page = await open_page(browser, workspace, logged_in=False, others=others, **options)
    person = {"sub": f"sub-{uuid4().hex}", "email": f"{name.lower()}@example.com", "name": name}
    await page.context.set_extra_http_headers({"X-Person": json.dumps(person)})
    return page


async def log_in(page: Page) -> None:
    """Log in at the provider."""
    await page.get_by_role("link", name="Log in with your account").click()


async def member_id(page: Page) -> str:
    """Return the id of the person who has logged in."""
    session = await page.evaluate("fetch('/auth/session').then(response => response.json())")
    return str(session["person"]["id"])


def invite(workspace: HostedProcess, **fields: Any) -> tuple[str, str]:
    """Return the id and the link of a new invitation."""
    created = workspace.client.post("/invitations", json=fields).json()
    return created["id"], f"{workspace.url}/join#{created['secret']}"


def add_person(workspace: HostedProcess, id: str, role: str = "caller") -> None:
    """Make a person a member."""
    assert workspace.client.put(f"/members/person/{id}", json={"role": role}).status_code == 200
